// Paths as text, and resolved in a directory that holds links of all kinds: what is
// allowed inside a root lies inside it, and normal forms are normal.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "guard/path.h"
#include "guard/path_guard.h"
#include "sys/beneath.h"

namespace {

using namespace cordon::guard;

void Require(bool holds) {
  if (!holds) abort();
}

// Made once, and left to the machine's cleaning of /tmp.
const std::string& Tree() {
  static const std::string kTop = [] {
    char name[] = "/tmp/cordon-path-fuzz-XXXXXX";
    std::string made = mkdtemp(name);
    for (const char* directory : {"/w", "/w/d", "/w/d/e", "/out"}) {
      Require(mkdir((made + directory).c_str(), 0700) == 0);
    }
    for (auto [target, link] : {std::pair("..", "/w/d/up"),
                                {"../../out", "/w/d/out"},
                                {"/", "/w/root"},
                                {"l", "/w/l"},
                                {"d/e", "/w/in"},
                                {"../w/d", "/w/round"},
                                {"/proc/self", "/w/p"},
                                {"missing", "/w/m"}}) {
      Require(symlink(target, (made + link).c_str()) == 0);
    }
    return made;
  }();
  return kTop;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string path(reinterpret_cast<const char*>(data), size);
  std::string normal = NormalizePath(path);
  Require(NormalizePath(normal) == normal);
  IsDangerousSystemPath(path, "/home/u");
  IsIdentityFile(path);
  if (IsFullyDenied("/x" + path)) Require(IsReadBlocked("/x" + path, ""));

  PathRules rules;
  rules.root = Tree() + "/w";
  PathDecision decision = CheckPath(rules, path, PathUse::kWrite);
  if (decision.allowed) {
    Require(IsInside(decision.path, rules.root) && NormalizePath(decision.path) == decision.path);
    Require(path.find('\0') == path.npos);
  }
  // What can be opened beneath the root is allowed; /proc aside, where no link is followed.
  static const int kRoot = cordon::sys::OpenRoot(rules.root)->release();
  if (cordon::sys::OpenDirectoryBeneath(kRoot, path)) Require(decision.allowed);
  return 0;
}
