// What a command has written to one stream: its head, its tail, and in between as
// much as is kept. Bounded, however much comes. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::agent {

struct ShownOutput {
  std::string text;    // UTF-8: other bytes are replaced
  uint64_t total = 0;  // bytes that the command wrote
  uint64_t cut = 0;    // of them not in `text`; a notice stands in their place
};

class OutputRecord {
 public:
  // How much of a stream is kept to be asked for.
  static constexpr size_t kKept = size_t{4} << 20;

  void Add(std::string_view bytes);
  uint64_t total() const { return total_; }

  // At most `limit` bytes of it: all, or the first and the last half. `whole` says
  // where the rest is, and is part of the notice.
  ShownOutput Show(size_t limit, std::string_view whole) const;

  // From byte `offset` on, at most `limit` bytes, cut where a character ends. What
  // was not kept is skipped: `offset` becomes where the text begins, `next` where to go on.
  struct Part {
    std::string text;
    uint64_t offset = 0;
    uint64_t next = 0;
  };
  Part From(uint64_t offset, size_t limit) const;

  // The last line that has anything on it, finished or not.
  std::string LastLine() const;

 private:
  static constexpr size_t kTail = 64 * 1024;

  std::string kept_;  // the first kKept bytes
  std::string tail_;  // the last ones, once not all are kept; at most twice kTail
  uint64_t total_ = 0;
};

// Bytes as JSON can carry them: what is not UTF-8 becomes U+FFFD.
std::string ToUtf8(std::string_view bytes);

}  // namespace cordon::agent
