#include "cli/output.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/strings.h"

namespace cordon::cli {
namespace {

bool WantsColour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

std::string_view Code(Colour colour) {
  switch (colour) {
    case Colour::kRed:
      return "31";
    case Colour::kGreen:
      return "32";
    case Colour::kDim:
      return "2";
  }
  return "0";
}

std::string Painted(std::string_view text, Colour colour, int fd) {
  if (!WantsColour(fd)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", Code(colour), text);
}

}  // namespace

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Tell(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void PrintError(const Error& error, OutputForm form) {
  if (form == OutputForm::kJson) {
    Print(fmt::format("{{\"error\": {{\"reason\": {}, \"message\": {}, \"hint\": {}}}}}\n",
                      JsonQuote(ReasonId(error.reason)), JsonQuote(error.message),
                      JsonQuote(error.hint)));
    return;
  }
  Tell(fmt::format("{} {}\n", Painted("cordon:", Colour::kRed, STDERR_FILENO),
                   base::Printable(error.message)));
  if (!error.hint.empty()) Tell(fmt::format("  {}\n", base::Printable(error.hint)));
}

std::string JsonQuote(std::string_view text) {
  std::string safe = base::IsValidUtf8(text) ? std::string(text) : base::Printable(text);
  std::string quoted = "\"";
  for (char c : safe) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string Coloured(std::string_view text, Colour colour) {
  return Painted(text, colour, STDOUT_FILENO);
}

}  // namespace cordon::cli
