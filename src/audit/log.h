// Where events go: a file that runs may share, one write for each line.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "audit/event.h"
#include "cordon/result.h"
#include "sys/fd.h"

namespace cordon::audit {

// Sixteen hexadecimal digits that tell runs apart.
std::string NewRunId();

// Opens `path` for appending; directories on the way are made (0700), the file too
// (0600). It must be a plain file, and the last part of its path no link.
Result<sys::UniqueFd> OpenFile(const std::string& path);

// May be used from several threads. A line that cannot be written is counted and
// left out; the next one that can be is whole.
class Log {
 public:
  // What one run may write: a flood from inside must not fill the disk.
  static constexpr uint64_t kMostOfRun = uint64_t{64} << 20;
  static constexpr uint64_t kUnlimited = ~uint64_t{0};

  Log(sys::UniqueFd file, std::string run, uint64_t most_bytes)
      : file_(std::move(file)), run_(std::move(run)), most_bytes_(most_bytes) {}

  // The same file for another run, with an id and a limit of its own.
  std::shared_ptr<Log> ForAnotherRun() const;

  // The last whole lines of the file, also those of other runs: at most `most` bytes.
  std::string Tail(size_t most) const;

  // An error if the event was lost. Past `most_bytes` all are but a RunEnd.
  Status Record(const Event& event);

  uint64_t lost() const;
  // Why the first one was lost; empty if none was.
  std::string problem() const;

 private:
  Status Append(const Event& event);
  Status Write(std::string line);

  const sys::UniqueFd file_;
  const std::string run_;
  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  uint64_t bytes_ = 0;  // these are guarded by it
  uint64_t lost_ = 0;
  std::string problem_;
  bool full_ = false;
  bool torn_ = false;  // the file ends with a piece of a line
};

}  // namespace cordon::audit
