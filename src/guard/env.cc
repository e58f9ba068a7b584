#include "guard/env.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace cordon::guard {
namespace {

template <typename List>
bool Holds(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

constexpr std::string_view kDangerousPrefixes[] = {
    "LD_",      "DYLD_",        "BASH_FUNC_", "GIT_CONFIG", "MALLOC_", "GLIBC_TUNABLES",
    "LUA_INIT", "COR_PROFILER", "CORECLR_",   "PYTHON",     "PERL",    "RUBY",
};

// Of those families, what only changes how a program speaks.
constexpr std::string_view kHarmless[] = {
    "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING",
    "PYTHONUTF8",       "PYTHONHASHSEED",
};

constexpr std::string_view kDangerous[] = {
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
    "RUSTFLAGS",
    "GOFLAGS",
    "JAVA_OPTS",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "NPM_CONFIG_SCRIPT_SHELL",
    "NPM_CONFIG_NODE_OPTIONS",
    "npm_config_script_shell",
    "npm_config_node_options",
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

constexpr std::string_view kClean[] = {
    "PATH",      "HOME",    "USER",     "LOGNAME", "SHELL",    "TERM",
    "COLORTERM", "LANG",    "LANGUAGE", "TZ",      "NO_COLOR", "FORCE_COLOR",
    "CLICOLOR",  "COLUMNS", "LINES",    "CI",      "EDITOR",
};

constexpr std::string_view kReserved[] = {
    "PATH",
    "HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "OLDPWD",
    "CI",
    "DEBIAN_FRONTEND",
    "LANG",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "FTP_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
};

// Parts of a name, between underscores, that mean a secret.
constexpr std::string_view kSecretParts[] = {
    "KEY",     "KEYS",     "APIKEY", "TOKEN",      "TOKENS",     "SECRET",
    "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
    "PAT",     "PWD",      "PASS",   "COOKIE",     "DSN",        "AUTH",
};

struct Tool {
  std::string_view programs, names;
};
// Without what would make them run something: RUSTC_WRAPPER, GIT_DIR, NODE_PATH,
// PYTHONPATH, DOCKER_HOST, MAKEFLAGS.
constexpr Tool kTools[] = {
    {"cargo rustc rustup rustfmt",
     "CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUST_LOG RUST_BACKTRACE CARGO_TARGET_DIR "
     "CARGO_TERM_COLOR"},
    {"git",
     "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL "
     "GIT_COMMITTER_DATE"},
    {"node npm npx yarn pnpm", "NODE_ENV NVM_DIR"},
    {"python python3 pip pip3 pytest uv poetry",
     "VIRTUAL_ENV PYENV_ROOT PYENV_VERSION PIPX_HOME PIPX_BIN_DIR"},
    {"kubectl helm k9s", "KUBECONFIG"},
    {"docker podman", "DOCKER_CONFIG"},
    {"gcloud gsutil", "CLOUDSDK_CONFIG CLOUDSDK_ACTIVE_CONFIG_NAME"},
    {"aws",
     "AWS_CONFIG_FILE AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION AWS_SHARED_CREDENTIALS_FILE"},
    {"go", "GOPATH GOROOT GOCACHE GOMODCACHE GOPROXY GOOS GOARCH"},
    {"java javac mvn gradle", "JAVA_HOME"},
    {"make", "MAKELEVEL"},
};

constexpr size_t kMostValueBytes = 128 * 1024 - 1;  // MAX_ARG_STRLEN, with the name and the NUL

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  }
  return upper;
}

bool IsPlainName(std::string_view name) {
  auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && std::ranges::all_of(name, plain) && !(name[0] >= '0' && name[0] <= '9');
}

bool Names(std::string_view list, std::string_view word) {
  std::vector<std::string> words = base::Split(list, ' ');
  return std::ranges::find(words, word) != words.end();
}

VariableDecision Deny(Reason reason, std::string rule) {
  return {.allowed = false, .reason = reason, .rule = std::move(rule)};
}

}  // namespace

bool IsDangerousVariable(std::string_view name) {
  if (Holds(kHarmless, name)) return false;
  return std::ranges::any_of(kDangerousPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         Holds(kDangerous, name);
}

bool IsCleanVariable(std::string_view name) {
  return name.starts_with("LC_") || Holds(kClean, name);
}

bool IsValidVariableName(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

bool IsReservedVariable(std::string_view name) {
  std::string upper = Upper(name);  // the proxy's have both spellings
  return upper.starts_with("CORDON_") || Holds(kReserved, upper);
}

bool LooksSecret(std::string_view name) {
  std::vector<std::string> parts = base::Split(Upper(name), '_');
  auto secret = [](const std::string& part) { return Holds(kSecretParts, part); };
  return !Holds(parts, "PUBLIC") && std::ranges::any_of(parts, secret);
}

bool IsToolVariable(std::string_view program, std::string_view name) {
  program.remove_prefix(program.find_last_of('/') + 1);
  return std::ranges::any_of(kTools, [&](const Tool& tool) {
    return Names(tool.programs, program) && Names(tool.names, name);
  });
}

VariableDecision CheckVariable(std::string_view name, std::optional<std::string_view> value) {
  if (!IsPlainName(name)) {
    return Deny(Reason::kVariableInvalid, "a name is letters, digits and '_'");
  }
  if (value && value->find('\0') != value->npos) {
    return Deny(Reason::kVariableInvalid, "the value has a NUL byte");
  }
  if (value && value->size() + name.size() + 1 > kMostValueBytes) {
    return Deny(Reason::kVariableInvalid, "the value is longer than 128 KiB");
  }
  if (IsReservedVariable(name)) return Deny(Reason::kVariableDenied, "nothing may override it");
  if (IsDangerousVariable(name) || IsDangerousVariable(Upper(name))) {
    return Deny(Reason::kVariableDenied, "it makes programs run code or reach the host");
  }
  if (LooksSecret(name)) return Deny(Reason::kVariableDenied, "it looks like a secret");
  return {.allowed = true, .rule = "an ordinary variable"};
}

}  // namespace cordon::guard
