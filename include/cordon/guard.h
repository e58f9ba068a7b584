// The guards: may a tool do this? Each answers about one value, for what an agent
// does in its own process: a file tool, a fetch, a variable, a prompt before a
// command. Nothing is changed, sent or run; nothing throws. docs/guards.md has more.
//
//   cordon::PathQuestion question{.root = "/home/me/project"};
//   if (!cordon::CheckPath(question, "notes/a.txt").allowed) …
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon {

struct GuardAnswer {
  bool allowed = false;
  Reason reason = Reason::kInternal;  // when denied
  std::string rule;                   // what decided, in words
};

struct PathQuestion {
  enum class Use { kRead, kWrite };
  std::string root;         // must stay inside it; relative paths are below it. Empty: anywhere
  std::string data_dir;     // an agent's own state: its data/ and config.toml are out of reach
  std::string config_path;  // its configuration, where that lies elsewhere
  std::vector<std::string> identity_files = {"SOUL.md", "IDENTITY.md", "USER.md"};  // no writes
  Use use = Use::kRead;
};

struct PathAnswer : GuardAnswer {
  std::string path;          // where it leads, all links followed
  bool hard_linked = false;  // the file has other names, too
};

// Links are resolved, also when the last components do not exist yet. The tree may
// change after the answer: to act without that gap, open beneath the root by descriptor.
PathAnswer CheckPath(const PathQuestion& question, std::string_view path);

// http and https to public hosts, before anything is resolved.
GuardAnswer CheckUrl(std::string_view url);

// And after: all addresses that the host has, as text. If one is not public, none is
// taken; otherwise `address` is the one to connect to.
struct AddressAnswer : GuardAnswer {
  std::string address;
};
AddressAnswer CheckAddresses(std::string_view url, const std::vector<std::string>& addresses);

// A variable that a tool call would set.
GuardAnswer CheckVariable(std::string_view name, std::string_view value = {});

// What a shell line would do, told from its text: for prompts, never a boundary.
// Allowed is what only reads.
struct CommandAnswer : GuardAnswer {
  std::string effect;                 // read-only, local-change, remote, unknown, destructive
  std::vector<std::string> commands;  // the simple commands of the line
  bool simple = false;                // it is one of them and nothing else
};
CommandAnswer CheckCommand(std::string_view line);

// Text that leaves: what leaked secrets the default rules find in it, plain or encoded.
// Allowed is text without any. docs/scan.md has the rules.
struct Leak {
  std::string rule;     // "github-pat"
  std::string preview;  // what kind it is and how long; never the secret
  size_t begin = 0;     // in the text, in bytes
  size_t end = 0;
};
struct TextAnswer : GuardAnswer {
  std::vector<Leak> leaks;
  std::string redacted;  // the text with "[REDACTED:rule]" for each
};
TextAnswer CheckText(std::string_view text);

}  // namespace cordon
