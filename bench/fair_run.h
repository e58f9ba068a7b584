// What makes runs comparable: the same ordinary user in an empty directory of
// its own, and medians.
#pragma once

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace cordon::bench {

inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The binary to measure, as ./dev bench names it.
inline std::string CordonBinary() {
  const char* named = std::getenv("CORDON_BIN");
  return named != nullptr ? named : "";
}

// A directory that is made, entered and removed in the end. Root becomes nobody.
class Scratch {
 public:
  Scratch() {
    if (mkdtemp(path_) == nullptr) return;
    constexpr uid_t kNobody = 65534;
    bool ordinary =
        geteuid() != 0 || (chown(path_, kNobody, kNobody) == 0 && setgroups(0, nullptr) == 0 &&
                           setgid(kNobody) == 0 && setuid(kNobody) == 0);
    entered_ = ordinary && chdir(path_) == 0;
    setenv("HOME", "/nonexistent", 1);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  bool entered() const { return entered_; }
  std::string path() const { return path_; }

 private:
  char path_[29] = "/var/tmp/cordon-bench-XXXXXX";
  bool entered_ = false;
};

}  // namespace cordon::bench
