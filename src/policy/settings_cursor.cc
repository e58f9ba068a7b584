// Cursor's sandbox.json: the workspace is written, everything is read
// unless readBoundary says otherwise, and networkPolicy denies what it does not
// allow.
#include <algorithm>

#include "policy/settings_builder.h"

namespace cordon::policy {
namespace {

// Ranges that no name may resolve to here.
bool IsPrivateRange(std::string_view cidr) {
  constexpr std::string_view kRanges[] = {
      "10.0.0.0/8",    "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16",
      "100.64.0.0/10", "0.0.0.0/8",     "::1/128",        "fc00::/7",    "fe80::/10"};
  return std::ranges::find(kRanges, cidr) != std::end(kRanges);
}

Status ReadDenied(SettingsBuilder& builder, Section& network) {
  CORDON_ASSIGN_OR_RETURN(auto denied, network.Texts("deny"));
  for (const Said& host : denied) {
    if (IsPrivateRange(host.text)) {
      builder.Elsewhere(host.line, network.Name("deny"), host.text + " is denied anyway");
    } else if (host.text == "*") {
      builder.Set("net.mode", "none", host.line);
    } else {
      CORDON_TRY(builder.AddDeniedHost(host, network.Name("deny")));
    }
  }
  return {};
}

Status ReadNetwork(SettingsBuilder& builder, Section network) {
  CORDON_ASSIGN_OR_RETURN(auto fallback, network.Word("default", {"allow", "deny"}));
  CORDON_ASSIGN_OR_RETURN(auto allowed, network.Texts("allow"));
  bool all = fallback && fallback->text == "allow";
  for (const Said& host : allowed) {
    if (host.text == "*") {
      all = true;
    } else {
      builder.AddHost(host, network.Name("allow"));
    }
  }
  builder.Set("net.mode", all ? "public" : "proxy", fallback ? fallback->line : 0);
  CORDON_TRY(ReadDenied(builder, network));
  network.Elsewhere("version", "there is one");
  network.Rest("not known");
  return {};
}

Status ReadPaths(SettingsBuilder& builder, Section& top, bool writes) {
  CORDON_ASSIGN_OR_RETURN(auto written, top.Texts("additionalReadwritePaths"));
  for (const Said& path : written) {
    builder.AddPath(writes ? "fs.write" : "fs.read", path, ".",
                    top.Name("additionalReadwritePaths"));
  }
  for (const char* key : {"additionalReadonlyPaths", "additionalReadPaths"}) {
    CORDON_ASSIGN_OR_RETURN(auto read, top.Texts(key));
    for (const Said& path : read) builder.AddPath("fs.read", path, ".", top.Name(key));
  }
  top.Elsewhere("disableTmpWrite", "/tmp is a private one here, and can be written");
  return {};
}

}  // namespace

Status ReadCursor(SettingsBuilder& builder, const Node& root) {
  Section top(builder, &root, "");
  CORDON_ASSIGN_OR_RETURN(
      auto type, top.Word("type", {"workspace_readwrite", "workspace_readonly", "insecure_none"}));
  if (type && type->text == "insecure_none") {
    builder.Set("preset", "rwx", type->line);
    builder.Elsewhere(type->line, "type",
                      "no sandbox at all there; preset rwx still has the floor");
    top.Rest("there is no sandbox that it is about", SettingsNote::Weight::kElsewhere);
    return {};
  }
  CORDON_ASSIGN_OR_RETURN(auto boundary, top.Text("readBoundary"));
  bool confined = boundary && boundary->text == "workspace";
  builder.Set("preset", confined ? "strict" : "bare", confined ? boundary->line : 0);
  if (confined) builder.Set("env.mode", "inherit");
  bool writes = !type || type->text == "workspace_readwrite";
  if (writes) builder.Add("fs.write", {"."});
  if (!writes && confined) {
    Node none{.kind = Node::Kind::kTable, .line = type->line};
    none.members.emplace_back("only", Node{.kind = Node::Kind::kArray});
    builder.SetNode("fs.write", std::move(none));
    builder.Add("fs.read", {".", type->line});
  }
  CORDON_TRY(ReadPaths(builder, top, writes));
  CORDON_ASSIGN_OR_RETURN(Section network, top.Table("networkPolicy"));
  CORDON_TRY(ReadNetwork(builder, std::move(network)));
  top.Elsewhere("enableSharedBuildCache", "fs.caches = \"private\" keeps caches per workspace");
  top.Rest("not known");
  return {};
}

}  // namespace cordon::policy
