// Policy files on disk: reading one safely, and the store of trusted digests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cordon/result.h"
#include "policy/layers.h"

namespace cordon::cli {

// Which rules a file must keep before it is believed.
enum class FileRules {
  kConfig,     // no symlink as last component; ours or root's; not writable by others
  kNamed,      // given by --policy: the same, but may be a symlink
  kWorkspace,  // .cordon.toml: no symlink; whose it is does not matter, it can only narrow
};

// The file, read once through one descriptor; nothing if it does not exist.
// Anything but a regular file of at most 1 MiB that keeps `rules` is
// kPolicyUnreadable or kPolicyUntrusted. A name that ends in .json is JSON.
Result<std::optional<policy::Source>> ReadPolicyFile(const std::string& path, FileRules rules);

// The same for a file that must exist.
Result<policy::Source> RequirePolicyFile(const std::string& path, FileRules rules);

// The absolute path with all symlinks resolved.
Result<std::string> RealPath(const std::string& path);

std::string Sha256(std::string_view bytes);

// Lines "sha256  path" in a file that only this user writes. A file is trusted
// when both its content and its real path are listed.
class TrustStore {
 public:
  // `home` is the home directory; XDG_STATE_HOME moves the store.
  explicit TrustStore(std::string path) : path_(std::move(path)) {}
  static TrustStore InState(const std::string& home, const std::string& xdg_state_home);

  const std::string& path() const { return path_; }
  Result<bool> Trusts(std::string_view real_path, std::string_view bytes) const;
  // Replaces what was trusted for that path.
  Status Trust(std::string_view real_path, std::string_view bytes) const;
  Status Revoke(std::string_view real_path) const;

 private:
  Result<std::string> Load() const;
  Status Store(std::string_view text) const;

  std::string path_;
};

}  // namespace cordon::cli
