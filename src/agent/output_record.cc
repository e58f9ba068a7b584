#include "agent/output_record.h"

#include <algorithm>

#include "base/strings.h"

namespace cordon::agent {
namespace {

bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Without the end of a character that began before it.
std::string_view FromBoundary(std::string_view text) {
  size_t skip = 0;
  while (skip < std::min<size_t>(3, text.size()) && Continues(text[skip])) ++skip;
  return text.substr(skip);
}

}  // namespace

std::string ToUtf8(std::string_view bytes) {
  if (base::IsValidUtf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    auto lead = static_cast<unsigned char>(bytes[0]);
    size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    bool whole = length > 0 && length <= bytes.size() && base::IsValidUtf8(bytes.substr(0, length));
    text += whole ? bytes.substr(0, length) : std::string_view("\xef\xbf\xbd");
    bytes.remove_prefix(whole ? length : 1);
  }
  return text;
}

void OutputRecord::Add(std::string_view bytes) {
  total_ += bytes.size();
  size_t room = kKept - kept_.size();
  kept_ += bytes.substr(0, room);
  if (bytes.size() <= room) return;
  if (tail_.empty()) tail_ = kept_.substr(kept_.size() - kTail);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
}

ShownOutput OutputRecord::Show(size_t limit, std::string_view whole) const {
  if (total_ <= limit) return {ToUtf8(kept_), total_, 0};
  std::string_view head = base::Utf8Prefix(std::string_view(kept_).substr(0, limit), limit / 2);
  std::string_view end = tail_.empty() ? kept_ : tail_;
  end = FromBoundary(end.substr(end.size() - std::min(end.size(), limit - limit / 2)));
  uint64_t shown = head.size() + end.size();
  std::string notice = "\n[output truncated: showed " + std::to_string(shown) + " of " +
                       std::to_string(total_) + " bytes, the first " + std::to_string(head.size()) +
                       " and the last " + std::to_string(end.size());
  notice += whole.empty() ? "]\n" : "; " + std::string(whole) + "]\n";
  return {ToUtf8(head) + notice + ToUtf8(end), total_, total_ - shown};
}

OutputRecord::Part OutputRecord::From(uint64_t offset, size_t limit) const {
  std::string_view source = kept_;
  uint64_t begin = 0;
  if (!tail_.empty() && offset >= kept_.size()) {
    source = tail_;
    begin = total_ - tail_.size();
  }
  offset = std::clamp(offset, begin, begin + source.size());
  std::string_view rest = source.substr(offset - begin);
  bool last = rest.size() <= limit && begin + source.size() == total_;
  std::string_view part = last ? rest : base::Utf8Prefix(rest, limit);
  if (last) part = rest.substr(0, rest.size() - base::IncompleteUtf8Tail(rest));
  return {ToUtf8(part), offset, offset + part.size()};
}

std::string OutputRecord::LastLine() const {
  std::string_view text = tail_.empty() ? kept_ : tail_;
  size_t end = text.find_last_not_of(" \t\r\n");
  if (end == text.npos) return {};
  size_t begin = text.find_last_of('\n', end);
  text = text.substr(begin == text.npos ? 0 : begin + 1,
                     end - (begin == text.npos ? 0 : begin + 1) + 1);
  return ToUtf8(text.substr(text.size() - std::min<size_t>(text.size(), 1000)));
}

}  // namespace cordon::agent
