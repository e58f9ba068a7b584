#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace cordon::cli {
namespace {

constexpr size_t kOptionColumn = 28;

class Help final : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) { column_width(kOptionColumn); }

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

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelp(std::string usage) {
  return std::make_shared<Help>(std::move(usage));
}

}  // namespace cordon::cli
