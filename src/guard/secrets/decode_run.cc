// Base64 and hex.
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "guard/secrets/decode.h"

namespace cordon::guard {
namespace {

constexpr uint8_t kNone = 255;
constexpr size_t kMinReadable = 14;  // bytes
constexpr size_t kWrapAt = 40;       // a shorter line is not taken for one that was wrapped

constexpr std::array<uint8_t, 256> MakeBase64() {
  std::array<uint8_t, 256> table{};
  table.fill(kNone);
  std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < letters.size(); ++i) {
    table[static_cast<uint8_t>(letters[i])] = static_cast<uint8_t>(i);
  }
  table['-'] = 62;
  table['_'] = 63;
  return table;
}

constexpr std::array<uint8_t, 256> MakeHex() {
  std::array<uint8_t, 256> table{};
  table.fill(kNone);
  for (uint8_t i = 0; i < 10; ++i) table[static_cast<size_t>('0' + i)] = i;
  for (uint8_t i = 0; i < 6; ++i) {
    table[static_cast<size_t>('a' + i)] = table[static_cast<size_t>('A' + i)] =
        static_cast<uint8_t>(10 + i);
  }
  return table;
}

constexpr std::array<uint8_t, 256> kBase64 = MakeBase64();
constexpr std::array<uint8_t, 256> kHex = MakeHex();

// Zero bytes are let through for UTF-16.
constexpr std::array<bool, 256> MakeReadable() {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < 0x7f; ++c) table[c] = true;
  table['\n'] = table['\t'] = table['\r'] = table[0] = true;
  return table;
}

constexpr std::array<bool, 256> kReadable = MakeReadable();

uint8_t Base64Value(char c) { return kBase64[static_cast<uint8_t>(c)]; }
uint8_t HexValue(char c) { return kHex[static_cast<uint8_t>(c)]; }

bool IsReadable(uint8_t c) { return kReadable[c]; }

// The encoded letters of a run in one piece, and the place of each.
struct Letters {
  std::string_view text;
  size_t first = 0;
  std::string joined;            // of a wrapped run
  std::vector<uint32_t> places;  // likewise

  uint32_t Place(size_t i) const {
    return places.empty() ? static_cast<uint32_t>(first + i) : places[i];
  }
};

Letters Gather(std::string_view text, const Run& run) {
  Letters letters;
  if (run.end == run.line_end) {
    letters.text = text.substr(run.begin, run.end - run.begin);
    letters.first = run.begin;
    return letters;
  }
  for (size_t i = run.begin; i < run.end; ++i) {
    if (text[i] == '\\' && i + 1 < run.end && (text[i + 1] == 'n' || text[i + 1] == 'r'))
      ++i;
    else if (IsRunByte(text[i])) {
      letters.joined += text[i];
      letters.places.push_back(static_cast<uint32_t>(i));
    }
  }
  letters.text = letters.joined;
  return letters;
}

// One way to read the letters: `bits` a letter, from `phase` on.
struct Reading {
  const Letters& letters;
  size_t phase;
  bool hex;

  size_t size() const {
    size_t count = letters.text.size() - std::min(phase, letters.text.size());
    return hex ? count / 2 : count * 6 / 8;
  }
  size_t FirstLetter(size_t i) const { return phase + (hex ? i * 2 : i * 8 / 6); }
  uint8_t At(size_t i) const {
    size_t at = FirstLetter(i);
    if (hex) {
      return static_cast<uint8_t>(HexValue(letters.text[at]) << 4 | HexValue(letters.text[at + 1]));
    }
    uint32_t pair = static_cast<uint32_t>(Base64Value(letters.text[at])) << 6 |
                    Base64Value(letters.text[at + 1]);
    return static_cast<uint8_t>(pair >> (4 - (i % 3) * 2));
  }
  SourceSpan Span(size_t i) const {
    size_t at = FirstLetter(i);
    return {letters.Place(at), letters.Place(at + 1) + 1};
  }
};

void EmitReadable(const Reading& reading, size_t begin, size_t end, const DecodedSink& sink) {
  Decoded decoded{.encoding = reading.hex ? "hex" : "base64"};
  decoded.text.reserve(end - begin);
  decoded.spans.reserve(end - begin);
  size_t zeros = 0;
  for (size_t i = begin; i < end; ++i) {
    uint8_t c = reading.At(i);
    zeros += c == 0 ? 1 : 0;
    decoded.text += static_cast<char>(c);
    decoded.spans.push_back(reading.Span(i));
  }
  if (zeros <= decoded.text.size() / 2 + 1) sink(decoded);
}

void EmitAround(const Reading& reading, size_t at, size_t& next, const DecodedSink& sink) {
  size_t begin = at;
  while (begin > 0 && IsReadable(reading.At(begin - 1))) --begin;
  size_t end = at;
  while (end < reading.size() && IsReadable(reading.At(end))) ++end;
  if (end - begin >= kMinReadable) EmitReadable(reading, begin, end, sink);
  next = std::max(next, end);
}

// A readable stretch holds a whole group at one of these places, so that of text that is
// none, as most is, little is looked at.
constexpr size_t kGroupsApart = 3;

void FindReadableBase64(const Reading& reading, const DecodedSink& sink) {
  std::string_view text = reading.letters.text;
  size_t next = 0;  // bytes before this are dealt with
  for (size_t at = reading.phase; at + 4 <= text.size(); at += 4 * kGroupsApart) {
    uint32_t group = static_cast<uint32_t>(Base64Value(text[at])) << 18 |
                     static_cast<uint32_t>(Base64Value(text[at + 1])) << 12 |
                     static_cast<uint32_t>(Base64Value(text[at + 2])) << 6 |
                     Base64Value(text[at + 3]);
    if ((group & 0x808080) != 0) continue;
    size_t byte = (at - reading.phase) / 4 * 3;
    if (byte < next || !IsReadable(static_cast<uint8_t>(group >> 16)) ||
        !IsReadable(static_cast<uint8_t>(group >> 8)) || !IsReadable(static_cast<uint8_t>(group))) {
      continue;
    }
    EmitAround(reading, byte, next, sink);
  }
}

void FindReadableHex(const Reading& reading, const DecodedSink& sink) {
  size_t next = 0;
  for (size_t at = 0; at + 1 < reading.size(); at += kMinReadable / 2) {
    if (at < next || !IsReadable(reading.At(at)) || !IsReadable(reading.At(at + 1))) continue;
    EmitAround(reading, at, next, sink);
  }
}

void DecodeHexIn(const Letters& letters, const DecodedSink& sink) {
  constexpr size_t kShortest = 2 * kMinReadable;
  size_t from = 0;
  for (size_t at = kShortest - 1; at < letters.text.size(); at += kShortest) {
    if (HexValue(letters.text[at]) == kNone) continue;
    size_t begin = at;
    while (begin > from && HexValue(letters.text[begin - 1]) != kNone) --begin;
    size_t end = at;
    while (end < letters.text.size() && HexValue(letters.text[end]) != kNone) ++end;
    from = end;
    if (end - begin >= kShortest) {
      Letters part{.text = letters.text.substr(begin, end - begin), .first = letters.first + begin};
      if (!letters.places.empty()) {
        part.places.assign(letters.places.begin() + static_cast<ptrdiff_t>(begin),
                           letters.places.begin() + static_cast<ptrdiff_t>(end));
      }
      for (size_t phase = 0; phase < 2; ++phase) FindReadableHex({part, phase, true}, sink);
    }
    at = std::max(at, end - 1);
  }
}

// Where the next line of wrapped text starts, or 0: behind a line break, real or written
// as \n, and what indents and quotes it.
size_t NextLine(std::string_view text, size_t at) {
  size_t i = at;
  bool broke = false;
  for (; i < text.size() && i < at + 64; ++i) {
    char c = text[i];
    if (c == '\n')
      broke = true;
    else if (c == '\\' && i + 1 < text.size() && (text[i + 1] == 'n' || text[i + 1] == 'r')) {
      broke = true;
      ++i;
    } else if (std::string_view(" \t\r\"'").contains(c) || (c == '+' && !broke)) {
      continue;
    } else {
      break;
    }
  }
  return broke && i < text.size() && IsRunByte(text[i]) ? i : 0;
}

size_t RunEnd(std::string_view text, size_t at) {
  while (at < text.size() && IsRunByte(text[at])) ++at;
  return at;
}

#ifdef __SSE2__

[[gnu::always_inline]] inline uint64_t RunBits16(const char* text) {
  __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  auto within = [](__m128i value, char most) {
    return _mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(most)), value);
  };
  __m128i letters =
      within(_mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('a')), 25);
  __m128i digits = within(_mm_sub_epi8(bytes, _mm_set1_epi8('/')), 10);  // and the slash
  __m128i others = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('+')),
                                _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('-')),
                                             _mm_cmpeq_epi8(bytes, _mm_set1_epi8('_'))));
  __m128i all = _mm_or_si128(letters, _mm_or_si128(digits, others));
  return static_cast<uint32_t>(_mm_movemask_epi8(all));
}

#else

[[gnu::always_inline]] inline uint64_t RunBits16(const char* text) {
  uint64_t bits = 0;
  for (size_t i = 0; i < 16; ++i) bits |= static_cast<uint64_t>(IsRunByte(text[i])) << i;
  return bits;
}

#endif

[[gnu::always_inline]] inline uint64_t RunBits64(const char* text) {
  return RunBits16(text) | RunBits16(text + 16) << 16 | RunBits16(text + 32) << 32 |
         RunBits16(text + 48) << 48;
}

// Which of the 64 bytes from `at` on are of a run; those behind the end are not.
[[gnu::always_inline]] inline uint64_t RunBits(std::string_view text, size_t at) {
  if (at + 64 <= text.size()) return RunBits64(text.data() + at);
  std::array<char, 64> last{};
  if (at < text.size()) text.copy(last.data(), last.size(), at);
  return RunBits64(last.data());
}

// A string that ends with its line goes on only in another string.
bool IsQuotedEvenly(std::string_view between) {
  return std::count_if(between.begin(), between.end(),
                       [](char c) { return c == '"' || c == '\''; }) %
             2 ==
         0;
}

Run Extend(std::string_view text, size_t begin, size_t end) {
  Run run{begin, end, end};
  size_t length = end - begin;
  while (length >= kWrapAt) {
    size_t next = NextLine(text, run.end);
    if (next == 0) break;
    size_t stop = RunEnd(text, next);
    // The last line may be short, but it is the line's all.
    if (stop < text.size() && text[stop] != '=' && text[stop] != '\n' && text[stop] != '\r' &&
        text[stop] != '\\' && text[stop] != '"' && text[stop] != '\'') {
      break;
    }
    run.end = stop;
    length = stop - next;
  }
  return run;
}

}  // namespace

bool IsRunByte(char c) { return Base64Value(c) != kNone; }

Decoded JoinLines(std::string_view text, size_t at) {
  constexpr size_t kShortest = 12;  // what is left of a word on its first line
  constexpr size_t kLongestLine = 256;
  constexpr int kMostLines = 8;
  auto is_word = [&](size_t i) {
    return i < text.size() && (IsRunByte(text[i]) || text[i] == '.');
  };
  size_t end = at;
  while (is_word(end) && end - at < kLongestLine) ++end;
  if (end - at < kShortest || end - at == kLongestLine || NextLine(text, end) == 0) return {};
  Decoded joined{.encoding = "wrapped"};
  for (int lines = 0; lines < kMostLines; ++lines) {
    size_t begin = at;
    for (; is_word(at) && at - begin < kLongestLine; ++at) {
      joined.text += text[at];
      joined.spans.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)});
    }
    size_t next = at - begin < kShortest ? 0 : NextLine(text, at);
    if (next == 0 || !IsQuotedEvenly(text.substr(at, next - at))) {
      return lines == 0 ? Decoded{} : joined;
    }
    at = next;
  }
  return joined;
}

bool RunFinder::Next(Run& run) {
  uint64_t here = RunBits(text_, at_);
  for (; at_ < text_.size(); at_ += 64) {
    uint64_t behind = RunBits(text_, at_ + 64);
    unsigned __int128 bits = static_cast<unsigned __int128>(behind) << 64 | here;
    here = behind;
    // Bit i stays where kMinRun bits from i on are set.
    bits &= bits >> 1;
    bits &= bits >> 2;
    bits &= bits >> 4;
    bits &= bits >> 8;
    bits &= bits >> (kMinRun - 16);
    auto starts = static_cast<uint64_t>(bits);
    if (starts == 0) continue;
    size_t begin = at_ + static_cast<size_t>(std::countr_zero(starts));
    run = Extend(text_, begin, RunEnd(text_, begin));
    at_ = run.end;
    return true;
  }
  return false;
}

void DecodeRun(std::string_view text, const Run& run, const DecodedSink& sink) {
  Letters letters = Gather(text, run);
  DecodeHexIn(letters, sink);
  for (size_t phase = 0; phase < 4; ++phase) FindReadableBase64({letters, phase, false}, sink);
}

}  // namespace cordon::guard
