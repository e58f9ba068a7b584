#include "cli/scan_report.h"

#include <fmt/core.h>

#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/strings.h"
#include "cli/output.h"

namespace cordon::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string PathText(std::string_view path) {
  return base::IsValidUtf8(path) ? std::string(path) : base::Printable(path);
}

// However the file was named, the baseline calls it the same.
std::string BaselinePath(std::string_view path) {
  return PathText(std::filesystem::path(path).lexically_normal().string());
}

std::string Fingerprint(const guard::SecretFinding& finding) {
  return fmt::format("{:05x}", finding.fingerprint);
}

std::string Entry(std::string_view rule, std::string_view path, std::string_view fingerprint) {
  return fmt::format("{}\n{}\n{}", rule, path, fingerprint);
}

Json FindingJson(const std::string& path, const guard::SecretFinding& finding) {
  return {{"rule", finding.rule},       {"description", finding.description},
          {"path", PathText(path)},     {"line", finding.line},
          {"column", finding.column},   {"begin", finding.begin},
          {"end", finding.end},         {"encoding", finding.encoding},
          {"preview", finding.preview}, {"fingerprint", Fingerprint(finding)}};
}

Json SarifResult(const std::string& path, const guard::SecretFinding& finding) {
  Json region = {{"startLine", finding.line}, {"startColumn", finding.column}};
  Json place = {{"artifactLocation", {{"uri", PathText(path)}}}, {"region", region}};
  return {{"ruleId", finding.rule},
          {"level", "error"},
          {"message", {{"text", finding.description + " (" + finding.preview + ")"}}},
          {"locations", Json::array({{{"physicalLocation", place}}})},
          {"partialFingerprints", {{"cordonSecret/v1", Fingerprint(finding)}}}};
}

}  // namespace

std::string ScanText(const std::vector<FileScan>& scans) {
  std::string text;
  for (const FileScan& scan : scans) {
    for (const guard::SecretFinding& finding : scan.findings) {
      text += fmt::format("{}:{}:{}: {}: {} ({}){}\n", base::Printable(scan.path), finding.line,
                          finding.column, Coloured(base::Printable(finding.rule), Colour::kRed),
                          base::Printable(finding.description), finding.preview,
                          finding.encoding.empty() ? "" : " in " + finding.encoding);
    }
  }
  return text;
}

std::string ScanJson(const std::vector<FileScan>& scans, const ScanSummary& summary) {
  Json findings = Json::array();
  for (const FileScan& scan : scans) {
    for (const guard::SecretFinding& finding : scan.findings) {
      findings.push_back(FindingJson(scan.path, finding));
    }
  }
  return Dump({{"findings", findings},
               {"files", summary.files},
               {"bytes", summary.bytes},
               {"binary", summary.binary},
               {"failed", summary.failed},
               {"known_before", summary.known_before}});
}

std::string ScanSarif(const std::vector<FileScan>& scans) {
  std::map<std::string, std::string> rules;
  Json results = Json::array();
  for (const FileScan& scan : scans) {
    for (const guard::SecretFinding& finding : scan.findings) {
      rules.emplace(finding.rule, finding.description);
      results.push_back(SarifResult(scan.path, finding));
    }
  }
  Json descriptors = Json::array();
  for (const auto& [id, description] : rules) {
    descriptors.push_back({{"id", id}, {"shortDescription", {{"text", description}}}});
  }
  Json driver = {{"name", "cordon"}, {"rules", descriptors}};
  Json run = {{"tool", {{"driver", driver}}}, {"results", results}};
  return Dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", Json::array({run})}});
}

std::string BaselineJson(const std::vector<FileScan>& scans) {
  Json findings = Json::array();
  for (const FileScan& scan : scans) {
    for (const guard::SecretFinding& finding : scan.findings) {
      findings.push_back({{"rule", finding.rule},
                          {"path", BaselinePath(scan.path)},
                          {"fingerprint", Fingerprint(finding)}});
    }
  }
  return Dump({{"version", 1}, {"findings", findings}});
}

Result<Baseline> Baseline::Parse(std::string_view text, const std::string& name) {
  try {
    Json json = Json::parse(text);
    if (json.at("version") != 1) {
      return base::InvalidArgument(Reason::kUsage, name + ": a baseline of another version");
    }
    Baseline baseline;
    for (const Json& entry : json.at("findings")) {
      baseline.entries_.insert(Entry(entry.at("rule").get<std::string>(),
                                     entry.at("path").get<std::string>(),
                                     entry.at("fingerprint").get<std::string>()));
    }
    return baseline;
  } catch (const std::exception&) {
    return base::InvalidArgument(Reason::kUsage, name + ": not a baseline",
                                 "cordon scan --write-baseline FILE writes one");
  }
}

bool Baseline::Holds(std::string_view path, const guard::SecretFinding& finding) const {
  return entries_.contains(Entry(finding.rule, BaselinePath(path), Fingerprint(finding)));
}

}  // namespace cordon::cli
