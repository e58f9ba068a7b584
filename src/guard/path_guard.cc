#include "guard/path_guard.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "guard/path.h"
#include "sys/resolve_path.h"

namespace cordon::guard {
namespace {

// Of Linux and macOS alike. "/usr/local" is not among them.
constexpr std::string_view kSystemDirectories[] = {
    "/System",      "/bin",     "/sbin",  "/usr/bin",   "/usr/sbin",  "/usr/lib", "/usr/libexec",
    "/private/etc", "/Library", "/etc",   "/boot",      "/proc",      "/sys",     "/dev",
    "/lib",         "/lib32",   "/lib64", "/usr/lib32", "/usr/lib64",
};

constexpr std::string_view kOwnState[] = {"/.local/state/cordon", "/.config/cordon"};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool SameText(std::string_view a, std::string_view b, NameCase names) {
  if (names == NameCase::kExact) return a == b;
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

struct Protected {
  std::string path;
  std::string what;
};

std::vector<Protected> ProtectedPaths(const PathRules& rules) {
  std::vector<Protected> found;
  if (!rules.data_dir.empty()) {
    std::string data_dir = NormalizePath(rules.data_dir);
    found.push_back({JoinPath(data_dir, "data"), "the agent's data"});
    found.push_back({JoinPath(data_dir, "config.toml"), "the agent's configuration"});
  }
  if (!rules.config_path.empty()) {
    found.push_back({NormalizePath(rules.config_path), "the agent's configuration"});
  }
  return found;
}

// By the text of every hop, by what is found on the way (another spelling, a bind
// mount), and by hard links.
class Blocked {
 public:
  Blocked(const PathRules& rules, const sys::ResolvedPath& resolved)
      : resolved_(resolved),
        names_(resolved.ignores_case ? NameCase::kIgnore : rules.names),
        protected_(ProtectedPaths(rules)) {}

  // What the path is, if it is out of reach.
  std::optional<std::string> Find(PathUse use) const {
    if (resolved_.by_process) return "it goes through the files of a process";
    for (const std::string& hop : resolved_.hops) {
      if (IsFullyDenied(hop, names_)) return "Cordon's own state";
      if (use == PathUse::kWrite) {
        if (auto system = FindSystem(hop)) return "system directory " + std::string(*system);
      }
    }
    for (const Protected& one : protected_) {
      if (Reaches(one.path)) return one.what;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string_view> FindSystem(std::string_view hop) const {
    for (std::string_view directory : kSystemDirectories) {
      if (IsInside(hop, directory, names_)) return directory;
    }
    return std::nullopt;
  }

  bool Reaches(const std::string& place) const {
    // The protected path may itself lie behind a link.
    Result<sys::ResolvedPath> real = sys::ResolvePath(place);
    if (!real) return true;
    for (const std::string& hop : resolved_.hops) {
      if (IsInside(hop, place, names_) || IsInside(hop, real->path, names_)) return true;
    }
    auto identity = sys::IdentityOf(real->path);
    return identity && (IsBelow(*identity) || IsHardLink(real->path));
  }

  bool IsBelow(const sys::FileIdentity& identity) const {
    for (std::string_view above = resolved_.ancestor;; above = Parent(above)) {
      if (sys::IdentityOf(std::string(above)) == identity) return true;
      if (above == "/") return false;
    }
  }

  bool IsHardLink(const std::string& place) const {
    if (resolved_.links < 2) return false;
    auto identity = sys::IdentityOf(resolved_.path);
    return !identity || sys::HoldsFile(place, *identity);
  }

  const sys::ResolvedPath& resolved_;
  NameCase names_;
  std::vector<Protected> protected_;
};

PathDecision Deny(Reason reason, std::string rule) {
  return {.allowed = false, .reason = reason, .rule = std::move(rule)};
}

// A root that is itself reached by links is where it leads.
PathDecision CheckInside(const PathRules& rules, const sys::ResolvedPath& resolved) {
  Result<sys::ResolvedPath> root = sys::ResolvePath(rules.root);
  if (!root) return Deny(Reason::kPathInvalid, "the root: " + root.error().message);
  NameCase names = resolved.ignores_case ? NameCase::kIgnore : rules.names;
  if (!IsInside(resolved.path, root->path, names)) {
    return Deny(Reason::kPathOutside,
                base::Printable(resolved.path) + " is not inside " + base::Printable(root->path));
  }
  return {.allowed = true, .rule = "inside " + base::Printable(root->path)};
}

bool IsIdentity(const PathRules& rules, const sys::ResolvedPath& resolved) {
  return std::ranges::any_of(resolved.hops, [&](const std::string& hop) {
    return IsIdentityFile(hop, rules.identity_files);
  });
}

bool IsBlocked(std::string_view path, const PathRules& rules, PathUse use) {
  return !CheckPath(rules, path, use).allowed;
}

}  // namespace

bool IsInside(std::string_view path, std::string_view root, NameCase names) {
  if (names == NameCase::kExact || root == "/") return IsInside(path, root);
  if (root.empty() || path.size() < root.size()) return false;
  if (!SameText(path.substr(0, root.size()), root, names)) return false;
  return path.size() == root.size() || path[root.size()] == '/';
}

PathDecision CheckPath(const PathRules& rules, std::string_view path, PathUse use) {
  if (path.empty()) return Deny(Reason::kPathInvalid, "it is empty");
  if (!path.starts_with('/') && rules.root.empty()) {
    return Deny(Reason::kPathInvalid, "it is relative, and nothing says to what");
  }
  // Not normalised: ".." goes up from where a link has led.
  std::string full = JoinPath(rules.root, path);
  Result<sys::ResolvedPath> resolved = sys::ResolvePath(full);
  if (!resolved) return Deny(Reason::kPathInvalid, resolved.error().message);
  PathDecision decision{.allowed = true, .rule = "nothing blocks it"};
  if (!rules.root.empty()) decision = CheckInside(rules, *resolved);
  if (auto what = Blocked(rules, *resolved).Find(use); what && decision.allowed) {
    decision = Deny(Reason::kPathProtected, std::move(*what));
  }
  if (decision.allowed && use == PathUse::kWrite && IsIdentity(rules, *resolved)) {
    decision = Deny(Reason::kPathProtected, "an identity file");
  }
  decision.path = resolved->path;
  decision.hard_linked = resolved->links > 1;
  return decision;
}

bool IsReadBlocked(std::string_view path, std::string_view data_dir, std::string_view config_path) {
  PathRules rules{.data_dir = std::string(data_dir), .config_path = std::string(config_path)};
  return IsBlocked(path, rules, PathUse::kRead);
}

bool IsWriteBlocked(std::string_view path, std::string_view data_dir,
                    std::string_view config_path) {
  PathRules rules{.data_dir = std::string(data_dir), .config_path = std::string(config_path)};
  return IsBlocked(path, rules, PathUse::kWrite);
}

bool IsDangerousSystemPath(std::string_view text, std::string_view home) {
  if (text == "*" || text.ends_with("/*")) return true;
  std::string path = NormalizePath(text);
  if (!path.starts_with('/')) return path == "~";
  return Parent(path) == "/" || (!home.empty() && path == NormalizePath(home));
}

bool IsFullyDenied(std::string_view path, NameCase names) {
  std::string normal = NormalizePath(path);
  for (std::string_view state : kOwnState) {
    for (size_t at = 0; at + state.size() <= normal.size(); ++at) {
      if (normal[at] == '/' && IsInside(std::string_view(normal).substr(at), state, names)) {
        return true;
      }
    }
  }
  return false;
}

const std::vector<std::string>& DefaultIdentityFiles() {
  static const std::vector<std::string> kNames = {"SOUL.md", "IDENTITY.md", "USER.md"};
  return kNames;
}

bool IsIdentityFile(std::string_view path, const std::vector<std::string>& names) {
  std::string normal = NormalizePath(path);
  return std::ranges::any_of(names, [&](const std::string& name) {
    return SameText(BaseName(normal), name, NameCase::kIgnore);
  });
}

}  // namespace cordon::guard
