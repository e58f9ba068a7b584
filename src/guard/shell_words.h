// The words of a shell line: quotes, expansions, here-documents. The base of the
// reader in shell_reader.cc, which knows the commands; they nest in each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guard/shell_reader.h"

namespace cordon::guard {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool IsName(char c) { return IsNameStart(c) || IsDigit(c); }
inline bool IsOneOf(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}
// Whether a word ends before it.
inline bool IsMeta(char c) { return c == '\0' || IsOneOf(c, " \t\n;&|()<>"); }

// A failure moves to the end, where every loop stops; `problem_` is looked at once,
// when all is read. At the end Peek is NUL, which the text does not hold.
class ShellWords {
 public:
  ShellWords(std::string_view text, ShellLine& line, std::string& problem, int depth)
      : text_(text), line_(line), problem_(problem), depth_(depth) {}
  ShellWords(const ShellWords&) = delete;
  ShellWords& operator=(const ShellWords&) = delete;
  virtual ~ShellWords() = default;

  // The text as the body of a here-document.
  void ReadExpansions();

 protected:
  // Commands up to what closes them; and those of a text that was unquoted, or its
  // expansions alone.
  virtual void List() = 0;
  enum class Inner { kCommands, kExpansions };
  virtual void ReadInner(std::string_view text, Inner inner) = 0;

  // Where expansions stand: in double quotes they do not split.
  enum class Quoted { kNo, kYes };

  struct Heredoc {
    std::string end;
    bool strip_tabs = false, quoted = false;
  };
  class Deeper {
   public:
    explicit Deeper(ShellWords& words);
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --words_.depth_; }

   private:
    ShellWords& words_;
  };

  // ---- bytes ----------------------------------------------------------------
  bool Failed() const { return !problem_.empty(); }
  void Fail(std::string why);
  std::string Here();
  // A backslash before a newline is nothing, wherever single quotes do not hold it.
  size_t SkipContinuations(size_t at) const;
  char Peek();
  char Peek2();
  void Next();
  bool Take(char c);
  bool Take(char first, char second);
  void Expect(char c);

  // ---- between words --------------------------------------------------------
  void SkipBlanks();
  void SkipNewlines();
  void Newline();
  // One line of a here-document; where quotes do not hold it, continued lines are one.
  std::string HeredocLine(bool quoted);
  void ReadHeredoc(const Heredoc& heredoc);

  // ---- words ----------------------------------------------------------------
  static void Append(ShellWord& word, char c);
  static void Expands(ShellWord& word, Quoted quoted);
  // Empty `raw` if there is none here.
  ShellWord Word();
  // What starts with `c`; false if that is no part of a word.
  bool Piece(ShellWord& word, char c);
  void Escape(ShellWord& word);
  void SingleQuotes(ShellWord& word);
  void DoubleQuotes(ShellWord& word);
  // $'…'. What it becomes is not worked out but for the simplest.
  void AnsiQuotes(ShellWord& word);

  // ---- expansions -----------------------------------------------------------
  void Dollar(ShellWord& word, Quoted quoted);
  void TakeName();
  // The commands of a substitution or subshell, and what closes it.
  void Commands(char close);
  // Text in which backslashes have been taken away once.
  void Backtick(ShellWord& word, Quoted quoted);
  // Up to "))". A name in it is a variable, whose value is arithmetic again and
  // may hold a substitution; and dash takes "((a))" for commands.
  void Arithmetic();
  // ${…}, after the dollar sign.
  void Parameter(ShellWord& word, Quoted quoted);
  // Whether it takes all elements.
  bool Subscript();
  void Operator();
  void ParameterWord(Quoted quoted);

  std::string_view text_;
  ShellLine& line_;
  std::string& problem_;
  int depth_;
  size_t pos_ = 0;
  std::vector<Heredoc> pending_;
};

}  // namespace cordon::guard
