#include "cli/policy_flags.h"

#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/strings.h"
#include "cli/policy_file.h"
#include "guard/path.h"

namespace cordon::cli {
namespace {

constexpr char kUserFile[] = ".config/cordon/policy.toml";
constexpr char kWorkspaceFile[] = ".cordon.toml";

struct FlagSpec {
  const char* flag;
  const char* key;
  const char* value;
  const char* doc;
};

constexpr FlagSpec kFlags[] = {
    {"--read", "fs.read", "PATH", "Make PATH readable"},
    {"--write", "fs.write", "PATH", "Make PATH writable"},
    {"--deny-read", "fs.deny_read", "PATH", "Make PATH or glob unreadable"},
    {"--deny-write", "fs.deny_write", "PATH", "Make PATH or glob read-only"},
    {"--net", "net.mode", "none|proxy|public|open", "The network"},
    {"--allow-domain", "net.allow", "PATTERN", "A name that may be reached"},
    {"--deny-domain", "net.deny", "PATTERN", "A name that may not be reached"},
    {"--allow-unix", "net.unix_sockets", "PATH", "A host socket that may be connected to"},
    {"--publish", "net.publish", "PORT", "A port of the sandbox the host reaches"},
    {"--host-port", "net.host_ports", "PORT", "A port of the host the sandbox reaches"},
    {"--timeout", "limits.wall", "TIME", "Wall clock limit: 60s, 5m or seconds"},
    {"--memory", "limits.memory", "SIZE", "Memory limit: 2GiB"},
    {"--processes", "limits.processes", "N", "Limit of processes and threads"},
    {"--output", "limits.output", "SIZE", "Limit of output per stream"},
    {"--audit", "audit.log", "FILE", "Append every decision to FILE as a line of JSON"},
    {"--require", "require", "FEATURE", "A feature that must be fully enforced"},
    {"--on-unavailable", "on_unavailable", "refuse|warn", "What if something is not enforceable"},
};

// --env NAME passes a variable on, --env NAME=VALUE sets it.
policy::Assignment EnvAssignment(const std::string& text) {
  bool sets = text.find('=') != std::string::npos;
  return {sets ? "env.set" : "env.pass", text, "flag --env"};
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> env;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

std::string Variable(const policy::Context& context, const std::string& name) {
  auto found = context.env.find(name);
  return found == context.env.end() ? std::string() : found->second;
}

Result<policy::Imported> Import(const SettingsRequest& request, const policy::Source& source,
                                const policy::Context& context) {
  return policy::ImportSettings({.text = source.text,
                                 .format = source.format,
                                 .name = source.name,
                                 .path = request.path,
                                 .kind = request.kind,
                                 .agent = request.agent},
                                context);
}

// The absolute path of a file that may itself be a link: a tool finds its
// settings by their name, wherever that leads.
Result<std::string> PlaceOf(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  CORDON_ASSIGN_OR_RETURN(std::string real, RealPath(folder));
  return guard::JoinPath(real, slash == path.npos ? path : path.substr(slash + 1));
}

class Loader {
 public:
  // `first`: what was read before a command ran by it, or null.
  Loader(const PolicyFlags& flags, const PolicyPlaces& places, const policy::Context& context,
         const LoadedPolicy* first)
      : flags_(flags),
        places_(places),
        context_(context),
        first_(first),
        trust_(TrustStore::InState(context.home, Variable(context, "XDG_STATE_HOME"))) {}

  Result<Policy> Load() {
    CORDON_TRY(ReadStandardFiles());
    if (first_ != nullptr) CORDON_TRY(CheckStandardFiles());
    CORDON_TRY(ReadVariable());
    inputs_.presets_from_flags = flags_.presets;
    inputs_.flags = flags_.assignments;
    if (NamedCount() == 0) return policy::Stack(inputs_, context_);
    CORDON_ASSIGN_OR_RETURN(Policy without, policy::Stack(inputs_, context_));
    CORDON_TRY(ReadNamedFiles());
    CORDON_ASSIGN_OR_RETURN(Policy with, policy::Stack(inputs_, context_));
    for (const Policy* policy : {&without, &with}) CORDON_TRY(CheckFilesOutside(*policy));
    if (first_ != nullptr) CORDON_TRY(CheckFilesOutside(first_->policy));
    return with;
  }

  policy::LayerInputs TakeInputs() { return std::move(inputs_); }
  std::vector<std::string> TakeFiles() { return std::move(files_); }
  std::vector<policy::Imported> TakeImported() { return std::move(imported_); }

 private:
  // From a program that uses the library (session/runtime).
  Status ReadVariable() {
    if (flags_.variable.empty()) return {};
    if (NamedCount() != 0 || !flags_.presets.empty()) {
      return base::InvalidArgument(Reason::kUsage,
                                   "--policy-env says it all: no --policy, --settings or --preset");
    }
    if (first_ != nullptr) {
      inputs_.whole = first_->layers.whole;
      return {};
    }
    auto found = context_.env.find(flags_.variable);
    if (found == context_.env.end()) {
      return base::InvalidArgument(Reason::kPolicyUnreadable,
                                   "--policy-env: no variable " + base::Printable(flags_.variable));
    }
    inputs_.whole = {"variable " + flags_.variable, found->second, policy::Format::kJson};
    return {};
  }

  size_t NamedCount() const { return flags_.settings.size() + flags_.files.size(); }

  // Settings first, so that a policy can refine them.
  Status ReadNamedFiles() {
    for (const std::string& text : flags_.settings) {
      SettingsRequest request = ParseSettingsRequest(text, flags_.agent);
      CORDON_ASSIGN_OR_RETURN(policy::Source source, ReadNamed(request.path));
      if (first_ != nullptr) {
        const policy::Imported& before = first_->imported[imported_.size()];
        request = {before.path, before.kind, flags_.agent};
      } else {
        CORDON_ASSIGN_OR_RETURN(request.path, PlaceOf(request.path));
      }
      CORDON_ASSIGN_OR_RETURN(policy::Imported imported, Import(request, source, context_));
      source.parsed = imported.Root();
      inputs_.user_and_files.push_back(std::move(source));
      imported_.push_back(std::move(imported));
    }
    for (const std::string& path : flags_.files) {
      CORDON_ASSIGN_OR_RETURN(policy::Source source, ReadNamed(path));
      inputs_.user_and_files.push_back(std::move(source));
    }
    return {};
  }

  // The next of the named files; the second time by the path that it was found at.
  Result<policy::Source> ReadNamed(const std::string& name) {
    size_t i = files_.size();
    bool again = first_ != nullptr;
    const std::string& path = again ? first_->files[i] : name;
    CORDON_ASSIGN_OR_RETURN(
        auto source, RequirePolicyFile(path, again ? FileRules::kConfig : FileRules::kNamed));
    CORDON_ASSIGN_OR_RETURN(std::string real, RealPath(path));
    if (again) source.format = first_->FileLayer(i).format;
    source.name = name;
    files_.push_back(std::move(real));
    return source;
  }

  Status ReadStandardFiles() {
    CORDON_ASSIGN_OR_RETURN(inputs_.admin, ReadPolicyFile(places_.admin_file, FileRules::kConfig));
    if (!context_.home.empty()) {
      std::string user_file = guard::JoinPath(context_.home, kUserFile);
      CORDON_ASSIGN_OR_RETURN(auto user, ReadPolicyFile(user_file, FileRules::kConfig));
      if (user) inputs_.user_and_files.push_back(std::move(*user));
    }
    if (first_ != nullptr) {
      inputs_.workspace_file = first_->layers.workspace_file;
      inputs_.workspace_file_trust = first_->layers.workspace_file_trust;
      return {};
    }
    std::string path = guard::JoinPath(context_.workspace, kWorkspaceFile);
    CORDON_ASSIGN_OR_RETURN(inputs_.workspace_file, ReadPolicyFile(path, FileRules::kWorkspace));
    if (inputs_.workspace_file) {
      CORDON_ASSIGN_OR_RETURN(bool trusted, trust_.Trusts(path, inputs_.workspace_file->text));
      if (trusted) inputs_.workspace_file_trust = policy::WorkspaceFileTrust::kTrusted;
    }
    return {};
  }

  // Of the administrator and the user. One that is gone says something new, too.
  Status CheckStandardFiles() const {
    auto named = [&](const policy::LayerInputs& inputs, const std::string& name) {
      std::optional<std::string> text;
      if (inputs.admin && inputs.admin->name == name) text = inputs.admin->text;
      for (const policy::Source& source : inputs.user_and_files) {
        if (source.name == name) text = source.text;
      }
      return text;
    };
    for (const std::string& path :
         {places_.admin_file, guard::JoinPath(context_.home, kUserFile)}) {
      std::optional<std::string> text = named(inputs_, path);
      if (text == named(first_->layers, path) || !InsideWritable(first_->policy, path)) continue;
      CORDON_ASSIGN_OR_RETURN(bool trusted, trust_.Trusts(path, text.value_or("")));
      if (!trusted) return Untrusted(path);
    }
    return {};
  }

  // What a sandboxed command can write it could have written before. Both the
  // policy with the file and the one without it count: a file may hide that it
  // was writable by narrowing.
  Status CheckFilesOutside(const Policy& policy) const {
    size_t first = inputs_.user_and_files.size() - NamedCount();
    for (size_t i = first; i < inputs_.user_and_files.size(); ++i) {
      const policy::Source& source = inputs_.user_and_files[i];
      const std::string& real = files_[i - first];
      if (!InsideWritable(policy, real)) continue;
      CORDON_ASSIGN_OR_RETURN(bool trusted, trust_.Trusts(real, source.text));
      if (!trusted) return Untrusted(source.name);
    }
    return {};
  }

  static bool InsideWritable(const Policy& policy, const std::string& real) {
    for (const PathRule& root : policy.fs.write) {
      auto resolved = RealPath(root.path);
      if (guard::IsInside(real, resolved ? *resolved : root.path)) return true;
    }
    return false;
  }

  static Error Untrusted(const std::string& path) {
    Error error = base::InvalidArgument(
        Reason::kPolicyUntrusted,
        "policy " + path + ": lies inside a writable root, where the command could change it",
        "move it elsewhere, or look at it and run: cordon policy trust " + path);
    error.code = Code::kDenied;
    return error;
  }

  const PolicyFlags& flags_;
  const PolicyPlaces& places_;
  const policy::Context& context_;
  const LoadedPolicy* first_;
  TrustStore trust_;
  policy::LayerInputs inputs_;
  std::vector<std::string> files_;
  std::vector<policy::Imported> imported_;
};

Status LoadInto(LoadedPolicy& loaded, const PolicyFlags& flags, const PolicyPlaces& places,
                const LoadedPolicy* first) {
  Loader loader(flags, places, loaded.context, first);
  CORDON_ASSIGN_OR_RETURN(loaded.policy, loader.Load());
  loaded.layers = loader.TakeInputs();
  loaded.files = loader.TakeFiles();
  loaded.imported = loader.TakeImported();
  return {};
}

// Where the settings say that the agent works; empty if they do not.
Result<std::string> AgentWorkspace(const PolicyFlags& flags, const policy::Context& context) {
  for (const std::string& text : flags.settings) {
    CORDON_ASSIGN_OR_RETURN(policy::Imported imported,
                            ImportFile(ParseSettingsRequest(text, flags.agent), context));
    if (imported.workspace.empty()) continue;
    auto real = RealPath(imported.workspace);
    if (real) return *std::move(real);
    Error error = std::move(real).error();
    error.reason = Reason::kWorkspaceInvalid;
    error.hint = "make it, or name another with --workspace";
    return std::move(error).Within(imported.name + ": the agent's workspace");
  }
  return std::string();
}

}  // namespace

SettingsRequest ParseSettingsRequest(std::string_view text, std::string agent) {
  SettingsRequest request{.path = std::string(text), .agent = std::move(agent)};
  size_t colon = text.find(':');
  if (colon == text.npos) return request;
  if (auto kind = policy::ParseSettingsKind(text.substr(0, colon))) {
    request.kind = *kind;
    request.path = text.substr(colon + 1);
  }
  return request;
}

Result<policy::Imported> ImportFile(SettingsRequest request, const policy::Context& context) {
  CORDON_ASSIGN_OR_RETURN(auto source, RequirePolicyFile(request.path, FileRules::kNamed));
  CORDON_ASSIGN_OR_RETURN(request.path, PlaceOf(request.path));
  return Import(request, source, context);
}

void AddPolicyFlags(Arguments& arguments, PolicyFlags& flags) {
  auto add = [&](const char* name, const char* value, const char* doc, auto target) {
    arguments.Add({.name = name, .value = value, .doc = doc, .group = "Policy", .target = target});
  };
  add("--policy", "FILE", "A policy file (TOML, or JSON if it ends in .json)", &flags.files);
  add("--policy-env", "NAME", "A whole policy as JSON in a variable", &flags.variable);
  add("--preset", "NAME", "The preset to start from, and modifiers", &flags.presets);
  add("--workspace", "DIR", "The workspace (default: here)", &flags.workspace);
  for (const FlagSpec& spec : kFlags) {
    add(spec.flag, spec.value, spec.doc, [&flags, &spec](const Strings& values) {
      for (const std::string& value : values) {
        flags.assignments.push_back({spec.key, value, std::string("flag ") + spec.flag});
      }
    });
  }
  add("--env", "NAME[=VALUE]", "Pass or set a variable", [&flags](const Strings& values) {
    for (const std::string& value : values) flags.assignments.push_back(EnvAssignment(value));
  });
  add("--backend", "NAME", "How to contain it", &flags.backend);
  add("--settings", "[KIND:]FILE", "Another tool's settings: claude, srt, agents, codex, cursor",
      &flags.settings);
  add("--agent", "ID", "Which of the settings' agents", &flags.agent);
}

Result<policy::Context> MakeContext(const PolicyFlags& flags) {
  policy::Context context;
  context.env = Environment();
  std::string home = Variable(context, "HOME");
  if (home.starts_with('/')) context.home = guard::NormalizePath(home);
  auto workspace = RealPath(flags.workspace.empty() ? "." : flags.workspace);
  if (!workspace) {
    Error error = std::move(workspace).error();
    error.reason = Reason::kWorkspaceInvalid;
    return std::move(error).Within("workspace");
  }
  context.workspace = std::move(*workspace);
  return context;
}

Result<LoadedPolicy> LoadPolicy(const PolicyFlags& flags, const PolicyPlaces& places) {
  LoadedPolicy loaded;
  CORDON_ASSIGN_OR_RETURN(loaded.context, MakeContext(flags));
  if (!flags.workspace.empty()) loaded.workspace_choice = WorkspaceChoice::kNamed;
  if (flags.workspace.empty()) {
    CORDON_ASSIGN_OR_RETURN(std::string workspace, AgentWorkspace(flags, loaded.context));
    if (!workspace.empty()) {
      loaded.workspace_choice = WorkspaceChoice::kNamed;
      loaded.context.workspace = std::move(workspace);
    }
  }
  CORDON_TRY(LoadInto(loaded, flags, places, nullptr));
  // It is not the command's.
  if (!flags.variable.empty()) loaded.context.env.erase(flags.variable);
  return loaded;
}

Result<LoadedPolicy> LoadPolicyAgain(const PolicyFlags& flags, const LoadedPolicy& first,
                                     const PolicyPlaces& places) {
  LoadedPolicy loaded{.context = first.context, .workspace_choice = first.workspace_choice};
  CORDON_TRY(LoadInto(loaded, flags, places, &first));
  return loaded;
}

}  // namespace cordon::cli
