// Base64 and hex.
#include <algorithm>
#include <array>
#include <cstddef>

#include "guard/secrets/decode.h"

namespace cordon::guard {
namespace {

constexpr uint8_t kNone = 255;
constexpr size_t kMinReadable = 12;  // bytes
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

uint8_t Base64Value(char c) { return kBase64[static_cast<uint8_t>(c)]; }
uint8_t HexValue(char c) { return kHex[static_cast<uint8_t>(c)]; }

// Zero bytes are let through for UTF-16.
bool IsReadable(uint8_t c) {
  return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' || c == '\r' || c == 0;
}

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

// Looks at three bytes of every twelve; only where they are readable, at their neighbours.
void FindReadable(const Reading& reading, const DecodedSink& sink) {
  size_t size = reading.size();
  for (size_t at = 0; at + 3 <= size;) {
    if (!IsReadable(reading.At(at)) || !IsReadable(reading.At(at + 1)) ||
        !IsReadable(reading.At(at + 2))) {
      at += 9;
      continue;
    }
    size_t begin = at;
    while (begin > 0 && IsReadable(reading.At(begin - 1))) --begin;
    size_t end = at + 3;
    while (end < size && IsReadable(reading.At(end))) ++end;
    if (end - begin >= kMinReadable) EmitReadable(reading, begin, end, sink);
    at = end + 1;
  }
}

void DecodeHexIn(const Letters& letters, const DecodedSink& sink) {
  for (size_t i = 0; i < letters.text.size(); ++i) {
    size_t end = i;
    while (end < letters.text.size() && HexValue(letters.text[end]) != kNone) ++end;
    if (end - i >= 2 * kMinReadable) {
      Letters part{.text = letters.text.substr(i, end - i), .first = letters.first + i};
      if (!letters.places.empty()) {
        part.places.assign(letters.places.begin() + static_cast<ptrdiff_t>(i),
                           letters.places.begin() + static_cast<ptrdiff_t>(end));
      }
      for (size_t phase = 0; phase < 2; ++phase) FindReadable({part, phase, true}, sink);
    }
    i = end;
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

void FindRuns(std::string_view text, const std::function<void(const Run&)>& found) {
  size_t from = 0;  // nothing before belongs to a run that is still to be found
  for (size_t at = kMinRun - 1; at < text.size(); at += kMinRun) {
    if (!IsRunByte(text[at])) continue;
    size_t begin = at;
    while (begin > from && IsRunByte(text[begin - 1])) --begin;
    size_t end = RunEnd(text, at);
    from = end;
    if (end - begin >= kMinRun) {
      Run run = Extend(text, begin, end);
      found(run);
      from = run.end;
    }
    at = std::max(at, from - 1);
  }
}

void DecodeRun(std::string_view text, const Run& run, const DecodedSink& sink) {
  Letters letters = Gather(text, run);
  DecodeHexIn(letters, sink);
  for (size_t phase = 0; phase < 4; ++phase) FindReadable({letters, phase, false}, sink);
}

}  // namespace cordon::guard
