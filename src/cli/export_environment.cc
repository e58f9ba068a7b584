#include "cli/export_environment.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/strings.h"

namespace cordon::cli {
namespace {

std::string Utf8(const std::string& bytes) {
  return base::IsValidUtf8(bytes) ? bytes : base::Printable(bytes);
}

Error Unmet(const Enforcement& item, const std::string& by) {
  return {.code = Code::kUnsupported,
          .reason = Reason::kRequirementUnmet,
          .message = by + ": " + item.feature + " would be \"" +
                     std::string(LevelName(item.level)) + "\" there (" + item.note + ")",
          .hint = "leave it out, or set on_unavailable = \"warn\" where it is only a limit"};
}

// A choice of the user's own is no failure to enforce it.
bool Chosen(const Enforcement& item) {
  return item.note == "no limit set" || item.note == "--no-floor" || item.feature == "net";
}

}  // namespace

std::vector<ExportedVariable> ExportedEnvironment(const plan::Plan& plan) {
  std::vector<ExportedVariable> variables;
  for (const std::string& entry : plan.environment) {
    size_t equals = entry.find('=');
    std::string name = entry.substr(0, equals);
    bool chosen = std::ranges::find(plan.chosen_environment, name) != plan.chosen_environment.end();
    variables.push_back({name, chosen ? entry.substr(equals + 1) : "", !chosen});
  }
  return variables;
}

nlohmann::ordered_json EnvironmentJson(const plan::Plan& plan) {
  nlohmann::ordered_json json = {{"set", nlohmann::ordered_json::object()},
                                 {"pass", nlohmann::ordered_json::array()}};
  for (const ExportedVariable& variable : ExportedEnvironment(plan)) {
    if (variable.passed) {
      json["pass"].push_back(Utf8(variable.name));
    } else {
      json["set"][Utf8(variable.name)] = Utf8(variable.value);
    }
  }
  return json;
}

nlohmann::ordered_json EnforcementJson(const std::vector<Enforcement>& enforcement) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Enforcement& item : enforcement) {
    json[item.feature] = {
        {"level", LevelName(item.level)}, {"mechanism", item.mechanism}, {"note", item.note}};
  }
  return json;
}

std::vector<std::string> NotInFull(const std::vector<Enforcement>& enforcement) {
  std::vector<std::string> lines;
  for (const Enforcement& item : enforcement) {
    if (item.level == Level::kFull || item.note == "no limit set") continue;
    lines.push_back(item.feature + ": " + std::string(LevelName(item.level)) + ", " + item.note);
  }
  return lines;
}

Status CheckCarried(const Policy& policy, const std::vector<Enforcement>& enforcement) {
  auto required = [&](const Enforcement& item) -> const Entry* {
    for (const Entry& entry : policy.require) {
      bool named = entry.text == item.feature;
      bool group = item.feature.starts_with(entry.text + ".") && item.note != "no limit set";
      if (named || group) return &entry;
    }
    return nullptr;
  };
  for (const Enforcement& item : enforcement) {
    if (item.level == Level::kFull) continue;
    if (const Entry* entry = required(item)) {
      return Unmet(item, "require (" + entry->origin.ToString() + ")");
    }
    if (policy.trust == Trust::kRequire && item.note != "no limit set") {
      return Unmet(item, "trust = \"require\"");
    }
    bool missing = item.level == Level::kNone && !Chosen(item);
    if (missing && policy.on_unavailable == OnUnavailable::kRefuse) return Unmet(item, "export");
  }
  return {};
}

}  // namespace cordon::cli
