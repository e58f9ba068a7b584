#include "guard/shell_words.h"

#include <algorithm>
#include <utility>

namespace cordon::guard {
namespace {

constexpr int kMostDepth = 120;  // a substitution takes three

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

ShellWords::Deeper::Deeper(ShellWords& words) : words_(words) {
  if (++words_.depth_ > kMostDepth) words_.Fail("nested too deeply");
}

void ShellWords::Fail(std::string why) {
  if (!Failed()) problem_ = std::move(why);
  pos_ = text_.size();
}

std::string ShellWords::Here() {
  return Peek() == '\n' ? "end of line" : "\"" + std::string(1, Peek()) + "\"";
}

size_t ShellWords::SkipContinuations(size_t at) const {
  while (text_.substr(at, 2) == "\\\n") at += 2;
  return at;
}

char ShellWords::Peek() {
  pos_ = SkipContinuations(std::min(pos_, text_.size()));
  return pos_ < text_.size() ? text_[pos_] : '\0';
}

char ShellWords::Peek2() {
  if (Peek() == '\0') return '\0';
  size_t at = SkipContinuations(pos_ + 1);
  return at < text_.size() ? text_[at] : '\0';
}

void ShellWords::Next() {
  Peek();
  ++pos_;
}

bool ShellWords::Take(char c) {
  if (Peek() != c) return false;
  Next();
  return true;
}

bool ShellWords::Take(char first, char second) {
  if (Peek() != first || Peek2() != second) return false;
  Next();
  Next();
  return true;
}

void ShellWords::Expect(char c) {
  if (!Take(c)) Fail(std::string("a missing \"") + c + "\"");
}

void ShellWords::SkipBlanks() {
  while (IsBlank(Peek())) Next();
  if (Peek() != '#') return;
  pos_ = std::min(text_.find('\n', pos_), text_.size());
}

void ShellWords::SkipNewlines() {
  for (SkipBlanks(); Peek() == '\n'; SkipBlanks()) Newline();
}

void ShellWords::Newline() {
  Next();
  for (const Heredoc& heredoc : std::exchange(pending_, {})) ReadHeredoc(heredoc);
}

std::string ShellWords::HeredocLine(bool quoted) {
  std::string line;
  while (pos_ < text_.size()) {
    char c = text_[pos_++];
    if (c == '\n') return line;
    bool escapes = c == '\\' && !quoted && pos_ < text_.size();
    if (escapes && text_[pos_] == '\n') {
      ++pos_;
      continue;
    }
    line += c;
    if (escapes) line += text_[pos_++];
  }
  return line;
}

void ShellWords::ReadHeredoc(const Heredoc& heredoc) {
  std::string body;
  while (pos_ < text_.size()) {
    std::string line = HeredocLine(heredoc.quoted);
    if (heredoc.strip_tabs) line.erase(0, std::min(line.find_first_not_of('\t'), line.size()));
    if (line == heredoc.end) {
      if (!heredoc.quoted) ReadInner(body, Inner::kExpansions);
      return;
    }
    body += line + "\n";
  }
  Fail("a here-document has no end");
}

void ShellWords::Append(ShellWord& word, char c) {
  if (word.literal) word.text += c;
}

void ShellWords::Expands(ShellWord& word, Quoted quoted) {
  word.literal = false;
  word.splits = word.splits || quoted == Quoted::kNo;
}

ShellWord ShellWords::Word() {
  ShellWord word;
  Peek();
  size_t start = pos_;
  bool brace = false, comma = false;
  size_t bracket = std::string::npos;  // where in the text a "[" is
  for (char c = Peek(); Piece(word, c); c = Peek()) {
    brace = brace || c == '{';
    comma = comma || (brace && (c == ',' || c == '.'));
    if (c == '[') bracket = std::min(bracket, word.text.size() - (word.literal ? 1 : 0));
    if (c == '}' && comma) Expands(word, Quoted::kNo);
    if (c != ']' || bracket == std::string::npos) continue;
    word.literal = false;
    word.text.resize(bracket);
  }
  if (!Failed()) word.raw = text_.substr(start, pos_ - start);
  return word;
}

bool ShellWords::Piece(ShellWord& word, char c) {
  if (IsOneOf(c, "<>") && Peek2() == '(') {
    Next();
    Next();
    for (char name : std::string_view("/dev/fd/")) Append(word, name);
    Expands(word, Quoted::kYes);
    Commands(')');
    return true;
  }
  if (IsMeta(c)) return false;
  if (c == '\\') {
    Escape(word);
  } else if (c == '\'') {
    SingleQuotes(word);
  } else if (c == '"') {
    DoubleQuotes(word);
  } else if (c == '$') {
    Dollar(word, Quoted::kNo);
  } else if (c == '`') {
    Backtick(word, Quoted::kNo);
  } else {
    // A glob may become any name: the text ends here.
    if (IsOneOf(c, "*?")) word.literal = false;
    Append(word, c);
    Next();
  }
  return true;
}

void ShellWords::Escape(ShellWord& word) {
  Append(word, pos_ + 1 < text_.size() ? text_[pos_ + 1] : '\\');
  pos_ += 2;
}

void ShellWords::SingleQuotes(ShellWord& word) {
  size_t end = text_.find('\'', pos_ + 1);
  if (end == text_.npos) return Fail("a quote that is not closed");
  for (char c : text_.substr(pos_ + 1, end - pos_ - 1)) Append(word, c);
  pos_ = end + 1;
}

void ShellWords::DoubleQuotes(ShellWord& word) {
  Deeper deeper(*this);
  Next();
  while (char c = Peek()) {
    if (c == '"') return Next();
    if (c == '$') {
      Dollar(word, Quoted::kYes);
    } else if (c == '`') {
      Backtick(word, Quoted::kYes);
    } else if (c == '\\' && pos_ + 1 < text_.size() && IsOneOf(text_[pos_ + 1], "$`\"\\")) {
      Escape(word);
    } else if (c == '\\') {
      Append(word, c);
      ++pos_;
      if (pos_ < text_.size()) Append(word, text_[pos_++]);
    } else {
      Append(word, c);
      Next();
    }
  }
  Fail("a quote that is not closed");
}

void ShellWords::AnsiQuotes(ShellWord& word) {
  for (++pos_; pos_ < text_.size() && text_[pos_] != '\''; ++pos_) {
    if (text_[pos_] != '\\') {
      Append(word, text_[pos_]);
      continue;
    }
    // dash has no such quotes and ends the string here.
    char escape = ++pos_ < text_.size() ? text_[pos_] : '\0';
    if (escape == '\'') return Fail("\\' in $'…', which shells read differently");
    size_t simple = std::string_view("tnr\\").find(escape);
    if (simple == std::string_view::npos)
      word.literal = false;
    else
      Append(word, "\t\n\r\\"[simple]);
  }
  if (pos_ >= text_.size()) return Fail("a quote that is not closed");
  ++pos_;
}

void ShellWords::Dollar(ShellWord& word, Quoted quoted) {
  Next();
  char c = Peek();
  if (c == '(') {
    Expands(word, quoted);
    Next();
    if (Take('(')) return Arithmetic();
    return Commands(')');
  }
  if (c == '{') return Parameter(word, quoted);
  if (c == '[') return Fail("$[…]");
  if (c == '\'' && quoted == Quoted::kNo) return AnsiQuotes(word);
  if (c == '"' && quoted == Quoted::kNo) return DoubleQuotes(word);
  if (!IsName(c) && !IsOneOf(c, "@*#?-$!")) return Append(word, '$');
  Expands(word, c == '@' ? Quoted::kNo : quoted);
  Next();
  if (IsNameStart(c)) TakeName();
}

void ShellWords::TakeName() {
  while (IsName(Peek())) Next();
}

void ShellWords::Commands(char close) {
  Deeper deeper(*this);
  line_.plain = false;
  // Shells differ in where the document of such a line is.
  if (!pending_.empty()) return Fail("a here-document before a substitution");
  List();
  if (!pending_.empty()) return Fail("a here-document in a substitution without its lines");
  Expect(close);
}

void ShellWords::Backtick(ShellWord& word, Quoted quoted) {
  Deeper deeper(*this);
  Expands(word, quoted);
  line_.plain = false;
  std::string inner;
  std::string_view escaped = quoted == Quoted::kYes ? "$`\\\"" : "$`\\";
  for (++pos_; pos_ < text_.size() && text_[pos_] != '`'; ++pos_) {
    bool escape = text_[pos_] == '\\' && pos_ + 1 < text_.size();
    if (escape && IsOneOf(text_[pos_ + 1], escaped)) {
      ++pos_;
    } else if (escape) {
      inner += text_[pos_++];
    }
    inner += text_[pos_];
  }
  if (pos_ >= text_.size()) return Fail("a backtick that is not closed");
  ++pos_;
  ReadInner(inner, Inner::kCommands);
  if (Failed()) pos_ = text_.size();
}

void ShellWords::Arithmetic() {
  Deeper deeper(*this);
  ShellWord word;
  int open = 0;
  while (char c = Peek()) {
    if (c == ')' && open == 0) {
      if (Take(')', ')')) return;
      break;
    }
    open += (c == '(') - (c == ')');
    line_.opaque = line_.opaque || IsNameStart(c);
    if (IsOneOf(c, "'\\")) break;
    if (c == '$') {
      line_.opaque = true;
      Dollar(word, Quoted::kYes);
    } else if (c == '`') {
      Backtick(word, Quoted::kYes);
    } else if (c == '"') {
      DoubleQuotes(word);
    } else {
      Next();
    }
  }
  Fail("arithmetic that does not end in \"))\"");
}

void ShellWords::Parameter(ShellWord& word, Quoted quoted) {
  Deeper deeper(*this);
  Next();
  char c = Peek();
  // ${ command; } and ${| command; } of bash 5.3.
  if (IsBlank(c) || c == '\n' || c == '|' || c == '(') return Fail("${ with a command");
  if (c == '!') line_.opaque = true;
  if (IsOneOf(c, "!#") && Peek2() != '}') Next();
  bool all = Peek() == '@';
  if (!IsName(Peek()) && !IsOneOf(Peek(), "@*#?-$!")) return Fail("a \"${\" without a name");
  if (IsName(Peek()))
    TakeName();
  else
    Next();
  if (Peek() == '[') all = Subscript() || all;
  Expands(word, all ? Quoted::kNo : quoted);
  if (!IsOneOf(Peek(), "}-+?#%/^,")) Operator();
  ParameterWord(quoted);
}

bool ShellWords::Subscript() {
  Next();
  bool all = IsOneOf(Peek(), "@*");
  for (; IsDigit(Peek()) || IsOneOf(Peek(), "@*"); Next()) {
  }
  if (!Take(']')) line_.opaque = true;  // arithmetic, or the key of a map
  return all;
}

void ShellWords::Operator() {
  bool colon = Take(':');
  if (colon && IsOneOf(Peek(), "-+?")) return;
  // Assignment, substrings by arithmetic, ${x@P} and what is not known.
  line_.opaque = true;
}

void ShellWords::ParameterWord(Quoted quoted) {
  ShellWord word;
  while (char c = Peek()) {
    if (c == '}') return Next();
    // Whether ' is a quote here depends on the operator and on the shell.
    if (c == '\'' && quoted == Quoted::kYes) return Fail("' in \"${…}\"");
    bool process = quoted == Quoted::kNo && IsOneOf(c, "<>") && Peek2() == '(';
    if (process || IsOneOf(c, "\\'\"")) {
      Piece(word, c);
    } else if (c == '$') {
      Dollar(word, quoted);
    } else if (c == '`') {
      Backtick(word, quoted);
    } else {
      Next();
    }
  }
  Fail("a \"${\" that is not closed");
}

void ShellWords::ReadExpansions() {
  ShellWord word;
  while (char c = Peek()) {
    if (c == '\\') {
      pos_ += 2;
    } else if (c == '$') {
      Dollar(word, Quoted::kYes);
    } else if (c == '`') {
      Backtick(word, Quoted::kYes);
    } else {
      Next();
    }
  }
}

}  // namespace cordon::guard
