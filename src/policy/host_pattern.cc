#include "policy/host_pattern.h"

#include <algorithm>
#include <optional>

#include "guard/net_rules.h"
#include "policy/host_lists.h"

namespace cordon::policy {
namespace {

// One text of net.allow with what it means.
struct HostSet {
  std::string text;  // canonical
  Origin origin;
  std::vector<guard::HostPattern> patterns;  // none: not a pattern
};

HostSet Read(const Entry& entry) {
  HostSet set{.text = entry.text, .origin = entry.origin, .patterns = {}};
  auto hosts = ExpandHosts(entry.text);
  if (!hosts) return set;
  for (const std::string& host : *hosts) {
    auto pattern = guard::ParseHostPattern(host);
    if (!pattern) return {.text = entry.text, .origin = entry.origin, .patterns = {}};
    set.patterns.push_back(std::move(*pattern));
  }
  if (!entry.text.starts_with('@')) set.text = guard::ToString(set.patterns.front());
  return set;
}

std::vector<HostSet> ReadAll(const Entries& entries) {
  std::vector<HostSet> sets;
  for (const Entry& entry : entries) sets.push_back(Read(entry));
  return sets;
}

bool Covers(const guard::HostPattern& wide, const guard::HostPattern& narrow) {
  auto both = guard::Intersect(wide, narrow);
  return both && both->port == narrow.port && guard::CoversName(wide, narrow);
}

// Whether one pattern of `wide` covers each of `narrow`.
bool Covers(const HostSet& wide, const HostSet& narrow) {
  if (wide.text == narrow.text) return true;
  return !narrow.patterns.empty() &&
         std::ranges::all_of(narrow.patterns, [&](const guard::HostPattern& pattern) {
           return std::ranges::any_of(wide.patterns, [&](const guard::HostPattern& other) {
             return Covers(other, pattern);
           });
         });
}

// Of two that mean the same the one that sorts first stays.
bool Implied(const HostSet& set, const std::vector<HostSet>& sets) {
  return std::ranges::any_of(sets, [&](const HostSet& other) {
    if (other.text == set.text || !Covers(other, set)) return false;
    return !Covers(set, other) || other.text < set.text;
  });
}

Entries DropImplied(std::vector<HostSet> sets) {
  std::ranges::stable_sort(sets, {}, &HostSet::text);
  auto [first, last] = std::ranges::unique(sets, {}, &HostSet::text);
  sets.erase(first, last);
  Entries kept;
  for (const HostSet& set : sets) {
    if (!Implied(set, sets)) kept.push_back({set.text, set.origin});
  }
  return kept;
}

std::vector<std::string> Meet(const HostSet& a, const HostSet& b) {
  if (a.text == b.text) return {a.text};
  std::vector<std::string> both;
  for (const guard::HostPattern& left : a.patterns) {
    for (const guard::HostPattern& right : b.patterns) {
      if (auto pattern = guard::Intersect(left, right)) both.push_back(pattern->text);
    }
  }
  return both;
}

}  // namespace

std::vector<std::string> IntersectHosts(std::string_view a, std::string_view b) {
  return Meet(Read({std::string(a), {}}), Read({std::string(b), {}}));
}

bool HostsOverlap(std::string_view a, std::string_view b) {
  HostSet left = Read({std::string(a), {}}), right = Read({std::string(b), {}});
  return left.text == right.text ||
         std::ranges::any_of(left.patterns, [&](const guard::HostPattern& pattern) {
           return std::ranges::any_of(right.patterns, [&](const guard::HostPattern& other) {
             return guard::NamesOverlap(pattern, other);
           });
         });
}

Entries IntersectHosts(const Entries& a, const Entries& b) {
  std::vector<HostSet> both;
  std::vector<HostSet> rights = ReadAll(b);
  for (const HostSet& left : ReadAll(a)) {
    for (const HostSet& right : rights) {
      for (const std::string& text : Meet(left, right)) {
        both.push_back(Read({text, text == left.text ? left.origin : right.origin}));
      }
    }
  }
  return DropImplied(std::move(both));
}

Entries CanonicalHosts(const Entries& hosts) { return DropImplied(ReadAll(hosts)); }

Entries PublicHosts(const Entries& hosts, AddressMode private_addresses) {
  Entries taken;
  for (const Entry& entry : hosts) {
    HostSet set = Read(entry);
    bool all = !set.patterns.empty() &&
               std::ranges::all_of(set.patterns, [&](const guard::HostPattern& pattern) {
                 return guard::TakenByPublic(pattern, private_addresses);
               });
    if (all) taken.push_back({set.text, set.origin});
  }
  return taken;
}

}  // namespace cordon::policy
