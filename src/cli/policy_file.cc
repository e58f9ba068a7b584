#include "cli/policy_file.h"

#include <fcntl.h>
#include <sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "sys/fd.h"

namespace cordon::cli {
namespace {

using sys::UniqueFd;

Error Unreadable(const std::string& path, int sys_errno) {
  return base::SystemError("policy " + path, sys_errno, Reason::kPolicyUnreadable);
}

Error Refused(Reason reason, const std::string& path, const std::string& why, std::string hint) {
  Error error = base::InvalidArgument(reason, "policy " + path + ": " + why, std::move(hint));
  error.code = Code::kDenied;
  return error;
}

Status CheckFile(const std::string& path, const struct stat& st, FileRules rules) {
  if (!S_ISREG(st.st_mode)) {
    return Refused(Reason::kPolicyUnreadable, path, "not a regular file", "");
  }
  if (static_cast<uint64_t>(st.st_size) > policy::kMaxDocumentBytes) {
    return Refused(Reason::kPolicyUnreadable, path, "larger than 1 MiB", "");
  }
  if (rules == FileRules::kWorkspace) return {};
  if (st.st_uid != 0 && st.st_uid != geteuid()) {
    return Refused(Reason::kPolicyUntrusted, path,
                   "belongs to user " + std::to_string(st.st_uid) + ", not to you or root",
                   "copy it or change its owner");
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Refused(Reason::kPolicyUntrusted, path, "can be written by others",
                   "chmod go-w " + path);
  }
  return {};
}

Result<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  std::array<char, 16384> buffer;
  while (text.size() <= policy::kMaxDocumentBytes) {
    ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  return Refused(Reason::kPolicyUnreadable, path, "larger than 1 MiB", "");
}

Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::SystemError("write " + path, errno);
    text.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

// Makes `path` and what is missing above it, for this user alone.
Status MakeDirectories(const std::string& path) {
  if (path == "/" || mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return base::SystemError("mkdir " + path, errno);
  CORDON_TRY(MakeDirectories(std::string(guard::Parent(path))));
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return base::SystemError("mkdir " + path, errno);
}

// A path in the store has no newline: it would forge a second line.
std::string Escaped(std::string_view path) { return base::Printable(path); }

}  // namespace

Result<std::optional<policy::Source>> ReadPolicyFile(const std::string& path, FileRules rules) {
  // O_NONBLOCK: a FIFO in the workspace must not hang us.
  int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if (rules != FileRules::kNamed) flags |= O_NOFOLLOW;
  UniqueFd fd(open(path.c_str(), flags));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::optional<policy::Source>();
  if (!fd.valid() && errno == ELOOP) {
    return Refused(Reason::kPolicyUntrusted, path, "is a symbolic link",
                   "put the file itself there");
  }
  if (!fd.valid()) return Unreadable(path, errno);
  struct stat st = {};
  if (fstat(fd.get(), &st) != 0) return Unreadable(path, errno);
  CORDON_TRY(CheckFile(path, st, rules));
  CORDON_ASSIGN_OR_RETURN(std::string text, ReadAll(fd.get(), path));
  auto format = path.ends_with(".json") ? policy::Format::kJson : policy::Format::kToml;
  return std::optional(policy::Source{.name = path, .text = std::move(text), .format = format});
}

Result<policy::Source> RequirePolicyFile(const std::string& path, FileRules rules) {
  CORDON_ASSIGN_OR_RETURN(auto source, ReadPolicyFile(path, rules));
  if (!source) return Unreadable(path, ENOENT);
  return std::move(*source);
}

Result<std::string> RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) return base::SystemError(path, errno);
  return std::string(resolved);
}

std::string Sha256(std::string_view bytes) {
  char hex[SHA256_DIGEST_STRING_LENGTH];
  SHA256Data(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), hex);
  return hex;
}

TrustStore TrustStore::InState(const std::string& home, const std::string& xdg_state_home) {
  std::string state =
      xdg_state_home.starts_with('/') ? xdg_state_home : guard::JoinPath(home, ".local/state");
  return TrustStore(guard::JoinPath(state, "cordon/trusted"));
}

Result<std::string> TrustStore::Load() const {
  CORDON_ASSIGN_OR_RETURN(auto source, ReadPolicyFile(path_, FileRules::kConfig));
  return source ? std::move(source->text) : std::string();
}

// Written beside and renamed over, so that a reader sees all of it or none.
Status TrustStore::Store(std::string_view text) const {
  CORDON_TRY(MakeDirectories(std::string(guard::Parent(path_))));
  std::string temporary = path_ + "." + std::to_string(getpid());
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return base::SystemError("open " + temporary, errno);
  Status written = WriteAll(fd.get(), text, temporary);
  if (written && rename(temporary.c_str(), path_.c_str()) != 0) {
    written = base::SystemError("rename " + temporary, errno);
  }
  if (!written) unlink(temporary.c_str());
  return written;
}

Result<bool> TrustStore::Trusts(std::string_view real_path, std::string_view bytes) const {
  CORDON_ASSIGN_OR_RETURN(std::string text, Load());
  std::string wanted = Sha256(bytes) + "  " + Escaped(real_path);
  for (const std::string& line : base::Split(text, '\n')) {
    if (line == wanted) return true;
  }
  return false;
}

Status TrustStore::Trust(std::string_view real_path, std::string_view bytes) const {
  CORDON_TRY(Revoke(real_path));
  CORDON_ASSIGN_OR_RETURN(std::string text, Load());
  return Store(text + Sha256(bytes) + "  " + Escaped(real_path) + "\n");
}

Status TrustStore::Revoke(std::string_view real_path) const {
  CORDON_ASSIGN_OR_RETURN(std::string text, Load());
  std::string kept, ending = "  " + Escaped(real_path);
  for (const std::string& line : base::Split(text, '\n')) {
    bool ours = line.size() == 64 + ending.size() && line.ends_with(ending);
    if (!line.empty() && !ours) kept += line + "\n";
  }
  return kept == text ? Status() : Store(kept);
}

}  // namespace cordon::cli
