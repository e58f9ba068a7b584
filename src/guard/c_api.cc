// The calls of include/cordon/guard_c.h.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

#include "base/strings.h"
#include "cordon/guard.h"
#include "cordon/guard_c.h"

namespace {

using cordon::GuardAnswer;

template <size_t Size>
void Copy(std::string_view text, char (&to)[Size]) {
  text = cordon::base::Utf8Prefix(text, Size - 1);
  text = text.substr(0, text.find('\0'));
  std::memset(to, 0, Size);
  std::copy(text.begin(), text.end(), to);
}

int Tell(const GuardAnswer& told, std::string_view value, cordon_answer* answer) {
  if (answer != nullptr) {
    answer->allowed = told.allowed ? 1 : 0;
    Copy(told.allowed ? "" : cordon::ReasonId(told.reason), answer->reason);
    Copy(told.rule, answer->rule);
    Copy(value, answer->value);
  }
  return told.allowed ? 1 : 0;
}

int Refuse(std::string_view why, cordon_answer* answer) {
  GuardAnswer told;
  told.reason = cordon::Reason::kUsage;
  told.rule = why;
  return Tell(told, "", answer);
}

// C has no exceptions: what is thrown (no memory) is a denial.
template <typename Ask>
int Fenced(const void* required, cordon_answer* answer, Ask ask) noexcept {
  try {
    return required == nullptr ? Refuse("a null pointer", answer) : ask();
  } catch (const std::exception&) {
    if (answer != nullptr) *answer = {};
    return 0;
  }
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

int cordon_check_path(const char* path, const char* root, const char* data_dir,
                      const char* config_path, cordon_path_use use, cordon_answer* answer) {
  return Fenced(path, answer, [&] {
    cordon::PathQuestion question;
    question.root = Text(root);
    question.data_dir = Text(data_dir);
    question.config_path = Text(config_path);
    // What is neither is a write, which asks for more.
    if (use != CORDON_READ) question.use = cordon::PathQuestion::Use::kWrite;
    cordon::PathAnswer told = cordon::CheckPath(question, path);
    return Tell(told, told.path, answer);
  });
}

int cordon_check_url(const char* url, cordon_answer* answer) {
  return Fenced(url, answer, [&] { return Tell(cordon::CheckUrl(url), "", answer); });
}

int cordon_check_addresses(const char* url, const char* const* addresses, cordon_answer* answer) {
  if (addresses == nullptr) url = nullptr;
  return Fenced(url, answer, [&] {
    std::vector<std::string> texts;
    for (const char* const* next = addresses; *next != nullptr; ++next) texts.emplace_back(*next);
    cordon::AddressAnswer told = cordon::CheckAddresses(url, texts);
    return Tell(told, told.address, answer);
  });
}

int cordon_check_variable(const char* name, const char* value, cordon_answer* answer) {
  return Fenced(name, answer,
                [&] { return Tell(cordon::CheckVariable(name, Text(value)), "", answer); });
}

int cordon_check_command(const char* line, cordon_answer* answer) {
  return Fenced(line, answer, [&] {
    cordon::CommandAnswer told = cordon::CheckCommand(line);
    return Tell(told, told.effect, answer);
  });
}

int cordon_check_text(const char* text, size_t length, cordon_answer* answer) {
  return Fenced(text, answer, [&] {
    cordon::TextAnswer told = cordon::CheckText({text, length});
    return Tell(told, told.leaks.empty() ? "" : told.leaks.front().preview, answer);
  });
}

size_t cordon_redact_text(const char* text, size_t length, char* out, size_t room) {
  if (out == nullptr) room = 0;
  if (room > 0) out[0] = '\0';
  if (text == nullptr) return SIZE_MAX;
  try {
    cordon::TextAnswer told = cordon::CheckText({text, length});
    if (!told.allowed && told.leaks.empty()) return SIZE_MAX;
    if (room > 0) out[told.redacted.copy(out, room - 1)] = '\0';
    return told.redacted.size();
  } catch (const std::exception&) {
    return SIZE_MAX;
  }
}
