// The JSON Schema (draft 2020-12) of a policy document, from the table of keys.
#include <fmt/core.h>

#include <algorithm>

#include "base/strings.h"
#include "policy/preset.h"
#include "policy/schema.h"

namespace cordon::policy {
namespace {

using base::Join;

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string EnumOf(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(Quote(name));
  return "{ \"enum\": [" + Join(quoted, ", ") + "] }";
}

constexpr char kText[] = R"({ "type": "string", "minLength": 1 })";
constexpr char kPort[] = R"({ "type": "integer", "minimum": 1, "maximum": 65535 })";
constexpr char kWords[] =
    R"({ "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } })";

std::string PlainList(const std::string& item) {
  return R"({ "type": "array", "items": )" + item + " }";
}

// A list that adds to the base's, { "only": [...] } that replaces it, or
// { "without": [...] } that takes from it.
std::string ListOf(const std::string& item) {
  return R"({ "oneOf": [)" + PlainList(item) +
         R"(, { "type": "object", "minProperties": 1, "maxProperties": 1, )" +
         R"("additionalProperties": false, "properties": { "only": )" + PlainList(item) +
         R"(, "without": )" + PlainList(item) + " } }] }";
}

// "60s" or a plain number.
std::string AmountOf(std::string_view pattern) {
  return fmt::format(
      R"({{ "oneOf": [{{ "type": "integer", "minimum": 1 }}, {{ "type": "string", "pattern": "{}" }}] }})",
      pattern);
}

std::string SchemaOf(const VersionField&) { return R"({ "const": 1 })"; }
std::string SchemaOf(const PresetField&) {
  std::string name = EnumOf(PresetNames());
  return R"({ "oneOf": [)" + name + R"(, { "type": "array", "minItems": 1, "items": )" + name +
         " }] }";
}
std::string SchemaOf(const PathsField&) { return ListOf(kText); }
std::string SchemaOf(const DataDirField&) { return kText; }
std::string SchemaOf(const NamesField& field) {
  if (field.check == CheckEnvName) {
    return ListOf(R"({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" })");
  }
  return ListOf(kText);
}
std::string SchemaOf(const EnumField& field) {
  return EnumOf(std::vector<std::string>(field.names.begin(), field.names.end()));
}
std::string SchemaOf(const FlagField&) { return R"({ "type": "boolean" })"; }
std::string SchemaOf(const AmountField& field) {
  if (field.unit == Unit::kCount) return R"({ "type": "integer", "minimum": 1 })";
  bool bytes = field.unit == Unit::kBytes;
  return AmountOf(bytes ? "^[0-9]+([kMGT]B|[KMGT]iB|B)?$" : "^[0-9]+(ms|s|m|h|d)?$");
}
std::string SchemaOf(const NumberField& field) {
  return fmt::format(R"({{ "type": "integer", "minimum": {}, "maximum": {} }})", field.least,
                     field.most);
}
std::string SchemaOf(const PortsField&) { return ListOf(kPort); }
std::string SchemaOf(const UrlField&) {
  return R"({ "type": "string", "pattern": "^(http|https|socks5)://" })";
}
std::string SchemaOf(const FileField&) { return kText; }
std::string SchemaOf(const EnvSetField&) {
  return R"({ "type": "object", "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }, )"
         R"("additionalProperties": { "type": "string" } })";
}
std::string SchemaOf(const ExternalField&) {
  return std::string(R"({ "type": "object", "minProperties": 1, "additionalProperties": false, )") +
         R"("properties": { "http": )" + kPort + R"(, "socks": )" + kPort + R"(, "command": )" +
         kWords + " } }";
}
std::string SchemaOf(const RulesField&) {
  return PlainList(
      std::string(R"({ "type": "object", "required": ["host"], "additionalProperties": false, )") +
      R"("properties": { "host": )" + kText + R"(, "methods": )" + kWords + R"(, "paths": )" +
      kWords + " } }");
}

std::string SchemaOf(const CredentialsField&) {
  return PlainList(std::string(R"({ "type": "object", "required": ["host", "header", "from"], )") +
                   R"("additionalProperties": false, "properties": { "host": )" + kText +
                   R"(, "header": )" + kText +
                   R"(, "format": { "type": "string", "pattern": "^[^{}]*[{][}][^{}]*$" }, )" +
                   R"("from": { "type": "string", "pattern": "^(env|file|command):." } } })");
}
std::string SchemaOf(const AuthorityField&) {
  return std::string(R"({ "type": "object", "required": ["cert", "key"], )") +
         R"("additionalProperties": false, "properties": { "cert": )" + kText + R"(, "key": )" +
         kText + " } }";
}

std::string Described(const Key& key) {
  std::string schema = std::visit([](const auto& field) { return SchemaOf(field); }, key.field);
  return R"({ "description": )" + Quote(key.doc) + ", " + schema.substr(2);
}

std::string ObjectSchema(const std::string& prefix, const std::string& indent) {
  std::vector<std::string> properties, tables;
  for (const Key& key : Keys()) {
    if (!key.name.starts_with(prefix)) continue;
    std::string rest(key.name.substr(prefix.size()));
    std::string name = rest.substr(0, rest.find('.'));
    bool table = name != rest;
    if (table && std::find(tables.begin(), tables.end(), name) != tables.end()) continue;
    if (table) tables.push_back(name);
    properties.push_back(
        indent + "    " + Quote(name) + ": " +
        (table ? "{\n" + ObjectSchema(prefix + name + ".", indent + "    ") : Described(key)));
  }
  return indent + "  \"type\": \"object\",\n" + indent + "  \"additionalProperties\": false,\n" +
         indent + "  \"properties\": {\n" + Join(properties, ",\n") + "\n" + indent + "  }\n" +
         indent + "}";
}

}  // namespace

std::string JsonSchema() {
  return "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
         "  \"title\": \"Cordon policy\",\n" +
         ObjectSchema("", "") + "\n";
}

}  // namespace cordon::policy
