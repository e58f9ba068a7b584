#include "policy/document.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <toml.hpp>

#include "base/error.h"
#include "base/strings.h"
#include "base/toml_hazards.h"

namespace cordon::policy {
namespace {

constexpr char kOutOfRange[] = "an integer out of range";

Error SyntaxError(std::string_view source, int line, std::string_view what) {
  std::string place(source);
  if (line > 0) place += ":" + std::to_string(line);
  return base::InvalidArgument(Reason::kPolicySyntax, place + ": " + base::Printable(what));
}

int LineAt(std::string_view text, size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + offset, '\n'));
}

Status CheckBytes(std::string_view text, std::string_view source) {
  if (text.size() > kMaxDocumentBytes) return SyntaxError(source, 0, "larger than 1 MiB");
  if (text.starts_with("\xef\xbb\xbf")) return SyntaxError(source, 1, "has a byte order mark");
  size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    return SyntaxError(source, LineAt(text, nul), "holds a NUL byte");
  }
  if (!base::IsValidUtf8(text)) return SyntaxError(source, 0, "is not valid UTF-8");
  return {};
}

// ---- JSON ----

// An input iterator that counts the lines it has passed.
struct LineCounter {
  int line = 1;
  char last = 0;
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, LineCounter* counter) : at_(at), counter_(counter) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    counter_->last = *at_;
    if (*at_ == '\n') ++counter_->line;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  LineCounter* counter_;
};

// Builds the tree from nlohmann's events. A handler that returns false ends
// the parse; `problem` then says why.
class JsonBuilder {
 public:
  explicit JsonBuilder(const LineCounter* counter) : counter_(counter) {}

  bool null() { return Add(Other("null")); }
  bool boolean(bool value) {
    return Add({.kind = Node::Kind::kBoolean, .line = counter_->line, .integer = value});
  }
  bool number_integer(int64_t value) {
    return Add({.kind = Node::Kind::kInteger, .line = NumberLine(), .integer = value});
  }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Add(Other(kOutOfRange));
    }
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(double, const std::string&) { return Add(Other("a float")); }
  bool string(std::string& value) {
    return Add({.kind = Node::Kind::kString, .line = counter_->line, .text = std::move(value)});
  }
  bool binary(nlohmann::json::binary_t&) { return Fail("binary data"); }
  bool start_object(size_t) { return Open(Node::Kind::kTable); }
  bool start_array(size_t) { return Open(Node::Kind::kArray); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(std::string& value) {
    if (open_.back().Find(value) != nullptr) return Fail("duplicate key \"" + value + "\"");
    keys_.back() = std::move(value);
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) {
    std::string what = error.what();
    size_t colon = what.find(": ");  // drops "[json.exception…] parse error at line …"
    return Fail(colon == std::string::npos ? what : what.substr(colon + 2));
  }

  const std::string& problem() const { return problem_; }
  Node&& Take() && { return std::move(root_); }

 private:
  Node Other(std::string what) {
    return {.kind = Node::Kind::kOther, .line = counter_->line, .text = std::move(what)};
  }
  // A number ends where the next byte is not part of it, which has been read.
  int NumberLine() const { return counter_->line - (counter_->last == '\n' ? 1 : 0); }

  bool Fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  bool Open(Node::Kind kind) {
    if (open_.size() >= kMaxDepth) return Fail("nested too deeply");
    open_.push_back({.kind = kind, .line = counter_->line});
    keys_.emplace_back();
    return true;
  }

  bool Close() {
    Node done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return Add(std::move(done));
  }

  bool Add(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().kind == Node::Kind::kArray) {
      open_.back().items.push_back(std::move(node));
    } else {
      open_.back().members.emplace_back(keys_.back(), std::move(node));
    }
    return true;
  }

  const LineCounter* counter_;
  std::vector<Node> open_;
  std::vector<std::string> keys_;
  Node root_;
  std::string problem_;
};

Result<Node> ParseJson(std::string_view text, std::string_view source) {
  LineCounter counter;
  JsonBuilder builder(&counter);
  CountingIterator begin(text.data(), &counter);
  CountingIterator end(text.data() + text.size(), &counter);
  if (!nlohmann::json::sax_parse(begin, end, &builder)) {
    return SyntaxError(source, counter.line, builder.problem());
  }
  return std::move(builder).Take();
}

// ---- TOML ----

using TomlValue = toml::basic_value<toml::discard_comments, std::map, std::vector>;

class TomlBuilder {
 public:
  explicit TomlBuilder(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') newlines_.push_back(i);
    }
  }

  Node Build(const TomlValue& value) const {
    Node node{.line = Line(value)};
    if (value.is_table()) {
      FillTable(value.as_table(std::nothrow), node);
    } else if (value.is_array()) {
      node.kind = Node::Kind::kArray;
      for (const TomlValue& item : value.as_array(std::nothrow)) node.items.push_back(Build(item));
    } else {
      FillScalar(value, node);
    }
    return node;
  }

 private:
  void FillTable(const std::map<std::string, TomlValue>& table, Node& node) const {
    for (const auto& [key, value] : table) node.members.emplace_back(key, Build(value));
    std::stable_sort(node.members.begin(), node.members.end(),
                     [](const auto& a, const auto& b) { return a.second.line < b.second.line; });
  }

  static void FillScalar(const TomlValue& value, Node& node) {
    if (value.is_string()) {
      node.kind = Node::Kind::kString;
      node.text = value.as_string(std::nothrow).str;
    } else if (value.is_integer()) {
      FillInteger(value, node);
    } else if (value.is_boolean()) {
      node.kind = Node::Kind::kBoolean;
      node.integer = value.as_boolean(std::nothrow);
    } else {
      node.kind = Node::Kind::kOther;
      node.text = value.is_floating() ? "a float" : "a date or time";
    }
  }

  // toml11 clamps what does not fit.
  static void FillInteger(const TomlValue& value, Node& node) {
    using Limits = std::numeric_limits<int64_t>;
    node.integer = value.as_integer(std::nothrow);
    node.kind = Node::Kind::kInteger;
    if (node.integer == Limits::max() || node.integer == Limits::min()) {
      node = {.kind = Node::Kind::kOther, .line = node.line, .text = kOutOfRange};
    }
  }

  // value.location() counts all newlines before the value each time; a large
  // hostile file would make that quadratic.
  int Line(const TomlValue& value) const {
    const auto* region = dynamic_cast<const toml::detail::region*>(toml::detail::get_region(value));
    if (region == nullptr) return 1;
    auto offset = static_cast<size_t>(region->first() - region->begin());
    auto before = std::lower_bound(newlines_.begin(), newlines_.end(), offset);
    return 1 + static_cast<int>(before - newlines_.begin());
  }

  std::vector<size_t> newlines_;
};

// toml11's message is a drawing of several lines: its first says what, and
// " --> source\n 12 | text" says where.
Error TomlError(const std::exception& error, std::string_view source) {
  std::string what = error.what();
  std::string first = what.substr(0, what.find('\n'));
  if (first.starts_with("[error] ")) first.erase(0, 8);
  if (first.starts_with("toml::")) first.erase(0, 6);
  int line = 0;
  if (size_t bar = what.find(" | "); bar != std::string::npos) {
    size_t start = what.rfind('\n', bar);
    line = std::atoi(what.c_str() + (start == std::string::npos ? 0 : start + 1));
  }
  return SyntaxError(source, line, first);
}

Result<Node> ParseToml(std::string_view text, std::string_view source) {
  if (auto hazard = base::FindTomlHazard(text); !hazard.empty()) {
    return SyntaxError(source, 0, hazard);
  }
  std::istringstream stream{std::string(text)};
  try {
    auto value = toml::parse<toml::discard_comments, std::map, std::vector>(stream, "policy");
    return TomlBuilder(text).Build(value);
  } catch (const std::exception& error) {
    return TomlError(error, source);
  }
}

Node UnflattenOne(std::span<const FlatNode>& rest) {
  const FlatNode& flat = rest.front();
  rest = rest.subspan(1);
  Node node{.kind = flat.kind, .line = flat.line, .text = flat.text, .integer = flat.integer};
  auto count = static_cast<size_t>(flat.children);
  if (flat.kind == Node::Kind::kArray) node.items.reserve(count);
  if (flat.kind == Node::Kind::kTable) node.members.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const char* key = rest.front().key;
    if (flat.kind == Node::Kind::kArray) node.items.push_back(UnflattenOne(rest));
    if (flat.kind == Node::Kind::kTable) node.members.emplace_back(key, UnflattenOne(rest));
  }
  return node;
}

}  // namespace

const Node* Node::Find(std::string_view key) const {
  auto found = std::find_if(members.begin(), members.end(),
                            [&](const auto& member) { return member.first == key; });
  return found == members.end() ? nullptr : &found->second;
}

std::string KindName(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kTable:
      return "a table";
    case Node::Kind::kArray:
      return "a list";
    case Node::Kind::kString:
      return "a string";
    case Node::Kind::kInteger:
      return "an integer";
    case Node::Kind::kBoolean:
      return "a boolean";
    case Node::Kind::kOther:
      return node.text;
  }
  return "nothing";
}

Result<Node> ParseDocument(std::string_view text, Format format, std::string_view source) {
  CORDON_TRY(CheckBytes(text, source));
  Result<Node> root = format == Format::kJson ? ParseJson(text, source) : ParseToml(text, source);
  if (!root) return std::move(root).error();
  if (root->kind != Node::Kind::kTable) {
    return SyntaxError(source, root->line, "expected an object at the top, got " + KindName(*root));
  }
  return root;
}

Node Unflatten(std::span<const FlatNode> nodes) { return UnflattenOne(nodes); }

}  // namespace cordon::policy
