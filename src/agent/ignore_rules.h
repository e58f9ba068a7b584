// What .gitignore files say of paths. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordon::agent {

enum class EntryKind { kFile, kDirectory };

// The rules of the directories on the way to where a walk is. A value: each level of
// the walk has its own.
class IgnoreRules {
 public:
  // Of a .gitignore in `directory`, which is absolute. Later ones win.
  void Add(std::string_view directory, std::string_view text);
  bool Ignores(std::string_view path, EntryKind kind) const;

 private:
  struct Rule {
    std::string pattern;
    bool negated = false;
    bool directory_only = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace cordon::agent
