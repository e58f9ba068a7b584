#include "agent/file_walk.h"

#include <dirent.h>
#include <fcntl.h>

#include "guard/path.h"

namespace cordon::agent {
namespace {

constexpr uint64_t kMostIgnoreFile = 256 * 1024;
constexpr size_t kMostEntries = 100'000;
constexpr int kDeepest = 100;

class Walker {
 public:
  Walker(FileAccess& files, Ignored ignored, const CallContext& context, const Visitor& visit)
      : files_(files), ignored_(ignored), context_(context), visit_(visit) {}

  // Of the directories above, up to the repository they belong to.
  IgnoreRules RulesAbove(const std::string& directory) {
    std::vector<std::string> above;
    for (std::string at = directory; at != "/"; at = guard::Parent(at)) {
      above.push_back(at);
      if (files_.OpenAny(at + "/.git")) break;
    }
    IgnoreRules rules;
    if (above.empty() || !files_.OpenAny(above.back() + "/.git")) return rules;
    for (; above.size() > 1; above.pop_back()) AddRules(above.back(), rules);
    return rules;
  }

  WalkEnd Enter(const OpenedFile& directory, IgnoreRules rules, int depth) {
    Result<std::vector<ListedEntry>> entries = ReadDirectory(directory, kMostEntries);
    if (!entries || depth > kDeepest) return WalkEnd::kAll;
    AddRules(directory.path, rules);
    for (const ListedEntry& entry : *entries) {
      if (++visited_ > kMostVisited) return WalkEnd::kTooMany;
      if (context_.cancellation.cancelled()) return WalkEnd::kCancelled;
      WalkEnd end = Visit(directory, entry, rules, depth);
      if (end != WalkEnd::kAll) return end;
    }
    return WalkEnd::kAll;
  }

 private:
  void AddRules(const std::string& directory, IgnoreRules& rules) {
    if (ignored_ == Ignored::kTaken) return;
    auto file = files_.OpenFile(directory + "/.gitignore");
    if (!file) return;
    if (auto text = ReadAll(*file, kMostIgnoreFile)) rules.Add(directory, *text);
  }

  WalkEnd Visit(const OpenedFile& parent, const ListedEntry& entry, const IgnoreRules& rules,
                int depth) {
    std::string path = guard::JoinPath(parent.path, entry.name);
    bool directory = entry.type == DT_DIR;
    if (entry.name == ".git" || !files_.MayRead(path)) return WalkEnd::kAll;
    if (rules.Ignores(path, directory ? EntryKind::kDirectory : EntryKind::kFile)) {
      return WalkEnd::kAll;
    }
    if (visit_(path, parent, entry) == Step::kStop) return WalkEnd::kStopped;
    if (!directory) return WalkEnd::kAll;
    OpenedFile inner;
    inner.path = path;
    inner.fd.reset(openat(parent.fd.get(), entry.name.c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return inner.fd.valid() ? Enter(inner, rules, depth + 1) : WalkEnd::kAll;
  }

  FileAccess& files_;
  const Ignored ignored_;
  const CallContext& context_;
  const Visitor& visit_;
  size_t visited_ = 0;
};

}  // namespace

Result<WalkEnd> Walk(FileAccess& files, std::string_view root, Ignored ignored,
                     const CallContext& context, const Visitor& visit) {
  CORDON_ASSIGN_OR_RETURN(OpenedFile directory, files.OpenDirectory(root));
  Walker walker(files, ignored, context, visit);
  IgnoreRules rules;
  if (ignored == Ignored::kLeftOut) rules = walker.RulesAbove(directory.path);
  return walker.Enter(directory, std::move(rules), 0);
}

}  // namespace cordon::agent
