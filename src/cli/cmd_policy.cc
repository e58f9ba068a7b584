// cordon policy show|check|diff|schema|init|import|trust
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/policy_file.h"
#include "cli/policy_flags.h"
#include "guard/path.h"
#include "host/real_paths.h"
#include "policy/host_lists.h"
#include "policy/preset.h"
#include "policy/render.h"
#include "policy/schema.h"
#include "sys/fd.h"

namespace cordon::cli {
namespace {

struct Options {
  PolicyFlags flags;
  bool json = false;
  std::vector<std::string> names;  // presets or files
  std::string output;
  bool revoke = false;
  std::string from;    // whose settings
  bool paths = false;  // a missing path is an error

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

int Fail(const Options& options, const Error& error) {
  PrintError(error, options.form());
  return kExitNegative;
}

bool IsPreset(const std::string& name) { return !policy::PresetText(name).empty(); }

// A preset by name, or a file read onto the presets it names.
Result<Policy> LoadNamed(const Options& options, const std::string& name) {
  CORDON_ASSIGN_OR_RETURN(policy::Context context, MakeContext(options.flags));
  if (IsPreset(name)) return policy::Preset(name, context);
  CORDON_ASSIGN_OR_RETURN(policy::Source source, RequirePolicyFile(name, FileRules::kNamed));
  return policy::Stack({.user_and_files = {std::move(source)}}, context);
}

Result<Policy> LoadEffective(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(options.flags));
  return std::move(loaded.policy);
}

int ShowHostList(const Options& options) {
  auto hosts = policy::ExpandHostList(options.names[0]);
  if (!hosts) return Fail(options, hosts.error());
  std::vector<std::string> quoted;
  for (const std::string& host : *hosts) quoted.push_back(JsonQuote(host));
  Print(options.json ? "[" + base::Join(quoted, ", ") + "]\n" : base::Join(*hosts, "\n") + "\n");
  return kExitOk;
}

int Show(const Options& options) {
  bool named = !options.names.empty();
  if (named && options.names[0].starts_with('@')) return ShowHostList(options);
  if (named && IsPreset(options.names[0]) && !options.json) {
    Print(policy::PresetText(options.names[0]));
    return kExitOk;
  }
  Result<Policy> shown = named ? LoadNamed(options, options.names[0]) : LoadEffective(options);
  if (!shown) return Fail(options, shown.error());
  Print(options.json ? policy::RenderJson(*shown) : policy::RenderToml(*shown));
  return kExitOk;
}

// Listed paths that a run would be refused for, as "ORIGIN: PATH".
std::vector<std::string> MissingPaths(const FsPolicy& fs) {
  host::RealPaths probe;
  std::vector<std::string> missing;
  for (const PathRules* rules : {&fs.read, &fs.write, &fs.deny_read, &fs.deny_write}) {
    for (const PathRule& rule : *rules) {
      if (rule.glob || rule.optional || probe.Inspect(rule.path).exists()) continue;
      missing.push_back(rule.origin.ToString() + ": " + rule.path);
    }
  }
  return missing;
}

int CheckOne(const Options& options, const std::string& name, const Result<Policy>& policy) {
  if (!policy) return Fail(options, policy.error());
  std::vector<std::string> missing = MissingPaths(policy->fs);
  bool valid = missing.empty() || !options.paths;
  if (options.json) {
    std::vector<std::string> quoted;
    for (const std::string& line : missing) quoted.push_back(JsonQuote(line));
    Print(fmt::format("{{\"policy\": {}, \"valid\": {}, \"missing\": [{}]}}\n", JsonQuote(name),
                      valid, base::Join(quoted, ", ")));
  } else {
    for (const std::string& line : missing) {
      Tell(fmt::format("{} does not exist here; \"?\" before it says that it may be missing\n",
                       base::Printable(line)));
    }
    if (valid) {
      Print(fmt::format("{}: {}\n", base::Printable(name), Coloured("ok", Colour::kGreen)));
    }
  }
  return valid ? kExitOk : kExitNegative;
}

int Check(const Options& options) {
  if (options.names.empty()) return CheckOne(options, "policy", LoadEffective(options));
  int status = kExitOk;
  for (const std::string& name : options.names) {
    status = std::max(status, CheckOne(options, name, LoadNamed(options, name)));
  }
  return status;
}

std::string DiffText(const Options& options, const std::vector<std::string>& lines) {
  std::vector<std::string> shown;
  for (const std::string& line : lines) {
    Colour colour = line.starts_with('+') ? Colour::kGreen : Colour::kRed;
    shown.push_back(options.json ? JsonQuote(line) : Coloured(base::Printable(line), colour));
  }
  if (options.json) return "{\"diff\": [" + base::Join(shown, ", ") + "]}\n";
  return shown.empty() ? "" : base::Join(shown, "\n") + "\n";
}

// Of two names, or of one and what holds here. 0: equal, 1: they differ.
int DiffTwo(const Options& options) {
  Result<Policy> before = LoadNamed(options, options.names[0]);
  if (!before) return PrintError(before.error(), options.form()), kExitUsage;
  Result<Policy> after =
      options.names.size() > 1 ? LoadNamed(options, options.names[1]) : LoadEffective(options);
  if (!after) return PrintError(after.error(), options.form()), kExitUsage;
  std::vector<std::string> lines = policy::Diff(*before, *after);
  Print(DiffText(options, lines));
  return lines.empty() ? kExitOk : kExitNegative;
}

constexpr char kStarter[] =
    R"(# What a command that runs here may do; see docs/policy.md of Cordon. This file
# can only narrow what the preset and the user's own policy allow, until it is
# trusted: cordon policy trust
version = 1

[fs]
# Neither readable nor listable. Names without a slash are meant at any depth.
deny_read = [".env", ".env.*"]
# deny_write = ["secrets", "*.lock"]

# [limits]
# wall = "10m"
# memory = "4GiB"
)";

Status WriteNew(const std::string& path, std::string_view text) {
  sys::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) return base::SystemError("create " + path, errno);
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return base::SystemError("write " + path, errno);
  }
  return {};
}

int Init(const Options& options) {
  if (options.output == "-") {
    Print(kStarter);
    return kExitOk;
  }
  auto context = MakeContext(options.flags);
  if (!context) return Fail(options, context.error());
  std::string path =
      options.output.empty() ? guard::JoinPath(context->workspace, ".cordon.toml") : options.output;
  if (Status written = WriteNew(path, kStarter); !written) return Fail(options, written.error());
  Print(options.json ? fmt::format("{{\"created\": {}}}\n", JsonQuote(path))
                     : fmt::format("{}: created\n", base::Printable(path)));
  return kExitOk;
}

std::string ImportedJson(const policy::Imported& imported) {
  std::vector<std::string> notes;
  for (const policy::SettingsNote& note : imported.notes) {
    notes.push_back(fmt::format("{{\"line\": {}, \"key\": {}, \"why\": {}, \"lost\": {}}}",
                                note.line, JsonQuote(note.key), JsonQuote(note.why),
                                note.weight == policy::SettingsNote::Weight::kLost));
  }
  return fmt::format("{{\"from\": {}, \"workspace\": {}, \"policy\": {}, \"notes\": [{}]}}\n",
                     JsonQuote(policy::SettingsKindName(imported.kind)),
                     JsonQuote(imported.workspace), JsonQuote(policy::RenderImported(imported)),
                     base::Join(notes, ", "));
}

// What is printed can be read as a policy.
Result<policy::Imported> ImportNamed(const Options& options) {
  SettingsRequest request = ParseSettingsRequest(options.names[0], options.flags.agent);
  if (!options.from.empty()) {
    CORDON_ASSIGN_OR_RETURN(request.kind, policy::ParseSettingsKind(options.from));
  }
  CORDON_ASSIGN_OR_RETURN(policy::Context context, MakeContext(options.flags));
  CORDON_ASSIGN_OR_RETURN(policy::Imported imported, ImportFile(request, context));
  policy::Source source{.name = imported.name, .parsed = imported.Root()};
  CORDON_TRY(policy::Stack({.user_and_files = {std::move(source)}}, context));
  return imported;
}

int Import(const Options& options) {
  Result<policy::Imported> imported = ImportNamed(options);
  if (!imported) return Fail(options, imported.error());
  std::string text = policy::RenderImported(*imported);
  if (options.output.empty() || options.output == "-") {
    Print(options.json ? ImportedJson(*imported) : text);
    return kExitOk;
  }
  if (Status written = WriteNew(options.output, text); !written) {
    return Fail(options, written.error());
  }
  Print(options.json ? fmt::format("{{\"created\": {}}}\n", JsonQuote(options.output))
                     : fmt::format("{}: created\n", base::Printable(options.output)));
  return kExitOk;
}

// Only what reads as a policy, or as a tool's settings, can be trusted.
Status CheckReadable(const SettingsRequest& request, policy::Source source,
                     const policy::Context& context) {
  Status as_policy = Status();
  if (request.kind == policy::SettingsKind::kAuto) {
    auto stacked = policy::Stack({.user_and_files = {source}}, context);
    if (stacked) return {};
    as_policy = std::move(stacked).error();
  }
  auto imported = ImportFile(request, context);
  if (imported) return {};
  return as_policy ? Status(std::move(imported).error()) : as_policy;
}

Result<std::string> TrustFile(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(policy::Context context, MakeContext(options.flags));
  std::string path =
      options.names.empty() ? guard::JoinPath(context.workspace, ".cordon.toml") : options.names[0];
  SettingsRequest request = ParseSettingsRequest(path, options.flags.agent);
  path = request.path;
  TrustStore store = TrustStore::InState(context.home, context.env["XDG_STATE_HOME"]);
  CORDON_ASSIGN_OR_RETURN(policy::Source source, RequirePolicyFile(path, FileRules::kWorkspace));
  CORDON_ASSIGN_OR_RETURN(std::string real, RealPath(path));
  if (options.revoke) {
    CORDON_TRY(store.Revoke(real));
    return real;
  }
  std::string bytes = source.text;
  CORDON_TRY(CheckReadable(request, std::move(source), context));
  CORDON_TRY(store.Trust(real, bytes));
  return real;
}

int Trust(const Options& options) {
  Result<std::string> path = TrustFile(options);
  if (!path) return Fail(options, path.error());
  const char* word = options.revoke ? "revoked" : "trusted";
  Print(options.json ? fmt::format("{{\"{}\": {}}}\n", word, JsonQuote(*path))
                     : fmt::format("{}: {}\n", base::Printable(*path), word));
  return kExitOk;
}

int Schema(const Options&) {
  Print(policy::JsonSchema());
  return kExitOk;
}

}  // namespace

Action SetupPolicy(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  auto add = [&](const char* name, const char* doc, int (*run)(const Options&)) -> Arguments& {
    Arguments& verb = arguments.Verb(name, doc, [options, run] { return run(*options); });
    verb.Flag("--json", options->json, "Print JSON");
    return verb;
  };
  auto names = [&](const char* name, const char* doc, int most) {
    return Argument{.name = name, .doc = doc, .target = &options->names, .most = most};
  };
  auto add_workspace = [&](Arguments& verb) {
    verb.Option("--workspace", options->flags.workspace, "DIR", "The workspace (default: here)");
  };
  Arguments& show =
      add("show", "What holds here, line by line with its origin; or a preset or @list", Show);
  show.Add(names("NAME", "A preset, a file or a @list of hosts", 1));
  AddPolicyFlags(show, options->flags);
  Arguments& check = add("check", "Whether files, or all that holds here, are valid", Check);
  check.Add(names("FILE", "Policy files", kAnyNumber));
  check.Flag("--paths", options->paths, "Fail if a path that has to exist does not");
  AddPolicyFlags(check, options->flags);
  Arguments& diff = add("diff", "How two policies differ, or one from what holds here", DiffTwo);
  Argument two = names("NAME", "Presets or files", 2);
  two.presence = Argument::Presence::kRequired;
  diff.Add(two);
  AddPolicyFlags(diff, options->flags);
  add("schema", "The JSON Schema of a policy", Schema);
  Arguments& init = add("init", "Start a .cordon.toml in the workspace", Init);
  init.Option("-o,--output", options->output, "FILE", "Another file, or - for stdout");
  add_workspace(init);
  Arguments& import = add(
      "import", "Another tool's settings as a policy, with comments on what is left out", Import);
  Argument settings = names("[KIND:]FILE", "Its settings", 1);
  settings.presence = Argument::Presence::kRequired;
  import.Add(settings);
  import.Option("--from", options->from, "KIND",
                "claude, srt, agents, codex or cursor (default: seen)");
  import.Option("--agent", options->flags.agent, "ID", "Which of the settings' agents");
  import.Option("-o,--output", options->output, "FILE", "A new file instead of stdout");
  add_workspace(import);
  Arguments& trust = add("trust", "Trust the present content of a policy file", Trust);
  trust.Add(names("FILE", "The file (default: .cordon.toml)", 1));
  trust.Flag("--revoke", options->revoke, "Trust it no longer");
  add_workspace(trust);
  return [&arguments] { return arguments.chosen()(); };
}

}  // namespace cordon::cli
