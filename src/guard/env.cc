#include "guard/env.h"

#include <algorithm>
#include <array>

namespace cordon::guard {
namespace {

constexpr std::array<std::string_view, 12> kDangerousPrefixes = {
    "LD_",      "DYLD_",        "BASH_FUNC_", "GIT_CONFIG", "MALLOC_", "GLIBC_TUNABLES",
    "LUA_INIT", "COR_PROFILER", "CORECLR_",   "PYTHON",     "PERL",    "RUBY",
};

constexpr std::array<std::string_view, 56> kDangerous = {
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "IFS",
    "CDPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_EXTRA_CA_CERTS",
    "ELECTRON_RUN_AS_NODE",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "RES_OPTIONS",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "SSH_ASKPASS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "TCLLIBPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "DOTNET_STARTUP_HOOKS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "MAKEFLAGS",
    "LESSOPEN",
    "LESSCLOSE",
    "TERMINFO",
    "TERMCAP",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
    "WAYLAND_DISPLAY",
    "DISPLAY",
    "GPG_AGENT_INFO",
};

constexpr std::array<std::string_view, 17> kClean = {
    "PATH",      "HOME",    "USER",     "LOGNAME", "SHELL",    "TERM",
    "COLORTERM", "LANG",    "LANGUAGE", "TZ",      "NO_COLOR", "FORCE_COLOR",
    "CLICOLOR",  "COLUMNS", "LINES",    "CI",      "EDITOR",
};

}  // namespace

bool IsDangerousVariable(std::string_view name) {
  return std::ranges::any_of(kDangerousPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::ranges::find(kDangerous, name) != kDangerous.end();
}

bool IsCleanVariable(std::string_view name) {
  return name.starts_with("LC_") || std::ranges::find(kClean, name) != kClean.end();
}

bool IsValidVariableName(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace cordon::guard
