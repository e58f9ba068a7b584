// What a subcommand takes on its command line. Declared first, then parsed once:
//
//   Arguments arguments("doctor", "[--json]", "What this host can enforce");
//   arguments.Flag("--json", options.json, "Print JSON");
//   if (std::optional<int> status = arguments.Parse(words)) return *status;
//
// This is the only door to the parser's library, whose header is slow to compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cordon::cli {

using Strings = std::vector<std::string>;

// Runs the subcommand after its arguments were parsed; returns the exit status.
using Action = std::function<int()>;

// Gets all the values of an option that may be given many times.
using Receiver = std::function<void(const Strings&)>;

inline constexpr int kAnyNumber = -1;

struct Argument {
  enum class Presence { kOptional, kRequired };

  std::string_view name;   // "--json", "-o,--output", or "FILE" for one that has no dash
  std::string_view value;  // how the help calls what an option takes
  std::string_view doc;
  std::string_view group;  // the help's heading; empty: the plain one
  std::variant<bool*, std::string*, Strings*, Receiver> target;
  Presence presence = Presence::kOptional;
  int most = kAnyNumber;  // how many words a positional may take
};

class Arguments {
 public:
  // `usage` is what the help shows behind the name; a verb's is made from its arguments.
  Arguments(std::string name, std::string_view usage, std::string_view summary);

  // Targets must outlive the parse. An option whose target is a list or a receiver
  // may be given many times, with one value each time.
  void Add(const Argument& argument) { arguments_.push_back(argument); }
  void Flag(std::string_view name, bool& target, std::string_view doc);
  void Option(std::string_view name, std::string& target, std::string_view value,
              std::string_view doc);
  void Required(std::string_view name, std::string& target, std::string_view doc);

  // All from the first word that is no option on is the command; a leading "--" is kept.
  void Command(Strings& words) { command_ = &words; }
  // Text below the help's options.
  void Footer(std::string_view text) { footer_ = text; }
  // A verb below this subcommand, of which one must be named. It runs `action`.
  Arguments& Verb(std::string_view name, std::string_view doc, Action action);

  // Nothing if all went well; otherwise help or an error was printed, and this is
  // the exit status. `words` are those behind the subcommand's name.
  std::optional<int> Parse(const Strings& words);
  // The action of the verb that was named; empty where there are no verbs.
  const Action& chosen() const { return chosen_; }

 private:
  friend class Parser;

  std::string name_;
  std::string_view usage_;
  std::string_view summary_;
  std::string_view footer_;
  std::vector<Argument> arguments_;
  std::vector<std::unique_ptr<Arguments>> verbs_;
  Strings* command_ = nullptr;
  Action action_;  // of a verb
  Action chosen_;
};

}  // namespace cordon::cli
