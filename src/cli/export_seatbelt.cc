#include "cli/export_seatbelt.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "cli/export_environment.h"

namespace cordon::cli {
namespace {

// One word of a shell, whatever is in it.
std::string Quoted(std::string_view word) {
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Limits(const LimitPolicy& limits) {
  std::string text;
  auto add = [&](const char* flag, uint64_t value) {
    text += std::string("ulimit ") + flag + " " + std::to_string(value) + "\n";
  };
  add("-c", 0);
  if (limits.cpu_ms) add("-t", (*limits.cpu_ms + 999) / 1000);
  if (limits.processes) add("-u", *limits.processes);
  if (limits.open_files) add("-n", *limits.open_files);
  if (limits.file_size) add("-f", (*limits.file_size + 511) / 512);
  return text;
}

std::string Notes(const std::vector<Enforcement>& enforcement) {
  std::string text;
  for (const std::string& line : NotInFull(enforcement)) text += "#   " + line + "\n";
  return text.empty() ? text : "# Not in full:\n" + text;
}

// Whether a shell can say "$NAME".
bool IsIdentifier(std::string_view name) {
  constexpr std::string_view kFirst = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view kDigits = "0123456789";
  return kFirst.find(name[0]) != std::string_view::npos && std::ranges::all_of(name, [&](char c) {
           return kFirst.find(c) != std::string_view::npos ||
                  kDigits.find(c) != std::string_view::npos;
         });
}

std::string Environment(const plan::Plan& plan, bool own_temp) {
  std::string words = "/usr/bin/env -i";
  for (const ExportedVariable& variable : ExportedEnvironment(plan)) {
    bool temp = own_temp && variable.name == "TMPDIR";
    if (variable.passed && !IsIdentifier(variable.name)) continue;
    words += " \\\n  ";
    if (temp) {
      words += "TMPDIR=\"$tmp\"";
    } else if (variable.passed) {
      words += "${" + variable.name + "+\"" + variable.name + "=$" + variable.name + "\"}";
    } else {
      words += Quoted(variable.name + "=" + variable.value);
    }
  }
  return words;
}

}  // namespace

std::string SeatbeltScript(const plan::Plan& plan, const backend::SeatbeltProfile& profile) {
  bool own_temp = plan.fs.temp == TempMode::kPrivate;
  std::string text =
      "#!/bin/sh\n# Made by `cordon export seatbelt`, for macOS.\n" + Notes(profile.enforcement);
  if (plan.net.proxied() && !plan.net.external) {
    text +=
        "# The way out is `cordon proxy --listen 127.0.0.1:" + std::to_string(plan::kProxyPort) +
        "` with the same policy, on this machine.\n";
  }
  text += "set -eu\n" + Limits(plan.limits);
  if (own_temp) {
    text += "tmp=$(cd \"$(/usr/bin/mktemp -d)\" && pwd -P)\ntrap '/bin/rm -rf \"$tmp\"' EXIT\n";
  }
  text += "cd " + Quoted(plan.command.directory) + "\n";
  std::string words = Environment(plan, own_temp) + " \\\n  /usr/bin/sandbox-exec";
  for (const auto& [name, value] : profile.parameters) {
    words += " \\\n  -D ";
    words += name == "TMPDIR" ? "TMPDIR=\"$tmp\"" : Quoted(name + "=" + value);
  }
  words += " \\\n  -p " + Quoted(profile.text) + " \\\n  --";
  for (const std::string& word : plan.command.argv) words += " " + Quoted(word);
  return text + words + "\n";
}

std::string SeatbeltJson(const plan::Plan& plan, const backend::SeatbeltProfile& profile) {
  auto text = [](const std::string& bytes) {
    return base::IsValidUtf8(bytes) ? bytes : base::Printable(bytes);
  };
  nlohmann::ordered_json json = {{"target", "seatbelt"}, {"profile", profile.text}};
  json["parameters"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : profile.parameters) json["parameters"][name] = text(value);
  json["directory"] = text(plan.command.directory);
  json["command"] = nlohmann::ordered_json::array();
  for (const std::string& word : plan.command.argv) json["command"].push_back(text(word));
  json["environment"] = EnvironmentJson(plan);
  json["enforcement"] = EnforcementJson(profile.enforcement);
  return json.dump(2) + "\n";
}

}  // namespace cordon::cli
