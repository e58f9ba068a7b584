#include "audit/log.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/error.h"
#include "sys/process.h"
#include "sys/signals.h"

namespace cordon::audit {
namespace {

Error Unusable(const std::string& path, const char* why) {
  return base::InvalidArgument(Reason::kAuditFailed, path + " " + why);
}

Status MakeParent(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == path.npos || slash == 0) return {};
  Status made = sys::MakeDirectories(path.substr(0, slash));
  if (!made) made.error().reason = Reason::kAuditFailed;
  return made;
}

// A limit of file sizes (RLIMIT_FSIZE) is an error to us like a full disk, not the
// end: the signal that comes with it is taken before it is let through.
ssize_t WriteOnce(int fd, std::string_view bytes) {
  sys::SignalsBlocked blocked;
  ssize_t wrote = write(fd, bytes.data(), bytes.size());
  if (wrote < 0 && errno == EFBIG) {
    sigset_t too_large;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    timespec now{};
    sigtimedwait(&too_large, nullptr, &now);
    errno = EFBIG;
  }
  return wrote;
}

}  // namespace

std::string NewRunId() {
  uint64_t bits = 0;
  static_cast<void>(!getrandom(&bits, sizeof bits, 0));  // never short for so few
  std::array<char, 17> digits{};
  snprintf(digits.data(), digits.size(), "%016lx", bits);
  return digits.data();
}

Result<sys::UniqueFd> OpenFile(const std::string& path) {
  CORDON_TRY(MakeParent(path));
  // O_NONBLOCK: a FIFO must not make us wait.
  constexpr int kFlags =
      O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
  sys::UniqueFd file(open(path.c_str(), kFlags, 0600));
  if (!file.valid() && errno == ELOOP) return Unusable(path, "is a symbolic link");
  if (!file.valid()) return base::SystemError("open " + path, errno, Reason::kAuditFailed);
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return base::SystemError("stat " + path, errno);
  if (!S_ISREG(status.st_mode)) return Unusable(path, "is not a plain file");
  return file;
}

std::shared_ptr<Log> Log::ForAnotherRun() const {
  sys::UniqueFd file(fcntl(file_.get(), F_DUPFD_CLOEXEC, 3));
  return std::make_shared<Log>(std::move(file), NewRunId(), most_bytes_);
}

std::string Log::Tail(size_t most) const {
  struct stat status;
  if (fstat(file_.get(), &status) != 0) return {};
  off_t begin = std::max<off_t>(0, status.st_size - static_cast<off_t>(most));
  std::string text(static_cast<size_t>(status.st_size - begin), '\0');
  ssize_t got = pread(file_.get(), text.data(), text.size(), begin);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return begin == 0 ? text : text.substr(text.find('\n') + 1);
}

Status Log::Record(const Event& event) {
  std::lock_guard lock(mutex_);
  Status written = Append(event);
  if (!written) {
    if (++lost_ == 1) problem_ = written.error().message;
  }
  return written;
}

Status Log::Append(const Event& event) {
  Stamp stamp{std::chrono::system_clock::now(), run_};
  bool last = std::holds_alternative<RunEnd>(event);
  if (!full_ && !last && bytes_ >= most_bytes_) {
    full_ = true;
    CORDON_TRY(Write(ToLine(Full{}, stamp)));
  }
  if (full_ && !last) {
    return Error{.code = Code::kResourceExhausted,
                 .reason = Reason::kAuditFailed,
                 .message = "the run had more events than are kept of one"};
  }
  return Write(ToLine(event, stamp));
}

Status Log::Write(std::string line) {
  if (torn_) line.insert(line.begin(), '\n');
  ssize_t wrote = WriteOnce(file_.get(), line);
  if (wrote > 0) bytes_ += static_cast<uint64_t>(wrote);
  if (wrote == static_cast<ssize_t>(line.size())) {
    torn_ = false;
    return {};
  }
  torn_ = torn_ || wrote > 0;
  return base::SystemError("write", wrote < 0 ? errno : ENOSPC, Reason::kAuditFailed);
}

uint64_t Log::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

std::string Log::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace cordon::audit
