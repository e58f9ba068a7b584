#include <strings.h>

#include <algorithm>
#include <utility>

#include "guard/path.h"
#include "plan/rules.h"

namespace cordon::plan {
namespace {

// A verdict of the rule that stands at `origin`.
Verdict ByRule(std::string_view name, const Origin& origin, std::string detail) {
  return {.rule = std::string(name) + " " + origin.ToString(),
          .detail = std::move(detail),
          .source = origin.source,
          .line = origin.line};
}

Verdict ByRule(const FsRule& rule, std::string detail) {
  return ByRule(RuleKindName(rule.kind), rule.origin, std::move(detail));
}

Verdict Allowed(Verdict verdict) {
  verdict.allowed = true;
  return verdict;
}

Verdict Denied(Verdict verdict, std::string hint) {
  verdict.hint = std::move(hint);
  return verdict;
}

bool BuiltIn(const Origin& origin) { return origin.source == "built in"; }

// Denied for what net.credential or net.tls.ca say of it (see SecretFiles).
bool IsSecret(const Origin& origin) { return origin.source.starts_with("net."); }

// Only git's config is the policy's to allow.
std::string FloorHint(std::string_view path) {
  std::string_view name = guard::BaseName(path);
  if (name == "config" || name == "config.worktree") {
    return "fs.git = \"allow-config\" would allow it";
  }
  return "no policy lifts the floor; `--no-floor` does, and the record of the run says so";
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

// Only what is narrower than the denied path, or than the pattern it matches, can
// be allowed within it.
std::string DenyReadHint(std::string_view path, const FsRule& denied) {
  if (path == denied.path && !denied.from_glob) {
    return "fs.deny_read = { only = [...] } without it would allow it";
  }
  return "fs.allow_read_within_deny = [\"" + std::string(path) + "\"] would allow it";
}

Verdict DenyRead(const RuleMatch& match, std::string_view path) {
  if (match.denied_read == nullptr) {
    return {.rule = "fs.read",
            .detail = "no readable root holds it",
            .hint = "fs.read or --read would allow it"};
  }
  const FsRule& rule = *match.denied_read;
  return Denied(ByRule(rule, rule.path + " is not readable"),
                BuiltIn(rule.origin)    ? "no policy lifts it: it is Cordon's own state"
                : IsSecret(rule.origin) ? "no policy lifts it: it holds a secret that stays outside"
                                        : DenyReadHint(path, rule));
}

Verdict DenyName(const ProtectedName& name) {
  bool floor = name.kind == RuleKind::kFloor;
  std::string_view rule = floor                              ? "floor"
                          : name.kind == RuleKind::kDenyRead ? RuleKindName(name.kind)
                                                             : "fs.deny_new";
  return Denied(
      ByRule(rule, name.origin, name.path + " may not come into being"),
      floor ? FloorHint(name.path) : "removing it from " + std::string(rule) + " would allow it");
}

Verdict InPrivate(const Region& region, Access access) {
  if (access == Access::kWrite && region.rights == Rights::kReadOnly) {
    return {.rule = "fs.temp",
            .detail = region.path + " is empty inside and not writable",
            .hint = "fs.temp = \"private\" would allow it"};
  }
  return {.allowed = true,
          .rule = "fs.temp",
          .detail = region.path + " is private to the sandbox: the host's is not seen there"};
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
    case RuleKind::kDenyNew:
      return "fs.deny_new";
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
        // A pattern's match does not weaken the same path denied by name.
        if (match.denied_read != nullptr && !match.denied_read->from_glob && rule.from_glob &&
            match.denied_read->path == rule.path) {
          break;
        }
        deepest(match.denied_read, rule);
        break;
      case RuleKind::kDenyNew:  // of names only
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
  const Region* region = RegionOf(plan.regions, path);
  if (region != nullptr && region->source == RegionSource::kPrivate && region->path != "/") {
    return InPrivate(*region, access);
  }
  RuleMatch match = MatchRules(plan.rules, path);
  if (match.read == nullptr) return DenyRead(match, path);
  if (region != nullptr && region->source == RegionSource::kMask) {
    return {.rule = "fs.temp",
            .detail = region->path + " is not there without namespaces; TMPDIR is the run's own",
            .hint = "fs.temp = \"shared\" would allow it"};
  }
  if (access == Access::kRead) return Allowed(ByRule(*match.read, "readable"));
  if (match.write == nullptr) {
    return Denied(ByRule(*match.read, "readable, but no writable root holds it"),
                  "fs.write or --write would allow it");
  }
  if (match.denied_write != nullptr) {
    bool floor = match.denied_write->kind == RuleKind::kFloor;
    return Denied(ByRule(*match.denied_write, match.denied_write->path + " is read-only"),
                  floor ? FloorHint(match.denied_write->path)
                        : "removing it from fs.deny_write would allow it");
  }
  for (const ProtectedName& name : plan.names) {
    if (access == Access::kChange && name.kind != RuleKind::kFloor) continue;
    if (Covers(name, path)) return DenyName(name);
  }
  return Allowed(ByRule(*match.write, "writable"));
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
