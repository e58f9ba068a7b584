#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <tuple>

#include "base/strings.h"
#include "guard/path.h"
#include "plan/plan.h"
#include "plan/rules.h"
#include "policy/values.h"

namespace cordon::plan {
namespace {

using Json = nlohmann::ordered_json;

std::string_view SourceName(RegionSource source) {
  switch (source) {
    case RegionSource::kHost:
      return "host";
    case RegionSource::kPrivate:
      return "private";
    case RegionSource::kMask:
      return "masked";
  }
  return "";
}

std::string_view RightsName(const Region& region) {
  if (region.source == RegionSource::kMask) return "none";
  return region.rights == Rights::kReadWrite ? "read-write" : "read-only";
}

std::string_view NetName(NetMode mode) {
  switch (mode) {
    case NetMode::kNone:
      return "none";
    case NetMode::kProxy:
      return "proxy";
    case NetMode::kPublic:
      return "public";
    case NetMode::kOpen:
      return "open";
  }
  return "";
}

std::string_view TerminalName(Terminal terminal) {
  switch (terminal) {
    case Terminal::kNone:
      return "none";
    case Terminal::kStreams:
      return "own pseudo-terminal";
    case Terminal::kControlling:
      return "own pseudo-terminal, controlling";
  }
  return "";
}

std::string_view KindName(const ProtectedName& name) {
  return name.kind == RuleKind::kDenyWrite ? "fs.deny_new" : RuleKindName(name.kind);
}

// The rule that a region exists for; none for a directory that only has to stay
// in its place.
std::string ReasonOf(const FsPlan& plan, const Region& region) {
  if (region.source == RegionSource::kPrivate) return region.path == "/" ? "" : "fs.temp";
  RuleMatch match = MatchRules(plan.rules, region.path);
  const FsRule* rule = match.denied_read != nullptr          ? match.denied_read
                       : region.rights == Rights::kReadWrite ? match.write
                       : match.write != nullptr && match.denied_write != nullptr
                           ? match.denied_write
                           : match.read;
  if (rule == nullptr || rule->path != region.path) return "kept in its place";
  return std::string(RuleKindName(rule->kind)) + " " + rule->origin.ToString();
}

std::string NameOf(const std::string& variable) { return variable.substr(0, variable.find('=')); }

bool IsChosen(const Plan& plan, const std::string& variable) {
  return std::ranges::binary_search(plan.chosen_environment, NameOf(variable));
}

std::string_view GitName(GitMode git) {
  switch (git) {
    case GitMode::kProtect:
      return "protect";
    case GitMode::kAllowConfig:
      return "allow-config";
    case GitMode::kOff:
      return "off";
  }
  return "";
}

// ---- text -----------------------------------------------------------------

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the last is not padded.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 1, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string Section(const char* title, const std::vector<Row>& rows) {
  return rows.empty() ? "" : "\n" + std::string(title) + "\n" + Table(rows);
}

// The repository or root that a protected name is about: "/w" of
// "/w/.git/hooks" and of "/w/.bashrc".
std::string TopOf(const std::string& path) {
  for (std::string_view folder : {"/.git/", "/.claude/"}) {
    if (size_t at = path.find(folder); at != std::string::npos && at > 0) return path.substr(0, at);
  }
  return std::string(guard::Parent(path));
}

std::vector<Row> NameRows(const std::vector<ProtectedName>& names) {
  constexpr size_t kMostShown = 5;
  struct Group {
    std::vector<std::string> shown;
    size_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const ProtectedName& name : names) {
    std::string rule = std::string(KindName(name)) + " " + name.origin.ToString();
    std::string top = name.glob ? name.path : TopOf(name.path);
    Group& group = groups[{top, rule}];
    if (++group.count > kMostShown || name.glob) continue;
    group.shown.push_back(
        base::Printable(std::string_view(name.path).substr(top == "/" ? 1 : top.size() + 1)));
  }
  std::vector<Row> rows;
  for (const auto& [key, group] : groups) {
    std::string list = base::Join(group.shown, " ");
    if (group.count > group.shown.size() && !list.empty()) {
      list += " and " + std::to_string(group.count - group.shown.size()) + " more";
    }
    rows.push_back({base::Printable(key.first), base::Printable(key.second), list});
  }
  return rows;
}

std::vector<Row> RegionRows(const FsPlan& plan) {
  std::vector<Row> rows;
  for (const Region& region : plan.regions) {
    rows.push_back({base::Printable(region.path), std::string(SourceName(region.source)),
                    std::string(RightsName(region)), base::Printable(ReasonOf(plan, region))});
  }
  rows.push_back({"/dev", "private", "minimal", ""});
  rows.push_back({"/proc", "private", "read-only", ""});
  rows.push_back({"/sys", "private", "read-only", ""});
  return rows;
}

std::vector<Row> EnvironmentRows(const Plan& plan) {
  std::vector<std::string> passed, cached;
  std::vector<Row> rows;
  std::string caches;
  for (const std::string& variable : plan.environment) {
    if (variable.starts_with("XDG_CACHE_HOME=") && IsChosen(plan, variable)) {
      caches = variable.substr(variable.find('=') + 1);
    }
  }
  for (const std::string& variable : plan.environment) {
    std::string name = NameOf(variable);
    std::string_view value = std::string_view(variable).substr(name.size() + 1);
    if (!IsChosen(plan, variable)) {
      passed.push_back(base::Printable(name));
    } else if (!caches.empty() && guard::IsInside(value, caches)) {
      cached.push_back(base::Printable(name));
    } else {
      rows.push_back({"set", base::Printable(variable)});
    }
  }
  if (!passed.empty()) rows.insert(rows.begin(), {"passed", base::Join(passed, " ")});
  if (!cached.empty()) {
    rows.push_back({"caches", base::Join(cached, " ") + ": below " + base::Printable(caches)});
  }
  if (!plan.dropped_environment.empty()) {
    rows.push_back({"dropped", base::Printable(base::Join(plan.dropped_environment, " "))});
  }
  return rows;
}

std::vector<Row> LimitRows(const LimitPolicy& limits, uint64_t temp_size) {
  std::vector<Row> rows;
  auto add = [&](const char* name, const std::optional<uint64_t>& value, auto format) {
    if (value) rows.push_back({name, format(*value)});
  };
  auto count = [](uint64_t value) { return std::to_string(value); };
  add("wall", limits.wall_ms, policy::FormatDuration);
  add("cpu", limits.cpu_ms, policy::FormatDuration);
  add("memory", limits.memory, policy::FormatSize);
  add("processes", limits.processes, count);
  add("open files", limits.open_files, count);
  add("file size", limits.file_size, policy::FormatSize);
  add("output", limits.output, policy::FormatSize);
  rows.push_back({"private files", policy::FormatSize(temp_size)});
  return rows;
}

std::vector<Row> EnforcementRows(const std::vector<Enforcement>& list) {
  std::vector<Row> rows;
  for (const Enforcement& item : list) {
    rows.push_back({item.feature, std::string(LevelName(item.level)), item.mechanism, item.note});
  }
  return rows;
}

std::vector<std::string> Intercepted(const NetPlan& net) {
  std::vector<std::string> hosts;
  for (const guard::HostPattern& pattern : net.rules.intercept) hosts.push_back(pattern.text);
  std::ranges::sort(hosts);
  auto repeated = std::ranges::unique(hosts);
  hosts.erase(repeated.begin(), repeated.end());
  return hosts;
}

// Who it is, without a name and password to it.
std::string ParentName(const std::string& upstream) {
  size_t scheme = upstream.find("://");
  size_t start = scheme == std::string::npos ? 0 : scheme + 3;
  size_t at = upstream.rfind('@');
  bool secret = at != std::string::npos && at > start;
  return base::Printable(secret ? upstream.substr(0, start) + upstream.substr(at + 1) : upstream);
}

std::string ExternalText(const ExternalProxy& external) {
  if (!external.command.empty()) return "the proxy " + base::Printable(external.command[0]);
  std::string text = "the proxy on";
  if (external.http != 0) text += " port " + std::to_string(external.http);
  if (external.socks != 0) text += " SOCKS port " + std::to_string(external.socks);
  return text + " of the host";
}

std::string NetText(const NetPlan& net) {
  std::string text(NetName(net.mode));
  if (net.external) text += ", by " + ExternalText(*net.external);
  if (!net.upstream.empty()) text += ", by the parent proxy " + ParentName(net.upstream);
  if (net.intercepts()) text += ", inside TLS of " + base::Join(Intercepted(net), " ");
  return text;
}

std::vector<Row> HeadRows(const Plan& plan) {
  std::vector<std::string> words;
  for (const std::string& word : plan.command.argv) words.push_back(base::Printable(word));
  return {
      {"command", base::Join(words, " ")},
      {"directory", base::Printable(plan.command.directory)},
      {"workspace", base::Printable(plan.fs.workspace)},
      {"user", "uid " + std::to_string(plan.uid) + ", gid " + std::to_string(plan.gid) +
                   ", no capabilities"},
      {"backend", std::string(host::BackendName(plan.backend))},
      {"network", NetText(plan.net)},
      {"terminal", std::string(TerminalName(plan.terminal))},
      {"nesting", plan.nesting ? "user namespaces may be made inside" : "no"},
      {"git", std::string(GitName(plan.fs.git))},
      {"landlock", plan.landlock_abi == 0 ? "none" : "ABI " + std::to_string(plan.landlock_abi)}};
}

// ---- JSON -----------------------------------------------------------------

// JSON is UTF-8; a path may be anything.
std::string Text(const std::string& bytes) {
  return base::IsValidUtf8(bytes) ? bytes : base::Printable(bytes);
}

Json Texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& item : list) json.push_back(Text(item));
  return json;
}

Json RegionsJson(const FsPlan& plan) {
  Json json = Json::array();
  for (const Region& region : plan.regions) {
    json.push_back({{"path", Text(region.path)},
                    {"source", SourceName(region.source)},
                    {"rights", RightsName(region)},
                    {"rule", Text(ReasonOf(plan, region))}});
  }
  return json;
}

Json NamesJson(const std::vector<ProtectedName>& names) {
  Json json = Json::array();
  for (const ProtectedName& name : names) {
    json.push_back({{"path", Text(name.path)},
                    {"glob", name.glob},
                    {"rule", Text(std::string(KindName(name)) + " " + name.origin.ToString())}});
  }
  return json;
}

Json EnvironmentJson(const Plan& plan) {
  Json json = {{"passed", Json::array()}, {"set", Json::object()}};
  for (const std::string& variable : plan.environment) {
    std::string name = NameOf(variable);
    if (IsChosen(plan, variable)) {
      json["set"][Text(name)] = Text(variable.substr(name.size() + 1));
    } else {
      json["passed"].push_back(Text(name));
    }
  }
  json["dropped"] = Texts(plan.dropped_environment);
  return json;
}

Json LimitsJson(const LimitPolicy& limits) {
  Json json = Json::object();
  auto add = [&](const char* name, const std::optional<uint64_t>& value) {
    if (value) json[name] = *value;
  };
  add("wall_ms", limits.wall_ms);
  add("cpu_ms", limits.cpu_ms);
  add("memory", limits.memory);
  add("processes", limits.processes);
  add("open_files", limits.open_files);
  add("file_size", limits.file_size);
  add("output", limits.output);
  return json;
}

Json EnforcementJson(const std::vector<Enforcement>& list) {
  Json json = Json::object();
  for (const Enforcement& item : list) {
    Json entry = {{"level", LevelName(item.level)}, {"mechanism", item.mechanism}};
    if (!item.note.empty()) entry["note"] = item.note;
    json[item.feature] = std::move(entry);
  }
  return json;
}

}  // namespace

std::string Describe(const Plan& plan) {
  std::string text = Table(HeadRows(plan));
  text += Section("files", RegionRows(plan.fs));
  text += Section("names that may not come into being", NameRows(plan.fs.names));
  text += Section("environment", EnvironmentRows(plan));
  text += Section("limits", LimitRows(plan.limits, plan.fs.temp_size));
  text += Section("enforcement", EnforcementRows(plan.enforcement));
  return text;
}

std::string ToJson(const Plan& plan) {
  Json json = {{"command", Texts(plan.command.argv)},
               {"directory", Text(plan.command.directory)},
               {"workspace", Text(plan.fs.workspace)},
               {"uid", plan.uid},
               {"gid", plan.gid},
               {"backend", host::BackendName(plan.backend)},
               {"network", NetName(plan.net.mode)},
               {"intercepted", Texts(Intercepted(plan.net))},
               {"terminal", TerminalName(plan.terminal)},
               {"nesting", plan.nesting},
               {"git", GitName(plan.fs.git)},
               {"landlock_abi", plan.landlock_abi},
               {"devices", Texts(plan.devices)},
               {"private_size", plan.fs.temp_size},
               {"regions", RegionsJson(plan.fs)},
               {"protected_names", NamesJson(plan.fs.names)},
               {"environment", EnvironmentJson(plan)},
               {"limits", LimitsJson(plan.limits)},
               {"enforcement", EnforcementJson(plan.enforcement)}};
  if (plan.net.external) json["external_proxy"] = Text(ExternalText(*plan.net.external));
  if (!plan.net.upstream.empty()) json["parent_proxy"] = Text(ParentName(plan.net.upstream));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace cordon::plan
