#include "proxy/client_hello.h"

#include <algorithm>
#include <utility>

namespace cordon::proxy {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint8_t kHandshakeRecord = 22;
constexpr uint8_t kClientHelloMessage = 1;
constexpr size_t kRecordHeader = 5;
constexpr size_t kMessageHeader = 4;
constexpr size_t kMaxRecord = 16 * 1024;  // RFC 8446 5.1, plaintext

constexpr uint16_t kServerName = 0;
constexpr uint16_t kAlpn = 16;
constexpr uint16_t kEncryptedClientHello = 0xfe0d;

HelloReading Malformed(std::string_view problem) {
  return {.state = HelloState::kMalformed, .problem = problem};
}

// Takes from the front what fits.
class Cursor {
 public:
  explicit Cursor(Bytes rest) : rest_(rest) {}

  std::optional<Bytes> Take(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  std::optional<size_t> Number(size_t width) {
    std::optional<Bytes> bytes = Take(width);
    if (!bytes) return std::nullopt;
    size_t value = 0;
    for (uint8_t byte : *bytes) value = value << 8 | byte;
    return value;
  }

  // A vector of TLS: its length in `width` bytes, then so many bytes.
  std::optional<Bytes> Vector(size_t width) {
    std::optional<size_t> length = Number(width);
    return length ? Take(*length) : std::nullopt;
  }

  bool empty() const { return rest_.empty(); }

 private:
  Bytes rest_;
};

std::string ToText(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

// Each reader returns what is wrong, or nothing.
std::string_view ReadServerName(Bytes body, ClientHello& hello) {
  Cursor cursor(body);
  std::optional<Bytes> list = cursor.Vector(2);
  if (!list || !cursor.empty()) return "server name extension of a wrong length";
  Cursor names(*list);
  std::optional<size_t> type = names.Number(1);
  std::optional<Bytes> name = names.Vector(2);
  if (!type || !name || name->empty()) return "empty server name";
  if (*type != 0) return "server name that is no host name";
  if (!names.empty()) return "two server names";
  hello.sni = ToText(*name);
  return {};
}

std::string_view ReadAlpn(Bytes body, ClientHello& hello) {
  Cursor cursor(body);
  std::optional<Bytes> list = cursor.Vector(2);
  if (!list || list->empty() || !cursor.empty()) return "ALPN extension of a wrong length";
  for (Cursor names(*list); !names.empty();) {
    std::optional<Bytes> name = names.Vector(1);
    if (!name || name->empty()) return "ALPN name of a wrong length";
    hello.alpn.push_back(ToText(*name));
  }
  return {};
}

std::string_view ReadExtension(size_t type, Bytes body, ClientHello& hello) {
  switch (type) {
    case kServerName:
      return ReadServerName(body, hello);
    case kAlpn:
      return ReadAlpn(body, hello);
    case kEncryptedClientHello:
      hello.has_ech = true;
      return {};
    default:
      return {};
  }
}

std::string_view ReadExtensions(Bytes bytes, ClientHello& hello) {
  std::vector<size_t> seen;
  for (Cursor cursor(bytes); !cursor.empty();) {
    std::optional<size_t> type = cursor.Number(2);
    std::optional<Bytes> body = cursor.Vector(2);
    if (!type || !body) return "extension of a wrong length";
    seen.push_back(*type);
    if (std::string_view problem = ReadExtension(*type, *body, hello); !problem.empty()) {
      return problem;
    }
  }
  std::ranges::sort(seen);
  return std::ranges::adjacent_find(seen) == seen.end() ? "" : "repeated extension";
}

HelloReading ReadMessage(Bytes message) {
  HelloReading reading{.state = HelloState::kComplete};
  Cursor cursor(message);
  std::optional<size_t> version = cursor.Number(2);
  std::optional<Bytes> random = cursor.Take(32);
  std::optional<Bytes> session = cursor.Vector(1);
  std::optional<Bytes> ciphers = cursor.Vector(2);
  std::optional<Bytes> compressions = cursor.Vector(1);
  if (!version || !random || !session || !ciphers || !compressions) {
    return Malformed("hello shorter than its fields");
  }
  if (*version >> 8 != 3) return Malformed("not a version of TLS");
  if (session->size() > 32 || ciphers->empty() || ciphers->size() % 2 || compressions->empty()) {
    return Malformed("field of a wrong length");
  }
  if (cursor.empty()) return reading;  // before TLS 1.2 a hello may have no extensions
  std::optional<Bytes> extensions = cursor.Vector(2);
  if (!extensions || !cursor.empty()) return Malformed("extensions of a wrong length");
  if (std::string_view problem = ReadExtensions(*extensions, reading.hello); !problem.empty()) {
    return Malformed(problem);
  }
  return reading;
}

// The length of the hello with its header, once that is known.
std::optional<size_t> MessageSize(Bytes message) {
  if (message.size() < kMessageHeader) return std::nullopt;
  return kMessageHeader + (size_t{message[1]} << 16 | size_t{message[2]} << 8 | message[3]);
}

// Some servers pass over an alert, or do not look at the version: what begins
// like any record of TLS is held to be TLS, and must begin with a hello.
bool LooksLikeTls(Bytes bytes) {
  constexpr uint8_t kFirstType = 0x14, kLastType = 0x18;
  return bytes.empty() || (bytes[0] >= kFirstType && bytes[0] <= kLastType);
}

// The hello of SSL 2, which a server may still take for the start of TLS: a length
// with its highest bit set, a client's hello, a version. It names no server.
bool MayBeSsl2(Bytes bytes) {
  constexpr uint8_t kHighBit = 0x80;
  return !bytes.empty() && (bytes[0] & kHighBit) != 0 &&
         (bytes.size() < 3 || bytes[2] == kClientHelloMessage) &&
         (bytes.size() < 4 || bytes[3] == 3 || bytes[3] == 0);
}

bool BeginsWithHello(Bytes bytes) {
  return (bytes.size() < 1 || bytes[0] == kHandshakeRecord) && (bytes.size() < 2 || bytes[1] == 3);
}

std::string_view WrongMessage(Bytes message) {
  if (message[0] != kClientHelloMessage) return "not a client's hello";
  std::optional<size_t> size = MessageSize(message);
  if (!size) return {};
  if (*size > kMaxHelloBytes) return "hello too long";
  return message.size() > *size ? "more than the hello in its record" : "";
}

// The body of the next record; nothing while it has not come in full.
std::optional<Bytes> NextRecord(Cursor& cursor, std::string_view& problem) {
  std::optional<Bytes> header = cursor.Take(kRecordHeader);
  if (!header) return std::nullopt;
  const size_t length = size_t{(*header)[3]} << 8 | (*header)[4];
  if ((*header)[0] != kHandshakeRecord || (*header)[1] != 3) {
    problem = "another record within the hello";
  } else if (length == 0 || length > kMaxRecord) {
    problem = "record of a wrong length";
  }
  return cursor.Take(length);
}

}  // namespace

HelloReading ReadClientHello(Bytes bytes) {
  if (MayBeSsl2(bytes)) {
    return bytes.size() < 4 ? HelloReading{.state = HelloState::kNeedMore}
                            : Malformed("a hello of SSL 2");
  }
  if (!LooksLikeTls(bytes)) return {.state = HelloState::kNotTls};
  if (!BeginsWithHello(bytes)) {
    return {.state = HelloState::kMalformed, .problem = "another record before it"};
  }
  Cursor cursor(bytes.first(std::min(bytes.size(), kMaxHelloBytes)));
  std::vector<uint8_t> message;
  std::string_view problem;
  while (std::optional<Bytes> body = NextRecord(cursor, problem)) {
    if (!problem.empty()) break;
    message.insert(message.end(), body->begin(), body->end());
    problem = WrongMessage(message);
    if (!problem.empty()) break;
    if (message.size() == MessageSize(message)) {
      return ReadMessage(Bytes(message).subspan(kMessageHeader));
    }
  }
  if (!problem.empty()) return Malformed(problem);
  if (bytes.size() >= kMaxHelloBytes) return Malformed("hello too long");
  return {.state = HelloState::kNeedMore};
}

}  // namespace cordon::proxy
