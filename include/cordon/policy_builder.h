// A policy, written in C++. Nothing is allowed but what is said.
//
//   Result<Policy> policy = PolicyBuilder("/home/me/project")
//                               .Preset("workspace")
//                               .DenyRead("**/.env")
//                               .AllowHost("*.example.org")
//                               .Memory(2ull << 30)
//                               .Build();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/policy.h"

namespace cordon {

// Values are read as those of a policy file: `~`, `$VAR`, globs and relative paths mean
// the same. The first that is wrong is the error of Build.
class PolicyBuilder {
 public:
  explicit PolicyBuilder(std::string workspace);  // absolute

  // The policy to start from, and modifiers of it ("public-net"). Without any: the empty one.
  PolicyBuilder& Preset(std::string_view name);

  PolicyBuilder& Read(std::string_view path) { return Set("fs.read", path); }
  PolicyBuilder& Write(std::string_view path) { return Set("fs.write", path); }
  PolicyBuilder& DenyRead(std::string_view path) { return Set("fs.deny_read", path); }
  PolicyBuilder& DenyWrite(std::string_view path) { return Set("fs.deny_write", path); }
  PolicyBuilder& DenyNew(std::string_view path) { return Set("fs.deny_new", path); }
  PolicyBuilder& AllowReadWithinDeny(std::string_view path) {
    return Set("fs.allow_read_within_deny", path);
  }
  // An agent's own directory: its data/ and config.toml are out of reach.
  PolicyBuilder& DataDirectory(std::string_view path) { return Set("fs.data_dir", path); }

  PolicyBuilder& Network(std::string_view mode) { return Set("net.mode", mode); }
  PolicyBuilder& AllowHost(std::string_view pattern) { return Set("net.allow", pattern); }
  PolicyBuilder& DenyHost(std::string_view pattern) { return Set("net.deny", pattern); }
  PolicyBuilder& UnixSocket(std::string_view path) { return Set("net.unix_sockets", path); }
  PolicyBuilder& HostPort(int port) { return Set("net.host_ports", std::to_string(port)); }
  PolicyBuilder& Publish(int port) { return Set("net.publish", std::to_string(port)); }
  // A proxy of the caller's own on the host's loopback, in place of Cordon's; 0: none.
  PolicyBuilder& ExternalProxy(int http, int socks = 0);

  PolicyBuilder& PassVariable(std::string_view name) { return Set("env.pass", name); }
  PolicyBuilder& SetVariable(std::string_view name, std::string_view value);

  PolicyBuilder& WallTime(uint64_t milliseconds);
  PolicyBuilder& Memory(uint64_t bytes) { return Set("limits.memory", std::to_string(bytes)); }
  PolicyBuilder& Processes(uint64_t count) {
    return Set("limits.processes", std::to_string(count));
  }
  PolicyBuilder& Output(uint64_t bytes) { return Set("limits.output", std::to_string(bytes)); }

  // Commands that run outside: cordon/runtime.h says when.
  PolicyBuilder& Exclude(std::string_view command);
  PolicyBuilder& AllowUnsandboxed();

  PolicyBuilder& Require(std::string_view feature) { return Set("require", feature); }
  PolicyBuilder& OnUnavailable(std::string_view what) { return Set("on_unavailable", what); }

  // Any key of docs/policy.md. A list gets one more element, a scalar is replaced.
  PolicyBuilder& Set(std::string_view key, std::string_view value);

  Result<Policy> Build() const;

 private:
  std::string workspace_;
  std::vector<std::string> presets_;
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> excluded_;
  bool unsandboxed_ = false;
  int http_ = 0;
  int socks_ = 0;
};

}  // namespace cordon
