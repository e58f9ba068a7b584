#include "policy/settings_builder.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"

namespace cordon::policy {
namespace {

using Kind = Node::Kind;

// "?~/x", "?./x", "?/x": other tools pass over what does not exist. Their `$`
// is a byte like any other; our list expands it.
std::string OurPath(std::string_view theirs, std::string_view base) {
  std::string path;
  if (theirs.starts_with('~') || theirs.starts_with('/')) {
    path = theirs;
  } else {
    path = guard::NormalizePath(theirs);
    std::string from = guard::EscapeGlob(base);
    path = path == "." ? from : from + "/" + path;
  }
  while (path.starts_with("//")) path.erase(0, 1);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::string ours = path == "." || path == "/" ? "" : "?";
  for (char c : path) {
    ours += c;
    if (c == '$') ours += c;
  }
  return ours;
}

// "src/**" as a root is "src".
std::string_view WithoutTail(std::string_view path) {
  while (path.ends_with("/**")) path.remove_suffix(3);
  return path.empty() ? "/" : path;
}

}  // namespace

// ---- our side ----

void SettingsBuilder::Set(std::string_view key, std::string_view text, int line) {
  SetNode(key, {.kind = Kind::kString, .line = line, .text = std::string(text)});
}

void SettingsBuilder::SetFlag(std::string_view key, int line) {
  SetNode(key, {.kind = Kind::kBoolean, .line = line, .integer = 1});
}

void SettingsBuilder::SetNumber(std::string_view key, int64_t number, int line) {
  SetNode(key, {.kind = Kind::kInteger, .line = line, .integer = number});
}

void SettingsBuilder::SetNode(std::string_view key, Node value) {
  imported_.values.insert_or_assign(std::string(key), std::move(value));
}

void SettingsBuilder::Add(std::string_view key, Said said) {
  if (Has(key, said.text)) return;
  Node& list = imported_.values[std::string(key)];
  list.kind = Kind::kArray;
  if (list.line == 0) list.line = said.line;
  list.items.push_back({.kind = Kind::kString, .line = said.line, .text = std::move(said.text)});
}

bool SettingsBuilder::Has(std::string_view key, std::string_view text) const {
  auto found = imported_.values.find(std::string(key));
  return found != imported_.values.end() &&
         std::ranges::any_of(found->second.items, [&](auto& item) { return item.text == text; });
}

void SettingsBuilder::Remove(std::string_view key, std::string_view text) {
  auto found = imported_.values.find(std::string(key));
  if (found == imported_.values.end()) return;
  std::erase_if(found->second.items, [&](const Node& item) { return item.text == text; });
  if (found->second.items.empty()) imported_.values.erase(found);
}

std::string SettingsBuilder::AddPath(std::string_view key, const Said& theirs,
                                     std::string_view base, std::string_view their_key) {
  std::string ours = OurPath(WithoutTail(theirs.text), base);
  if (auto read = ParsePath(ours, PathUse::kLiteral, context_); !read) {
    Lost(theirs.line, their_key, std::move(read).error().message + "; left out");
    return "";
  }
  bool temp = ours == "?/tmp" || ours == "?/var/tmp" || ours == "?/private/tmp";
  if (temp && key == "fs.write") {
    Elsewhere(theirs.line, their_key, theirs.text + " is a private one here, and can be written");
    return "";
  }
  Add(key, {ours, theirs.line});
  return ours;
}

Status SettingsBuilder::AddDeniedPath(std::string_view key, const Said& theirs,
                                      std::string_view base, std::string_view their_key) {
  std::string ours = OurPath(theirs.text, base);
  auto read = ParsePath(ours, PathUse::kPattern, context_);
  if (!read) return Refuse(theirs.line, their_key, std::move(read).error().message);
  Add(key, {std::move(ours), theirs.line});
  return {};
}

void SettingsBuilder::AddHost(const Said& theirs, std::string_view their_key) {
  if (Status good = CheckSingleHost(theirs.text); !good) {
    return Lost(theirs.line, their_key, std::move(good).error().message + "; left out");
  }
  Add("net.allow", theirs);
}

Status SettingsBuilder::AddDeniedHost(const Said& theirs, std::string_view their_key) {
  Status good = theirs.text.starts_with('@') ? Status(BadValue("a host", theirs.text))
                                             : CheckDeniedHost(theirs.text);
  if (!good) return Refuse(theirs.line, their_key, std::move(good).error().message);
  Add("net.deny", theirs);
  return {};
}

void SettingsBuilder::Lost(int line, std::string_view key, std::string why) {
  imported_.notes.push_back({line, std::string(key), std::move(why), SettingsNote::Weight::kLost});
}

void SettingsBuilder::Elsewhere(int line, std::string_view key, std::string why) {
  imported_.notes.push_back(
      {line, std::string(key), std::move(why), SettingsNote::Weight::kElsewhere});
}

Error SettingsBuilder::Refuse(int line, std::string_view key, const std::string& why) const {
  Origin origin{.source = file_.name, .line = line};
  return base::InvalidArgument(Reason::kPolicyBadValue,
                               origin.ToString() + ": " + base::Printable(key) + ": " + why);
}

Imported SettingsBuilder::Take(SettingsKind kind) && {
  imported_.kind = kind;
  std::ranges::stable_sort(imported_.notes, {}, &SettingsNote::line);
  return std::move(imported_);
}

// ---- their side ----

bool Section::Holds(std::string_view key) const {
  return table_ != nullptr && table_->Find(key) != nullptr;
}

int Section::LineOf(std::string_view key) const { return Holds(key) ? table_->Find(key)->line : 0; }

// JSON's null says that nothing is said.
const Node* Section::Take(std::string_view key) {
  taken_.emplace(key);
  const Node* node = table_ == nullptr ? nullptr : table_->Find(key);
  bool null = node != nullptr && node->kind == Kind::kOther && node->text == "null";
  return null ? nullptr : node;
}

Error Section::Expected(std::string_view key, const Node& node, std::string_view what) const {
  return builder_->Refuse(node.line, Name(key),
                          "expected " + std::string(what) + ", got " + KindName(node));
}

Result<Section> Section::Table(std::string_view key) {
  const Node* node = Take(key);
  if (node != nullptr && node->kind != Kind::kTable) return Expected(key, *node, "a table");
  return Section(*builder_, node, Name(key) + ".");
}

Result<std::vector<Section>> Section::Tables(std::string_view key) {
  std::vector<Section> tables;
  const Node* node = Take(key);
  if (node == nullptr) return tables;
  if (node->kind != Kind::kArray) return Expected(key, *node, "a list of tables");
  for (const Node& item : node->items) {
    if (item.kind != Kind::kTable) return Expected(key, item, "a table");
    tables.emplace_back(*builder_, &item, Name(key) + ".");
  }
  return tables;
}

Result<std::vector<Said>> Section::Texts(std::string_view key) {
  std::vector<Said> texts;
  const Node* node = Take(key);
  if (node == nullptr) return texts;
  if (node->kind != Kind::kArray) return Expected(key, *node, "a list of strings");
  for (const Node& item : node->items) {
    if (item.kind != Kind::kString) return Expected(key, item, "a string");
    if (!CheckWord(item.text)) return Expected(key, item, "a text without control characters");
    texts.push_back({item.text, item.line});
  }
  return texts;
}

Result<std::optional<Said>> Section::Text(std::string_view key) {
  const Node* node = Take(key);
  if (node == nullptr) return std::optional<Said>();
  if (node->kind != Kind::kString || !CheckWord(node->text)) {
    return Expected(key, *node, "a string");
  }
  return std::optional<Said>({node->text, node->line});
}

Result<std::optional<Said>> Section::Word(std::string_view key,
                                          const std::vector<std::string>& words) {
  CORDON_ASSIGN_OR_RETURN(std::optional<Said> said, Text(key));
  if (said && std::ranges::find(words, said->text) == words.end()) {
    return builder_->Refuse(said->line, Name(key),
                            BadValue(base::Join(words, " | "), said->text).message);
  }
  return said;
}

Result<std::optional<bool>> Section::Flag(std::string_view key) {
  const Node* node = Take(key);
  if (node == nullptr) return std::optional<bool>();
  if (node->kind != Kind::kBoolean) return Expected(key, *node, "true or false");
  return std::optional(node->integer != 0);
}

Result<std::optional<int>> Section::Number(std::string_view key, int least, int most) {
  const Node* node = Take(key);
  if (node == nullptr) return std::optional<int>();
  if (node->kind != Kind::kInteger || node->integer < least || node->integer > most) {
    return Expected(key, *node,
                    "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return std::optional(static_cast<int>(node->integer));
}

Result<std::vector<std::pair<std::string, Said>>> Section::Pairs() {
  std::vector<std::pair<std::string, Said>> pairs;
  if (table_ == nullptr) return pairs;
  for (const auto& [name, value] : table_->members) {
    taken_.insert(name);
    if (value.kind != Kind::kString) return Expected(name, value, "a string");
    pairs.emplace_back(name, Said{value.text, value.line});
  }
  return pairs;
}

void Section::Lost(std::string_view key, std::string why) {
  taken_.emplace(key);
  if (Holds(key)) builder_->Lost(LineOf(key), Name(key), std::move(why));
}

void Section::Elsewhere(std::string_view key, std::string why) {
  taken_.emplace(key);
  if (Holds(key)) builder_->Elsewhere(LineOf(key), Name(key), std::move(why));
}

void Section::Rest(const std::string& why, SettingsNote::Weight weight) {
  if (table_ == nullptr) return;
  for (const auto& [name, value] : table_->members) {
    if (taken_.contains(name) || name == "$schema") continue;
    if (weight == SettingsNote::Weight::kLost) builder_->Lost(value.line, Name(name), why);
    if (weight == SettingsNote::Weight::kElsewhere) {
      builder_->Elsewhere(value.line, Name(name), why);
    }
  }
}

}  // namespace cordon::policy
