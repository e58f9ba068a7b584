// The one table of policy keys. The reader, the renderer, the JSON Schema and
// the table in docs/policy.md all walk it, so that they cannot disagree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cordon/policy.h"
#include "policy/values.h"

namespace cordon::policy {

// Where in a Policy the value of a key lives, and how it is written.
struct VersionField {};
struct PresetField {};
struct PathsField {
  PathRules& (*get)(Policy&);
  PathUse use;
};
struct DataDirField {
  std::optional<PathRule>& (*get)(Policy&);
};
struct NamesField {
  Entries& (*get)(Policy&);
  Status (*check)(std::string_view);
};
struct EnumField {
  std::span<const std::string_view> names;  // by the value of the enum
  int (*get)(const Policy&);
  void (*set)(Policy&, int);
};
struct FlagField {
  bool& (*get)(Policy&);
};
enum class Unit { kBytes, kMilliseconds, kCount };
struct AmountField {
  std::optional<uint64_t>& (*get)(Policy&);
  Unit unit;
};
struct NumberField {
  int& (*get)(Policy&);
  int least;
  int most;
};
struct PortsField {
  std::vector<int>& (*get)(Policy&);
};
struct UrlField {
  std::string& (*get)(Policy&);
};
struct FileField {
  std::string& (*get)(Policy&);
};
struct EnvSetField {};
struct ExternalField {};
struct RulesField {};
struct CredentialsField {};
struct AuthorityField {};

using Field =
    std::variant<VersionField, PresetField, PathsField, DataDirField, NamesField, EnumField,
                 FlagField, AmountField, NumberField, PortsField, UrlField, FileField, EnvSetField,
                 ExternalField, RulesField, CredentialsField, AuthorityField>;

struct Key {
  std::string_view name;  // dotted: "fs.read"
  Field field;
  std::string_view fallback;  // the default, as TOML; "" where there is none
  std::string_view example;   // as TOML
  std::string_view doc;       // one line
};

// In the order of the documentation.
std::span<const Key> Keys();
const Key* FindKey(std::string_view name);
// Whether `name` is a table that holds keys ("fs", "net.tls").
bool IsTable(std::string_view name);

// Whether two policies have the same value for this key.
bool SameValue(const Key& key, const Policy& a, const Policy& b);

// What a value of this key looks like, in words and as a JSON Schema.
std::string TypeName(const Field& field);
std::string JsonSchema();
// The Markdown table of all keys, as docs/policy.md has it.
std::string MarkdownTable();

}  // namespace cordon::policy
