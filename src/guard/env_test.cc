#include "guard/env.h"

#include <gtest/gtest.h>

namespace cordon::guard {
namespace {

TEST(EnvTest, DangerousNames) {
  for (const char* name :
       {"LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP",
        "NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "BASH_ENV", "ENV", "GIT_SSH_COMMAND",
        "RUSTC_WRAPPER", "GIT_CONFIG_COUNT", "BASH_FUNC_ls%%", "JAVA_TOOL_OPTIONS", "DOCKER_HOST",
        "RUSTFLAGS", "npm_config_script_shell"}) {
    EXPECT_TRUE(IsDangerousVariable(name)) << name;
  }
  for (const char* name : {"CCACHE_DIR", "ENVIRONMENT", "NODE_ENV", "PYTHONUNBUFFERED",
                           "GIT_AUTHOR_NAME", "LDFLAGS", "FOO", "npm_config_cache"}) {
    EXPECT_FALSE(IsDangerousVariable(name)) << name;
  }
}

TEST(EnvTest, ReservedNames) {
  for (const char* name : {"PATH", "HOME", "TMPDIR", "CI", "DEBIAN_FRONTEND", "USER", "LANG",
                           "TERM", "https_proxy", "NO_PROXY", "CORDON_SANDBOX"}) {
    EXPECT_TRUE(IsReservedVariable(name)) << name;
  }
  for (const char* name : {"PATHS", "MY_HOME", "LANGUAGE", "CORDONED"}) {
    EXPECT_FALSE(IsReservedVariable(name)) << name;
  }
}

TEST(EnvTest, SecretNames) {
  for (const char* name :
       {"OPENAI_API_KEY", "NPM_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "github_token",
        "PGPASSWORD_FILE_SECRET", "MY_PAT", "GH_TOKEN", "SENTRY_DSN"}) {
    EXPECT_TRUE(LooksSecret(name)) << name;
  }
  for (const char* name :
       {"KEYBOARD", "PUBLIC_KEY", "SSH_PUBLIC_KEY", "MONKEY", "TOKENIZER", "PATTERN", "FOO"}) {
    EXPECT_FALSE(LooksSecret(name)) << name;
  }
}

TEST(EnvTest, ToolsHaveTheirOwn) {
  EXPECT_TRUE(IsToolVariable("cargo", "CARGO_HOME"));
  EXPECT_TRUE(IsToolVariable("/usr/bin/cargo", "CARGO_HOME"));
  EXPECT_FALSE(IsToolVariable("git", "CARGO_HOME"));
  EXPECT_TRUE(IsToolVariable("git", "GIT_AUTHOR_NAME"));
  for (const char* name : {"RUSTC_WRAPPER", "GIT_PAGER", "GIT_DIR", "NODE_PATH", "PYTHONPATH",
                           "DOCKER_HOST", "MAKEFLAGS"}) {
    for (const char* program : {"cargo", "git", "node", "python3", "docker", "make"}) {
      EXPECT_FALSE(IsToolVariable(program, name)) << program << " " << name;
    }
  }
}

TEST(EnvTest, ChecksWhatAToolCallSets) {
  EXPECT_TRUE(CheckVariable("FOO").allowed);
  EXPECT_TRUE(CheckVariable("FOO", "a\nb=c").allowed);
  EXPECT_TRUE(CheckVariable("_x1", "").allowed);
  for (std::string_view name :
       {std::string_view(""), std::string_view("A=B"), std::string_view("A\0B", 3),
        std::string_view("1A"), std::string_view("A B"), std::string_view("BASH_FUNC_x%%"),
        std::string_view("é")}) {
    EXPECT_EQ(CheckVariable(name).reason, Reason::kVariableInvalid) << name;
  }
  EXPECT_EQ(CheckVariable("FOO", std::string_view("a\0b", 3)).reason, Reason::kVariableInvalid);
  EXPECT_FALSE(CheckVariable("FOO", std::string(128 * 1024, 'x')).allowed);
  EXPECT_TRUE(CheckVariable("FOO", std::string(100 * 1024, 'x')).allowed);
  for (const char* name :
       {"PATH", "LD_PRELOAD", "ld_preload", "Node_Options", "API_KEY", "http_proxy"}) {
    EXPECT_EQ(CheckVariable(name).reason, Reason::kVariableDenied) << name;
  }
}

}  // namespace
}  // namespace cordon::guard
