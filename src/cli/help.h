// How `--help` looks.
#pragma once

#include <memory>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class FormatterBase;
}

namespace cordon::cli {

// `usage` is what follows the name of the subcommand: "[OPTIONS] PATH". Verbs
// below it have theirs made from their options.
std::shared_ptr<CLI::FormatterBase> MakeHelp(std::string usage);

}  // namespace cordon::cli
