// Bytes of a policy file → a tree of values that know their lines. TOML and
// JSON give the same tree, so that nothing after this file asks which it was.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/result.h"

namespace cordon::policy {

enum class Format { kToml, kJson };

struct Node {
  enum class Kind { kTable, kArray, kString, kInteger, kBoolean, kOther };

  Kind kind = Kind::kTable;
  int line = 0;             // from 1; 0 where there is none
  std::string text;         // of a string; of kOther what it is ("null", "a date", "a float")
  int64_t integer = 0;      // of an integer; 0 or 1 of a boolean
  std::vector<Node> items;  // of an array
  std::vector<std::pair<std::string, Node>> members;  // of a table, in the order of the file

  const Node* Find(std::string_view key) const;
  bool operator==(const Node&) const = default;
};

// "a string", "null", "an array" …, for messages.
std::string KindName(const Node& node);

inline constexpr size_t kMaxDocumentBytes = 1 << 20;
inline constexpr int kMaxDepth = 64;

// The table at the top of the document. Refused with kPolicySyntax and
// "source:line: …": more than kMaxDocumentBytes, invalid UTF-8, a byte order
// mark, NUL bytes, nesting deeper than kMaxDepth, duplicate keys, trailing
// bytes, comments and NaN in JSON, and all that the format itself forbids.
Result<Node> ParseDocument(std::string_view text, Format format, std::string_view source);

// A tree flattened in pre-order, as it is compiled into the binary for the
// presets: parsing TOML costs about a millisecond, this a few microseconds.
struct FlatNode {
  Node::Kind kind;
  int line;
  int children;
  const char* key;  // within a table
  const char* text;
  int64_t integer;
};
Node Unflatten(std::span<const FlatNode> nodes);

}  // namespace cordon::policy
