#include "plan/fs_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "plan/floor.h"
#include "plan/regions.h"

namespace cordon::plan {
namespace {

using host::FileType;
using host::PathInfo;

const Origin kFloorOrigin{"built in", 0};

class Planner {
 public:
  explicit Planner(const FsInputs& inputs) : in_(inputs) { plan_.workspace = in_.workspace; }

  Result<FsPlan> Run() {
    plan_.temp = in_.policy.temp;
    plan_.git = in_.policy.git;
    plan_.temp_size = TempSize();
    CORDON_TRY(AddRoots(RuleKind::kRead, in_.policy.read));
    CORDON_TRY(AddRoots(RuleKind::kWrite, in_.policy.write));
    AddLinkedGitDirectories();
    CORDON_TRY(AddCarveOuts());
    if (in_.floor == FsInputs::Floor::kOn) CORDON_TRY(AddFloor());
    AddDataDir();
    std::ranges::stable_sort(plan_.rules, {}, &FsRule::path);
    CORDON_TRY(CheckWorkspace());
    plan_.regions = MakeRegions(plan_, in_.probe);
    CORDON_TRY(CheckFloorUncovered(plan_));
    return std::move(plan_);
  }

 private:
  // /tmp and /dev/shm are memory: with a memory limit and no size of their own
  // they get an eighth of it.
  uint64_t TempSize() const {
    constexpr uint64_t kDefault = 1ull << 30;
    if (in_.policy.temp_size) return *in_.policy.temp_size;
    return in_.memory_limit == 0 ? kDefault : std::min(kDefault, in_.memory_limit / 8);
  }

  void AddRule(RuleKind kind, const PathInfo& info, const Origin& origin, bool from_glob = false) {
    plan_.rules.push_back({kind, info.canonical, info.directory(), info.device, info.inode,
                           info.closed, from_glob, origin});
  }

  Error Missing(const PathRule& rule, const PathInfo& info) const {
    bool unreachable = info.type == FileType::kUnreachable;
    return base::InvalidArgument(
        Reason::kPolicyPathMissing,
        rule.origin.ToString() + ": " + base::Printable(rule.path) +
            (unreachable ? " cannot be reached" : " does not exist"),
        "write it as \"?" + base::Printable(rule.path) + "\" if it may be missing");
  }

  Status AddRoots(RuleKind kind, const PathRules& rules) {
    for (const PathRule& rule : rules) {
      PathInfo info = in_.probe.Inspect(rule.path);
      if (!info.exists()) {
        if (rule.optional) continue;
        return Missing(rule, info);
      }
      AddRule(kind, info, rule.origin);
      if (info.canonical != rule.path) {
        for (auto& link : in_.probe.Follow("/", rule.path).links) {
          plan_.links.push_back(std::move(link));
        }
      }
    }
    return {};
  }

  void AddLinkedGitDirectories() {
    if (!HasRule(RuleKind::kWrite, in_.workspace)) return;
    for (const std::string& directory : LinkedGitDirectories(in_.probe, in_.workspace)) {
      PathInfo info = in_.probe.Inspect(directory);
      if (info.directory()) AddRule(RuleKind::kWrite, info, {"linked worktree", 0});
    }
  }

  bool HasRule(RuleKind kind, std::string_view path) const {
    return std::ranges::any_of(plan_.rules, [&](const FsRule& rule) {
      return rule.kind == kind && guard::IsInside(path, rule.path);
    });
  }

  std::vector<std::string> WritableRoots() const {
    std::vector<std::string> roots;
    for (const FsRule& rule : plan_.rules) {
      if (rule.kind == RuleKind::kWrite && rule.directory) roots.push_back(rule.path);
    }
    return roots;
  }

  // deny_read, deny_write, allow_read_within_deny and deny_new; the tree is
  // walked once for all their patterns and for repositories.
  Status AddCarveOuts() {
    std::vector<std::string> patterns;
    for (const PathRules* rules : {&in_.policy.deny_read, &in_.policy.deny_write}) {
      for (const PathRule& rule : *rules) {
        if (rule.glob) patterns.push_back(rule.path);
      }
    }
    std::vector<std::string> roots = WritableRoots();
    std::vector<std::string> walked = roots;
    for (const std::string& pattern : patterns) {
      std::string base = guard::GlobBase(pattern);
      bool covered = std::ranges::any_of(
          walked, [&](const std::string& root) { return guard::IsInside(base, root); });
      if (!covered && in_.probe.Inspect(base).directory()) walked.push_back(base);
    }
    // A root inside another is walked with it; "/" is not walked for repositories.
    std::erase_if(walked, [&](const std::string& root) {
      return root == "/" || std::ranges::any_of(walked, [&](const std::string& other) {
               return other != root && other != "/" && guard::IsInside(root, other);
             });
    });
    if (in_.floor == FsInputs::Floor::kOn || !patterns.empty()) {
      CORDON_ASSIGN_OR_RETURN(scan_, ScanTrees(in_.probe, walked, patterns, in_.policy.scan_depth));
    }
    CORDON_TRY(AddDenies(RuleKind::kDenyRead, in_.policy.deny_read));
    CORDON_TRY(AddDenies(RuleKind::kDenyWrite, in_.policy.deny_write));
    for (const PathRule& rule : in_.policy.allow_read_within_deny) {
      PathInfo info = in_.probe.Inspect(rule.path);
      if (info.exists()) AddRule(RuleKind::kAllowWithin, info, rule.origin);
    }
    for (const PathRule& rule : in_.policy.deny_new) {
      plan_.names.push_back(
          {rule.path, rule.glob, /*any_case=*/false, RuleKind::kDenyNew, rule.origin});
    }
    return {};
  }

  Status AddDenies(RuleKind kind, const PathRules& rules) {
    for (const PathRule& rule : rules) {
      if (rule.glob) {
        for (const std::string& path : scan_.glob_matches) {
          if (!guard::GlobMatch(rule.path, path)) continue;
          if (PathInfo info = in_.probe.Inspect(path); info.exists()) {
            AddRule(kind, info, rule.origin, /*from_glob=*/true);
          }
        }
        continue;
      }
      PathInfo info = in_.probe.Inspect(rule.path);
      if (info.type == FileType::kMissing && !rule.optional) return Missing(rule, info);
      CORDON_TRY(CheckReachable(rule.path, info));
      AddProtected(kind, rule.path, info, rule.origin);
    }
    return {};
  }

  // A path that cannot be seen now but could be inside, after a chmod.
  Status CheckReachable(const std::string& path, const PathInfo& info) const {
    if (info.type == FileType::kUnreachable && HasRule(RuleKind::kWrite, path)) {
      return Unscannable(std::string(guard::Parent(path)));
    }
    return {};
  }

  // An existing path gets a rule (and with it a mount), one that may appear is
  // watched for; the name itself is guarded as well where the sandbox could create it.
  void AddProtected(RuleKind kind, const std::string& path, const PathInfo& info,
                    const Origin& origin) {
    if (info.exists()) AddRule(kind, info, origin);
    if (kind == RuleKind::kDenyRead && info.type == FileType::kMissing) {
      plan_.absent.push_back(path);
    }
    if (HasRule(RuleKind::kWrite, path)) {
      plan_.names.push_back({path, false, /*any_case=*/true, kind, origin});
    }
  }

  Status AddFloor() {
    std::vector<std::string> tops = WritableRoots();
    tops.insert(tops.end(), scan_.repositories.begin(), scan_.repositories.end());
    std::ranges::sort(tops);
    auto repeated = std::ranges::unique(tops);
    tops.erase(repeated.begin(), repeated.end());
    for (const std::string& top : tops) {
      CORDON_ASSIGN_OR_RETURN(std::vector<std::string> paths,
                              FloorPaths(in_.probe, top, in_.policy.git));
      for (const std::string& path : paths) {
        CORDON_TRY(AddFloorPath(top, path));
      }
      CORDON_TRY(AddSettings(top));
      AddFloorLinks(in_.probe.Follow(top, ".git"));
    }
    // Cordon's own state and configuration, whatever else is granted.
    if (!in_.state.empty()) Protect(RuleKind::kDenyRead, in_.state, kFloorOrigin);
    if (in_.home.empty()) return {};
    Protect(RuleKind::kDenyRead, in_.home + "/.local/state/cordon", kFloorOrigin);
    Protect(RuleKind::kFloor, in_.home + "/.config/cordon", kFloorOrigin);
    return {};
  }

  // .claude/settings*: any name that begins so.
  Status AddSettings(const std::string& top) {
    std::string directory = (top == "/" ? "" : top) + "/.claude";
    PathInfo info = in_.probe.Inspect(directory);
    CORDON_TRY(CheckReachable(directory, info));
    const std::string& real = info.directory() ? info.canonical : directory;
    plan_.names.push_back({guard::EscapeGlob(real) + "/settings*", /*glob=*/true,
                           /*any_case=*/false, RuleKind::kFloor, kFloorOrigin});
    if (!info.directory() || !HasRule(RuleKind::kWrite, info.canonical)) return {};
    Result<std::vector<host::DirectoryEntry>> entries = in_.probe.List(info.canonical);
    if (!entries) return Unscannable(info.canonical);
    for (const host::DirectoryEntry& entry : *entries) {
      if (!entry.name.starts_with("settings")) continue;
      PathInfo settings = in_.probe.Inspect(info.canonical + "/" + entry.name);
      if (settings.exists() && HasRule(RuleKind::kWrite, settings.canonical)) {
        AddRule(RuleKind::kFloor, settings, kFloorOrigin);
      }
    }
    return {};
  }

  Status AddFloorPath(const std::string& top, const std::string& path) {
    PathInfo info = in_.probe.Inspect(path);
    CORDON_TRY(CheckReachable(path, info));
    if (info.exists() && HasRule(RuleKind::kWrite, info.canonical)) {
      AddRule(RuleKind::kFloor, info, kFloorOrigin);
    }
    AddFloorName(path);
    if (info.exists() && info.canonical == path) return {};
    // Links on the way, and where they lead, also when nothing is there yet.
    bool below = guard::IsInside(path, top) && path != top;
    host::Trail trail = below ? in_.probe.Follow(top, path.substr(top == "/" ? 1 : top.size() + 1))
                              : in_.probe.Follow("/", path);
    if (trail.links.empty()) return {};
    AddFloorLinks(trail);
    AddFloorName(trail.end);
    return {};
  }

  void AddFloorLinks(const host::Trail& trail) {
    for (const auto& [link, target] : trail.links) AddFloorName(link);
  }

  void AddFloorName(const std::string& path) {
    if (!HasRule(RuleKind::kWrite, path)) return;
    bool any_case = guard::BaseName(path) != "HEAD";
    plan_.names.push_back({path, false, any_case, RuleKind::kFloor, kFloorOrigin});
  }

  void Protect(RuleKind kind, const std::string& path, const Origin& origin) {
    AddProtected(kind, path, in_.probe.Inspect(path), origin);
  }

  void AddDataDir() {
    if (!in_.policy.data_dir) return;
    for (const char* name : {"data", "config.toml"}) {
      Protect(RuleKind::kDenyRead, in_.policy.data_dir->path + "/" + name,
              in_.policy.data_dir->origin);
    }
  }

  Status CheckWorkspace() const {
    for (const FsRule& rule : plan_.rules) {
      if (rule.kind == RuleKind::kDenyRead && guard::IsInside(in_.workspace, rule.path)) {
        return base::InvalidArgument(Reason::kWorkspaceInvalid,
                                     "the workspace " + base::Printable(in_.workspace) +
                                         " lies in " + rule.path + ", which may not be read (" +
                                         rule.origin.ToString() + ")",
                                     "choose another directory with --workspace");
      }
    }
    return {};
  }

  const FsInputs& in_;
  FsPlan plan_;
  Scan scan_;
};

}  // namespace

Result<FsPlan> PlanFs(const FsInputs& inputs) { return Planner(inputs).Run(); }

}  // namespace cordon::plan
