#include "guard/command_effects.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/strings.h"
#include "guard/command_table.h"
#include "guard/env.h"
#include "guard/script_words.h"

namespace cordon::guard {
namespace {

using Words = std::span<const ShellWord>;

constexpr int kMostNesting = 8;  // sh -c inside sh -c

struct Verdict {
  Effect effect = Effect::kReadOnly;
  std::string why;
};

Verdict Worse(Verdict a, Verdict b) { return b.effect > a.effect ? std::move(b) : std::move(a); }

// Whether one of the words in `list`, between spaces, is `word`.
bool Lists(std::string_view list, std::string_view word) {
  for (size_t start = 0; start < list.size();) {
    size_t end = std::min(list.find_first_of(" |", start), list.size());
    if (list.substr(start, end - start) == word) return true;
    start = end + 1;
  }
  return false;
}

// ---- the table -----------------------------------------------------------------

struct Entry {
  std::vector<std::string> words;  // after the name
  const CommandRow* row;
};
using Table = std::unordered_map<std::string, std::vector<Entry>>;

const Table& Commands() {
  static const Table kTable = [] {
    Table made;
    for (const CommandRow& row : CommandRows()) {
      for (const std::string& command : base::Split(row.names, '|')) {
        std::vector<std::string> words = base::Split(command, ' ');
        std::vector<Entry>& entries = made[words[0]];
        entries.push_back({{words.begin() + 1, words.end()}, &row});
      }
    }
    return made;
  }();
  return kTable;
}

const Wrapper* FindWrapper(std::string_view name) {
  for (const Wrapper& wrapper : Wrappers()) {
    if (Lists(wrapper.names, name)) return &wrapper;
  }
  return nullptr;
}

// ---- words ---------------------------------------------------------------------

bool Is(const ShellWord& word, std::string_view text) { return word.literal && word.text == text; }
bool IsFlag(const ShellWord& word) { return word.text.starts_with('-') && word.text.size() > 1; }

// Whether it may turn out to be a flag that is not seen here.
bool MayBeFlag(const ShellWord& word) {
  return !word.literal && (word.splits || word.text.empty() || word.text.starts_with('-'));
}

bool MatchesFlag(std::string_view argument, std::string_view flag) {
  if (argument == flag) return true;
  std::string_view name = argument.substr(0, argument.find('='));
  if (name == flag && argument != name) return true;
  if (flag.starts_with("--") && flag.size() > 2) {
    return name.size() > 3 && flag.starts_with(name);  // getopt takes what is not ambiguous
  }
  bool one_letter = flag.size() == 2 && flag[0] == '-' && flag[1] != '-';
  bool letters = argument.size() > 1 && argument[0] == '-' && argument[1] != '-';
  return one_letter && letters && argument.find(flag[1]) != argument.npos;
}

bool HasFlag(Words arguments, std::string_view flags) {
  for (const ShellWord& argument : arguments) {
    for (const std::string& flag : base::Split(flags, ' ')) {
      if (MatchesFlag(argument.text, flag)) return true;
    }
    if (Is(argument, "--")) return false;
  }
  return false;
}

std::vector<const ShellWord*> Operands(Words arguments) {
  std::vector<const ShellWord*> operands;
  for (const ShellWord& argument : arguments) {
    if (!IsFlag(argument) || !argument.literal) operands.push_back(&argument);
  }
  return operands;
}

// A variable that decides what programs do, not only what they say.
bool IsRisky(std::string_view name) {
  constexpr std::string_view kNames =
      "PATH HOME SHELL IFS LESS TAR_OPTIONS GREP_OPTIONS MANOPT RIPGREP_CONFIG_PATH "
      "BASH_CMDS BASH_ALIASES POSIXLY_CORRECT";
  return IsDangerousVariable(name) || Lists(kNames, name) || name.starts_with("GIT_") ||
         name.starts_with("XDG_") || name.ends_with("PAGER") || name.ends_with("EDITOR") ||
         name.ends_with("BROWSER") || name.ends_with("_OPTIONS") || name.ends_with("_COMMAND");
}

Verdict JudgeVariable(std::string_view name) {
  if (!IsRisky(name)) return {};
  return {Effect::kUnknown, "sets " + std::string(name)};
}

// "name=value" among arguments; the name, if it is one.
std::optional<std::string_view> AssignedName(const ShellWord& word) {
  std::string_view text = word.text;
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return std::nullopt;
  return text.substr(0, equals);
}

// ---- commands ------------------------------------------------------------------

class Judge {
 public:
  explicit Judge(int depth) : depth_(depth) {}

  Verdict Line(std::string_view text, std::vector<CommandFinding>* findings) const;
  Verdict Simple(const SimpleCommand& command) const;

 private:
  Verdict Run(Words words) const;
  Verdict Known(const std::string& name, Words arguments) const;
  Verdict Rows(const std::string& name, Words arguments) const;
  Verdict Wrapped(const std::string& name, const Wrapper& wrapper, Words arguments) const;
  Verdict Shell(const std::string& name, Words arguments) const;
  Verdict Eval(Words arguments) const;
  Verdict Find(Words arguments) const;
  Verdict Inner(std::string_view text, std::string_view by) const;

  int depth_;
};

Verdict Unknown(std::string why) { return {Effect::kUnknown, std::move(why)}; }

Verdict JudgeRedirection(const Redirection& redirection) {
  using Kind = Redirection::Kind;
  if (redirection.kind == Kind::kDuplicate || redirection.kind == Kind::kText) return {};
  const ShellWord& target = redirection.target;
  if (target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/")) {
    return {Effect::kRemote, "connects by " + target.raw};
  }
  if (redirection.kind == Kind::kRead) return {};
  constexpr std::string_view kHarmless = "/dev/null /dev/stdout /dev/stderr /dev/tty";
  if (target.literal && Lists(kHarmless, target.text)) return {};
  bool device = target.text.starts_with("/dev/") && !target.text.starts_with("/dev/shm/");
  return {device ? Effect::kDestructive : Effect::kLocalChange, "writes " + target.raw};
}

// The subcommand's place behind options that come before it; nothing if those are unknown.
std::optional<Words> SkipGlobals(const std::string& name, Words arguments) {
  for (const GlobalOptions& options : AllGlobalOptions()) {
    if (options.command != name) continue;
    while (!arguments.empty() && IsFlag(arguments[0])) {
      std::string_view flag =
          std::string_view(arguments[0].text).substr(0, arguments[0].text.find('='));
      bool attached = flag.size() != arguments[0].text.size();
      bool valued = Lists(options.with_value, flag);
      if (!valued && !Lists(options.alone, flag)) return arguments;
      size_t taken = valued && !attached ? 2 : 1;
      if (arguments.size() < taken || MayBeFlag(arguments[taken - 1])) return std::nullopt;
      arguments = arguments.subspan(taken);
    }
  }
  return arguments;
}

bool Matches(const Entry& entry, Words arguments) {
  for (size_t i = 0; i < entry.words.size(); ++i) {
    if (entry.words[i] == "$") return arguments.size() == i;
    if (i >= arguments.size() || !Is(arguments[i], entry.words[i])) return false;
  }
  return true;
}

Verdict JudgeRow(const CommandRow& row, const std::string& shown, Words arguments) {
  Verdict verdict{row.effect, shown};
  if (row.flags.empty()) return verdict;
  if (HasFlag(arguments, row.flags)) {
    return Worse(verdict, {row.with_flag, shown + " with " + std::string(row.flags)});
  }
  if (std::ranges::any_of(arguments, MayBeFlag)) {
    return Worse(verdict, Unknown(shown + " with arguments that are not known"));
  }
  return verdict;
}

Verdict Judge::Rows(const std::string& name, Words all) const {
  auto found = Commands().find(name);
  if (found == Commands().end()) return Unknown(name + " is not known");
  bool tells = all.size() == 1 && (Is(all[0], "--version") || Is(all[0], "--help"));
  if (tells) return {Effect::kReadOnly, name};
  std::optional<Words> arguments = SkipGlobals(name, all);
  if (!arguments) return Unknown(name + " with options that are not known");
  size_t most = 0;
  bool any = false;
  for (const Entry& entry : found->second) {
    if (!Matches(entry, *arguments)) continue;
    any = true;
    most = std::max(most, entry.words.size());
  }
  if (!any) return Unknown("this use of " + name + " is not known");
  Verdict verdict;
  for (const Entry& entry : found->second) {
    if (entry.words.size() != most || !Matches(entry, *arguments)) continue;
    std::string shown = entry.words.empty() ? name : name + " " + base::Join(entry.words, " ");
    verdict = Worse(verdict, JudgeRow(*entry.row, shown, *arguments));
  }
  return verdict;
}

Verdict Judge::Inner(std::string_view text, std::string_view by) const {
  if (depth_ >= kMostNesting) return Unknown("nested too deeply");
  Verdict verdict = Judge(depth_ + 1).Line(text, nullptr);
  if (verdict.effect != Effect::kReadOnly) verdict.why = std::string(by) + ": " + verdict.why;
  return verdict;
}

// sh -c 'script'
Verdict Judge::Shell(const std::string& name, Words arguments) const {
  if (arguments.size() == 1 && Is(arguments[0], "--version")) return {};
  for (size_t i = 0; i < arguments.size() && IsFlag(arguments[i]); ++i) {
    const ShellWord& flag = arguments[i];
    if (!flag.literal || flag.text.starts_with("--")) break;
    if (flag.text.find('c') == std::string::npos) continue;
    bool told = i + 1 < arguments.size() && arguments[i + 1].literal;
    return told ? Inner(arguments[i + 1].text, name + " -c")
                : Unknown(name + " runs what is not told");
  }
  return Unknown(name + " runs what is not told");
}

Verdict Judge::Eval(Words arguments) const {
  std::string text;
  for (const ShellWord& argument : arguments) {
    if (!argument.literal) return Unknown("eval runs what is not told");
    text += argument.text + " ";
  }
  return text.empty() ? Verdict() : Inner(text, "eval");
}

Verdict Judge::Find(Words arguments) const {
  Verdict verdict = Rows("find", arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!Lists("-exec -execdir -ok -okdir", arguments[i].text)) continue;
    size_t end = i + 1;
    while (end < arguments.size() && !Is(arguments[end], ";") && !Is(arguments[end], "+")) ++end;
    Verdict inner = Judge(depth_ + 1).Run(arguments.subspan(i + 1, end - i - 1));
    if (inner.effect != Effect::kReadOnly) inner.why = "find -exec: " + inner.why;
    verdict = Worse(verdict, inner);
    i = end;
  }
  return verdict;
}

Verdict JudgeSed(Words arguments) {
  Verdict verdict;
  bool scripted = false, value = false;
  for (const ShellWord& argument : arguments) {
    if (!argument.literal && (MayBeFlag(argument) || value))
      return Unknown("sed with arguments that are not known");
    if (!value && IsFlag(argument)) {
      if (MatchesFlag(argument.text, "-i") || MatchesFlag(argument.text, "--in-place")) {
        verdict = Worse(verdict, {Effect::kLocalChange, "sed -i"});
      }
      bool plain =
          argument.text.find_first_not_of("-inErsuzpostx0") == std::string::npos ||
          Lists("--quiet --silent --regexp-extended --in-place --posix --debug", argument.text);
      if (argument.text.starts_with("-i")) plain = true;
      value = argument.text == "-e" || argument.text == "-ne" || argument.text == "--expression";
      if (!plain && !value) return Unknown("sed with " + argument.raw);
      scripted = scripted || value;
      continue;
    }
    if (value || !scripted) {
      Effect effect = JudgeSedScript(argument.text);
      verdict = Worse(verdict, {effect, "a sed script that writes or runs something"});
      scripted = true;
    }
    value = false;
  }
  return verdict;
}

Verdict JudgeAwk(Words arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ShellWord& argument = arguments[i];
    if (!argument.literal) return Unknown("awk with a program that is not told");
    if (!IsFlag(argument)) {
      return {JudgeAwkProgram(argument.text), "an awk program that writes or runs something"};
    }
    bool value = argument.text == "-F" || argument.text == "-v";
    if (!value && !argument.text.starts_with("-F") && !argument.text.starts_with("-v")) break;
    if (value && ++i < arguments.size() && arguments[i].splits) break;
  }
  return Unknown("awk with options that are not known");
}

// Those that write what their second operand names.
Verdict JudgeTwoOperands(const std::string& name, Words arguments) {
  bool splits = std::ranges::any_of(arguments, [](const ShellWord& word) { return word.splits; });
  bool writes = Operands(arguments).size() > 1 || splits ||
                (name == "xxd" && HasFlag(arguments, "-r -revert"));
  return writes ? Verdict{Effect::kLocalChange, name + " writes a file"} : Verdict{};
}

Verdict JudgeTee(Words arguments) {
  bool harmless = std::ranges::all_of(Operands(arguments), [](const ShellWord* operand) {
    return Is(*operand, "/dev/null") || Is(*operand, "/dev/stderr");
  });
  return harmless ? Verdict{} : Verdict{Effect::kLocalChange, "tee writes a file"};
}

Verdict Judge::Wrapped(const std::string& name, const Wrapper& wrapper, Words arguments) const {
  Verdict verdict{wrapper.at_least, name};
  while (!arguments.empty() && IsFlag(arguments[0])) {
    const ShellWord& flag = arguments[0];
    bool splits_text =
        name == "env" && (flag.text.starts_with("-S") || flag.text.starts_with("--s"));
    if (!flag.literal || splits_text) return Unknown(name + " with " + flag.raw);
    size_t taken = Lists(wrapper.with_value, flag.text) ? 2 : 1;
    arguments = arguments.subspan(std::min(taken, arguments.size()));
    if (flag.text == "--") break;
  }
  arguments =
      arguments.subspan(std::min<size_t>(static_cast<size_t>(wrapper.operands), arguments.size()));
  bool assigns = name == "env" || name == "sudo" || name == "doas";
  while (assigns && !arguments.empty() && AssignedName(arguments[0])) {
    verdict = Worse(verdict, JudgeVariable(*AssignedName(arguments[0])));
    arguments = arguments.subspan(1);
  }
  if (arguments.empty()) return verdict;
  std::vector<ShellWord> inner(arguments.begin(), arguments.end());
  // What xargs reads is put behind, and may be anything.
  if (name == "xargs") inner.push_back({.raw = "…", .text = "", .literal = false, .splits = true});
  Verdict run = Judge(depth_ + 1).Run(inner);
  if (run.effect != Effect::kReadOnly) run.why = name + ": " + run.why;
  return Worse(verdict, run);
}

// An integer, a reference and a subscript are evaluated, and may run something.
Verdict JudgeAssigning(const std::string& name, Words arguments) {
  bool declares = name != "read" && name != "unset";
  Verdict verdict;
  if (declares && HasFlag(arguments, "-i -n")) verdict = Unknown(name + " -i or -n");
  for (const ShellWord& argument : arguments) {
    std::string_view variable = argument.text;
    size_t end = variable.find_first_of("+=");
    bool told = argument.literal || end != variable.npos;
    variable = variable.substr(0, end);
    if (!told || variable.find('[') != variable.npos) {
      verdict = Worse(verdict, Unknown(name + " of what is not told"));
    }
    verdict = Worse(verdict, JudgeVariable(variable));
  }
  return verdict;
}

// Asking for a variable by -v evaluates its subscript, which may run something.
Verdict JudgeVariableTest(const std::string& name, Words arguments) {
  if (name == "printf") arguments = arguments.first(std::min<size_t>(arguments.size(), 1));
  bool asks = std::ranges::any_of(arguments, [&](const ShellWord& word) {
    return word.text.starts_with("-v") || word.text == "-R" ||
           (name == "printf" && MayBeFlag(word));
  });
  return asks ? Unknown(name + " -v") : Verdict{};
}

Verdict Judge::Known(const std::string& name, Words arguments) const {
  if (Lists("sh bash dash", name)) return Shell(name, arguments);
  if (name == "eval") return Eval(arguments);
  if (name == "trap") {
    if (arguments.empty() || Is(arguments[0], "")) return {};
    if (Lists("- -p -l", arguments[0].text)) return {};
    return Eval(arguments.subspan(0, 1));
  }
  if (name == "find") return Find(arguments);
  if (name == "sed" || name == "gsed") return JudgeSed(arguments);
  if (Lists("awk gawk mawk nawk", name)) return JudgeAwk(arguments);
  if (name == "uniq" || name == "xxd") return JudgeTwoOperands(name, arguments);
  if (name == "tee") return JudgeTee(arguments);
  if (Lists("printf test [", name)) return JudgeVariableTest(name, arguments);
  if (Lists("export declare typeset local readonly read unset", name)) {
    return JudgeAssigning(name, arguments);
  }
  const Wrapper* wrapper = FindWrapper(name);
  bool queried = name == "command" && !arguments.empty() && Lists("-v -V", arguments[0].text);
  if (wrapper != nullptr && !queried) return Wrapped(name, *wrapper, arguments);
  return Rows(name, arguments);
}

Verdict Judge::Run(Words words) const {
  if (depth_ > kMostNesting) return Unknown("nested too deeply");
  if (words.empty()) return {};
  const ShellWord& first = words[0];
  if (!first.literal) return Unknown("the command is not told: " + first.raw);
  std::string name = first.text;
  size_t slash = name.rfind('/');
  if (slash != std::string::npos) {
    constexpr std::string_view kSystem = "/bin/ /usr/bin/ /usr/local/bin/ /sbin/ /usr/sbin/";
    if (!Lists(kSystem, name.substr(0, slash + 1))) return Unknown(name + " is not known");
    name.erase(0, slash + 1);
  }
  return Known(name, words.subspan(1));
}

Verdict Judge::Simple(const SimpleCommand& command) const {
  Verdict verdict = Run(command.words);
  for (const SimpleCommand::Assignment& assignment : command.assignments) {
    verdict = Worse(verdict, JudgeVariable(assignment.name));
  }
  for (const Redirection& redirection : command.redirections) {
    verdict = Worse(verdict, JudgeRedirection(redirection));
  }
  return verdict;
}

std::string Shown(const SimpleCommand& command) {
  std::vector<std::string> parts;
  for (const auto& assignment : command.assignments) {
    parts.push_back(assignment.name + "=" + assignment.value.raw);
  }
  for (const ShellWord& word : command.words) parts.push_back(word.raw);
  for (const Redirection& redirection : command.redirections) {
    parts.push_back((redirection.kind == Redirection::Kind::kWrite ? ">" : "<") +
                    redirection.target.raw);
  }
  return base::Join(parts, " ");
}

Verdict Judge::Line(std::string_view text, std::vector<CommandFinding>* findings) const {
  Result<ShellLine> line = ReadShell(text);
  if (!line) return Unknown(line.error().message);
  Verdict worst;
  if (line->opaque) worst = Unknown("it may run what a variable holds");
  for (const SimpleCommand& command : line->commands) {
    Verdict verdict = Simple(command);
    if (findings != nullptr) {
      bool named = !command.words.empty() && command.words[0].literal;
      std::string name = named ? command.words[0].text : "";
      findings->push_back({Shown(command), std::move(name), verdict.effect, verdict.why});
    }
    worst = Worse(worst, verdict);
  }
  return worst;
}

}  // namespace

std::string_view EffectName(Effect effect) {
  switch (effect) {
    case Effect::kReadOnly:
      return "read-only";
    case Effect::kLocalChange:
      return "local-change";
    case Effect::kRemote:
      return "remote";
    case Effect::kUnknown:
      return "unknown";
    case Effect::kDestructive:
      return "destructive";
  }
  return "unknown";
}

CommandReport JudgeCommand(std::string_view line) {
  CommandReport report;
  Verdict verdict = Judge(0).Line(line, &report.commands);
  report.effect = verdict.effect;
  report.why = verdict.why;
  Result<ShellLine> read = ReadShell(line);
  report.simple = read && read->plain;
  return report;
}

bool IsExcludedCommand(std::string_view line, const std::vector<std::string>& excluded) {
  Result<ShellLine> read = ReadShell(line);
  if (!read || !read->plain || read->opaque) return false;
  const SimpleCommand& command = read->commands[0];
  bool literal = std::ranges::all_of(command.words, &ShellWord::literal);
  bool quiet = std::ranges::all_of(command.redirections, [](const Redirection& redirection) {
    return redirection.kind == Redirection::Kind::kDuplicate || Is(redirection.target, "/dev/null");
  });
  if (!literal || !quiet || !command.assignments.empty()) return false;
  return std::ranges::any_of(excluded, [&](const std::string& entry) {
    std::vector<std::string> words = base::Split(entry, ' ');
    if (entry.empty() || words.size() > command.words.size()) return false;
    return std::ranges::equal(words, std::span(command.words).first(words.size()), {}, {},
                              &ShellWord::text);
  });
}

}  // namespace cordon::guard
