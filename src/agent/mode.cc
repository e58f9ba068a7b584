#include "agent/mode.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace cordon::agent {
namespace {

std::string Network(const NetPolicy& net) {
  switch (net.mode) {
    case NetMode::kNone:
      return "There is no network.";
    case NetMode::kProxy:
      return "The network reaches only the hosts that the policy lists; others are refused.";
    case NetMode::kPublic:
      return "The network reaches public hosts only.";
    case NetMode::kOpen:
      return "The network is open.";
  }
  return {};
}

std::string Writable(const Policy& policy, const std::string& workspace) {
  std::vector<std::string> roots;
  for (const PathRule& rule : policy.fs.write) {
    if (rule.path != workspace) roots.push_back(base::Printable(rule.path));
  }
  std::string text = "You may create and change files only in " + base::Printable(workspace);
  if (!roots.empty()) text += ", " + base::Join(roots, ", ");
  return text + " and, within one command, in /tmp.";
}

}  // namespace

Mode ModeOf(const std::vector<std::string>& presets) {
  Mode mode = Mode::kCustom;
  for (const std::string& preset : presets) {
    for (Mode known : {Mode::kSandbox, Mode::kRx, Mode::kRwx}) {
      if (preset == ModeName(known)) mode = known;
    }
  }
  return mode;
}

std::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kSandbox:
      return "sandbox";
    case Mode::kRx:
      return "rx";
    case Mode::kRwx:
      return "rwx";
    case Mode::kCustom:
      return "custom";
  }
  return "custom";
}

std::string_view ModeDisplayName(Mode mode) {
  switch (mode) {
    case Mode::kSandbox:
      return "Sandbox: the workspace only";
    case Mode::kRx:
      return "Read and run: nothing is written";
    case Mode::kRwx:
      return "Unconfined files";
    case Mode::kCustom:
      return "By policy";
  }
  return "By policy";
}

std::string ConstraintText(Mode mode, const Policy& policy, const std::string& workspace) {
  std::string place = base::Printable(workspace);
  std::string last =
      " These limits are enforced by the operating system: what is denied is told with the rule "
      "that denied it; do not try to get around it, and do not guess what you could not read.";
  switch (mode) {
    case Mode::kRwx:
      return {};
    case Mode::kSandbox:
      return "You work in a sandbox. You may read and change files only in " + place +
             "; of the rest of the machine you see the system's programs. " + Network(policy.net) +
             last;
    case Mode::kRx:
      return "You work in a sandbox. You may read files and run programs, but what you write is "
             "kept nowhere, also not in " +
             place + "; only /tmp is writable, within one command. " + Network(policy.net) + last;
    case Mode::kCustom:
      return "You work in a sandbox. " + Writable(policy, workspace) + " " + Network(policy.net) +
             last;
  }
  return {};
}

ContainmentState ContainmentOf(std::string_view backend,
                               const std::vector<Enforcement>& enforcement) {
  if (backend == "none") return ContainmentState::kDisabled;
  auto level = [&](std::string_view feature) {
    auto found = std::ranges::find(enforcement, feature, &Enforcement::feature);
    return found == enforcement.end() ? Level::kNone : found->level;
  };
  if (level("fs.write") == Level::kNone) return ContainmentState::kInert;
  constexpr std::array kCore = {"fs.read", "fs.write", "fs.floor", "pid", "seccomp"};
  bool full = std::ranges::all_of(kCore, [&](auto f) { return level(f) == Level::kFull; });
  return full ? ContainmentState::kActive : ContainmentState::kPartial;
}

std::string_view ContainmentStateName(ContainmentState state) {
  switch (state) {
    case ContainmentState::kDisabled:
      return "disabled";
    case ContainmentState::kActive:
      return "active";
    case ContainmentState::kPartial:
      return "partial";
    case ContainmentState::kInert:
      return "requested but inert";
  }
  return "requested but inert";
}

bool IsNestedAgentVariable(std::string_view name) {
  return name == "CLAUDECODE" || name.starts_with("CLAUDE_CODE_") || name == "CODEX_SANDBOX" ||
         name == "CODEX_SANDBOX_NETWORK_DISABLED" || name == "GEMINI_CLI" || name == "CURSOR_AGENT";
}

}  // namespace cordon::agent
