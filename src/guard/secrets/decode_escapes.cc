// Escapes, bytes written one by one, UTF-16 and gzip.
#define ZLIB_CONST
#include <zlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
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
  if (at + 3 >= text.size()) return {};
  if (text[at + 1] != '#') {
    if (!std::string_view("aqlg").contains(text[at + 1])) return {};  // most of them, in programs
    for (const auto& [name, byte] : kNamed) {
      if (text.substr(at, name.size()) == name) return {byte, name.size()};
    }
    return {};
  }
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

bool StartsEscape(char c) { return c == '%' || c == '\\' || c == '&'; }

#ifdef __SSE2__

// Where the next "%", "\\" or "&" is, or the end.
size_t NextEscape(std::string_view text, size_t at) {
  const __m128i percent = _mm_set1_epi8('%');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i ampersand = _mm_set1_epi8('&');
  for (; at + 16 <= text.size(); at += 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    __m128i any = _mm_or_si128(
        _mm_cmpeq_epi8(bytes, percent),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, backslash), _mm_cmpeq_epi8(bytes, ampersand)));
    auto bits = static_cast<uint32_t>(_mm_movemask_epi8(any));
    if (bits != 0) return at + static_cast<size_t>(std::countr_zero(bits));
  }
  while (at < text.size() && !StartsEscape(text[at])) ++at;
  return at;
}

#else

size_t NextEscape(std::string_view text, size_t at) {
  while (at < text.size() && !StartsEscape(text[at])) ++at;
  return at;
}

#endif

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

constexpr std::array<uint8_t, 256> MakeSpacedBytes() {
  std::array<uint8_t, 256> table{};
  for (std::string_view bytes = "0123456789abcdefABCDEF: -,"; char c : bytes) {
    table[static_cast<uint8_t>(c)] = 1;
  }
  return table;
}

constexpr std::array<uint8_t, 256> kSpacedByte = MakeSpacedBytes();

// Whether six bytes could be of "73:6b:": this is asked often, and the answer is no.
bool MayBeSpaced(const char* text) {
  auto is = [text](size_t i) { return kSpacedByte[static_cast<uint8_t>(text[i])]; };
  return (is(0) & is(1) & is(2) & is(3) & is(4) & is(5)) != 0;
}

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

// Three alignments are possible. Returns the end of what was found, or 0.
size_t DecodeSpacedAt(std::string_view text, size_t at, const DecodedSink& sink) {
  for (size_t k = at; k < at + 3; ++k) {
    char separator = text[k];
    if (!IsSeparator(separator) || text[k + 3] != separator) continue;
    if (!IsSpacedByte(text, k + 1, separator)) continue;
    size_t begin = k + 1;
    while (begin >= 3 && IsSpacedByte(text, begin - 3, separator)) begin -= 3;
    size_t end = k + 1;
    while (IsSpacedByte(text, end, separator)) end += 3;
    // The last byte has no separator behind it.
    if (end + 1 < text.size() && HexDigit(text[end]) >= 0 && HexDigit(text[end + 1]) >= 0) end += 3;
    EmitSpaced(text, begin, std::min(end, text.size()), 3, sink);
    return end;
  }
  return 0;
}

bool IsWideByte(char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

void DecodeEscapes(std::string_view text, const DecodedSink& sink) {
  size_t done = 0;
  for (size_t at = NextEscape(text, 0); at < text.size(); at = NextEscape(text, at)) {
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
    if (!MayBeSpaced(text.data() + at)) continue;
    size_t end = DecodeSpacedAt(text, at, sink);
    at = std::max(at, end - std::min(end, kStride));
  }
}

// "0x73, 0x6b" and "0x73,0x6b"
void DecodeHexArray(std::string_view text, const DecodedSink& sink) {
  constexpr size_t kStride = 5 * kMinBytes - 6;
  for (size_t at = 1; at + 12 < text.size(); at += kStride) {
    size_t x = at;
    while (x < at + 6 && (text[x] != 'x' || text[x - 1] != '0')) ++x;
    if (x == at + 6) continue;
    size_t step = text.substr(x + 3, 4) == ", 0x" ? 6 : text.substr(x + 3, 3) == ",0x" ? 5 : 0;
    if (step == 0) continue;
    auto is_byte = [&](size_t place) {
      return place + 2 < text.size() && text[place] == 'x' && HexNumber(text, place + 1, 2);
    };
    size_t begin = x;
    while (begin >= step && is_byte(begin - step)) begin -= step;
    size_t end = x;
    while (is_byte(end)) end += step;
    EmitSpaced(text, begin + 1, std::min(end + 1, text.size()), step, sink);
    at = std::max(at, end - std::min(end, kStride));
  }
}

void DecodeWide(std::string_view text, const DecodedSink& sink) {
  for (size_t at = text.find('\0'); at < text.size(); at = text.find('\0', at)) {
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
