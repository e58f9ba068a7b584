// What .gitignore files say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordon::cli {

// The patterns of one file, which holds for the folder it lies in and all below.
class IgnoreRules {
 public:
  enum class Kind { kFile, kFolder };
  enum class Answer { kNothing, kIgnored, kKept };

  explicit IgnoreRules(std::string_view text);

  // Of `path`, relative to the file's folder, what the last pattern that matches says.
  Answer Ask(std::string_view path, Kind kind) const;

 private:
  struct Pattern {
    std::vector<std::string> parts;  // between the slashes
    Answer answer = Answer::kIgnored;
    bool folders_only = false;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace cordon::cli
