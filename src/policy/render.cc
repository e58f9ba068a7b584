#include "policy/render.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/strings.h"
#include "policy/schema.h"

namespace cordon::policy {
namespace {

struct Item {
  std::string text;  // as both formats write it
  Origin origin;
};

// The value of one key. A table is written inline by TOML ("k = v") and as an
// object by JSON.
struct Value {
  enum class Shape { kAbsent, kScalar, kList, kTable };
  Shape shape = Shape::kAbsent;
  std::string scalar;
  std::vector<Item> items;
  std::vector<std::pair<std::string, std::string>> members;
};

Value Scalar(std::string text) {
  return {.shape = Value::Shape::kScalar, .scalar = std::move(text)};
}

Value List(std::vector<Item> items) {
  if (items.empty()) return {};
  return {.shape = Value::Shape::kList, .items = std::move(items)};
}

std::string WordList(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(Quote(word));
  return "[" + base::Join(quoted, ", ") + "]";
}

enum class Syntax { kToml, kJson };

// Reads the values of one policy by the table of keys.
class Values {
 public:
  Values(Policy policy, Syntax syntax) : policy_(std::move(policy)), syntax_(syntax) {}

  Value Of(const Key& key) {
    return std::visit([&](const auto& field) { return Get(field); }, key.field);
  }

 private:
  Value Get(const VersionField&) { return Scalar("1"); }
  Value Get(const PresetField&) { return {}; }

  Value Get(const PathsField& field) {
    std::vector<Item> items;
    for (const PathRule& rule : field.get(policy_)) {
      items.push_back({Quote(FormatPath(rule)), rule.origin});
    }
    return List(std::move(items));
  }

  Value Get(const DataDirField& field) {
    const auto& rule = field.get(policy_);
    return rule ? Scalar(Quote(FormatPath(*rule))) : Value{};
  }

  Value Get(const NamesField& field) {
    std::vector<Item> items;
    for (const Entry& entry : field.get(policy_))
      items.push_back({Quote(entry.text), entry.origin});
    return List(std::move(items));
  }

  Value Get(const EnumField& field) {
    return Scalar(Quote(field.names[static_cast<size_t>(field.get(policy_))]));
  }

  Value Get(const FlagField& field) { return Scalar(field.get(policy_) ? "true" : "false"); }

  Value Get(const AmountField& field) {
    auto amount = field.get(policy_);
    if (!amount) return {};
    if (field.unit == Unit::kCount) return Scalar(std::to_string(*amount));
    return Scalar(
        Quote(field.unit == Unit::kBytes ? FormatSize(*amount) : FormatDuration(*amount)));
  }

  Value Get(const NumberField& field) { return Scalar(std::to_string(field.get(policy_))); }

  Value Get(const PortsField& field) {
    std::vector<Item> items;
    for (int port : field.get(policy_)) items.push_back({std::to_string(port), {}});
    return List(std::move(items));
  }

  Value Get(const UrlField& field) {
    const std::string& url = field.get(policy_);
    return url.empty() ? Value{} : Scalar(Quote(url));
  }

  Value Get(const FileField& field) {
    const std::string& path = field.get(policy_);
    return path.empty() ? Value{} : Scalar(Quote(FormatPath({.path = path})));
  }

  Value Get(const EnvSetField&) {
    Value value{.shape = policy_.env.set.empty() ? Value::Shape::kAbsent : Value::Shape::kTable};
    for (const auto& [name, text] : policy_.env.set) value.members.emplace_back(name, Quote(text));
    return value;
  }

  Value Get(const ExternalField&) {
    const auto& external = policy_.net.external;
    if (!external) return {};
    Value value{.shape = Value::Shape::kTable};
    if (external->http != 0) value.members.emplace_back("http", std::to_string(external->http));
    if (external->socks != 0) value.members.emplace_back("socks", std::to_string(external->socks));
    if (!external->command.empty()) {
      value.members.emplace_back("command", WordList(external->command));
    }
    return value;
  }

  Value Get(const RulesField&) {
    std::vector<Item> items;
    for (const HttpRule& rule : policy_.net.rules) items.push_back({RuleText(rule), {}});
    return List(std::move(items));
  }

  Value Get(const CredentialsField&) {
    std::vector<Item> items;
    for (const Credential& one : policy_.net.credentials)
      items.push_back({CredentialText(one), {}});
    return List(std::move(items));
  }

  Value Get(const AuthorityField&) {
    const auto& ca = policy_.net.tls_ca;
    if (!ca) return {};
    return {.shape = Value::Shape::kTable,
            .members = {{"cert", Quote(FormatPath({.path = ca->cert}))},
                        {"key", Quote(FormatPath({.path = ca->key}))}}};
  }

  // Where the value is; the value itself is read when a run needs it.
  std::string CredentialText(const Credential& one) const {
    constexpr std::string_view kFile = "file:";
    std::string from = one.from;
    if (from.starts_with(kFile)) {
      from = std::string(kFile) + FormatPath({.path = from.substr(kFile.size())});
    }
    return "{ " + Member("host", Quote(one.host)) + ", " + Member("header", Quote(one.header)) +
           ", " + Member("format", Quote(one.format)) + ", " + Member("from", Quote(from)) + " }";
  }

  std::string RuleText(const HttpRule& rule) const {
    std::string text = "{ " + Member("host", Quote(rule.host));
    if (!rule.methods.empty()) text += ", " + Member("methods", WordList(rule.methods));
    if (!rule.paths.empty()) text += ", " + Member("paths", WordList(rule.paths));
    return text + " }";
  }

  std::string Member(std::string_view name, const std::string& value) const {
    return syntax_ == Syntax::kToml ? std::string(name) + " = " + value
                                    : Quote(name) + ": " + value;
  }

  Policy policy_;
  Syntax syntax_;
};

std::pair<std::string, std::string> SplitKey(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {"", std::string(name)};
  return {std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

std::string Comment(const Origin& origin) {
  return origin.source.empty() ? "" : "  # " + base::Printable(origin.ToString());
}

std::string InlineTable(const Value& value) {
  std::vector<std::string> members;
  for (const auto& [name, text] : value.members) members.push_back(name + " = " + text);
  return "{ " + base::Join(members, ", ") + " }";
}

std::string TomlLines(const std::string& name, const Value& value, const Origin& origin) {
  if (value.shape == Value::Shape::kScalar) {
    return name + " = " + value.scalar + Comment(origin) + "\n";
  }
  if (value.shape == Value::Shape::kTable) {
    return name + " = " + InlineTable(value) + Comment(origin) + "\n";
  }
  std::string lines = name + " = [\n";
  for (const Item& item : value.items) {
    const Origin& from = item.origin.source.empty() ? origin : item.origin;
    lines += "  " + item.text + "," + Comment(from) + "\n";
  }
  return lines + "]\n";
}

Origin OriginOf(const Policy& policy, std::string_view key) {
  auto found = policy.origins.find(std::string(key));
  return found == policy.origins.end() ? Origin{} : found->second;
}

// Values that are what an empty policy has are not worth a line, unless
// somebody said them.
bool IsSilent(const Policy& policy, const Key& key, const Value& value) {
  if (value.shape == Value::Shape::kAbsent) return true;
  if (key.name == "version") return false;
  Values empty(Policy{}, Syntax::kToml);
  return value.shape == Value::Shape::kScalar && value.scalar == empty.Of(key).scalar &&
         !policy.origins.contains(std::string(key.name));
}

std::string JsonValue(const Value& value, const std::string& indent) {
  if (value.shape == Value::Shape::kScalar) return value.scalar;
  std::vector<std::string> parts;
  for (const Item& item : value.items) parts.push_back(indent + "  " + item.text);
  for (const auto& [name, text] : value.members) {
    parts.push_back(indent + "  " + Quote(name) + ": " + text);
  }
  bool list = value.shape == Value::Shape::kList;
  return (list ? "[\n" : "{\n") + base::Join(parts, ",\n") + "\n" + indent + (list ? "]" : "}");
}

// The keys directly below `table` and the tables below it, as one object.
std::string JsonObject(Values& values, const std::string& table, const std::string& indent) {
  std::vector<std::string> parts, done;
  std::string prefix = table.empty() ? "" : table + ".";
  for (const Key& key : Keys()) {
    if (!key.name.starts_with(prefix)) continue;
    std::string rest(key.name.substr(prefix.size()));
    std::string name = rest.substr(0, rest.find('.'));
    std::string text;
    if (name != rest) {
      if (std::find(done.begin(), done.end(), name) != done.end()) continue;
      done.push_back(name);
      text = JsonObject(values, prefix + name, indent + "  ");
    } else {
      Value value = values.Of(key);
      if (value.shape == Value::Shape::kAbsent) continue;
      text = JsonValue(value, indent + "  ");
    }
    parts.push_back(indent + "  " + Quote(name) + ": " + text);
  }
  if (parts.empty()) return "{}";
  return "{\n" + base::Join(parts, ",\n") + "\n" + indent + "}";
}

std::vector<std::string> Facts(const Policy& policy) {
  std::vector<std::string> facts;
  Values values(policy, Syntax::kToml);
  for (const Key& key : Keys()) {
    Value value = values.Of(key);
    std::string start = std::string(key.name) + " ";
    if (value.shape == Value::Shape::kScalar) facts.push_back(start + value.scalar);
    for (const Item& item : value.items) facts.push_back(start + item.text);
    for (const auto& [name, text] : value.members) facts.push_back(start + name + " = " + text);
  }
  return facts;
}

}  // namespace

// TOML's basic strings and JSON's have the same escapes for what matters here.
std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  std::string safe = base::IsValidUtf8(text) ? std::string(text) : base::Printable(text);
  for (char c : safe) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string RenderToml(const Policy& policy) {
  std::string text, table;
  Values values(policy, Syntax::kToml);
  for (const Key& key : Keys()) {
    Value value = values.Of(key);
    if (IsSilent(policy, key, value)) continue;
    auto [parent, name] = SplitKey(key.name);
    if (parent != table) text += "\n[" + parent + "]\n";
    table = parent;
    text += TomlLines(name, value, OriginOf(policy, key.name));
  }
  return text;
}

std::string RenderJson(const Policy& policy) {
  Values values(policy, Syntax::kJson);
  return JsonObject(values, "", "") + "\n";
}

std::vector<std::string> Diff(const Policy& a, const Policy& b) {
  std::vector<std::string> lines;
  std::vector<std::string> before = Facts(a), after = Facts(b);
  auto missing = [](const std::vector<std::string>& in, const std::string& fact) {
    return std::find(in.begin(), in.end(), fact) == in.end();
  };
  for (const std::string& fact : before) {
    if (missing(after, fact)) lines.push_back("- " + fact);
  }
  for (const std::string& fact : after) {
    if (missing(before, fact)) lines.push_back("+ " + fact);
  }
  return lines;
}

}  // namespace cordon::policy
