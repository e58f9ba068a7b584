// cordon scan [FILE|DIR|-]…
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/scan_files.h"
#include "cli/scan_report.h"
#include "guard/secrets/scanner.h"

namespace cordon::cli {
namespace {

using guard::SecretRuleSources;
using guard::SecretScanOptions;

struct Options {
  bool json = false;
  bool sarif = false;
  bool redact = false;
  bool no_default_rules = false;
  bool no_ignore = false;
  bool no_inline_allow = false;
  Strings rules;
  Strings disabled;
  Strings allow;
  Strings known_env;
  Strings known_files;
  std::string baseline;
  std::string write_baseline;
  Strings names;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

Result<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::SystemError("open " + path, errno);
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

std::string_view Unquoted(std::string_view value) {
  while (!value.empty() && std::string_view(" \t\r").contains(value.back())) value.remove_suffix(1);
  while (!value.empty() && std::string_view(" \t").contains(value.front())) value.remove_prefix(1);
  bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// Each line of a credential file is a secret, or "NAME=SECRET"; short ones are none.
Status AddKnownFile(const std::string& path, SecretRuleSources& sources) {
  CORDON_ASSIGN_OR_RETURN(std::string text, ReadText(path));
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string& line : base::Split(text, '\n')) {
    size_t equals = line.find('=');
    bool named = equals != std::string::npos && equals > 0 &&
                 line.find_first_not_of("= \t", equals) != std::string::npos;
    std::string_view value = Unquoted(named ? std::string_view(line).substr(equals + 1) : line);
    if (value.size() >= 8) sources.known.push_back({name, std::string(value)});
  }
  return {};
}

Result<SecretRuleSources> Sources(const Options& options) {
  SecretRuleSources sources{.disabled = options.disabled, .allow = options.allow};
  if (options.no_default_rules) sources.defaults = SecretRuleSources::Defaults::kWithout;
  for (const std::string& path : options.rules) {
    CORDON_ASSIGN_OR_RETURN(std::string text, ReadText(path));
    sources.files.push_back({path, std::move(text)});
  }
  for (const std::string& name : options.known_env) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      return base::InvalidArgument(Reason::kUsage, "the variable " + name + " is not set");
    }
    sources.known.push_back({name, value});
  }
  for (const std::string& path : options.known_files) CORDON_TRY(AddKnownFile(path, sources));
  return sources;
}

Status WriteAll(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return base::SystemError("write", errno);
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// stdin to stdout. Nothing that the text says about itself is believed.
int Redact(const guard::SecretRules& rules) {
  guard::SecretRedactor redactor(rules);
  Status written;
  Result<uint64_t> bytes = ReadChunks(STDIN_FILENO, [&](std::string_view chunk) {
    written = WriteAll(redactor.Feed(chunk));
    return written.has_value();
  });
  if (!bytes) return PrintError(bytes.error()), kExitUsage;
  if (written) written = WriteAll(redactor.Finish());
  if (!written) return PrintError(written.error()), kExitUsage;
  return redactor.findings().empty() ? kExitOk : kExitNegative;
}

SecretScanOptions::InlineAllow InlineAllow(const Options& options) {
  return options.no_inline_allow ? SecretScanOptions::InlineAllow::kIgnore
                                 : SecretScanOptions::InlineAllow::kHonour;
}

FileScan ScanStdin(const guard::SecretRules& rules, const Options& options) {
  FileScan scan{.path = "-"};
  guard::SecretScanner scanner(rules, {.inline_allow = InlineAllow(options)});
  Result<uint64_t> bytes = ReadChunks(STDIN_FILENO, [&](std::string_view chunk) {
    scanner.Feed(chunk, scan.findings);
    return true;
  });
  scanner.Finish(scan.findings);
  if (bytes) {
    scan.bytes = *bytes;
  } else {
    scan.state = FileScan::State::kFailed;
    scan.error = bytes.error();
  }
  return scan;
}

std::vector<FileScan> ScanAll(const guard::SecretRules& rules, const Options& options,
                              ScanSummary& summary) {
  if (options.names == Strings{"-"}) return {ScanStdin(rules, options)};
  auto failed = [&](const Error& error) {
    ++summary.failed;
    PrintError(error);
  };
  std::vector<ScanTarget> targets = FindScanTargets(
      options.names, options.no_ignore ? IgnoreFiles::kPassOver : IgnoreFiles::kHonour, failed);
  bool terminal = isatty(STDERR_FILENO) == 1;
  std::vector<FileScan> scans = ScanFiles(rules, targets, InlineAllow(options), [&](size_t done) {
    if (terminal) Tell(fmt::format("\rscanned {} of {} files", done, targets.size()));
  });
  if (terminal && targets.size() > 1) Tell("\r\x1b[K");
  return scans;
}

void Summarise(std::vector<FileScan>& scans, const std::optional<Baseline>& baseline,
               ScanSummary& summary) {
  for (FileScan& scan : scans) {
    if (scan.state == FileScan::State::kFailed) {
      ++summary.failed;
      PrintError(scan.error);
    }
    summary.files += scan.state == FileScan::State::kScanned ? 1 : 0;
    summary.binary += scan.state == FileScan::State::kBinary ? 1 : 0;
    summary.bytes += scan.bytes;
    if (baseline) {
      summary.known_before += std::erase_if(
          scan.findings, [&](const auto& finding) { return baseline->Holds(scan.path, finding); });
    }
    summary.findings += scan.findings.size();
  }
}

int Report(const std::vector<FileScan>& scans, const ScanSummary& summary, const Options& options) {
  if (!options.write_baseline.empty()) {
    std::ofstream out(options.write_baseline, std::ios::binary);
    out << BaselineJson(scans);
    out.close();
    if (!out)
      return PrintError(base::SystemError("write " + options.write_baseline, errno)), kExitUsage;
    return summary.failed > 0 ? kExitUsage : kExitOk;
  }
  if (options.sarif) {
    Print(ScanSarif(scans));
  } else if (options.json) {
    Print(ScanJson(scans, summary));
  } else {
    Print(ScanText(scans));
  }
  if (summary.failed > 0) return kExitUsage;
  return summary.findings > 0 ? kExitNegative : kExitOk;
}

Status CheckOptions(const Options& options) {
  bool stdin_too =
      std::find(options.names.begin(), options.names.end(), "-") != options.names.end();
  if (stdin_too && options.names.size() > 1) {
    return base::InvalidArgument(Reason::kUsage, "- (stdin) is scanned alone");
  }
  if (options.redact && options.names != Strings{"-"}) {
    return base::InvalidArgument(Reason::kUsage, "--redact reads stdin and writes stdout");
  }
  return {};
}

int Run(Options options) {
  if (options.names.empty()) options.names = {options.redact ? "-" : "."};
  auto fail = [&](const Error& error) {
    PrintError(error, options.form());
    return kExitUsage;
  };
  if (Status fine = CheckOptions(options); !fine) return fail(fine.error());
  Result<SecretRuleSources> sources = Sources(options);
  if (!sources) return fail(sources.error());
  Result<guard::SecretRules> rules = LoadSecretRules(*sources);
  if (!rules) return fail(rules.error());
  if (options.redact) return Redact(*rules);
  std::optional<Baseline> baseline;
  if (!options.baseline.empty()) {
    Result<std::string> text = ReadText(options.baseline);
    if (!text) return fail(text.error());
    Result<Baseline> parsed = Baseline::Parse(*text, options.baseline);
    if (!parsed) return fail(parsed.error());
    baseline = std::move(*parsed);
  }
  ScanSummary summary;
  std::vector<FileScan> scans = ScanAll(*rules, options, summary);
  Summarise(scans, baseline, summary);
  return Report(scans, summary, options);
}

}  // namespace

Action SetupScan(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.Add({.name = "FILE",
                 .doc = "What is scanned; - is stdin, a folder all below it (default: .)",
                 .target = &options->names});
  arguments.Flag("--json", options->json, "Print JSON");
  arguments.Flag("--sarif", options->sarif, "Print SARIF 2.1.0");
  arguments.Flag("--redact", options->redact, "Copy stdin to stdout without its secrets");
  arguments.Add({.name = "--rules",
                 .value = "FILE",
                 .doc = "More rules, in gitleaks' TOML",
                 .target = &options->rules});
  arguments.Flag("--no-default-rules", options->no_default_rules, "Only the rules of --rules");
  arguments.Add({.name = "--disable",
                 .value = "RULE",
                 .doc = "Leave this rule out",
                 .target = &options->disabled});
  arguments.Add({.name = "--allow",
                 .value = "REGEX",
                 .doc = "A secret that this matches is none",
                 .target = &options->allow});
  arguments.Option("--baseline", options->baseline, "FILE", "Tell only what this file does not");
  arguments.Option("--write-baseline", options->write_baseline, "FILE",
                   "Accept what is found: write it to this file");
  arguments.Add({.name = "--known-env",
                 .value = "NAME",
                 .doc = "Look for the value of this variable, too",
                 .target = &options->known_env});
  arguments.Add({.name = "--known-file",
                 .value = "FILE",
                 .doc = "Look for the lines, or the values, of this file, too",
                 .target = &options->known_files});
  arguments.Flag("--no-ignore", options->no_ignore, "Do not heed .gitignore");
  arguments.Flag("--no-inline-allow", options->no_inline_allow,
                 "Do not heed \"cordon:allow\" in a line");
  arguments.Footer(
      "Findings tell the rule and the place, never the secret.\n"
      "Exit status: 0 clean, 1 something was found, 2 something could not be scanned.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
