// The environment of the command, from the policy and the caller's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cordon/policy.h"

namespace cordon::plan {

struct EnvironmentInputs {
  const EnvPolicy& policy;
  const std::map<std::string, std::string>& caller;
  std::string directory;        // working directory, for PWD
  std::string cache_directory;  // seen from inside; empty: leave tools their own
  TempMode temp = TempMode::kNone;
  std::string temp_directory = "/tmp";       // where the private one is
  std::map<std::string, std::string> proxy;  // leads programs to it
};

struct Environment {
  std::vector<std::string> variables;  // "NAME=value", sorted
  std::vector<std::string> dropped;    // dangerous names that the caller had
  std::vector<std::string> chosen;     // names whose value is the policy's or Cordon's own
};

Environment MakeEnvironment(const EnvironmentInputs& inputs);

}  // namespace cordon::plan
