#include "proxy/http_body.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace cordon::proxy {
namespace {

constexpr size_t kMaxLine = 1024;
constexpr size_t kMaxTrailers = 16 * 1024;

Error Malformed(const char* what) { return base::InvalidArgument(Reason::kRequestInvalid, what); }

bool IsText(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }

}  // namespace

BodyReader::BodyReader(BodyFraming framing) : kind_(framing.kind), left_(framing.length) {
  if (kind_ == BodyKind::kLength && left_ > 0) state_ = State::kData;
  if (kind_ == BodyKind::kChunked) state_ = State::kSize;
  if (kind_ == BodyKind::kUntilClose) state_ = State::kUntilClose;
}

Result<size_t> BodyReader::Read(std::string_view bytes, std::string& out) {
  size_t taken = 0;
  while (taken < bytes.size() && !done()) {
    std::string_view rest = bytes.substr(taken);
    if (state_ == State::kUntilClose) {
      out.append(rest);
      return bytes.size();
    }
    if (state_ == State::kData) {
      taken += ReadData(rest, out);
      continue;
    }
    CORDON_ASSIGN_OR_RETURN(size_t line, ReadLine(rest, out));
    taken += line;
  }
  return taken;
}

size_t BodyReader::ReadData(std::string_view bytes, std::string& out) {
  std::string_view data = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
  left_ -= data.size();
  if (kind_ == BodyKind::kLength) {
    out.append(data);
    if (left_ == 0) state_ = State::kDone;
    return data.size();
  }
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", data.size());
  out.append(data).append("\r\n");
  if (left_ == 0) state_ = State::kDataEnd;
  return data.size();
}

// Takes bytes up to the end of a line, and acts on the line once it is whole.
Result<size_t> BodyReader::ReadLine(std::string_view bytes, std::string& out) {
  size_t newline = bytes.find('\n');
  std::string_view part = bytes.substr(0, newline == bytes.npos ? newline : newline + 1);
  if (line_.size() + part.size() > kMaxLine) return Malformed("a chunk line that is too long");
  line_.append(part);
  if (newline != bytes.npos) CORDON_TRY(EndLine(out));
  return part.size();
}

Status BodyReader::EndLine(std::string& out) {
  if (!line_.ends_with("\r\n")) return Malformed("a bare LF in the chunks");
  line_.resize(line_.size() - 2);
  if (!std::ranges::all_of(line_, IsText)) return Malformed("a control byte in the chunks");
  if (state_ == State::kSize) {
    CORDON_TRY(StartChunk());
  } else if (state_ == State::kDataEnd) {
    if (!line_.empty()) return Malformed("a chunk that is longer than it says");
    state_ = State::kSize;
  } else if (line_.empty()) {
    out.append("0\r\n\r\n");
    state_ = State::kDone;
  } else {
    trailer_bytes_ += line_.size();
    if (trailer_bytes_ > kMaxTrailers) return Malformed("too many trailers");
  }
  line_.clear();
  return {};
}

Status BodyReader::StartChunk() {
  size_t digits = std::min(line_.find(';'), line_.size());
  const char* end = line_.data() + digits;
  auto [stop, failed] = std::from_chars(line_.data(), end, left_, 16);
  // from_chars takes no sign for unsigned numbers, no blank and no 0x.
  if (failed != std::errc() || stop != end || digits > 15) return Malformed("a bad chunk size");
  state_ = left_ == 0 ? State::kTrailer : State::kData;
  return {};
}

}  // namespace cordon::proxy
