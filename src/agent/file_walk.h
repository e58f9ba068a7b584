// A walk over the files below a directory, as the policy lets them be read: no link is
// followed, what may not be read is not entered, `.git` is left out.
#pragma once

#include <functional>
#include <string>

#include "agent/file_access.h"
#include "agent/ignore_rules.h"
#include "agent/tool.h"

namespace cordon::agent {

enum class Ignored { kLeftOut, kTaken };  // what .gitignore names
enum class Step { kGoOn, kStop };

// Regular files and links, directories before what is in them; `path` is real.
using Visitor = std::function<Step(const std::string& path, const OpenedFile& parent,
                                   const ListedEntry& entry)>;

enum class WalkEnd { kAll, kStopped, kTooMany, kCancelled };

// At most `kMostVisited` entries.
inline constexpr size_t kMostVisited = 500'000;
Result<WalkEnd> Walk(FileAccess& files, std::string_view root, Ignored ignored,
                     const CallContext& context, const Visitor& visit);

}  // namespace cordon::agent
