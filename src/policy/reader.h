// A document → a Policy. The document extends a base: a list adds to the
// base's, `{ only = [...] }` replaces it, `{ without = [...] }` takes from it
// what it has, a scalar replaces.
//
//   Result<Policy> base = Preset("workspace", context);
//   Result<Policy> mine = Read(text, Format::kToml, "policy.toml", context, *base);
//
// Every error reads "file:line: key: what was expected, got what" and has one
// of the reasons kPolicySyntax, kPolicyUnknownKey, kPolicyBadValue.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "cordon/result.h"
#include "policy/document.h"
#include "policy/values.h"

namespace cordon::policy {

// What a plain list does to the base's.
enum class Lists { kExtend, kReplace };

Result<Policy> Read(std::string_view text, Format format, const std::string& source,
                    const Context& context, Policy base);

// The same from a parsed document. `preset` is checked and otherwise ignored:
// the caller has already chosen the base by it.
Result<Policy> ReadNode(const Node& root, const std::string& source, const Context& context,
                        Policy base, Lists lists = Lists::kExtend);

// The presets that the document names, in its order; empty if it names none.
Result<std::vector<std::string>> PresetsNamed(std::string_view text, Format format,
                                              std::string_view source);
Result<std::vector<std::string>> PresetsIn(const Node& root, std::string_view source);

// One value from the command line. A list key gets one more element, a scalar
// is replaced; "env.set" takes "NAME=VALUE".
struct Assignment {
  std::string key;  // "fs.read"
  std::string value;
  std::string origin;  // "flag --read"
};
Result<Policy> Assign(const Assignment& assignment, const Context& context, Policy base);

}  // namespace cordon::policy
