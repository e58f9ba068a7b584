#include "policy/host_lists.h"

#include <algorithm>

#include "base/strings.h"
#include "policy/preset_data.h"
#include "policy/values.h"

namespace cordon::policy {
namespace {

Error UnknownList(std::string_view name) {
  Error error = BadValue("a host list that exists", name);
  std::vector<std::string> names = HostListNames();
  error.hint = "the lists are " + base::Join(names, " ");
  if (auto near = base::Nearest(name, names)) {
    error.hint = "did you mean \"" + *near + "\"? " + error.hint;
  }
  return error;
}

const Node& Lists() {
  static const Node kLists = Unflatten(HostListData());
  return kLists;
}

const Node* FindList(std::string_view name) {
  const Node& root = Lists();
  auto found = std::find_if(root.members.begin(), root.members.end(),
                            [&](const auto& member) { return member.first == name.substr(1); });
  return found == root.members.end() ? nullptr : &found->second;
}

// Lists in lists are one deep: a test of the data sees to it.
Status Append(std::string_view name, std::vector<std::string>& hosts) {
  const Node* list = FindList(name);
  if (list == nullptr) return UnknownList(name);
  for (const Node& item : list->items) {
    if (item.text.starts_with('@')) {
      CORDON_TRY(Append(item.text, hosts));
    } else if (std::find(hosts.begin(), hosts.end(), item.text) == hosts.end()) {
      hosts.push_back(item.text);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> HostListNames() {
  std::vector<std::string> names;
  for (const auto& [name, list] : Lists().members) names.push_back("@" + name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> ExpandHostList(std::string_view name) {
  std::vector<std::string> hosts;
  CORDON_TRY(Append(name, hosts));
  return hosts;
}

Status CheckHostList(std::string_view name) {
  // In the data as it is: every start asks for a list, few need what is in it.
  std::span<const FlatNode> data = HostListData();
  bool known = std::any_of(data.begin() + 1, data.end(), [&](const FlatNode& node) {
    return node.kind == Node::Kind::kArray && node.key != nullptr && name.substr(1) == node.key;
  });
  if (!known) return UnknownList(name);
  return {};
}

Result<std::vector<std::string>> ExpandHosts(std::string_view text) {
  if (text.starts_with('@')) return ExpandHostList(text);
  return std::vector<std::string>{std::string(text)};
}

}  // namespace cordon::policy
