#include <strings.h>

#include <algorithm>

#include "guard/path.h"
#include "plan/rules.h"

namespace cordon::plan {
namespace {

std::string Named(const FsRule& rule) {
  return std::string(RuleKindName(rule.kind)) + " " + rule.origin.ToString();
}

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Whether `inner` is below `outer`, with letters of either case.
bool BelowIgnoringCase(std::string_view inner, std::string_view outer) {
  return inner.size() > outer.size() && inner[outer.size()] == '/' &&
         SameIgnoringCase(inner.substr(0, outer.size()), outer);
}

// Whether `path` is the protected name itself or lies below it.
bool Covers(const ProtectedName& name, std::string_view path) {
  if (name.glob) return guard::GlobMatch(name.path, path);
  if (!name.any_case) return guard::IsInside(path, name.path);
  return SameIgnoringCase(name.path, path) || BelowIgnoringCase(path, name.path);
}

Verdict DenyRead(const FsPlan& plan, const RuleMatch& match) {
  if (match.denied_read != nullptr) {
    bool floor = match.denied_read->kind == RuleKind::kFloor;
    return {.allowed = false,
            .rule = Named(*match.denied_read),
            .detail = match.denied_read->path + " is not readable",
            .hint = floor ? "the floor cannot be lifted by a policy"
                          : "fs.allow_read_within_deny would allow it"};
  }
  return {.allowed = false,
          .rule = "fs.read",
          .detail = "no readable root holds it",
          .hint = plan.workspace.empty() ? "" : "fs.read or --read would allow it"};
}

}  // namespace

std::string_view RuleKindName(RuleKind kind) {
  switch (kind) {
    case RuleKind::kRead:
      return "fs.read";
    case RuleKind::kWrite:
      return "fs.write";
    case RuleKind::kAllowWithin:
      return "fs.allow_read_within_deny";
    case RuleKind::kDenyRead:
      return "fs.deny_read";
    case RuleKind::kDenyWrite:
      return "fs.deny_write";
    case RuleKind::kFloor:
      return "floor";
  }
  return "";
}

RuleMatch MatchRules(const std::vector<FsRule>& rules, std::string_view path) {
  RuleMatch match;
  auto deepest = [](const FsRule*& best, const FsRule& rule) {
    if (best == nullptr || rule.path.size() >= best->path.size()) best = &rule;
  };
  for (const FsRule& rule : rules) {
    if (!guard::IsInside(path, rule.path)) continue;
    switch (rule.kind) {
      case RuleKind::kRead:
        deepest(match.read, rule);
        break;
      case RuleKind::kWrite:
        deepest(match.read, rule);
        deepest(match.write, rule);
        break;
      case RuleKind::kAllowWithin:
        deepest(match.allowed_within, rule);
        break;
      case RuleKind::kDenyRead:
        deepest(match.denied_read, rule);
        break;
      case RuleKind::kDenyWrite:
      case RuleKind::kFloor:
        if (match.denied_write == nullptr || rule.kind == RuleKind::kFloor) {
          match.denied_write = &rule;
        }
        break;
    }
  }
  if (match.denied_read != nullptr && match.allowed_within != nullptr && match.read != nullptr &&
      (match.allowed_within->path.size() > match.denied_read->path.size() ||
       (match.allowed_within->path == match.denied_read->path && match.denied_read->from_glob))) {
    match.denied_read = nullptr;
    match.write = nullptr;  // allowed to be read, no more
    match.read = match.allowed_within;
  } else if (match.denied_read != nullptr) {
    match.read = nullptr;
    match.write = nullptr;
  }
  return match;
}

Verdict Decide(const FsPlan& plan, Access access, std::string_view path) {
  if (const Region* region = RegionOf(plan.regions, path);
      region != nullptr && region->source == RegionSource::kPrivate && region->path != "/") {
    return {.allowed = true,
            .rule = "fs.temp",
            .detail = region->path + " is private to the sandbox",
            .hint = {}};
  }
  RuleMatch match = MatchRules(plan.rules, path);
  if (match.read == nullptr) return DenyRead(plan, match);
  if (access == Access::kRead) {
    return {.allowed = true, .rule = Named(*match.read), .detail = "readable", .hint = {}};
  }
  if (match.write == nullptr) {
    return {.allowed = false,
            .rule = Named(*match.read),
            .detail = "no writable root holds it",
            .hint = "fs.write or --write would allow it"};
  }
  if (match.denied_write != nullptr) {
    bool floor = match.denied_write->kind == RuleKind::kFloor;
    return {.allowed = false,
            .rule = Named(*match.denied_write),
            .detail = match.denied_write->path + " is read-only",
            .hint = floor ? "the floor cannot be lifted by a policy"
                          : "removing it from fs.deny_write would allow it"};
  }
  for (const ProtectedName& name : plan.names) {
    if (Covers(name, path)) {
      return {.allowed = false,
              .rule = std::string(name.kind == RuleKind::kFloor ? "floor" : "fs.deny_new") + " " +
                      name.origin.ToString(),
              .detail = name.path + " may not come into being",
              .hint = {}};
    }
  }
  return {.allowed = true, .rule = Named(*match.write), .detail = "writable", .hint = {}};
}

const ProtectedName* ViolatedName(const std::vector<ProtectedName>& names, std::string_view path,
                                  Creation creation) {
  for (const ProtectedName& name : names) {
    if (Covers(name, path)) return &name;
    if (creation == Creation::kEmpty) continue;
    // With content: a whole tree appears at `path`, and a protected name may be
    // in it.
    if (name.glob ? guard::IsInside(guard::GlobBase(name.path), path)
                  : BelowIgnoringCase(name.path, path)) {
      return &name;
    }
  }
  return nullptr;
}

const Region* RegionOf(const std::vector<Region>& regions, std::string_view path) {
  const Region* deepest = nullptr;
  for (const Region& region : regions) {
    if (guard::IsInside(path, region.path) &&
        (deepest == nullptr || region.path.size() >= deepest->path.size())) {
      deepest = &region;
    }
  }
  return deepest;
}

}  // namespace cordon::plan
