#include "guard/shell_reader.h"

#include <gmock/gmock.h>

namespace cordon::guard {
namespace {

using testing::ElementsAre;

// "ls -l; rm x" as its commands: words without quotes, "…" where one expands,
// assignments in front, redirections behind.
std::string Told(const SimpleCommand& command) {
  std::string text;
  for (const auto& assignment : command.assignments) text += assignment.name + "=? ";
  for (const ShellWord& word : command.words) text += word.text + (word.literal ? " " : "… ");
  for (const Redirection& redirection : command.redirections) {
    text += "<>&\""[static_cast<int>(redirection.kind)] + redirection.target.text + " ";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::vector<std::string> Read(std::string_view text) {
  Result<ShellLine> line = ReadShell(text);
  if (!line) return {line.error().message};
  std::vector<std::string> told;
  for (const SimpleCommand& command : line->commands) told.push_back(Told(command));
  return told;
}

TEST(ShellReaderTest, WordsAndQuotes) {
  EXPECT_THAT(Read("ls  -l\t'a b' \"c d\" e\\ f g'h'\"i\""), ElementsAre("ls -l a b c d e f ghi"));
  EXPECT_THAT(Read("echo \"\\$x \\\"y\\\" \\n\" $'a\\tb' $\"loc\" a#b # comment"),
              ElementsAre("echo $x \"y\" \\n a\tb loc a#b"));
  EXPECT_THAT(Read("echo $x \"$y\" a$1b *.c x?y [ab]c {a,b} {} ~/f"),
              ElementsAre("echo … … a… … x… … {a,b}… {} ~/f"));
  EXPECT_THAT(Read("'l's x"), ElementsAre("ls x"));
}

TEST(ShellReaderTest, AContinuedLineIsOne) {
  EXPECT_THAT(Read("r\\\nm x &\\\n& ls"), ElementsAre("rm x", "ls"));
  EXPECT_THAT(Read("echo $\\\n(rm x)"), ElementsAre("rm x", "echo …"));
  EXPECT_THAT(Read("echo '\\\n'"), ElementsAre("echo \\\n"));
  EXPECT_THAT(Read("echo a\\\\\nrm x"), ElementsAre("echo a\\", "rm x"));
}

TEST(ShellReaderTest, ListsAndPipelines) {
  EXPECT_THAT(Read("a | b |& c && d || e; f & g\nh"),
              ElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
  EXPECT_THAT(Read("a &&\n\n b |\n c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Read("! a; time b"), ElementsAre("a", "b"));
}

TEST(ShellReaderTest, SubstitutionsAreFoundEverywhere) {
  EXPECT_THAT(Read("echo \"a $(rm x) b\""), ElementsAre("rm x", "echo a …"));
  EXPECT_THAT(Read("echo `rm \\`id\\``"), ElementsAre("id", "rm …", "echo …"));
  EXPECT_THAT(Read("echo ${x:-$(rm x)} \"${y:+`rm y`}\""), ElementsAre("rm x", "rm y", "echo … …"));
  EXPECT_THAT(Read("diff <(rm a) >(rm b)"),
              ElementsAre("rm a", "rm b", "diff /dev/fd/… /dev/fd/…"));
  EXPECT_THAT(Read("echo $((1 + $(rm x)))"), ElementsAre("rm x", "echo …"));
  EXPECT_THAT(Read("A=$(rm x) ls"), ElementsAre("rm x", "A=? ls"));
  EXPECT_THAT(Read("A=($(rm x) b)"), ElementsAre("rm x", "A=?"));
  EXPECT_THAT(Read("ls > $(rm x)"), ElementsAre("rm x", "ls >"));
  EXPECT_THAT(Read("[[ -f $(rm x) ]]"), ElementsAre("rm x"));
  EXPECT_THAT(Read("case $(rm x) in $(rm y)) ls;; esac"), ElementsAre("rm x", "rm y", "ls"));
  EXPECT_THAT(Read("for i in $(rm x) <(rm y); do ls; done"),
              ElementsAre("rm x", "rm y", "i=? i=?", "ls"));
  EXPECT_THAT(Read("echo $(echo $(echo $(rm x)))"),
              ElementsAre("rm x", "echo …", "echo …", "echo …"));
  EXPECT_THAT(Read("echo '$(rm x)' \\`rm\\` \"\\$(rm x\""),
              ElementsAre("echo $(rm x) `rm` $(rm x"));
}

TEST(ShellReaderTest, HereDocuments) {
  EXPECT_THAT(Read("cat <<E | sh\n$(rm x) `rm y`\nE\nls"),
              ElementsAre("cat \"E", "sh", "rm x", "rm y", "ls"));
  EXPECT_THAT(Read("cat <<'E' | sh\n$(rm x)\nE\nls"), ElementsAre("cat \"E", "sh", "ls"));
  EXPECT_THAT(Read("cat <<-E; ls\n\tx\n\tE\nrm y"), ElementsAre("cat \"E", "ls", "rm y"));
  EXPECT_THAT(Read("cat <<A <<B\na\nA\nb\nB\nls"), ElementsAre("cat \"A \"B", "ls"));
  EXPECT_THAT(Read("cat <<< \"$(rm x)\""), ElementsAre("rm x", "cat \""));
  EXPECT_THAT(Read("echo $(cat <<E\nx\nE\n)"), ElementsAre("cat \"E", "echo …"));
  // A continued line may end the document, and may not.
  EXPECT_THAT(Read("cat <<E\nx\\\nE\nrm x\nE"), ElementsAre("cat \"E"));
  EXPECT_THAT(Read("cat <<EF\nE\\\nF\nrm x"), ElementsAre("cat \"EF", "rm x"));
  EXPECT_THAT(Read("cat <<'EF'\nE\\\nF\nrm x\nEF"), ElementsAre("cat \"EF"));
}

TEST(ShellReaderTest, Compounds) {
  EXPECT_THAT(Read("if a; then b; elif c; then d; else e; fi > f"),
              ElementsAre("a", "b", "c", "d", "e", ">f"));
  EXPECT_THAT(Read("while a; do b; done; until c\ndo d\ndone"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Read("for i in 1 2; do a; done; for j; do b; done"),
              ElementsAre("i=? i=?", "a", "b"));
  EXPECT_THAT(Read("for ((i=0;i<3;i++)); do a; done"), ElementsAre("a"));
  EXPECT_THAT(Read("case x in a|b) c;; (d) e;& *) f; esac; g"), ElementsAre("c", "e", "f", "g"));
  EXPECT_THAT(Read("(a; b) | { c; d; } 2>&1"), ElementsAre("a", "b", "c", "d", "&1"));
  EXPECT_THAT(Read("f() { rm x; }; function g { rm y; }; f"), ElementsAre("rm x", "rm y", "f"));
  EXPECT_THAT(Read("[[ $x =~ ^(a|b)$ && a < b ]] && ls"), ElementsAre("ls"));
  EXPECT_THAT(Read("echo if then; fido"), ElementsAre("echo if then", "fido"));
}

TEST(ShellReaderTest, Redirections) {
  EXPECT_THAT(Read("a > b 2>> c <d &> e >| f <> g {fd}> h >& i"),
              ElementsAre("a >b >c <d >e >f >g >h >i"));
  EXPECT_THAT(Read("a 2>&1 >&- <&3 12>x a2>y"), ElementsAre("a a2 &1 &- &3 >x >y"));
  EXPECT_THAT(Read("> x"), ElementsAre(">x"));
}

TEST(ShellReaderTest, OneSimpleCommandIsPlain) {
  for (const char* text : {"ls", "A=1 ls -l > x", "ls;", "ls $x", "ls # c", "\n ls\n"}) {
    EXPECT_TRUE(ReadShell(text)->plain) << text;
  }
  for (const char* text : {"ls; rm x", "ls | cat", "ls && a", "ls &", "ls $(a)", "ls `a`", "(ls)",
                           "! ls", "ls\nrm x", "ls <(a)", "f() { ls; }", "{ ls; }", "time ls"}) {
    EXPECT_FALSE(ReadShell(text)->plain) << text;
  }
}

TEST(ShellReaderTest, WhatAVariableMayRunIsOpaque) {
  for (const char* text : {"echo $((x))", "((x++))", "echo ${x@P}", "echo ${!x}", "[[ x -eq y ]]",
                           "echo ${a[x]}", "echo ${x:y}", "coproc ls", "echo ${x:=y}"}) {
    EXPECT_TRUE(ReadShell(text)->opaque) << text;
  }
  for (const char* text : {"echo $((1 + 2))", "echo ${x}", "echo ${x:-y}", "echo ${x##*/}",
                           "echo ${a[0]} ${a[@]}", "echo ${#x}", "[[ -f x ]]", "echo ${10}"}) {
    EXPECT_FALSE(ReadShell(text)->opaque) << text;
  }
}

TEST(ShellReaderTest, RefusesWhatItIsNotSureOf) {
  for (std::string text : {"",
                           "# c",
                           "echo 'a",
                           "echo \"a",
                           "echo `a",
                           "echo $(a",
                           "echo ${a",
                           "ls; ; a",
                           "| a",
                           "a |",
                           "a &&",
                           "if a; then b",
                           "for i in a; b; done",
                           "cat <<E\nx",
                           "cat <<E",
                           "a >",
                           "( a",
                           "a )",
                           "echo ${ a; }",
                           "echo ${|a;}",
                           "echo $[1]",
                           "echo \"${x:-'a'}\"",
                           "echo $'a\\'b'",
                           "a(b)",
                           "x=1 f() { a; }",
                           "echo $((1",
                           "echo ${}",
                           "[[ a",
                           "case a in b) c",
                           "cat <<E $(ls)\nE"}) {
    EXPECT_FALSE(ReadShell(text)) << text;
  }
  EXPECT_FALSE(ReadShell(std::string_view("ls\0x", 4)));
  EXPECT_FALSE(ReadShell(std::string(300'000, 'x')));
  EXPECT_TRUE(ReadShell(std::string(200'000, 'x')));
}

TEST(ShellReaderTest, NestingIsBounded) {
  auto nested = [](int times) {
    std::string text = "ls";
    for (int i = 0; i < times; ++i) text = "a $(" + text + ")";
    return text;
  };
  EXPECT_TRUE(ReadShell(nested(20)));
  EXPECT_FALSE(ReadShell(nested(10'000)));
  EXPECT_FALSE(ReadShell(std::string(100'000, '(')));
  EXPECT_FALSE(ReadShell(std::string(50'000, '!') + " x; $((" + std::string(50'000, '(')));
}

}  // namespace
}  // namespace cordon::guard
