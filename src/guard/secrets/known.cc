#include "guard/secrets/known.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/base64.h"

namespace cordon::guard {
namespace {

constexpr size_t kGroup = 4;
constexpr size_t kMaxStride = 16;
constexpr int kHashBits = 18;
constexpr uint32_t kFold = 0x20202020;  // letters to lower case, some others to each other

uint32_t Group(const char* at) {
  uint32_t group;
  std::memcpy(&group, at, sizeof(group));
  return group | kFold;
}

uint32_t Hash(uint32_t group) { return (group * 0x9E3779B1U) >> (32 - kHashBits); }

char Fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

std::string Hex(std::string_view value, std::string_view before) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char c : value) {
    text += before;
    text += kDigits[c >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

// The characters that `value` gives wherever it stands behind `shift` other bytes: those
// that hold none of its neighbours' bits.
std::string Base64Core(std::string_view value, size_t shift) {
  std::string text = base::ToBase64(std::string(shift, '\0') + std::string(value));
  size_t first = (shift * 8 + 5) / 6;
  size_t last = (shift + value.size()) * 8 / 6;
  return text.substr(first, last - first);
}

std::string UrlSafe(std::string text) {
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

}  // namespace

void KnownSecrets::Add(std::string_view name, std::string_view value) {
  if (value.size() < kMinBytes) return;
  std::string id(name);
  AddForm({id, "", std::string(value), false, false});
  AddForm({id, "hex", Hex(value, ""), true, true});
  AddForm({id, "url", Hex(value, "%"), true, false});
  for (size_t shift = 0; shift < 3; ++shift) {
    std::string core = Base64Core(value, shift);
    std::string safe = UrlSafe(core);
    if (safe != core) AddForm({id, "base64", safe, false, true});
    AddForm({id, "base64", std::move(core), false, true});
  }
  Index();
}

void KnownSecrets::AddForm(Form form) { forms_.push_back(std::move(form)); }

void KnownSecrets::Index() {
  size_t shortest = kMaxStride + kGroup - 1;
  for (const Form& form : forms_) shortest = std::min(shortest, form.text.size());
  stride_ = shortest - kGroup + 1;
  places_.clear();
  seen_.assign((1U << kHashBits) / 64, 0);
  for (uint32_t i = 0; i < forms_.size(); ++i) {
    for (uint32_t offset = 0; offset < stride_; ++offset) {
      uint32_t group = Group(forms_[i].text.data() + offset);
      places_.emplace(group, Place{i, offset});
      seen_[Hash(group) >> 6] |= uint64_t{1} << (Hash(group) & 63);
    }
  }
}

bool KnownSecrets::Matches(const Form& form, std::string_view text, size_t at, size_t offset,
                           size_t& begin, size_t& end) const {
  auto same = [&](size_t place, size_t index) {
    char c = form.folded ? Fold(text[place]) : text[place];
    return c == form.text[index];
  };
  auto is_break = [&](size_t place) {
    return form.wrappable && (text[place] == '\n' || text[place] == '\r');
  };
  size_t place = at;
  for (size_t index = offset; index < form.text.size(); ++index, ++place) {
    while (place < text.size() && is_break(place)) ++place;
    if (place >= text.size() || !same(place, index)) return false;
  }
  end = place;
  place = at;
  for (size_t index = offset; index > 0; --index, --place) {
    while (place > 0 && is_break(place - 1)) --place;
    if (place == 0 || !same(place - 1, index - 1)) return false;
  }
  begin = place;
  return true;
}

void KnownSecrets::Find(std::string_view text, const std::function<void(const Hit&)>& found) const {
  if (forms_.empty() || text.size() < kGroup) return;
  const uint64_t* seen = seen_.data();
  size_t last = text.size() - kGroup;
  for (size_t at = 0; at <= last; at += stride_) {
    uint32_t group = Group(text.data() + at);
    uint32_t hash = Hash(group);
    if ((seen[hash >> 6] >> (hash & 63) & 1) == 0) continue;
    auto [from, to] = places_.equal_range(group);
    for (auto it = from; it != to; ++it) {
      const Form& form = forms_[it->second.form];
      Hit hit{.name = form.name, .encoding = form.encoding};
      if (Matches(form, text, at, it->second.offset, hit.begin, hit.end)) found(hit);
    }
  }
}

}  // namespace cordon::guard
