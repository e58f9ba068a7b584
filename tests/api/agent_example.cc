// A small agent: what docs/api.md shows, as a program of its own that is linked with the
// library. tests/api/api_test.py runs it. One word says what to do; the answer is on stdout.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cordon/policy_builder.h"
#include "cordon/runtime.h"
#include "cordon/sandbox.h"

namespace {

int Complain(const cordon::Error& error) {
  std::printf("error %s: %s\n", std::string(cordon::ReasonId(error.reason)).c_str(),
              error.message.c_str());
  return 3;
}

// The caller starts it by itself: here by becoming it.
int Start(const cordon::CommandLine& line) {
  for (const auto& [name, value] : line.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : line.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return 126;
}

cordon::PolicyBuilder Mine(const std::string& workspace) {
  return cordon::PolicyBuilder(workspace).Preset("strict").Network("none");
}

int Dependencies() {
  cordon::Dependencies report = cordon::CheckDependencies();
  std::printf("%s %d %d %d\n", report.backend.c_str(), report.available, cordon::IsAvailable(),
              cordon::IsSupported());
  for (const cordon::BackendReport& one : report.backends) {
    std::printf("%s %d\n", one.name.c_str(), one.available);
  }
  return report.features.empty() || report.available != report.reason.empty() ? 1 : 0;
}

int Wrap(const std::string& workspace, const std::vector<std::string>& argv) {
  auto policy = Mine(workspace).SetVariable("TOKEN", "value").Build();
  if (!policy) return Complain(policy.error());
  auto line = cordon::WrapCommand(argv, *policy, {workspace, std::getenv("CORDON_BIN")});
  return line ? Start(*line) : Complain(line.error());
}

int Protect(const std::string& workspace, const std::string& data,
            const std::vector<std::string>& argv) {
  auto line = cordon::ProtectedCommand(argv, data, {workspace, std::getenv("CORDON_BIN")});
  return line ? Start(*line) : Complain(line.error());
}

int TransformLine(const std::string& workspace, const std::string& text, bool bypass) {
  auto policy = Mine(workspace).Exclude("id").Exclude("git status").AllowUnsandboxed().Build();
  if (!policy) return Complain(policy.error());
  cordon::TransformRequest request{.line = text, .workspace = workspace};
  request.program = std::getenv("CORDON_BIN");
  if (bypass) request.bypass = cordon::Bypass::kAsked;
  auto line = cordon::Transform(request, *policy);
  if (!line) return Complain(line.error());
  std::printf("%s\n", line->contained ? "inside" : "outside");
  std::fflush(stdout);
  return Start(*line);
}

int Denied(const std::string& workspace) {
  auto policy = Mine(workspace).Exclude("id").Build();
  if (!policy) return Complain(policy.error());
  auto asked = cordon::PlaceCommand("id", *policy, cordon::Bypass::kAsked);
  auto excluded = cordon::PlaceCommand("id", *policy, cordon::Bypass::kNo);
  std::printf("%s\n", excluded && *excluded == cordon::Placement::kInside ? "inside" : "outside");
  return asked ? 0 : Complain(asked.error());
}

int AutoAllow(const std::string& workspace, const std::string& mode) {
  auto policy =
      cordon::PolicyBuilder(workspace).Preset("strict").Network(mode).Exclude("id").Build();
  if (!policy) return Complain(policy.error());
  cordon::SandboxOptions options{.workspace = workspace};
  policy->exec.allow_unsandboxed = true;
  std::printf("%d %d\n", cordon::MayAutoAllow("make test", *policy, options),
              cordon::MayAutoAllow("id", *policy, options));
  return 0;
}

int Environment(const std::string& workspace) {
  auto policy = cordon::PolicyBuilder(workspace)
                    .Preset("strict")
                    .Network("proxy")
                    .AllowHost("fine.example")
                    .SetVariable("MINE", "1")
                    .Build();
  if (!policy) return Complain(policy.error());
  auto variables = cordon::EnvironmentFor(*policy, {.workspace = workspace});
  if (!variables) return Complain(variables.error());
  for (const auto& [name, value] : *variables) std::printf("%s=%s\n", name.c_str(), value.c_str());
  return 0;
}

const char* Opened(const std::string& path, int flags) {
  int fd = open(path.c_str(), flags, 0644);
  if (fd < 0) return strerror(errno);
  close(fd);
  return "yes";
}

int Confine(const std::string& workspace, const std::string& outside, const std::string& how) {
  std::jthread other;
  if (how == "thread")
    other = std::jthread([](const std::stop_token& stop) {
      while (!stop.stop_requested()) usleep(1000);
    });
  auto policy = cordon::PolicyBuilder(workspace)
                    .Read("/usr")
                    .Read("?/lib")
                    .Read("?/lib64")
                    .Write(workspace)
                    .Set("fs.git", "off")
                    .OnUnavailable(how == "warn" ? "warn" : "refuse")
                    .DenyRead("?" + workspace + "/denied")
                    .Build();
  if (!policy) return Complain(policy.error());
  auto enforced = cordon::ConfineSelf(*policy, {.workspace = workspace});
  if (!enforced) return Complain(enforced.error());
  std::printf("read outside: %s\n", Opened(outside + "/secret", O_RDONLY));
  std::printf("write outside: %s\n", Opened(outside + "/new", O_WRONLY | O_CREAT));
  std::printf("write inside: %s\n", Opened(workspace + "/new", O_WRONLY | O_CREAT));
  std::printf("read usr: %s\n", Opened("/usr/bin/env", O_RDONLY));
  std::printf("socket: %s\n", socket(AF_INET, SOCK_STREAM, 0) < 0 ? strerror(errno) : "yes");
  std::fflush(stdout);
  // What it starts is confined, too.
  std::string script = "cat " + outside + "/secret 2>/dev/null || echo child: denied";
  return system(script.c_str()) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return 2;
  std::string workspace = words[1];
  std::vector<std::string> rest(words.begin() + 2, words.end());
  if (words[0] == "dependencies") return Dependencies();
  if (words[0] == "wrap") return Wrap(workspace, rest);
  if (words[0] == "protect") return Protect(workspace, rest[0], {rest.begin() + 1, rest.end()});
  if (words[0] == "transform") return TransformLine(workspace, rest[0], false);
  if (words[0] == "bypass") return TransformLine(workspace, rest[0], true);
  if (words[0] == "denied") return Denied(workspace);
  if (words[0] == "auto-allow") return AutoAllow(workspace, rest[0]);
  if (words[0] == "environment") return Environment(workspace);
  if (words[0] == "confine") return Confine(workspace, rest[0], rest[1]);
  return 2;
}
