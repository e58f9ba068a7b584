#include "proxy/http_head.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"

namespace cordon::proxy {
namespace {

constexpr std::string_view kNotSentOn[] = {"connection",
                                           "proxy-connection",
                                           "keep-alive",
                                           "proxy-authenticate",
                                           "proxy-authorization",
                                           "te",
                                           "trailer",
                                           "upgrade",
                                           "transfer-encoding",
                                           "content-length",
                                           "http2-settings",
                                           "host"};

Error Malformed(std::string_view what) {
  return base::InvalidArgument(Reason::kRequestInvalid, std::string(what));
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsTokenChar(char c) {
  if ((c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenChar);
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The next line without its CRLF, which every line of a scanned head has.
std::optional<std::string_view> TakeLine(std::string_view& text) {
  size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 2);
  if (line.find_first_of(std::string_view("\r\n\0", 3)) != line.npos) return std::nullopt;
  return line;
}

Result<HeaderField> ParseField(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return Malformed("a folded header line");
  size_t colon = line.find(':');
  if (colon == line.npos) return Malformed("a header line without a colon");
  std::string_view name = line.substr(0, colon);
  if (!IsToken(name)) return Malformed("a header name that is not a token");
  std::string_view value = TrimBlanks(line.substr(colon + 1));
  auto bad = [](char c) { return IsControl(c) && c != '\t'; };
  if (std::ranges::any_of(value, bad)) return Malformed("a control byte in a header");
  return HeaderField{std::string(name), std::string(value)};
}

Result<std::vector<HeaderField>> ParseFields(std::string_view text) {
  std::vector<HeaderField> fields;
  for (;;) {
    auto line = TakeLine(text);
    if (!line) return Malformed("a header line without its end");
    if (line->empty()) break;
    CORDON_ASSIGN_OR_RETURN(HeaderField field, ParseField(*line));
    fields.push_back(std::move(field));
  }
  if (!text.empty()) return Malformed("bytes after the head");
  return fields;
}

std::vector<std::string_view> ValuesOf(const std::vector<HeaderField>& fields,
                                       std::string_view name) {
  std::vector<std::string_view> values;
  for (const HeaderField& field : fields) {
    if (SameFieldName(field.name, name)) values.push_back(field.value);
  }
  return values;
}

// The elements of all the fields of a comma-separated list.
std::vector<std::string_view> ElementsOf(const std::vector<HeaderField>& fields,
                                         std::string_view name) {
  std::vector<std::string_view> elements;
  for (std::string_view value : ValuesOf(fields, name)) {
    while (true) {
      size_t comma = value.find(',');
      std::string_view element = TrimBlanks(value.substr(0, comma));
      if (!element.empty()) elements.push_back(element);
      if (comma == value.npos) break;
      value.remove_prefix(comma + 1);
    }
  }
  return elements;
}

bool Names(const std::vector<std::string_view>& elements, std::string_view name) {
  return std::ranges::any_of(elements, [&](auto element) { return SameFieldName(element, name); });
}

Result<uint64_t> ParseLength(std::string_view text) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > 18 || !std::ranges::all_of(text, digit)) {
    return Malformed("a Content-Length that is not a number");
  }
  uint64_t length = 0;
  std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

// What the fields say; kNone where they say nothing.
Result<BodyFraming> FramingOf(const std::vector<HeaderField>& fields) {
  auto lengths = ValuesOf(fields, "content-length");
  auto codings = ValuesOf(fields, "transfer-encoding");
  if (!codings.empty()) {
    if (!lengths.empty()) return Malformed("Content-Length beside Transfer-Encoding");
    if (codings.size() > 1 || !SameFieldName(codings[0], "chunked")) {
      return Malformed("a Transfer-Encoding other than chunked");
    }
    return BodyFraming{BodyKind::kChunked, 0};
  }
  if (lengths.size() > 1) return Malformed("more than one Content-Length");
  if (lengths.empty()) return BodyFraming{};
  CORDON_ASSIGN_OR_RETURN(uint64_t length, ParseLength(lengths[0]));
  return BodyFraming{BodyKind::kLength, length};
}

// "HTTP/1.0" or "HTTP/1.1": the last digit.
std::optional<int> ParseVersion(std::string_view text) {
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  return std::nullopt;
}

KeepAlive KeepAliveOf(const std::vector<HeaderField>& fields, int minor_version) {
  auto options = ElementsOf(fields, "connection");
  auto proxy_options = ElementsOf(fields, "proxy-connection");
  options.insert(options.end(), proxy_options.begin(), proxy_options.end());
  if (Names(options, "close")) return KeepAlive::kNo;
  return minor_version == 1 || Names(options, "keep-alive") ? KeepAlive::kYes : KeepAlive::kNo;
}

Status TakeHost(RequestHead& head, int minor_version) {
  auto hosts = ValuesOf(head.fields, "host");
  if (hosts.size() > 1) return Malformed("more than one Host");
  if (hosts.empty() && minor_version == 1) return Malformed("no Host");
  if (!hosts.empty()) head.host = hosts[0];
  // "Host: a, b" and "Host: a b" are read differently by different servers.
  if (head.host.find_first_of(" \t,@/\\#?%") != head.host.npos) return Malformed("a bad Host");
  return {};
}

bool EndsBeforeBody(int status, std::string_view request_method) {
  return request_method == "HEAD" || status / 100 == 1 || status == 204 || status == 304;
}

void AppendField(std::string& to, std::string_view name, std::string_view value) {
  to.append(name).append(": ").append(value).append("\r\n");
}

// All fields but those that we write ourselves or that concern one hop: the
// fixed list, and what Connection names.
void AppendEndToEnd(std::string& to, const std::vector<HeaderField>& fields) {
  auto named = ElementsOf(fields, "connection");
  for (const HeaderField& field : fields) {
    auto same = [&](std::string_view name) { return SameFieldName(field.name, name); };
    if (std::ranges::any_of(kNotSentOn, same) || std::ranges::any_of(named, same)) continue;
    AppendField(to, field.name, field.value);
  }
}

void AppendFraming(std::string& to, const BodyFraming& body) {
  if (body.kind == BodyKind::kChunked) AppendField(to, "Transfer-Encoding", "chunked");
  if (body.kind == BodyKind::kLength)
    AppendField(to, "Content-Length", std::to_string(body.length));
}

}  // namespace

bool SameFieldName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

HeadScanner::State HeadScanner::Scan(std::string_view bytes) {
  while (at_ < bytes.size()) {
    char c = bytes[at_];
    if (c == '\0' || c == '\n') return State::kMalformed;
    if (c != '\r') {
      ++at_;
      continue;
    }
    if (at_ + 1 == bytes.size()) return State::kNeedMore;
    if (bytes[at_ + 1] != '\n') return State::kMalformed;
    bool blank = at_ == line_start_;
    // A blank line before the request line: clients of old sent it, and
    // skipping it is how two readers come to count requests differently.
    if (blank && at_ == 0) return State::kMalformed;
    at_ += 2;
    line_start_ = at_;
    if (blank) return State::kComplete;
  }
  return State::kNeedMore;
}

Result<RequestHead> ParseRequestHead(std::string_view text) {
  auto line = TakeLine(text);
  if (!line) return Malformed("no request line");
  size_t first = line->find(' ');
  size_t second = first == line->npos ? first : line->find(' ', first + 1);
  if (second == line->npos) return Malformed("a request line without three parts");
  RequestHead head;
  head.method = line->substr(0, first);
  head.target = line->substr(first + 1, second - first - 1);
  auto minor_version = ParseVersion(line->substr(second + 1));
  if (!minor_version) return Malformed("a version other than HTTP/1.0 and HTTP/1.1");
  head.minor_version = *minor_version;
  if (!IsToken(head.method)) return Malformed("a method that is not a token");
  if (head.target.empty() || std::ranges::any_of(head.target, IsControl)) {
    return Malformed("a bad request target");
  }
  // Some servers cut a target there, others take it for part of the path.
  if (head.target.find('#') != head.target.npos) return Malformed("a fragment in the target");
  CORDON_ASSIGN_OR_RETURN(head.fields, ParseFields(text));
  CORDON_TRY(TakeHost(head, *minor_version));
  CORDON_ASSIGN_OR_RETURN(head.body, FramingOf(head.fields));
  if (*minor_version == 0 && head.body.kind == BodyKind::kChunked) {
    return Malformed("Transfer-Encoding in HTTP/1.0");
  }
  // A client of 1.0 gets a server's answer to 1.0, which ends with the connection.
  head.keep_alive = *minor_version == 0 ? KeepAlive::kNo : KeepAliveOf(head.fields, 1);
  auto upgrades = ValuesOf(head.fields, "upgrade");
  head.wants_websocket = Names(ElementsOf(head.fields, "connection"), "upgrade") &&
                         upgrades.size() == 1 && SameFieldName(upgrades[0], "websocket") &&
                         head.body.kind == BodyKind::kNone && head.minor_version == 1;
  return head;
}

Result<ResponseHead> ParseResponseHead(std::string_view text, std::string_view request_method) {
  auto line = TakeLine(text);
  auto minor_version = line ? ParseVersion(line->substr(0, 8)) : std::nullopt;
  if (!minor_version) return Malformed("a response that is not HTTP/1.0 or HTTP/1.1");
  std::string_view rest = line->substr(8);
  ResponseHead head;
  auto [end, failed] = rest.size() >= 4 && rest[0] == ' '
                           ? std::from_chars(rest.data() + 1, rest.data() + 4, head.status)
                           : std::from_chars_result{nullptr, std::errc::invalid_argument};
  if (failed != std::errc() || end != rest.data() + 4 || head.status < 100) {
    return Malformed("a bad status");
  }
  if (rest.size() > 4 && rest[4] != ' ') return Malformed("a bad status line");
  if (rest.size() > 5) head.reason = rest.substr(5);
  CORDON_ASSIGN_OR_RETURN(head.fields, ParseFields(text));
  CORDON_ASSIGN_OR_RETURN(head.body, FramingOf(head.fields));
  head.keep_alive = KeepAliveOf(head.fields, *minor_version);
  head.has_body = !EndsBeforeBody(head.status, request_method);
  if (head.has_body && head.body.kind == BodyKind::kNone) head.body.kind = BodyKind::kUntilClose;
  return head;
}

Result<AbsoluteTarget> ParseAbsoluteTarget(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (!SameFieldName(target.substr(0, kScheme.size()), kScheme)) {
    return Malformed("a target other than http://");
  }
  target.remove_prefix(kScheme.size());
  size_t end = std::min(target.find_first_of("/?"), target.size());
  std::string_view authority = target.substr(0, end);
  if (authority.empty() || authority.find_first_of("@#\\% \t,;") != authority.npos) {
    return Malformed("a bad authority");
  }
  std::string_view rest = target.substr(end);
  if (rest.find('#') != rest.npos) return Malformed("a fragment in the target");
  std::string origin_form = rest.starts_with('/') ? std::string() : "/";
  return AbsoluteTarget{std::string(authority), origin_form.append(rest)};
}

std::string FormatRequest(const RequestHead& head, std::string_view origin_form,
                          std::string_view host) {
  std::string text = head.method;
  text.append(" ")
      .append(origin_form)
      .append(" HTTP/1.")
      .append(std::to_string(head.minor_version));
  text.append("\r\n");
  AppendField(text, "Host", host);
  AppendEndToEnd(text, head.fields);
  AppendFraming(text, head.body);
  if (head.wants_websocket) {
    AppendField(text, "Upgrade", "websocket");
    AppendField(text, "Connection", "Upgrade");
  }
  return text.append("\r\n");
}

std::string FormatResponse(const ResponseHead& head, KeepAlive to_client) {
  std::string text = "HTTP/1.1 " + std::to_string(head.status) + " " + head.reason + "\r\n";
  AppendEndToEnd(text, head.fields);
  AppendFraming(text, head.body);
  if (head.status == 101) {
    AppendField(text, "Upgrade", "websocket");
    AppendField(text, "Connection", "Upgrade");
  } else if (head.status >= 200 && to_client == KeepAlive::kNo) {
    AppendField(text, "Connection", "close");
  }
  return text.append("\r\n");
}

}  // namespace cordon::proxy
