#include "plan/environment.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "guard/env.h"

namespace cordon::plan {
namespace {

// Where each tool keeps what it downloads, below the cache directory.
constexpr std::array<std::pair<const char*, const char*>, 19> kCaches = {{
    {"XDG_CACHE_HOME", ""},
    {"CARGO_HOME", "/cargo"},
    {"GOPATH", "/go"},
    {"GOCACHE", "/go-build"},
    {"GOMODCACHE", "/go/pkg/mod"},
    {"npm_config_cache", "/npm"},
    {"npm_config_userconfig", "/npmrc"},
    {"PIP_CACHE_DIR", "/pip"},
    {"UV_CACHE_DIR", "/uv"},
    {"YARN_CACHE_FOLDER", "/yarn"},
    {"CCACHE_DIR", "/ccache"},
    {"GRADLE_USER_HOME", "/gradle"},
    {"DENO_DIR", "/deno"},
    {"BUN_INSTALL_CACHE_DIR", "/bun"},
    {"NUGET_PACKAGES", "/nuget"},
    {"COMPOSER_CACHE_DIR", "/composer"},
    {"BUNDLE_USER_CACHE", "/bundle"},
    {"POETRY_CACHE_DIR", "/poetry"},
    {"MYPY_CACHE_DIR", "/mypy"},
}};

// Entries of PATH that are not absolute would look into the working directory.
std::string AbsoluteEntries(const std::string& path) {
  std::vector<std::string> kept;
  for (std::string& entry : base::Split(path, ':')) {
    if (entry.starts_with('/')) kept.push_back(std::move(entry));
  }
  return base::Join(kept, ":");
}

bool Passes(const EnvPolicy& policy, const std::string& name) {
  bool listed = std::ranges::any_of(policy.pass, [&](const Entry& e) { return e.text == name; });
  return listed || policy.mode == EnvMode::kInherit || guard::IsCleanVariable(name);
}

}  // namespace

Environment MakeEnvironment(const EnvironmentInputs& in) {
  Environment environment;
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : in.caller) {
    if (!guard::IsValidVariableName(name)) continue;
    if (guard::IsDangerousVariable(name)) {
      environment.dropped.push_back(name);
    } else if (Passes(in.policy, name)) {
      variables[name] = value;
    }
  }
  variables["PATH"] = AbsoluteEntries(variables["PATH"]);
  if (variables["PATH"].empty()) variables["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  variables.erase("OLDPWD");
  std::map<std::string, std::string> chosen = {{"PWD", in.directory}, {"CORDON_SANDBOX", "1"}};
  if (in.temp == TempMode::kPrivate) {
    chosen["TMPDIR"] = in.temp_directory;
    variables.erase("TMP");
    variables.erase("TEMP");
  }
  if (!in.cache_directory.empty()) {
    for (const auto& [name, below] : kCaches) chosen[name] = in.cache_directory + below;
  }
  for (const auto& [name, value] : in.proxy) chosen[name] = value;
  for (const auto& [name, value] : in.policy.set) chosen[name] = value;
  for (const auto& [name, value] : chosen) {
    variables[name] = value;
    environment.chosen.push_back(name);
  }
  for (const auto& [name, value] : variables) environment.variables.push_back(name + "=" + value);
  return environment;
}

}  // namespace cordon::plan
