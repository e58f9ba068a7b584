#include "guard/shell_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "guard/shell_words.h"

namespace cordon::guard {
namespace {

constexpr size_t kMostBytes = 256 * 1024;

// Recursive descent over the bytes.
class Reader : public ShellWords {
 public:
  using ShellWords::ShellWords;

  void ReadCommands() {
    List();
    if (!Failed() && Peek() != '\0') Fail("unexpected " + Here());
    if (!pending_.empty()) Fail("a here-document has no end");
  }

 private:
  void ReadInner(std::string_view text, Inner inner) override {
    Reader reader(text, line_, problem_, depth_);
    inner == Inner::kCommands ? reader.ReadCommands() : reader.ReadExpansions();
    if (Failed()) pos_ = text_.size();
  }

  // ---- redirections ---------------------------------------------------------
  bool AtRedirection() {
    char c = Peek(), next = Peek2();
    return (IsOneOf(c, "<>") && next != '(') || (c == '&' && next == '>');
  }
  void ReadRedirection(SimpleCommand& command) {
    using Kind = Redirection::Kind;
    Take('&');
    bool in = Peek() == '<';
    Next();
    Redirection redirection{.kind = in ? Kind::kRead : Kind::kWrite, .target = {}};
    bool here = in && Take('<');
    bool here_string = here && Take('<');
    bool strip = here && !here_string && Take('-');
    bool duplicate = !here && Take('&');
    if (in && !here && !duplicate && Take('>')) redirection.kind = Kind::kWrite;
    if (!in && !duplicate && !Take('>')) Take('|');
    SkipBlanks();
    redirection.target = Word();
    const ShellWord& target = redirection.target;
    if (target.raw.empty()) return Fail("a redirection to nothing");
    if (here) redirection.kind = Kind::kText;
    if (here && !here_string) AddHeredoc(target, strip);
    bool number =
        target.literal && target.text.find_first_not_of("0123456789-") == std::string::npos;
    if (duplicate && (number || in)) redirection.kind = Kind::kDuplicate;
    command.redirections.push_back(std::move(redirection));
  }
  void AddHeredoc(const ShellWord& word, bool strip) {
    if (!word.literal) return Fail("a here-document whose end is not plain");
    pending_.push_back({.end = word.text,
                        .strip_tabs = strip,
                        .quoted = word.raw.find_first_of("'\"\\") != std::string::npos});
  }
  // Those behind a compound command.
  void Redirections() {
    SimpleCommand command;
    for (SkipBlanks(); !Failed(); SkipBlanks()) {
      size_t before = pos_;
      while (IsDigit(Peek())) Next();
      if (!AtRedirection()) {
        pos_ = Failed() ? pos_ : before;
        break;
      }
      ReadRedirection(command);
    }
    if (!command.redirections.empty()) Add(std::move(command));
  }

  // ---- commands -------------------------------------------------------------
  void Add(SimpleCommand command) {
    if (!Failed()) line_.commands.push_back(std::move(command));
  }

  // The unquoted word here if it is one of the shell's own; nothing is taken.
  std::string_view Reserved() {
    static constexpr std::array<std::string_view, 22> kWords = {
        "if", "then", "elif", "else",     "fi",     "for",    "while", "until",
        "do", "done", "case", "esac",     "in",     "select", "{",     "}",
        "!",  "[[",   "time", "function", "coproc", "]]"};
    size_t before = pos_;
    std::string word;
    while (!IsMeta(Peek()) && word.size() < 9) {
      word += Peek();
      Next();
    }
    bool whole = IsMeta(Peek());
    pos_ = before;
    auto found = std::ranges::find(kWords, word);
    return whole && found != kWords.end() ? *found : std::string_view();
  }
  bool TakeReserved(std::string_view word) {
    SkipBlanks();
    if (Reserved() != word) return false;
    for (size_t i = 0; i < word.size(); ++i) Next();
    return true;
  }
  void ExpectReserved(std::string_view word) {
    if (!TakeReserved(word)) Fail("a missing \"" + std::string(word) + "\"");
  }

  // Up to what closes it, which is left: ")", ";;", a word such as "done", the end.
  void List() override {
    Deeper deeper(*this);
    static constexpr std::array<std::string_view, 8> kClosing = {"then", "elif", "else", "fi",
                                                                 "do",   "done", "esac", "}"};
    for (SkipNewlines(); !Failed(); SkipNewlines()) {
      if (Peek() == '\0' || Peek() == ')' || Peek() == ';') return;
      if (std::ranges::find(kClosing, Reserved()) != kClosing.end()) return;
      Pipeline();
      if (!Separator()) return;
    }
  }
  // Between commands; false if the list ends here.
  bool Separator() {
    SkipBlanks();
    if (Peek() == '\n') return true;
    if (Peek() == ';') return !IsOneOf(Peek2(), ";&") && Take(';');
    bool pair = Take('&', '&') || Take('|', '|');
    if (!pair && !Take('&')) return false;
    line_.plain = false;
    if (!pair) return true;
    SkipNewlines();
    if (IsOneOf(Peek(), ";&|)") || Peek() == '\0') Fail("nothing behind && or ||");
    return true;
  }
  void Pipeline() {
    for (Command(); SkipBlanks(), Peek() == '|' && Peek2() != '|'; Command()) {
      line_.plain = false;
      Next();
      Take('&');
      SkipNewlines();
    }
  }

  void Command() {
    Deeper deeper(*this);
    SkipBlanks();
    std::string_view word = Reserved();
    if (Peek() != '(' && word.empty()) return Simple();
    line_.plain = false;
    if (Take('(')) {
      Take('(') ? Arithmetic() : Commands(')');
      return Redirections();
    }
    for (size_t i = 0; i < word.size(); ++i) Next();
    if (word == "!" || word == "time") return Prefixed();
    if (word == "coproc") {
      line_.opaque = true;
      return Command();
    }
    if (word == "function") return Function();
    Compound(word);
    Redirections();
  }
  // "! command", "time -p command"; "time" alone is whole.
  void Prefixed() {
    SkipBlanks();
    if (Peek() == '\0' || IsOneOf(Peek(), "\n;&|)")) return;
    Command();
  }
  void Compound(std::string_view word) {
    if (word == "{") return Group("}");
    if (word == "if") return If();
    if (word == "while" || word == "until") return Group("do"), Group("done");
    if (word == "for" || word == "select") return For();
    if (word == "case") return Case();
    if (word == "[[") return Condition();
    Fail("an unexpected \"" + std::string(word) + "\"");
  }
  void Group(std::string_view close) {
    List();
    ExpectReserved(close);
  }
  void If() {
    Group("then");
    while (true) {
      List();
      if (TakeReserved("elif")) {
        Group("then");
        continue;
      }
      if (TakeReserved("else")) List();
      return ExpectReserved("fi");
    }
  }
  void For() {
    SkipBlanks();
    if (Take('(', '(')) {
      Arithmetic();
    } else {
      ForWords();
    }
    SkipBlanks();
    Take(';');
    SkipNewlines();
    if (TakeReserved("{")) return Group("}");
    ExpectReserved("do");
    Group("done");
  }
  void ForWords() {
    SimpleCommand command;
    ShellWord name = Word();
    bool plain = name.literal && !name.raw.empty() && std::ranges::all_of(name.raw, IsName);
    if (!plain) return Fail("a loop without a name");
    SkipNewlines();
    if (!TakeReserved("in")) return;
    for (SkipBlanks(); !Failed() && !IsMeta(Peek()); SkipBlanks()) {
      command.assignments.push_back({name.text, Word()});
    }
    if (IsOneOf(Peek(), "<>")) {  // <(…), and nothing else
      command.assignments.push_back({name.text, Word()});
      if (command.assignments.back().value.raw.empty()) Fail("a redirection among words");
    }
    Add(std::move(command));
  }
  void Case() {
    SkipBlanks();
    if (Word().raw.empty()) return Fail("a case of nothing");
    SkipNewlines();
    ExpectReserved("in");
    for (SkipNewlines(); !Failed() && !TakeReserved("esac"); SkipNewlines()) {
      Take('(');
      do {
        SkipBlanks();
        if (Word().raw.empty()) return Fail("a case without a pattern");
        SkipBlanks();
      } while (Take('|'));
      Expect(')');
      List();
      SkipBlanks();
      if (Take(';', ';')) {
        Take('&');
      } else if (!Take(';', '&') && (SkipNewlines(), Reserved() != "esac")) {
        return Fail("a case without its end");
      }
    }
  }
  // [[ … ]]: words and operators, whatever they say.
  void Condition() {
    while (!Failed()) {
      SkipNewlines();
      if (TakeReserved("]]")) return;
      if (IsOneOf(Peek(), "<>") && Peek2() != '(') {
        Next();
      } else if (IsOneOf(Peek(), "()|&")) {
        Next();
      } else {
        ShellWord word = Word();
        if (word.raw.empty()) return Fail("a \"[[\" that is not closed");
        static constexpr std::array<std::string_view, 7> kEvaluate = {"-v",  "-eq", "-ne", "-lt",
                                                                      "-le", "-gt", "-ge"};
        bool evaluates = std::ranges::find(kEvaluate, word.text) != kEvaluate.end();
        line_.opaque = line_.opaque || evaluates;
      }
    }
  }
  void Function() {
    SkipBlanks();
    if (Word().raw.empty()) return Fail("a function without a name");
    SkipBlanks();
    if (Take('(')) {
      SkipBlanks();
      Expect(')');
    }
    SkipNewlines();
    Command();
  }

  // ---- simple commands ------------------------------------------------------
  // "name=" or "name+=" here, which is taken; empty if it is not there.
  std::string TakeAssignment() {
    Peek();
    size_t before = pos_;
    std::string name;
    for (; IsName(Peek()) && (IsNameStart(Peek()) || !name.empty()); Next()) name += Peek();
    if (!name.empty()) Take('+');
    if (!name.empty() && Take('=')) return name;
    pos_ = before;
    return {};
  }
  void ReadArray() {
    for (SkipNewlines(); !Failed() && !Take(')'); SkipNewlines()) {
      if (Peek() == '[') line_.opaque = true;
      if (Word().raw.empty()) Fail("a list that is not closed");
    }
  }
  void Simple() {
    SimpleCommand command;
    for (SkipBlanks(); !Failed(); SkipBlanks()) {
      if (AtRedirection()) {
        ReadRedirection(command);
        continue;
      }
      if (Peek() == '(') return Definition(command);
      if (IsMeta(Peek()) && !IsOneOf(Peek(), "<>")) break;
      if (command.words.empty()) {
        if (std::string name = TakeAssignment(); !name.empty()) {
          ReadAssignment(command, std::move(name));
          continue;
        }
      }
      ShellWord word = Word();
      // bash reads all up to the "]" as one word, blanks and all.
      if (command.words.empty() && IsSubscripted(word.raw)) return Fail("an element of an array");
      if (!(AtRedirection() && NamesDescriptor(word))) command.words.push_back(std::move(word));
    }
    bool empty =
        command.words.empty() && command.assignments.empty() && command.redirections.empty();
    if (empty) return Fail("no command before " + Here());
    Add(std::move(command));
  }
  void ReadAssignment(SimpleCommand& command, std::string name) {
    SimpleCommand::Assignment assignment{.name = std::move(name), .value = {}};
    if (Take('(')) {
      assignment.value.literal = false;
      ReadArray();
    } else {
      assignment.value = Word();
    }
    command.assignments.push_back(std::move(assignment));
  }
  static bool IsSubscripted(std::string_view raw) {
    auto end = std::ranges::find_if_not(raw, IsName);
    return end != raw.begin() && end != raw.end() && *end == '[' && IsNameStart(raw[0]);
  }
  // "2" of "2>x" and "{fd}" of "{fd}>x".
  static bool NamesDescriptor(const ShellWord& word) {
    std::string_view raw = word.raw;
    if (raw.starts_with('{') && raw.ends_with('}') && raw.size() > 2) {
      return std::ranges::all_of(raw.substr(1, raw.size() - 2), IsName);
    }
    return !raw.empty() && std::ranges::all_of(raw, IsDigit);
  }
  // name() command
  void Definition(const SimpleCommand& command) {
    bool named = command.words.size() == 1 && command.assignments.empty() &&
                 command.redirections.empty() && command.words[0].literal;
    if (!named) return Fail("an unexpected \"(\"");
    line_.plain = false;
    Next();
    SkipBlanks();
    Expect(')');
    SkipNewlines();
    Command();
  }
};

}  // namespace

Result<ShellLine> ReadShell(std::string_view text) {
  ShellLine line;
  std::string problem;
  if (text.size() > kMostBytes) problem = "too long";
  if (text.find('\0') != text.npos) problem = "a NUL byte";
  if (problem.empty()) Reader(text, line, problem, 0).ReadCommands();
  if (problem.empty() && line.commands.empty() && line.plain) problem = "no command";
  if (!problem.empty()) {
    return base::InvalidArgument(Reason::kCommandInvalid, "the line cannot be read: " + problem);
  }
  line.plain = line.plain && line.commands.size() == 1;
  return line;
}

}  // namespace cordon::guard
