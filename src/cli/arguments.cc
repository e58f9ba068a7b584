#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/command.h"

namespace cordon::cli {
namespace {

constexpr size_t kOptionColumn = 28;

class Help final : public CLI::Formatter {
 public:
  explicit Help(std::string_view usage) : usage_(usage) { column_width(kOptionColumn); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    bool verb = app->get_parent() != nullptr;
    if (verb) return "\n" + CLI::Formatter::make_usage(app, std::move(name));
    return "\nUsage: " + name + " " + usage_ + "\n";
  }

  // The value's name alone: not "TEXT", "REQUIRED" or "...".
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string type = option->get_type_name();
    bool named = option->get_type_size() != 0 && !type.empty() && type != "TEXT";
    return named && option->nonpositional() ? " " + type : "";
  }

 private:
  std::string usage_;
};

bool IsPositional(const Argument& argument) { return !argument.name.starts_with('-'); }

// Whether a word could mean this option: the library spends a good part of a
// start-up on options that nobody names, so it hears only of those.
bool Named(const Argument& argument, const Strings& words) {
  if (IsPositional(argument) || argument.presence == Argument::Presence::kRequired) return true;
  std::string_view names = argument.name;
  for (;;) {
    size_t comma = names.find(',');
    std::string_view name = names.substr(0, comma);
    bool found = std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return name.starts_with("--") ? word.starts_with(name)
                                    : word.starts_with('-') && word.find(name[1]) != word.npos;
    });
    if (found) return true;
    if (comma == names.npos) return false;
    names.remove_prefix(comma + 1);
  }
}

// Those that can be options: what follows "--" is not.
Strings OptionWords(const Strings& words) {
  return {words.begin(), std::find(words.begin(), words.end(), "--")};
}

bool AsksForHelp(const Strings& words) {
  return std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return word == "--help" || (word.starts_with('-') && !word.starts_with("--"));
  });
}

CLI::Option* Bind(CLI::App& app, const Argument& argument) {
  std::string name(argument.name);
  std::string doc(argument.doc);
  if (auto* flag = std::get_if<bool*>(&argument.target)) return app.add_flag(name, **flag, doc);
  if (auto* text = std::get_if<std::string*>(&argument.target)) {
    return app.add_option(name, **text, doc);
  }
  if (auto* receive = std::get_if<Receiver>(&argument.target)) {
    return app.add_option_function<Strings>(name, *receive, doc)->allow_extra_args(false);
  }
  CLI::Option* option = app.add_option(name, *std::get<Strings*>(argument.target), doc);
  if (!IsPositional(argument)) return option->allow_extra_args(false);
  int least = argument.presence == Argument::Presence::kRequired ? 1 : 0;
  return argument.most == kAnyNumber
             ? option->expected(least, CLI::detail::expected_max_vector_size)
             : option->expected(least, argument.most);
}

}  // namespace

class Parser {
 public:
  Parser(Arguments& arguments, const Strings& words)
      : arguments_(arguments),
        words_(words),
        option_words_(OptionWords(words)),
        all_(AsksForHelp(option_words_)),
        app_(std::string(arguments.summary_), arguments.name_) {
    app_.formatter(std::make_shared<Help>(arguments.usage_));
    Fill(app_, arguments);
  }

  std::optional<int> Parse() {
    try {
      app_.parse(Strings(words_.rbegin(), words_.rend()));
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kExitOk : kExitUsage;
    }
    if (arguments_.command_ != nullptr) *arguments_.command_ = app_.remaining();
    return std::nullopt;
  }

 private:
  void Fill(CLI::App& app, Arguments& arguments) {
    for (const Argument& argument : arguments.arguments_) {
      if (!all_ && !Named(argument, option_words_)) continue;
      CLI::Option* option = Bind(app, argument);
      if (!argument.value.empty()) option->type_name(std::string(argument.value));
      if (!argument.group.empty()) option->group(std::string(argument.group));
      if (argument.presence == Argument::Presence::kRequired) option->required();
    }
    app.footer(std::string(arguments.footer_));
    if (arguments.command_ != nullptr) app.prefix_command();
    if (arguments.verbs_.empty()) return;
    app.require_subcommand(1);
    for (const auto& verb : arguments.verbs_) {
      CLI::App* below = app.add_subcommand(verb->name_, std::string(verb->summary_));
      Fill(*below, *verb);
      if (verb->command_ != nullptr) app.prefix_command();
      below->callback([this, below, &verb] {
        arguments_.chosen_ = verb->action_;
        if (verb->command_ == nullptr) return;
        // The library ends a verb at "--" and leaves the rest to its parent.
        *verb->command_ = below->remaining();
        if (verb->command_->empty()) *verb->command_ = app_.remaining();
      });
    }
  }

  Arguments& arguments_;
  const Strings& words_;
  Strings option_words_;
  bool all_;  // the help shows every option
  CLI::App app_;
};

Arguments::Arguments(std::string name, std::string_view usage, std::string_view summary)
    : name_(std::move(name)), usage_(usage), summary_(summary) {}

void Arguments::Flag(std::string_view name, bool& target, std::string_view doc) {
  Add({.name = name, .doc = doc, .target = &target});
}

void Arguments::Option(std::string_view name, std::string& target, std::string_view value,
                       std::string_view doc) {
  Add({.name = name, .value = value, .doc = doc, .target = &target});
}

void Arguments::Required(std::string_view name, std::string& target, std::string_view doc) {
  Add({.name = name, .doc = doc, .target = &target, .presence = Argument::Presence::kRequired});
}

Arguments& Arguments::Verb(std::string_view name, std::string_view doc, Action action) {
  verbs_.push_back(std::make_unique<Arguments>(std::string(name), "", doc));
  verbs_.back()->action_ = std::move(action);
  return *verbs_.back();
}

std::optional<int> Arguments::Parse(const Strings& words) { return Parser(*this, words).Parse(); }

}  // namespace cordon::cli
