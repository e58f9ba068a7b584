#include "agent/html_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>

namespace cordon::agent {
namespace {

constexpr std::array<std::string_view, 7> kDropped = {"script", "style",  "noscript", "template",
                                                      "svg",    "iframe", "object"};
constexpr std::array<std::string_view, 24> kBlocks = {
    "p",  "div", "br", "li", "ul", "ol",    "tr",      "table",  "h1",     "h2",  "h3",  "h4",
    "h5", "h6",  "hr", "dt", "dd", "title", "section", "header", "footer", "pre", "nav", "article"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kEntities = {{
    {"amp", "&"},
    {"lt", "<"},
    {"gt", ">"},
    {"quot", "\""},
    {"apos", "'"},
    {"nbsp", " "},
    {"mdash", "—"},
    {"ndash", "–"},
    {"hellip", "…"},
    {"copy", "©"},
    {"laquo", "«"},
    {"raquo", "»"},
}};

void AppendUtf8(uint32_t code, std::string& text) {
  if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
  auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

class Extractor {
 public:
  explicit Extractor(std::string_view html) : html_(html) {}

  std::string Go() {
    while (at_ < html_.size()) {
      if (html_[at_] == '<' && Tag()) continue;
      if (html_[at_] == '&' && Entity()) continue;
      Character(html_[at_++]);
    }
    while (text_.ends_with('\n') || text_.ends_with(' ')) text_.pop_back();
    return text_.empty() ? text_ : text_ + "\n";
  }

 private:
  void Character(char c) {
    bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && (text_.empty() || text_.ends_with('\n') || text_.ends_with(' '))) return;
    text_ += space ? ' ' : c;
  }

  void NewLine() {
    while (text_.ends_with(' ')) text_.pop_back();
    if (!text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
  }

  static std::string Lower(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
  }

  // False: it is just a sign.
  bool Tag() {
    std::string_view rest = html_.substr(at_);
    if (rest.starts_with("<!--")) {
      Skip("-->");
      return true;
    }
    size_t name = rest.starts_with("</") ? 2 : 1;
    bool named = name < rest.size() && (std::isalpha(static_cast<unsigned char>(rest[name])) != 0 ||
                                        rest[name] == '!' || rest[name] == '?');
    if (!named) return false;
    size_t end = rest.find_first_of(" \t\r\n/>", name);
    std::string tag = Lower(rest.substr(name, end - name));
    Skip(">");
    if (std::ranges::find(kBlocks, tag) != kBlocks.end()) NewLine();
    if (name == 1 && tag == "li") text_ += "- ";
    if (name == 1 && std::ranges::find(kDropped, tag) != kDropped.end()) SkipElement(tag);
    return true;
  }

  void Skip(std::string_view end) {
    size_t found = html_.find(end, at_);
    at_ = found == html_.npos ? html_.size() : found + end.size();
  }

  void SkipElement(const std::string& tag) {
    while (at_ < html_.size()) {
      Skip("</");
      if (Lower(html_.substr(at_, tag.size())) == tag) return Skip(">");
    }
  }

  bool Entity() {
    size_t end = html_.find(';', at_);
    if (end == html_.npos || end - at_ > 12) return false;
    std::string_view name = html_.substr(at_ + 1, end - at_ - 1);
    if (name.starts_with('#')) {
      bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
      std::string_view digits = name.substr(hex ? 2 : 1);
      uint32_t code = 0;
      auto [next, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
      if (error != std::errc() || next != digits.data() + digits.size()) return false;
      AppendUtf8(code, text_);
    } else {
      auto found =
          std::ranges::find(kEntities, name, &std::pair<std::string_view, std::string_view>::first);
      if (found == kEntities.end()) return false;
      text_ += found->second;
    }
    at_ = end + 1;
    return true;
  }

  std::string_view html_;
  size_t at_ = 0;
  std::string text_;
};

}  // namespace

std::string HtmlToText(std::string_view html) { return Extractor(html).Go(); }

}  // namespace cordon::agent
