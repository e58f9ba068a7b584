// Single values of a policy as the user writes them → what they mean. Errors
// say what was expected and what was found; the reader puts file, line and key
// in front.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cordon/policy.h"
#include "cordon/result.h"

namespace cordon::policy {

// What `~`, `$VAR` and relative paths mean. `home` and `workspace` are
// absolute; an empty `home` makes `~` an error.
struct Context {
  std::string home;
  std::string workspace;
  std::map<std::string, std::string> env;
};

// How a list of paths reads what is in it.
enum class PathUse {
  kLiteral,  // a path; globs are an error
  kPattern,  // a path or a glob; a name without a slash is meant at any depth
  kProgram,  // an absolute path or glob
  kDevice,   // a path at or below /dev
};

// "50kB", "2GiB", "512" (bytes) → bytes. Not zero, no sign, no fraction.
Result<uint64_t> ParseSize(std::string_view text);
// "250ms", "60s", "5m", "1h", "3" (seconds) → milliseconds. Not zero.
Result<uint64_t> ParseDuration(std::string_view text);
// A whole number from 1 up.
Result<uint64_t> ParseCount(std::string_view text);
// 1 to 65535.
Result<int> ParsePort(std::string_view text);

// The shortest text that reads back as the same amount: 2147483648 → "2GiB".
std::string FormatSize(uint64_t bytes);
std::string FormatDuration(uint64_t milliseconds);

// Expands and normalises one path as the header of cordon/policy.h says. `$$`
// is a dollar sign. "x/**" is read as the optional path "x": a rule holds all
// that is below it. `origin` is left empty.
Result<PathRule> ParsePath(std::string_view text, PathUse use, const Context& context);
// The text that ParsePath reads back as `rule`.
std::string FormatPath(const PathRule& rule);

// A host name, pattern or address, with or without ":port", or a "@list" that
// exists: see guard::ParseHostPattern. A host to deny may be as wide as "*.com".
Status CheckHost(std::string_view text);
Status CheckDeniedHost(std::string_view text);
// The same without lists.
Status CheckSingleHost(std::string_view text);
// A field of HTTP that a secret can be put in: a token, and not one that frames
// the message or concerns the connection.
Status CheckHeaderName(std::string_view text);
// Printable, with one "{}".
Status CheckHeaderFormat(std::string_view text);
// "env:NAME", "file:PATH" (expanded like a path of the policy) or "command:LINE".
Result<std::string> ParseSecretSource(std::string_view text, const Context& context);
// [A-Za-z_][A-Za-z0-9_]*
Status CheckEnvName(std::string_view text);
// The name of a feature or group that `require` takes.
Status CheckFeature(std::string_view text);
// A word: not empty, no control characters, no NUL.
Status CheckWord(std::string_view text);
// http://, https:// or socks5:// and something after it.
Status CheckProxyUrl(std::string_view text);

// "expected X, got "text"", with reason kPolicyBadValue.
Error BadValue(std::string_view expected, std::string_view got);

}  // namespace cordon::policy
