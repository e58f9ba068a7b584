// Text inside text: what encoded stretches of it decode to, with each byte's place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::guard {

// Where a decoded byte came from.
struct SourceSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct Decoded {
  std::string_view encoding;
  std::string text;
  std::vector<SourceSpan> spans;  // one for each byte of text
};

using DecodedSink = std::function<void(Decoded&)>;

// Letters, digits and "+/_-": a run of them may be base64 or hex.
inline constexpr size_t kMinRun = 20;
bool IsRunByte(char c);

// A run, with the lines that go on where it was wrapped.
struct Run {
  size_t begin = 0;
  size_t end = 0;       // behind the last line
  size_t line_end = 0;  // behind the first
};

// The runs of at least kMinRun bytes, in order.
class RunFinder {
 public:
  explicit RunFinder(std::string_view text) : text_(text) {}
  bool Next(Run& run);

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Readable stretches of at least 14 bytes that a run decodes to. All alignments are tried,
// for what stands before the encoded text may be of the same letters.
void DecodeRun(std::string_view text, const Run& run, const DecodedSink& sink);

// The word at `at`, if it ends with its line, and the words that the next lines start with:
// what it was before it was wrapped. Empty if it was not.
Decoded JoinLines(std::string_view text, size_t at);

// Lines with %XX, \xXX, \uXXXX, \NNN, \/ or &#NN; that stand for plain characters.
void DecodeEscapes(std::string_view text, const DecodedSink& sink);

// Bytes in hex with a separator, "73:6b" or "73 6b", and as a C array, "0x73, 0x6b".
void DecodeSpacedHex(std::string_view text, const DecodedSink& sink);
void DecodeHexArray(std::string_view text, const DecodedSink& sink);

// UTF-16 of either order.
void DecodeWide(std::string_view text, const DecodedSink& sink);

// Gzip members; at most `limit` bytes are unpacked from each.
void DecodeGzip(std::string_view text, size_t limit, const DecodedSink& sink);

}  // namespace cordon::guard
