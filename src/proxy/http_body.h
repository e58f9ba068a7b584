// The body of an HTTP/1.1 message while it is passed on. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cordon/result.h"
#include "proxy/http_head.h"

namespace cordon::proxy {

// Knows where the body ends. A chunked one is framed anew, so that what the
// next reader sees is what was understood here: chunk extensions and trailers
// are dropped, and anything not exactly as RFC 9112 has it is an error.
class BodyReader {
 public:
  explicit BodyReader(BodyFraming framing);

  // Appends what of `bytes` belongs to the body to `out`; returns how many were
  // taken. Once done() it takes none.
  Result<size_t> Read(std::string_view bytes, std::string& out);
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State { kSize, kData, kDataEnd, kTrailer, kUntilClose, kDone };

  Result<size_t> ReadLine(std::string_view bytes, std::string& out);
  Status EndLine(std::string& out);
  Status StartChunk();
  size_t ReadData(std::string_view bytes, std::string& out);

  BodyKind kind_;
  State state_ = State::kDone;
  uint64_t left_ = 0;  // of the chunk or the length
  std::string line_;
  size_t trailer_bytes_ = 0;
};

}  // namespace cordon::proxy
