#include "agent/file_access.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "agent/denials.h"
#include "agent/result_text.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"
#include "host/resolve.h"

namespace cordon::agent {
namespace {

constexpr size_t kBinaryLook = 8192;

// An agent's own idea of who it is: not for the agent to write.
constexpr std::array<const char*, 3> kIdentityFiles = {"SOUL.md", "IDENTITY.md", "USER.md"};

bool IsIdentityFile(std::string_view path, std::string_view workspace) {
  std::string name(guard::BaseName(path));
  return guard::IsInside(path, workspace) &&
         std::ranges::any_of(kIdentityFiles, [&](const char* identity) {
           return strcasecmp(name.c_str(), identity) == 0;
         });
}

sys::UniqueFd OpenReal(int directory, const std::string& path, int flags, mode_t mode = 0) {
  open_how how{};
  // openat2 takes no other flags beside O_PATH than those that mean something to it.
  bool path_only = (flags & O_PATH) != 0;
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC | (path_only ? 0 : O_NOCTTY));
  how.mode = mode;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return sys::UniqueFd(
      static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

Error NotOpened(const std::string& path, int error) {
  std::string shown = base::Printable(path);
  if (error == ENOENT || error == ENOTDIR) {
    Error missing = Unsuitable(path, "does not exist");
    missing.code = Code::kNotFound;
    missing.sys_errno = error;
    return missing;
  }
  Error failed = base::SystemError("open " + shown, error);
  if (error == EACCES) failed.hint = "its owner or its mode do not allow it";
  return failed;
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::SystemError("write", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

std::string TemporaryName(std::string_view name) {
  uint64_t random = 0;
  static_cast<void>(!getrandom(&random, sizeof random, 0));
  char digits[17];
  snprintf(digits, sizeof digits, "%016lx", random);
  return "." + std::string(name.substr(0, 200)) + "." + digits + ".tmp";
}

Status WriteFresh(int directory, const std::string& temporary, std::string_view content,
                  mode_t mode) {
  sys::UniqueFd fd(openat(directory, temporary.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd.valid()) return base::SystemError("create a temporary file", errno);
  CORDON_TRY(WriteAll(fd.get(), content));
  if (mode != 0 && fchmod(fd.get(), mode) != 0) return base::SystemError("fchmod", errno);
  if (fsync(fd.get()) != 0) return base::SystemError("fsync", errno);
  return {};
}

}  // namespace

Error Unsuitable(const std::string& path, std::string_view why, std::string hint) {
  return base::InvalidArgument(Reason::kFileUnsuitable,
                               base::Printable(path) + " " + std::string(why), std::move(hint));
}

FileAccess::FileAccess(const Workbench& bench, plan::Plan plan)
    : bench_(bench),
      plan_(std::make_unique<plan::Plan>(std::move(plan))),
      probe_(std::make_unique<host::RealPaths>()) {}

Result<FileAccess> FileAccess::Create(const Workbench& bench) {
  CORDON_ASSIGN_OR_RETURN(plan::Plan plan, bench.PlanNow());
  return FileAccess(bench, std::move(plan));
}

Error FileAccess::Denied(plan::Act act, const plan::Explanation& answer) {
  denied_.push_back(DenialOf(act, answer));
  const Violation& denial = denied_.back();
  if (bench_.audit() != nullptr) std::ignore = bench_.audit()->Record(denial);
  return {.code = Code::kDenied,
          .reason = denial.reason,
          .message = denial.operation + " " + base::Printable(answer.path) +
                     " is denied: " + answer.verdict.detail + " (" + answer.verdict.rule + ")",
          .hint = answer.verdict.hint};
}

Result<std::string> FileAccess::Judge(plan::Act act, std::string_view path) {
  if (path.empty()) return base::InvalidArgument(Reason::kArgumentInvalid, "the path is empty");
  plan::Explanation answer =
      plan::Explain(*plan_, bench_.policy().fs, *probe_, act, bench_.Absolute(path));
  if (!answer.verdict.allowed) return Denied(act, answer);
  if (!answer.on_host) {
    // A command has a file there that no other command and no tool sees.
    answer.verdict = {.rule = answer.verdict.rule,
                      .detail = answer.path + " is made anew for each command",
                      .hint = "use a path in the workspace, or `shell` for all steps at once"};
    return Denied(act, answer);
  }
  if (act == plan::Act::kWrite && IsIdentityFile(answer.path, bench_.workspace())) {
    answer.verdict = {.rule = "identity files",
                      .detail = "what says who the agent is, it does not write",
                      .hint = "a person can change it"};
    return Denied(act, answer);
  }
  return answer.path;
}

bool FileAccess::MayRead(const std::string& real_path) const {
  return plan::Decide(plan_->fs, plan::Access::kRead, real_path).allowed;
}

Result<OpenedFile> FileAccess::Open(std::string_view path, int flags) {
  OpenedFile file;
  CORDON_ASSIGN_OR_RETURN(file.path, Judge(plan::Act::kRead, path));
  file.fd = OpenReal(AT_FDCWD, file.path, flags | ((flags & O_PATH) != 0 ? 0 : O_NONBLOCK));
  if (!file.fd.valid()) return NotOpened(file.path, errno);
  if (fstat(file.fd.get(), &file.status) != 0) return base::SystemError("fstat", errno);
  return file;
}

Result<OpenedFile> FileAccess::OpenFile(std::string_view path) {
  CORDON_ASSIGN_OR_RETURN(OpenedFile file, Open(path, 0));
  if (S_ISDIR(file.status.st_mode)) return Unsuitable(file.path, "is a directory", "use list_dir");
  if (!S_ISREG(file.status.st_mode)) return Unsuitable(file.path, "is no regular file");
  return file;
}

Result<OpenedFile> FileAccess::OpenAny(std::string_view path) { return Open(path, O_PATH); }

Result<OpenedFile> FileAccess::OpenDirectory(std::string_view path) {
  Result<OpenedFile> directory = Open(path, O_DIRECTORY);
  if (!directory && directory.error().sys_errno == ENOTDIR) {
    return Unsuitable(std::string(path), "is not a directory", "use read_file");
  }
  return directory;
}

// Each directory that has to be made is judged by itself: its name may be one that
// must not come into being.
Result<sys::UniqueFd> FileAccess::MakeParent(const std::string& directory) {
  std::string existing = directory;
  std::vector<std::string> missing;
  sys::UniqueFd at;
  for (;;) {
    at = OpenReal(AT_FDCWD, existing, O_PATH | O_DIRECTORY);
    if (at.valid()) break;
    if (errno != ENOENT || existing == "/") return NotOpened(existing, errno);
    missing.emplace_back(guard::BaseName(existing));
    existing = guard::Parent(existing);
  }
  std::string made = existing;
  for (; !missing.empty(); missing.pop_back()) {
    made = guard::JoinPath(made, missing.back());
    CORDON_ASSIGN_OR_RETURN(std::string judged, Judge(plan::Act::kWrite, made));
    bool created = mkdirat(at.get(), missing.back().c_str(), 0777) == 0 || errno == EEXIST;
    if (!created || judged != made) return base::SystemError("mkdir " + made, errno);
    at = OpenReal(at.get(), missing.back(), O_PATH | O_DIRECTORY);
    if (!at.valid()) return NotOpened(made, errno);
  }
  return at;
}

Result<std::string> FileAccess::Write(std::string_view path, std::string_view content) {
  CORDON_ASSIGN_OR_RETURN(std::string real, Judge(plan::Act::kWrite, path));
  if (real == "/") return Unsuitable(real, "is a directory");
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd parent, MakeParent(std::string(guard::Parent(real))));
  std::string name(guard::BaseName(real));
  struct stat status;
  bool exists = fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISREG(status.st_mode)) return Unsuitable(real, "is no regular file");
  // Who may not write the file may not replace it either.
  if (exists && faccessat(parent.get(), name.c_str(), W_OK, AT_EACCESS) != 0) {
    return NotOpened(real, errno);
  }
  std::string temporary = TemporaryName(name);
  Status done = WriteFresh(parent.get(), temporary, content,
                           exists ? status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO) : 0);
  if (done && renameat(parent.get(), temporary.c_str(), parent.get(), name.c_str()) != 0) {
    done = base::SystemError("rename", errno);
  }
  if (!done) {
    unlinkat(parent.get(), temporary.c_str(), 0);
    return std::move(done).error().Within("write " + base::Printable(real));
  }
  return real;
}

Result<ToolResult> WithDenials(Result<ToolResult> result, const FileAccess& files) {
  if (result || result.error().code != Code::kDenied) return result;
  const Error& error = result.error();
  ToolResult denied(Json{{"error", ReasonId(error.reason)},
                         {"message", base::Printable(error.message)},
                         {"violations", ViolationsJson(files.denied())}},
                    Format(error, files.denied()));
  denied.state = ToolResult::State::kFailed;
  denied.violations = files.denied();
  return denied;
}

Result<std::string> ReadAll(const OpenedFile& file, uint64_t most) {
  auto size = static_cast<uint64_t>(file.status.st_size);
  auto too_large = [&] {
    return Unsuitable(file.path, "has more than " + std::to_string(most) + " bytes");
  };
  if (size > most) return too_large();
  std::string bytes;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    ssize_t got = read(file.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::SystemError("read " + base::Printable(file.path), errno);
    if (got == 0) return bytes;
    bytes.append(buffer.data(), static_cast<size_t>(got));
    if (bytes.size() > most) return too_large();  // it grew, or is of /proc
  }
}

Result<std::vector<ListedEntry>> ReadDirectory(const OpenedFile& directory, size_t most) {
  int copy = openat(directory.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
  if (stream == nullptr) {
    int error = errno;
    if (copy >= 0) close(copy);
    return base::SystemError("list " + base::Printable(directory.path), error);
  }
  std::vector<ListedEntry> entries;
  while (const dirent* entry = readdir(stream)) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() >= most) {
      closedir(stream);
      return Unsuitable(directory.path, "has more than " + std::to_string(most) + " entries");
    }
    entries.push_back({std::move(name), entry->d_type});
  }
  closedir(stream);
  std::ranges::sort(entries, {}, &ListedEntry::name);
  return entries;
}

bool LooksBinary(std::string_view bytes) {
  return bytes.substr(0, kBinaryLook).find('\0') != bytes.npos;
}

}  // namespace cordon::agent
