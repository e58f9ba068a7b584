#include "policy/layers.h"

#include <utility>

#include "policy/compose.h"
#include "policy/preset.h"

namespace cordon::policy {
namespace {

struct Layer {
  const Source* source;
  Node root;
};

Result<Layer> ParseLayer(const Source& source) {
  if (source.parsed) return Layer{&source, *source.parsed};
  CORDON_ASSIGN_OR_RETURN(Node root, ParseDocument(source.text, source.format, source.name));
  return Layer{&source, std::move(root)};
}

Result<Policy> Extend(const Layer& layer, const Context& context, Policy base) {
  return ReadNode(layer.root, layer.source->name, context, std::move(base));
}

class Stacker {
 public:
  Stacker(const LayerInputs& inputs, const Context& context) : inputs_(inputs), context_(context) {}

  Result<Policy> Stack() {
    CORDON_TRY(Parse());
    CORDON_ASSIGN_OR_RETURN(Policy policy, Base());
    for (const Assignment& flag : inputs_.flags) {
      CORDON_ASSIGN_OR_RETURN(policy, Assign(flag, context_, std::move(policy)));
    }
    CORDON_ASSIGN_OR_RETURN(policy, WithWorkspaceFile(std::move(policy)));
    return BelowAdmin(std::move(policy));
  }

 private:
  bool WorkspaceTrusted() const {
    return inputs_.workspace_file_trust == WorkspaceFileTrust::kTrusted;
  }

  Result<Policy> Base() const {
    if (inputs_.whole) {
      return Read(inputs_.whole->text, inputs_.whole->format, inputs_.whole->name, context_, {});
    }
    CORDON_ASSIGN_OR_RETURN(auto presets, ChoosePresets());
    CORDON_ASSIGN_OR_RETURN(Policy policy, Presets(presets, context_));
    for (const Layer& layer : files_) {
      CORDON_ASSIGN_OR_RETURN(policy, Extend(layer, context_, std::move(policy)));
    }
    return policy;
  }

  Status Parse() {
    for (const Source& source : inputs_.user_and_files) {
      CORDON_ASSIGN_OR_RETURN(Layer layer, ParseLayer(source));
      files_.push_back(std::move(layer));
    }
    if (inputs_.admin) {
      CORDON_ASSIGN_OR_RETURN(admin_, ParseLayer(*inputs_.admin));
    }
    if (inputs_.workspace_file) {
      CORDON_ASSIGN_OR_RETURN(workspace_, ParseLayer(*inputs_.workspace_file));
    }
    return {};
  }

  Result<std::vector<std::string>> ChoosePresets() const {
    std::vector<std::string> chosen;
    auto consider = [&](const Layer& layer) -> Status {
      CORDON_ASSIGN_OR_RETURN(auto named, PresetsIn(layer.root, layer.source->name));
      if (!named.empty()) chosen = std::move(named);
      return {};
    };
    if (admin_) CORDON_TRY(consider(*admin_));
    for (const Layer& layer : files_) CORDON_TRY(consider(layer));
    if (!inputs_.presets_from_flags.empty()) chosen = inputs_.presets_from_flags;
    if (workspace_ && WorkspaceTrusted()) CORDON_TRY(consider(*workspace_));
    return chosen;
  }

  Result<Policy> WithWorkspaceFile(Policy before) const {
    if (!workspace_) return before;
    CORDON_ASSIGN_OR_RETURN(Policy after, Extend(*workspace_, context_, before));
    if (WorkspaceTrusted()) return after;
    after.net.upstream = before.net.upstream;
    after.net.external = before.net.external;
    after.net.tls_ca = before.net.tls_ca;
    after.net.credentials = before.net.credentials;
    after.audit.log = before.audit.log;
    return Compose(before, after);
  }

  // A ceiling that lists names or variables but no mode means the mode in which
  // the list counts: read onto "everything" it would otherwise cap nothing.
  static void ImplyModes(Policy& ceiling) {
    auto said = [&](const char* key) { return ceiling.origins.contains(key); };
    bool lists_net = said("net.allow") || said("net.publish") || said("net.host_ports");
    if (lists_net && !said("net.mode")) ceiling.net.mode = NetMode::kProxy;
    if (said("env.pass") && !said("env.mode")) ceiling.env.mode = EnvMode::kClean;
  }

  Result<Policy> BelowAdmin(Policy policy) const {
    if (!admin_) return policy;
    CORDON_ASSIGN_OR_RETURN(Policy ceiling, ReadNode(admin_->root, admin_->source->name, context_,
                                                     Unrestricted(), Lists::kReplace));
    ImplyModes(ceiling);
    return Compose(ceiling, policy);
  }

  const LayerInputs& inputs_;
  const Context& context_;
  std::vector<Layer> files_;
  std::optional<Layer> admin_;
  std::optional<Layer> workspace_;
};

}  // namespace

Result<Policy> Stack(const LayerInputs& inputs, const Context& context) {
  return Stacker(inputs, context).Stack();
}

}  // namespace cordon::policy
