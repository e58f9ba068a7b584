#include "policy/reader.h"

#include <algorithm>
#include <bitset>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "policy/schema.h"

namespace cordon::policy {
namespace {

using Kind = Node::Kind;

std::string Got(const Node& node) {
  if (node.kind == Kind::kString) {
    std::string shown = base::Printable(base::Utf8Prefix(node.text, 80));
    return '"' + shown + (node.text.size() > 80 ? "…\"" : "\"");
  }
  if (node.kind == Kind::kInteger) return std::to_string(node.integer);
  if (node.kind == Kind::kBoolean) return node.integer != 0 ? "true" : "false";
  return KindName(node);
}

Error Expected(std::string_view what, const Node& node) {
  return base::InvalidArgument(Reason::kPolicyBadValue,
                               "expected " + std::string(what) + ", got " + Got(node));
}

// The text of a string, or of an integer where a plain number is one way to
// write the value.
enum class Numbers { kNo, kYes };
Result<std::string> Text(const Node& node, Numbers numbers, std::string_view what) {
  if (node.kind == Kind::kString) return node.text;
  if (node.kind == Kind::kInteger && numbers == Numbers::kYes) return std::to_string(node.integer);
  return Expected(what, node);
}

Status CheckNoNul(const Node& node) {
  if (node.text.find('\0') != std::string::npos) return Expected("a text without NUL", node);
  return {};
}

size_t Hash(const PathRule& rule) { return std::hash<std::string>{}(rule.path); }
size_t Hash(const Entry& entry) { return std::hash<std::string>{}(entry.text); }
size_t Hash(const HttpRule& rule) { return std::hash<std::string>{}(rule.host); }
size_t Hash(const Credential& one) { return std::hash<std::string>{}(one.host); }
size_t Hash(int number) { return static_cast<size_t>(number); }

// Adds values to a list, or puts them in the place of their equals. Most are
// new, and that a hash tells without comparing with all the others.
template <typename T>
class Adder {
 public:
  explicit Adder(std::vector<T>& list) : list_(list) {
    for (const T& value : list) seen_.set(Hash(value) % kBits);
  }
  void Add(T value) {
    size_t bit = Hash(value) % kBits;
    auto found = seen_[bit] ? std::find(list_.begin(), list_.end(), value) : list_.end();
    seen_.set(bit);
    if (found == list_.end()) {
      list_.push_back(std::move(value));
    } else {
      *found = std::move(value);
    }
  }

 private:
  static constexpr size_t kBits = 4096;
  std::vector<T>& list_;
  std::bitset<kBits> seen_;
};

class Reader {
 public:
  Reader(const std::string& source, const Context& context, Policy base, Lists lists)
      : source_(source), context_(context), policy_(std::move(base)), lists_(lists) {}

  Status ReadTable(const std::string& prefix, const Node& table) {
    for (const auto& [name, node] : table.members) {
      // A key that holds a dot of its own is not a path through tables.
      bool dotted = name.find('.') != std::string::npos;
      std::string full = prefix + name;
      const Key* key = dotted ? nullptr : FindKey(full);
      if (key != nullptr) {
        CORDON_TRY(ReadKey(*key, node));
      } else if (dotted || name.empty() || !IsTable(full)) {
        return UnknownKey(prefix, name, node.line);
      } else if (node.kind != Kind::kTable) {
        return Expected("a table", node).Within(Place(full, node));
      } else {
        CORDON_TRY(ReadTable(full + ".", node));
      }
    }
    return {};
  }

  Status ReadKey(const Key& key, const Node& node) {
    at_ = &node;
    Status status = std::visit([&](const auto& field) { return Set(field, node); }, key.field);
    if (!status) return std::move(status).error().Within(Place(key.name, *at_));
    policy_.origins[std::string(key.name)] = OriginOf(node);
    return {};
  }

  Policy Take() && { return std::move(policy_); }

 private:
  Origin OriginOf(const Node& node) const { return {.source = source_, .line = node.line}; }

  std::string Place(std::string_view key, const Node& node) const {
    return OriginOf(node).ToString() + ": " + base::Printable(key);
  }

  Error UnknownKey(const std::string& prefix, const std::string& name, int line) const {
    Node here{.line = line};
    Error error = base::InvalidArgument(Reason::kPolicyUnknownKey,
                                        Place(prefix + name, here) + ": unknown key");
    if (auto near = NearestKey(prefix, name)) error.hint = "did you mean \"" + *near + "\"?";
    return error;
  }

  // A sibling that is spelled alike, or else a key elsewhere of that name.
  static std::optional<std::string> NearestKey(const std::string& prefix, const std::string& name) {
    std::vector<std::string> siblings, elsewhere;
    for (const Key& key : Keys()) {
      std::string_view rest = key.name;
      if (rest.starts_with(prefix)) {
        rest.remove_prefix(prefix.size());
        siblings.push_back(prefix + std::string(rest.substr(0, rest.find('.'))));
      }
      if (key.name.ends_with("." + name)) elsewhere.emplace_back(key.name);
    }
    if (auto near = base::Nearest(prefix + name, siblings)) return near;
    if (!elsewhere.empty()) return elsewhere.front();
    return std::nullopt;
  }

  // The elements of a list, which add to `target`, replace it or leave it.
  struct Elements {
    std::span<const Node> items;
    bool leave = false;
  };

  template <typename T>
  Result<Elements> Items(const Node& node, std::vector<T>& target) {
    const Node* list = &node;
    std::string_view verb;
    if (node.kind == Kind::kTable && node.members.size() == 1) verb = node.members[0].first;
    if (verb == "only" || verb == "without") list = &node.members[0].second;
    if (list->kind != Kind::kArray) {
      return Expected("a list, { only = [...] } or { without = [...] }", node);
    }
    bool leave = verb == "without";
    if (verb == "only" || (lists_ == Lists::kReplace && !leave)) target.clear();
    return Elements{list->items, leave};
  }

  // One that is not there may be a slip of the pen, and what was meant would stay.
  template <typename T>
  static Status Leave(std::vector<T>& target, const T& value, const Node& node) {
    if (std::erase(target, value) == 0) return Expected("what the list below has", node);
    return {};
  }

  Status Set(const VersionField&, const Node& node) {
    if (node.kind != Kind::kInteger || node.integer != 1) return Expected("1", node);
    return {};
  }

  Status Set(const PresetField&, const Node&) { return {}; }  // PresetsIn has read it

  Status Set(const PathsField& field, const Node& node) {
    PathRules& target = field.get(policy_);
    CORDON_ASSIGN_OR_RETURN(Elements elements, Items(node, target));
    Adder adder(target);
    for (const Node& item : elements.items) {
      at_ = &item;
      CORDON_ASSIGN_OR_RETURN(std::string text, Text(item, Numbers::kNo, "a path"));
      CORDON_ASSIGN_OR_RETURN(PathRule rule, ParsePath(text, field.use, context_));
      rule.origin = OriginOf(item);
      if (elements.leave) {
        CORDON_TRY(Leave(target, rule, item));
      } else {
        adder.Add(std::move(rule));
      }
    }
    return {};
  }

  Status Set(const DataDirField& field, const Node& node) {
    CORDON_ASSIGN_OR_RETURN(std::string text, Text(node, Numbers::kNo, "a path"));
    CORDON_ASSIGN_OR_RETURN(PathRule rule, ParsePath(text, PathUse::kLiteral, context_));
    rule.origin = OriginOf(node);
    field.get(policy_) = std::move(rule);
    return {};
  }

  Status Set(const NamesField& field, const Node& node) {
    Entries& target = field.get(policy_);
    CORDON_ASSIGN_OR_RETURN(Elements elements, Items(node, target));
    Adder adder(target);
    for (const Node& item : elements.items) {
      at_ = &item;
      CORDON_ASSIGN_OR_RETURN(std::string text, Text(item, Numbers::kNo, "a string"));
      CORDON_TRY(field.check(text));
      Entry entry{std::move(text), OriginOf(item)};
      if (elements.leave) {
        CORDON_TRY(Leave(target, entry, item));
      } else {
        adder.Add(std::move(entry));
      }
    }
    return {};
  }

  Status Set(const EnumField& field, const Node& node) {
    std::string what;
    for (std::string_view name : field.names) {
      what += (what.empty() ? "" : " | ") + std::string(name);
    }
    CORDON_ASSIGN_OR_RETURN(std::string text, Text(node, Numbers::kNo, what));
    auto found = std::find(field.names.begin(), field.names.end(), text);
    if (found == field.names.end()) return Expected(what, node);
    field.set(policy_, static_cast<int>(found - field.names.begin()));
    return {};
  }

  Status Set(const FlagField& field, const Node& node) {
    if (node.kind != Kind::kBoolean) return Expected("true or false", node);
    field.get(policy_) = node.integer != 0;
    return {};
  }

  Status Set(const AmountField& field, const Node& node) {
    auto parse = field.unit == Unit::kBytes   ? ParseSize
                 : field.unit == Unit::kCount ? ParseCount
                                              : ParseDuration;
    // A count is a number; only the command line writes it as text.
    if (field.unit == Unit::kCount && node.kind == Kind::kString) {
      return Expected("a whole number from 1 up", node);
    }
    CORDON_ASSIGN_OR_RETURN(std::string text, Text(node, Numbers::kYes, TypeName(field)));
    CORDON_ASSIGN_OR_RETURN(field.get(policy_), parse(text));
    return {};
  }

  Status Set(const NumberField& field, const Node& node) {
    bool good =
        node.kind == Kind::kInteger && node.integer >= field.least && node.integer <= field.most;
    if (!good) {
      return Expected(
          "a number from " + std::to_string(field.least) + " to " + std::to_string(field.most),
          node);
    }
    field.get(policy_) = static_cast<int>(node.integer);
    return {};
  }

  Status Set(const PortsField& field, const Node& node) {
    std::vector<int>& target = field.get(policy_);
    CORDON_ASSIGN_OR_RETURN(Elements elements, Items(node, target));
    Adder adder(target);
    for (const Node& item : elements.items) {
      at_ = &item;
      CORDON_ASSIGN_OR_RETURN(int port, Port(item));
      if (elements.leave) {
        CORDON_TRY(Leave(target, port, item));
      } else {
        adder.Add(port);
      }
    }
    return {};
  }

  static Result<int> Port(const Node& node) {
    if (node.kind != Kind::kInteger) return Expected("a port from 1 to 65535", node);
    return ParsePort(std::to_string(node.integer));
  }

  Status Set(const UrlField& field, const Node& node) {
    CORDON_ASSIGN_OR_RETURN(std::string text, Text(node, Numbers::kNo, "a URL"));
    CORDON_TRY(CheckProxyUrl(text));
    field.get(policy_) = std::move(text);
    return {};
  }

  Status Set(const FileField& field, const Node& node) {
    CORDON_ASSIGN_OR_RETURN(std::string text, Text(node, Numbers::kNo, "a path"));
    CORDON_ASSIGN_OR_RETURN(PathRule rule, ParsePath(text, PathUse::kLiteral, context_));
    field.get(policy_) = std::move(rule.path);
    return {};
  }

  Status Set(const EnvSetField&, const Node& node) {
    if (node.kind != Kind::kTable) return Expected("a table", node);
    for (const auto& [name, value] : node.members) {
      at_ = &value;
      CORDON_TRY(CheckEnvName(name));
      if (value.kind != Kind::kString) {
        return Expected("a string", value).Within(name);
      }
      CORDON_TRY(CheckNoNul(value));
      policy_.env.set[name] = value.text;
    }
    return {};
  }

  Status Set(const ExternalField&, const Node& node) {
    if (node.kind != Kind::kTable || node.members.empty()) {
      return Expected("{ http = PORT, socks = PORT } or { command = [...] }", node);
    }
    ExternalProxy external;
    for (const auto& [name, value] : node.members) {
      at_ = &value;
      if (name == "http") {
        CORDON_ASSIGN_OR_RETURN(external.http, Port(value));
      } else if (name == "socks") {
        CORDON_ASSIGN_OR_RETURN(external.socks, Port(value));
      } else if (name == "command") {
        CORDON_ASSIGN_OR_RETURN(external.command, Words(value));
      } else {
        return UnknownMember(name);
      }
    }
    at_ = &node;
    if (!external.command.empty() && node.members.size() > 1) {
      return Expected("ports or a command, not both", node);
    }
    policy_.net.external = std::move(external);
    return {};
  }

  // Rules add to the base's: TOML's [[net.rule]] has no way to say "only".
  Status Set(const RulesField&, const Node& node) {
    if (node.kind != Kind::kArray) return Expected("a list of tables", node);
    if (lists_ == Lists::kReplace) policy_.net.rules.clear();
    Adder adder(policy_.net.rules);
    for (const Node& item : node.items) {
      at_ = &item;
      CORDON_ASSIGN_OR_RETURN(HttpRule rule, ReadRule(item));
      adder.Add(std::move(rule));
    }
    return {};
  }

  Result<HttpRule> ReadRule(const Node& node) {
    if (node.kind != Kind::kTable) return Expected("a table", node);
    HttpRule rule;
    for (const auto& [name, value] : node.members) {
      at_ = &value;
      if (name == "host") {
        CORDON_ASSIGN_OR_RETURN(rule.host, Text(value, Numbers::kNo, "a host name or pattern"));
        CORDON_TRY(CheckHost(rule.host));
      } else if (name == "methods") {
        CORDON_ASSIGN_OR_RETURN(rule.methods, Words(value));
      } else if (name == "paths") {
        CORDON_ASSIGN_OR_RETURN(rule.paths, Words(value));
      } else {
        return UnknownMember(name);
      }
    }
    at_ = &node;
    if (rule.host.empty()) return Expected("a rule with a host", node);
    return rule;
  }

  Status Set(const CredentialsField&, const Node& node) {
    if (node.kind != Kind::kArray) return Expected("a list of tables", node);
    if (lists_ == Lists::kReplace) policy_.net.credentials.clear();
    Adder adder(policy_.net.credentials);
    for (const Node& item : node.items) {
      at_ = &item;
      CORDON_ASSIGN_OR_RETURN(Credential credential, ReadCredential(item));
      adder.Add(std::move(credential));
    }
    return {};
  }

  Result<Credential> ReadCredential(const Node& node) {
    if (node.kind != Kind::kTable) return Expected("a table", node);
    Credential credential{.format = "{}"};
    for (const auto& [name, value] : node.members) {
      at_ = &value;
      std::string* member = name == "host"     ? &credential.host
                            : name == "header" ? &credential.header
                            : name == "format" ? &credential.format
                            : name == "from"   ? &credential.from
                                               : nullptr;
      if (member == nullptr) return UnknownMember(name);
      CORDON_ASSIGN_OR_RETURN(*member, Text(value, Numbers::kNo, "a string"));
      if (name == "host") CORDON_TRY(CheckSingleHost(*member));
      if (name == "header") CORDON_TRY(CheckHeaderName(*member));
      if (name == "format") CORDON_TRY(CheckHeaderFormat(*member));
      if (name == "from") {
        CORDON_ASSIGN_OR_RETURN(*member, ParseSecretSource(*member, context_));
      }
    }
    at_ = &node;
    if (credential.host.empty() || credential.header.empty() || credential.from.empty()) {
      return Expected("a credential with host, header and from", node);
    }
    return credential;
  }

  Status Set(const AuthorityField&, const Node& node) {
    if (node.kind != Kind::kTable) return Expected("{ cert = PATH, key = PATH }", node);
    TlsAuthority authority;
    for (const auto& [name, value] : node.members) {
      at_ = &value;
      if (name != "cert" && name != "key") return UnknownMember(name);
      CORDON_ASSIGN_OR_RETURN(std::string text, Text(value, Numbers::kNo, "a path"));
      CORDON_ASSIGN_OR_RETURN(PathRule rule, ParsePath(text, PathUse::kLiteral, context_));
      (name == "cert" ? authority.cert : authority.key) = std::move(rule.path);
    }
    at_ = &node;
    if (authority.cert.empty() || authority.key.empty()) return Expected("both cert and key", node);
    policy_.net.tls_ca = std::move(authority);
    return {};
  }

  static Error UnknownMember(const std::string& name) {
    return base::InvalidArgument(Reason::kPolicyUnknownKey,
                                 "unknown key \"" + base::Printable(name) + "\"");
  }

  // A list that must not be empty: here empty would mean "any".
  Result<std::vector<std::string>> Words(const Node& node) {
    if (node.kind != Kind::kArray || node.items.empty()) {
      return Expected("a list of strings", node);
    }
    std::vector<std::string> words;
    for (const Node& item : node.items) {
      at_ = &item;
      CORDON_ASSIGN_OR_RETURN(std::string text, Text(item, Numbers::kNo, "a string"));
      CORDON_TRY(CheckWord(text));
      words.push_back(std::move(text));
    }
    return words;
  }

  const std::string& source_;
  const Context& context_;
  Policy policy_;
  Lists lists_;
  const Node* at_ = nullptr;  // the node an error is about
};

// A value of the command line as the node a document would have had.
Result<Node> NodeOf(const Key& key, const std::string& value) {
  Node scalar{.kind = Kind::kString, .text = value};
  bool number = std::holds_alternative<PortsField>(key.field) ||
                std::holds_alternative<NumberField>(key.field);
  if (const auto* amount = std::get_if<AmountField>(&key.field)) {
    number = amount->unit == Unit::kCount;
  }
  if (number) {
    CORDON_ASSIGN_OR_RETURN(uint64_t count, ParseCount(value));
    scalar = {.kind = Kind::kInteger, .integer = static_cast<int64_t>(count)};
  }
  if (std::holds_alternative<FlagField>(key.field)) {
    if (value != "true" && value != "false") return BadValue("true or false", value);
    scalar = {.kind = Kind::kBoolean, .integer = value == "true"};
  }
  if (std::holds_alternative<EnvSetField>(key.field)) {
    size_t equals = std::min(value.find('='), value.size());
    scalar.text = equals < value.size() ? value.substr(equals + 1) : "";
    Node table;
    table.members.emplace_back(value.substr(0, equals), std::move(scalar));
    return table;
  }
  bool list = std::holds_alternative<PathsField>(key.field) ||
              std::holds_alternative<NamesField>(key.field) ||
              std::holds_alternative<PortsField>(key.field);
  if (!list) return scalar;
  Node array{.kind = Kind::kArray};
  array.items.push_back(std::move(scalar));
  return array;
}

Error PresetError(const Node& node, std::string_view source) {
  Origin origin{.source = std::string(source), .line = node.line};
  return Expected("the name of a preset or a list of names", node)
      .Within(origin.ToString() + ": preset");
}

}  // namespace

Result<std::vector<std::string>> PresetsIn(const Node& root, std::string_view source) {
  std::vector<std::string> names;
  const Node* preset = root.Find("preset");
  if (preset == nullptr) return names;
  std::span<const Node> items(preset, 1);
  if (preset->kind == Kind::kArray) items = preset->items;
  if (items.empty()) return PresetError(*preset, source);
  for (const Node& item : items) {
    if (item.kind != Kind::kString || !CheckWord(item.text)) return PresetError(item, source);
    names.push_back(item.text);
  }
  return names;
}

Result<std::vector<std::string>> PresetsNamed(std::string_view text, Format format,
                                              std::string_view source) {
  CORDON_ASSIGN_OR_RETURN(Node root, ParseDocument(text, format, source));
  return PresetsIn(root, source);
}

Result<Policy> ReadNode(const Node& root, const std::string& source, const Context& context,
                        Policy base, Lists lists) {
  CORDON_TRY(PresetsIn(root, source));
  Reader reader(source, context, std::move(base), lists);
  CORDON_TRY(reader.ReadTable("", root));
  return std::move(reader).Take();
}

Result<Policy> Read(std::string_view text, Format format, const std::string& source,
                    const Context& context, Policy base) {
  CORDON_ASSIGN_OR_RETURN(Node root, ParseDocument(text, format, source));
  return ReadNode(root, source, context, std::move(base));
}

Result<Policy> Assign(const Assignment& assignment, const Context& context, Policy base) {
  const Key* key = FindKey(assignment.key);
  if (key == nullptr) {
    return base::InvalidArgument(Reason::kPolicyUnknownKey,
                                 assignment.origin + ": " + assignment.key + ": unknown key");
  }
  auto node = NodeOf(*key, assignment.value);
  if (!node) return std::move(node).error().Within(assignment.origin + ": " + assignment.key);
  Reader reader(assignment.origin, context, std::move(base), Lists::kExtend);
  CORDON_TRY(reader.ReadKey(*key, *node));
  return std::move(reader).Take();
}

}  // namespace cordon::policy

namespace cordon {

std::string Origin::ToString() const {
  return line > 0 ? source + ":" + std::to_string(line) : source;
}

}  // namespace cordon
