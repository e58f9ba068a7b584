// Runs in: supervisor. Pure.
#include "backend/macos/seatbelt_profile.h"

#include <algorithm>
#include <map>
#include <set>

#include "backend/macos/path_regex.h"
#include "backend/macos/seatbelt_base.h"
#include "base/error.h"
#include "guard/path.h"
#include "plan/rules.h"

namespace cordon::backend {
namespace {

using plan::ProtectedName;
using plan::Region;
using plan::RegionSource;
using plan::Rights;
using plan::RuleKind;

// What reading and writing mean here. A rule that takes away names the same
// operations as the rule that it takes away from.
constexpr std::string_view kRead = "file-read* file-map-executable process-exec*";
constexpr std::string_view kWrite = "file-write*";
constexpr std::string_view kBoth = "file-read* file-map-executable process-exec* file-write*";
constexpr std::string_view kMoving = "file-write-create file-write-unlink";

size_t Depth(std::string_view path) {
  return path == "/" ? 0 : static_cast<size_t>(std::ranges::count(path, '/'));
}

class Writer {
 public:
  Writer(const plan::Plan& plan, const SeatbeltOptions& options) : plan_(plan), options_(options) {}

  SeatbeltProfile Write() {
    made_.text = "(version 1)\n";
    made_.text += everything() ? kAllowDefault : kDenyDefault;
    Files();
    Names();
    Ancestors();
    Devices();
    Metadata();
    Network();
    return std::move(made_);
  }

 private:
  // All files and all of the network, less what is taken away.
  bool everything() const {
    const Region& root = plan_.fs.regions.front();
    return root.source == RegionSource::kHost && root.rights == Rights::kReadWrite &&
           plan_.net.mode == NetMode::kOpen;
  }

  std::string Param(const char* prefix, const std::string& value) {
    auto [known, fresh] = names_.try_emplace({prefix, value});
    if (fresh) {
      known->second = prefix + std::to_string(count_[prefix]++);
      made_.parameters.emplace_back(known->second, value);
    }
    return "(param \"" + known->second + "\")";
  }
  std::string Literal(const std::string& path) { return "(literal " + Param("PATH_", path) + ")"; }
  std::string Subpath(const std::string& path) { return "(subpath " + Param("PATH_", path) + ")"; }
  std::string Regex(const std::string& regex) { return "(regex " + Param("NAME_", regex) + ")"; }
  std::string Filter(const Region& region) {
    return region.directory ? Subpath(region.path) : Literal(region.path);
  }

  // Rules of one kind that follow each other are one with many filters.
  void Rule(std::string_view action, std::string_view operations, const std::string& filter) {
    std::string head = "(" + std::string(action) + " " + std::string(operations);
    if (head == last_ && made_.text.ends_with(")\n")) {
      made_.text.resize(made_.text.size() - 2);
    } else {
      made_.text += head;
    }
    last_ = head;
    made_.text += "\n  " + filter + ")\n";
  }
  void Say(const char* comment) { Add(std::string("\n; ") + comment + "\n"); }
  void Add(std::string_view text) {
    made_.text += text;
    last_.clear();
  }

  // The plan's regions as macOS names them, outer ones first: the deepest one
  // that holds a path has the last word.
  std::vector<Region> MacRegions() const {
    std::vector<Region> regions = plan_.fs.regions;
    std::erase_if(regions, [](const Region& region) {
      return region.source == RegionSource::kPrivate && region.path != "/";
    });
    for (Region& region : regions) region.path = MacPath(region.path);
    if (plan_.fs.temp != TempMode::kShared) {
      for (const char* path : {"/private/tmp", "/private/var/tmp"}) {
        bool granted = std::ranges::any_of(plan_.fs.regions, [&](const Region& r) {
          return r.source != RegionSource::kPrivate && MacPath(r.path) == path;
        });
        if (!granted) regions.push_back({.path = path, .source = RegionSource::kMask});
      }
    }
    std::ranges::stable_sort(regions, {}, [](const Region& r) { return Depth(r.path); });
    return regions;
  }

  void Files() {
    Say("files: the deepest rule that holds a path is the last one");
    regions_ = MacRegions();
    for (const Region& region : regions_) {
      if (region.source == RegionSource::kPrivate) {
        Rule("allow", "file-read*", Literal("/"));
      } else if (region.source == RegionSource::kMask) {
        Rule("deny", kBoth, Subpath(region.path));
      } else if (region.rights == Rights::kReadWrite) {
        if (!everything() || region.path != "/") Rule("allow", kBoth, Filter(region));
      } else {
        Rule("allow", kRead, Filter(region));
        Rule("deny", kWrite, Filter(region));
      }
    }
    for (const std::string& path : plan_.fs.absent) Rule("deny", kBoth, Subpath(MacPath(path)));
    if (plan_.fs.temp == TempMode::kPrivate) {
      Rule("allow", kBoth, "(subpath " + Named("TMPDIR", options_.temp) + ")");
      Rule("deny", kMoving, "(literal (param \"TMPDIR\"))");
    }
  }

  std::string Named(const std::string& name, const std::string& value) {
    made_.parameters.emplace_back(name, value);
    return "(param \"" + name + "\")";
  }

  // Names that may not come into being. Those of one directory share a pattern:
  // a workspace has some forty.
  void Names() {
    std::map<std::string, std::vector<std::string>> any_case;  // by directory
    Say("names that may not be made, replaced or changed");
    for (const ProtectedName& name : plan_.fs.names) {
      std::string_view denied = name.kind == RuleKind::kDenyNew ? "file-write-create" : kWrite;
      if (name.glob) {
        Rule("deny", denied, Regex("^" + RegexOfGlob(MacPath(name.path)) + "$"));
      } else if (name.any_case && name.kind != RuleKind::kDenyNew) {
        std::string path = MacPath(name.path);
        any_case[std::string(guard::Parent(path))].emplace_back(guard::BaseName(path));
      } else {
        Rule("deny", denied, Subpath(MacPath(name.path)));
      }
    }
    for (const auto& [directory, names] : any_case) {
      Rule("deny", kWrite, Regex(OneOf(directory, names) + "(/|$)"));
    }
  }

  // "^/w/([.]a|[.]b)", letters of either case.
  static std::string OneOf(const std::string& directory, const std::vector<std::string>& names) {
    std::string regex = "^" + (directory == "/" ? "" : RegexOf(directory, Case::kAny)) + "/(";
    for (const std::string& name : names) {
      if (!regex.ends_with('(')) regex += '|';
      regex += RegexOf(name, Case::kAny);
    }
    return regex + ")";
  }

  bool Writable(std::string_view path) const {
    const Region* region = plan::RegionOf(regions_, path);
    return region != nullptr && region->source == RegionSource::kHost &&
           region->rights == Rights::kReadWrite;
  }

  // Whoever can move a directory away can put another in its place, with what is
  // protected below it. Making one and moving one here are the same operation.
  void Ancestors() {
    std::set<std::string> moved;
    auto above = [&](std::string_view path) {
      for (path = guard::Parent(path); path != "/" && Writable(path); path = guard::Parent(path)) {
        if (!moved.emplace(path).second) break;
      }
    };
    for (const ProtectedName& name : plan_.fs.names) {
      std::string path = MacPath(name.path);
      above(name.glob ? guard::GlobBase(path) + "/x" : path);
    }
    for (const Region& region : regions_) {
      above(region.path);
      if (Writable(region.path) && region.path != "/") moved.insert(region.path);
    }
    for (const std::string& path : plan_.fs.absent) above(MacPath(path));
    if (moved.empty()) return;
    Say("what holds a protected name stays where it is");
    std::map<std::string, std::vector<std::string>> by_directory;
    for (const std::string& path : moved) {
      by_directory[std::string(guard::Parent(path))].emplace_back(guard::BaseName(path));
    }
    for (const auto& [directory, names] : by_directory) {
      Rule("deny", kMoving, Regex(OneOf(directory, names) + "$"));
    }
  }

  void Devices() {
    Say("devices");
    if (!everything()) Rule("deny", kBoth, "(subpath \"/dev\")");
    Add(kDevices);
    for (const std::string& path : plan_.devices) {
      Rule("allow", "file-read* file-write-data file-ioctl", Literal(path));
    }
  }

  // The way to what may be read, and links on it.
  void Metadata() {
    if (everything()) return;
    std::set<std::string> known;
    auto add = [&](std::string_view path) {
      const Region* region = plan::RegionOf(regions_, path);
      if (region == nullptr || region->source != RegionSource::kHost) known.emplace(path);
    };
    auto above = [&](std::string_view path) {
      for (path = guard::Parent(path); path != "/"; path = guard::Parent(path)) add(path);
    };
    for (const Region& region : regions_) {
      if (region.source == RegionSource::kHost) above(region.path);
    }
    if (plan_.fs.temp == TempMode::kPrivate) above(options_.temp);
    for (const auto& [link, target] : plan_.fs.links) {
      above(MacPath(link));
      add(MacPath(link));
    }
    Say("the way to what may be read");
    Add(kLinks);
    for (const std::string& path : known) Rule("allow", "file-read-metadata", Literal(path));
  }

  void Network() {
    const plan::NetPlan& net = plan_.net;
    Say("network");
    if (net.mode == NetMode::kOpen) Add(everything() ? kOpenLessSockets : kOpenNetwork);
    auto outbound = [&](int port) {
      Rule("allow", "network-outbound", "(remote ip \"localhost:" + std::to_string(port) + "\")");
    };
    if (net.proxied()) Add(kProxiedNetwork);
    if (net.proxied() && !net.external) outbound(options_.proxy_port);
    for (int port : net.host_ports) outbound(port);
    for (int port : net.publish) {
      std::string local = "(local ip \"localhost:" + std::to_string(port) + "\")";
      Rule("allow", "network-bind network-inbound", local);
      if (net.mode != NetMode::kOpen) outbound(port);
    }
    for (const plan::SocketGrant& socket : net.unix_sockets) {
      std::string path = Param("PATH_", MacPath(socket.path));
      Rule("allow", "network-outbound", "(remote unix-socket (path-literal " + path + "))");
    }
    if (plan_.fs.temp == TempMode::kPrivate) Add(kOwnSockets);
  }

  const plan::Plan& plan_;
  const SeatbeltOptions& options_;
  SeatbeltProfile made_;
  std::string last_;  // how the last rule begins
  std::vector<Region> regions_;
  std::map<std::pair<std::string, std::string>, std::string> names_;
  std::map<std::string, int> count_;
};

}  // namespace

std::string MacPath(std::string_view path) {
  for (const char* link : {"/tmp", "/var", "/etc"}) {
    if (guard::IsInside(path, link)) return "/private" + std::string(path);
  }
  return std::string(path);
}

Result<SeatbeltProfile> MakeSeatbeltProfile(const plan::Plan& plan,
                                            const SeatbeltOptions& options) {
  if (plan.fs.temp == TempMode::kPrivate && !options.temp.starts_with('/')) {
    return base::InvalidArgument(Reason::kUsage,
                                 "fs.temp = \"private\" needs a directory of the run's own");
  }
  if (plan.net.intercepts()) {
    return base::Unsupported("net.tls.intercept and net.credential are not carried by seatbelt");
  }
  SeatbeltProfile profile = Writer(plan, options).Write();
  profile.enforcement = SeatbeltEnforcement(plan);
  return profile;
}

std::vector<std::string> SandboxExecArgv(const SeatbeltProfile& profile,
                                         const std::vector<std::string>& command) {
  std::vector<std::string> argv = {"/usr/bin/sandbox-exec"};
  for (const auto& [name, value] : profile.parameters) {
    argv.insert(argv.end(), {"-D", name + "=" + value});
  }
  argv.insert(argv.end(), {"-p", profile.text, "--"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

}  // namespace cordon::backend
