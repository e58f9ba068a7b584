// Escapes, bytes written one by one, UTF-16 and gzip.
#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "guard/secrets/decode.h"

namespace cordon::guard {
namespace {

constexpr size_t kLineBefore = 512;
constexpr size_t kLineAfter = 8192;
constexpr size_t kMinBytes = 12;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<uint32_t> HexNumber(std::string_view text, size_t at, size_t digits) {
  if (at + digits > text.size()) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    int digit = HexDigit(text[i]);
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

struct Escape {
  char byte = 0;
  size_t length = 0;  // of what stands for it; 0: it is no escape
};

Escape Plain(std::optional<uint32_t> value, size_t length) {
  bool plain = value && ((*value >= 0x20 && *value < 0x7f) || *value == '\n' || *value == '\r' ||
                         *value == '\t');
  if (!plain) return {};
  return {static_cast<char>(*value), length};
}

Escape Backslash(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return {};
  char kind = text[at + 1];
  if (kind == 'x') return Plain(HexNumber(text, at + 2, 2), 4);
  if (kind == 'u' && at + 2 < text.size() && text[at + 2] == '{') {
    for (size_t digits = 2; digits <= 6; ++digits) {
      if (at + 3 + digits < text.size() && text[at + 3 + digits] == '}') {
        return Plain(HexNumber(text, at + 3, digits), 4 + digits);
      }
    }
    return {};
  }
  if (kind == 'u') return Plain(HexNumber(text, at + 2, 4), 6);
  if (kind == 'U') return Plain(HexNumber(text, at + 2, 8), 10);
  if (kind == '/') return {'/', 2};
  if (kind >= '0' && kind <= '3') {
    uint32_t value = 0;
    for (size_t i = at + 1; i < at + 4; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '7') return {};
      value = value * 8 + static_cast<uint32_t>(text[i] - '0');
    }
    return Plain(value, 4);
  }
  return {};
}

Escape Entity(std::string_view text, size_t at) {
  static constexpr std::array<std::pair<std::string_view, char>, 5> kNamed = {
      {{"&amp;", '&'}, {"&quot;", '"'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}}};
  for (const auto& [name, byte] : kNamed) {
    if (text.substr(at, name.size()) == name) return {byte, name.size()};
  }
  if (at + 3 >= text.size() || text[at + 1] != '#') return {};
  bool hex = (text[at + 2] | 0x20) == 'x';
  size_t i = at + (hex ? 3 : 2);
  uint32_t value = 0;
  size_t first = i;
  for (; i < text.size() && i < first + 4; ++i) {
    int digit = HexDigit(text[i]);
    if (digit < 0 || (!hex && digit > 9)) break;
    value = value * (hex ? 16 : 10) + static_cast<uint32_t>(digit);
  }
  if (i == first || i >= text.size() || text[i] != ';') return {};
  return Plain(value, i + 1 - at);
}

Escape EscapeAt(std::string_view text, size_t at) {
  switch (text[at]) {
    case '%':
      return Plain(HexNumber(text, at + 1, 2), 3);
    case '\\':
      return Backslash(text, at);
    case '&':
      return Entity(text, at);
    default:
      return {};
  }
}

std::string_view EscapeName(char c) { return c == '%' ? "url" : c == '\\' ? "escaped" : "html"; }

// Finds the next of several bytes; each is looked for once.
class NextOf {
 public:
  NextOf(std::string_view text, std::string_view bytes) : text_(text), bytes_(bytes) {
    next_.fill(0);
    for (size_t i = 0; i < bytes_.size(); ++i) Seek(i, 0);
  }
  size_t From(size_t at) {
    size_t nearest = text_.size();
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (next_[i] < at) Seek(i, at);
      nearest = std::min(nearest, next_[i]);
    }
    return nearest;
  }

 private:
  void Seek(size_t i, size_t at) {
    const void* found =
        at < text_.size() ? std::memchr(text_.data() + at, bytes_[i], text_.size() - at) : nullptr;
    next_[i] = found == nullptr
                   ? text_.size()
                   : static_cast<size_t>(static_cast<const char*>(found) - text_.data());
  }

  std::string_view text_;
  std::string_view bytes_;
  std::array<size_t, 4> next_;
};

Decoded Unescape(std::string_view text, size_t begin, size_t end, std::string_view encoding) {
  Decoded decoded{.encoding = encoding};
  decoded.text.reserve(end - begin);
  decoded.spans.reserve(end - begin);
  for (size_t at = begin; at < end;) {
    Escape escape = EscapeAt(text, at);
    size_t length = std::max<size_t>(escape.length, 1);
    decoded.text += escape.length > 0 ? escape.byte : text[at];
    decoded.spans.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + length)});
    at += length;
  }
  return decoded;
}

bool IsSeparator(char c) { return c == ':' || c == ' ' || c == '-' || c == ','; }

// "73:" at `at`: two digits, and a separator or the end behind them.
bool IsSpacedByte(std::string_view text, size_t at, char separator) {
  return at + 1 < text.size() && HexDigit(text[at]) >= 0 && HexDigit(text[at + 1]) >= 0 &&
         (at + 2 >= text.size() || text[at + 2] == separator);
}

// The bytes that follow each other from `at` on, `step` apart.
void EmitSpaced(std::string_view text, size_t at, size_t end, size_t step,
                const DecodedSink& sink) {
  Decoded decoded{.encoding = "hex"};
  bool readable = true;
  for (size_t i = at; i < end && readable; i += step) {
    auto value = static_cast<uint8_t>(*HexNumber(text, i, 2));
    readable = (value >= 0x20 && value < 0x7f) || value == '\n' || value == '\r' || value == '\t';
    decoded.text += static_cast<char>(value);
    decoded.spans.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(i + 2)});
  }
  if (!readable) {
    decoded.text.pop_back();
    decoded.spans.pop_back();
  }
  if (decoded.text.size() >= kMinBytes) sink(decoded);
}

bool IsWideByte(char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

void DecodeEscapes(std::string_view text, const DecodedSink& sink) {
  NextOf next(text, "%\\&");
  size_t done = 0;
  for (size_t at = next.From(0); at < text.size(); at = next.From(at)) {
    if (EscapeAt(text, at).length == 0) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t earliest = std::max(done, at - std::min(at, kLineBefore));
    while (begin > earliest && text[begin - 1] != '\n') --begin;
    size_t end = at;
    size_t latest = std::min(text.size(), at + kLineAfter);
    while (end < latest && text[end] != '\n') ++end;
    Decoded decoded = Unescape(text, begin, end, EscapeName(text[at]));
    sink(decoded);
    // A line that goes on is taken up again a little before.
    done = end == at + kLineAfter ? end - kLineBefore : end;
    at = end;
  }
}

void DecodeSpacedHex(std::string_view text, const DecodedSink& sink) {
  constexpr size_t kStride = 3 * kMinBytes - 3;
  for (size_t at = 0; at + 6 < text.size(); at += kStride) {
    for (size_t k = at; k < at + 3; ++k) {
      char separator = text[k];
      if (!IsSeparator(separator) || text[k + 3] != separator) continue;
      if (!IsSpacedByte(text, k + 1, separator)) continue;
      size_t begin = k + 1;
      while (begin >= 3 && IsSpacedByte(text, begin - 3, separator)) begin -= 3;
      size_t end = k + 1;
      while (IsSpacedByte(text, end, separator)) end += 3;
      // The last byte has no separator behind it.
      if (end + 1 < text.size() && HexDigit(text[end]) >= 0 && HexDigit(text[end + 1]) >= 0) {
        end += 3;
      }
      EmitSpaced(text, begin, std::min(end, text.size()), 3, sink);
      at = std::max(at, end - std::min(end, kStride));
      break;
    }
  }
  // "0x73, 0x6b" and "0x73,0x6b"
  for (size_t at = text.find("0x"); at != std::string_view::npos; at = text.find("0x", at + 2)) {
    std::string_view behind = text.substr(std::min(text.size(), at + 4), 4);
    size_t step = behind == ", 0x" ? 6 : behind.starts_with(",0x") ? 5 : 0;
    if (step == 0) continue;
    size_t end = at + 2;
    while (end + 1 < text.size() && HexNumber(text, end, 2) && text[end - 1] == 'x') end += step;
    EmitSpaced(text, at + 2, std::min(end, text.size()), step, sink);
    at = std::max(at, end - std::min(end, step));
  }
}

void DecodeWide(std::string_view text, const DecodedSink& sink) {
  NextOf next(text, std::string_view("\0", 1));
  for (size_t at = next.From(0); at < text.size(); at = next.From(at)) {
    // Little-endian letters stand before their zeros, big-endian ones behind.
    for (size_t order = 0; order < 2; ++order) {
      size_t letter = order == 0 ? at - 1 : at + 1;
      if (letter >= text.size() || !IsWideByte(text[letter])) continue;
      Decoded decoded{.encoding = "utf-16"};
      size_t zero = at;
      while (zero < text.size() && text[zero] == 0 && letter < text.size() &&
             IsWideByte(text[letter])) {
        auto begin = static_cast<uint32_t>(std::min(zero, letter));
        decoded.text += text[letter];
        decoded.spans.push_back({begin, begin + 2});
        zero += 2;
        letter += 2;
      }
      if (decoded.text.size() < kMinBytes / 2) continue;
      sink(decoded);
      at = zero - 1;
      break;
    }
    ++at;
  }
}

void DecodeGzip(std::string_view text, size_t limit, const DecodedSink& sink) {
  constexpr std::string_view kMagic("\x1f\x8b\x08", 3);
  size_t tries = 16;
  for (size_t at = text.find(kMagic); at != std::string_view::npos && tries > 0;
       at = text.find(kMagic, at + 3), --tries) {
    z_stream stream{};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return;
    std::string_view input = text.substr(at);
    stream.next_in = reinterpret_cast<const Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    Decoded decoded{.encoding = "gzip"};
    decoded.text.resize(limit);
    stream.next_out = reinterpret_cast<Bytef*>(decoded.text.data());
    stream.avail_out = static_cast<uInt>(limit);
    inflate(&stream, Z_SYNC_FLUSH);
    size_t made = limit - stream.avail_out;
    size_t used = input.size() - stream.avail_in;
    inflateEnd(&stream);
    if (made < kMinBytes) continue;
    decoded.text.resize(made);
    // No byte has a place of its own: all of it is the place.
    decoded.spans.assign(made, {static_cast<uint32_t>(at), static_cast<uint32_t>(at + used)});
    sink(decoded);
    at += used - std::min<size_t>(used, 3);
  }
}

}  // namespace cordon::guard
