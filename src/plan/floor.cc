#include "plan/floor.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "plan/git_config.h"

namespace cordon::plan {
namespace {

// Entries of directories, over all roots. Past it the run is refused.
constexpr size_t kScanBudget = 400'000;

// At the top of every writable root and repository. Each is read by a shell, an
// editor, a tool or an agent on the host without asking.
constexpr std::array kTrustedNames = {
    ".gitconfig",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".envrc",
    ".ripgreprc",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".zed",
    ".codex",
    ".agents",
    ".cursor",
    ".gemini",
    ".windsurf",
    ".claude/commands",
    ".claude/agents",
    ".claude/hooks",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cordon.toml",
};

std::string Trimmed(std::string_view text) {
  size_t end = text.find_last_not_of(" \t\r\n");
  return end == std::string_view::npos ? std::string() : std::string(text.substr(0, end + 1));
}

// The directory that the file `path` ("gitdir: X", or a bare path in a
// commondir or gitdir file) names, seen from the directory it lies in.
std::string PointedTo(const host::PathProbe& probe, const std::string& path) {
  Result<std::string> text = probe.ReadStart(path);
  if (!text) return {};
  std::string target = Trimmed(*text);
  constexpr std::string_view kPrefix = "gitdir: ";
  if (target.starts_with(kPrefix)) target.erase(0, kPrefix.size());
  if (target.empty() || target.find('\n') != std::string::npos) return {};
  return guard::NormalizePath(guard::JoinPath(guard::Parent(path), target));
}

void AddGitDirectory(const host::PathProbe& probe, const std::string& git_dir, GitMode git,
                     int depth, std::vector<std::string>& paths);

// Submodules keep their git directories below modules/, nested by path.
void AddModules(const host::PathProbe& probe, const std::string& directory, GitMode git, int depth,
                std::vector<std::string>& paths) {
  if (depth == 0) return;
  Result<std::vector<host::DirectoryEntry>> entries = probe.List(directory);
  if (!entries) return;
  for (const host::DirectoryEntry& entry : *entries) {
    if (!entry.directory) continue;
    std::string module = directory + "/" + entry.name;
    if (probe.Inspect(module + "/config").exists()) {
      AddGitDirectory(probe, module, git, depth - 1, paths);
    } else {
      AddModules(probe, module, git, depth - 1, paths);
    }
  }
}

// Files that a configuration makes git run or read, where they lie, and those
// that they include in turn.
void AddConfigured(const host::PathProbe& probe, const std::string& config,
                   const std::string& worktree, int depth, std::vector<std::string>& paths) {
  Result<std::string> text = probe.ReadStart(config);
  if (!text || depth == 0) return;
  auto place = [](std::string_view base, const std::string& value) {
    return guard::NormalizePath(guard::JoinPath(base, value));
  };
  for (const char* key : {"hookspath", "fsmonitor"}) {
    for (const std::string& value : GitConfigValues(*text, "core", key)) {
      bool path = !value.empty() && value != "true" && value != "false" && value[0] != '~';
      if (path) paths.push_back(place(worktree, value));
    }
  }
  for (const char* section : {"include", "includeif"}) {
    for (const std::string& value : GitConfigValues(*text, section, "path")) {
      if (value.empty() || value[0] == '~') continue;
      std::string included = place(guard::Parent(config), value);
      paths.push_back(included);
      AddConfigured(probe, included, worktree, depth - 1, paths);
    }
  }
}

void AddGitDirectory(const host::PathProbe& probe, const std::string& git_dir, GitMode git,
                     int depth, std::vector<std::string>& paths) {
  for (const char* name : {"hooks", "commondir"}) paths.push_back(git_dir + "/" + name);
  if (git == GitMode::kProtect) {
    for (const char* name : {"config", "config.worktree"}) paths.push_back(git_dir + "/" + name);
  }
  AddModules(probe, git_dir + "/modules", git, depth, paths);
  Result<std::vector<host::DirectoryEntry>> worktrees = probe.List(git_dir + "/worktrees");
  if (!worktrees) return;
  for (const host::DirectoryEntry& entry : *worktrees) {
    std::string worktree = git_dir + "/worktrees/" + entry.name;
    for (const char* name : {"commondir", "gitdir"}) paths.push_back(worktree + "/" + name);
    if (git == GitMode::kProtect) paths.push_back(worktree + "/config.worktree");
  }
}

class Walker {
 public:
  Walker(const host::PathProbe& probe, const std::vector<std::string>& patterns, int depth)
      : probe_(probe), patterns_(patterns), depth_(depth) {}

  Status Walk(const std::string& directory, int level) {
    Result<std::vector<host::DirectoryEntry>> entries = probe_.List(directory);
    if (!entries) {
      // Another's directory stays closed inside too; one of our own could be
      // opened there with chmod, with whatever is in it unprotected.
      if (probe_.Inspect(directory).closed) return {};
      return Unscannable(directory);
    }
    seen_ += entries->size();
    if (seen_ > kScanBudget) return OverBudget();
    for (const host::DirectoryEntry& entry : *entries) {
      std::string path = directory == "/" ? "/" + entry.name : directory + "/" + entry.name;
      CORDON_TRY(Visit(path, directory, entry, level));
    }
    return {};
  }

  Scan scan;

 private:
  Status Visit(const std::string& path, const std::string& directory,
               const host::DirectoryEntry& entry, int level) {
    if (entry.name == ".git") scan.repositories.push_back(directory);
    for (const std::string& pattern : patterns_) {
      if (!guard::GlobMatch(pattern, path)) continue;
      scan.glob_matches.push_back(path);
      return {};  // what lies below is covered
    }
    bool deeper = entry.name != ".git" && (level < depth_ || PatternReachesBelow(path));
    if (entry.directory && deeper) return Walk(path, level + 1);
    return {};
  }

  bool PatternReachesBelow(const std::string& path) const {
    return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
      std::string base = guard::GlobBase(pattern);
      return guard::IsInside(path, base) || guard::IsInside(base, path);
    });
  }

  Error OverBudget() const {
    return {.code = Code::kResourceExhausted,
            .reason = Reason::kScanBudget,
            .message = "looking for protected files met more than " + std::to_string(kScanBudget) +
                       " directory entries",
            .hint =
                "run in a smaller workspace, lower fs.scan_depth, or name paths instead of "
                "`**` patterns"};
  }

  const host::PathProbe& probe_;
  const std::vector<std::string>& patterns_;
  int depth_;
  size_t seen_ = 0;
};

}  // namespace

Result<Scan> ScanTrees(const host::PathProbe& probe, const std::vector<std::string>& roots,
                       const std::vector<std::string>& patterns, int depth) {
  Walker walker(probe, patterns, depth);
  for (const std::string& root : roots) CORDON_TRY(walker.Walk(root, 1));
  return std::move(walker.scan);
}

Error Unscannable(const std::string& path) {
  return {.code = Code::kDenied,
          .reason = Reason::kScanBlocked,
          .message = "cannot look into " + base::Printable(path) +
                     " for files to protect: its mode does not let its owner in",
          .hint = "chmod u+rwx it, or leave it out of the writable roots"};
}

Result<std::vector<std::string>> FloorPaths(const host::PathProbe& probe, const std::string& top,
                                            GitMode git) {
  std::vector<std::string> paths;
  std::string prefix = top == "/" ? "" : top;
  for (const char* name : kTrustedNames) paths.push_back(prefix + "/" + name);
  if (git == GitMode::kOff) return paths;
  if (git == GitMode::kProtect) paths.push_back(prefix + "/.gitmodules");
  // Git takes a directory with HEAD, objects and refs for a bare repository, and
  // obeys its configuration, if .git is not valid: HEAD is what makes it one.
  paths.push_back(prefix + "/HEAD");
  if (probe.Inspect(prefix + "/HEAD").exists() && probe.Inspect(prefix + "/objects").directory()) {
    paths.pop_back();  // it is one already
    AddGitDirectory(probe, top, git, 4, paths);
  }
  std::string dot_git = prefix + "/.git";
  host::PathInfo info = probe.Inspect(dot_git);
  if (info.type == host::FileType::kUnreachable) return Unscannable(dot_git);
  if (info.directory()) {
    AddGitDirectory(probe, info.canonical, git, 4, paths);
    AddConfigured(probe, info.canonical + "/config", top, 5, paths);
  } else if (info.type == host::FileType::kRegular) {
    paths.push_back(dot_git);  // the pointer itself
    if (!probe.ReadStart(dot_git)) return Unscannable(dot_git);
    std::string git_dir = PointedTo(probe, dot_git);
    if (git_dir.empty()) return paths;
    AddGitDirectory(probe, git_dir, git, 4, paths);
    paths.push_back(git_dir + "/gitdir");
    std::string common = PointedTo(probe, git_dir + "/commondir");
    if (!common.empty()) {
      AddGitDirectory(probe, common, git, 4, paths);
      AddConfigured(probe, common + "/config", top, 5, paths);
    }
  }
  return paths;
}

std::vector<std::string> LinkedGitDirectories(const host::PathProbe& probe,
                                              const std::string& root) {
  std::string pointer = root + "/.git";
  if (probe.Inspect(pointer).type != host::FileType::kRegular) return {};
  std::string git_dir = PointedTo(probe, pointer);
  if (git_dir.empty() || !probe.Inspect(git_dir).directory()) return {};
  // A file in the workspace may name any directory; only one that names the
  // workspace back was made by git for it, from outside.
  std::string common = PointedTo(probe, git_dir + "/commondir");
  if (!common.empty() && PointedTo(probe, git_dir + "/gitdir") == pointer &&
      guard::IsInside(git_dir, common + "/worktrees") &&
      probe.Inspect(common + "/objects").directory()) {
    return {common};
  }
  Result<std::string> config = probe.ReadStart(git_dir + "/config");
  if (!config) return {};
  for (const std::string& target : GitConfigValues(*config, "core", "worktree")) {
    if (guard::NormalizePath(guard::JoinPath(git_dir, target)) == root) return {git_dir};
  }
  return {};
}

}  // namespace cordon::plan
