#include "proxy/parent_link.h"

#include <algorithm>

#include "proxy/http_head.h"

namespace cordon::proxy {
namespace {

constexpr size_t kMaxAnswer = 16 * 1024;
constexpr char kBroke[] = "the connection broke";

// Byte by byte, since what follows the answer belongs to the tunnel.
Task<bool> ReadInto(Socket& socket, std::string& to, size_t count) {
  while (count > 0) {
    char buffer[512];
    ReadResult got = co_await ReadSome(socket, {buffer, std::min(count, sizeof buffer)});
    if (got.error || got.bytes == 0) co_return false;
    to.append(buffer, got.bytes);
    count -= got.bytes;
  }
  co_return true;
}

// Says `words` and reads the first `count` bytes of the answer.
Task<bool> Ask(Socket& socket, std::string words, std::string& answer, size_t count) {
  answer.clear();
  ErrorCode failed = co_await WriteAll(socket, words);
  if (failed) co_return false;
  bool read = co_await ReadInto(socket, answer, count);
  co_return read;
}

Task<std::string> AskHttp(Socket& socket, const ParentProxy& parent,
                          const guard::HostPort& target) {
  std::string where = guard::ToString(target);
  std::string request = "CONNECT " + where + " HTTP/1.1\r\nHost: " + where + "\r\n";
  if (!parent.user.empty()) {
    request += "Proxy-Authorization: " + BasicCredentials(parent) + "\r\n";
  }
  request += "\r\n";
  std::string answer;
  bool more = co_await Ask(socket, request, answer, 1);
  HeadScanner scanner;
  auto state = HeadScanner::State::kNeedMore;
  while (more && answer.size() < kMaxAnswer) {
    state = scanner.Scan(answer);
    if (state != HeadScanner::State::kNeedMore) break;
    more = co_await ReadInto(socket, answer, 1);
  }
  if (!more) co_return kBroke;
  if (state != HeadScanner::State::kComplete) co_return "not an HTTP answer";
  auto head = ParseResponseHead(answer, "CONNECT");
  if (!head) co_return head.error().message;
  if (head->status / 100 != 2) co_return "it answers " + std::to_string(head->status);
  co_return "";
}

Task<std::string> SocksLogin(Socket& socket, const ParentProxy& parent) {
  bool login = !parent.user.empty();
  std::string greeting = login ? std::string("\x05\x01\x02", 3) : std::string("\x05\x01\x00", 3);
  std::string answer;
  bool answered = co_await Ask(socket, greeting, answer, 2);
  if (!answered) co_return kBroke;
  if (answer[0] != 5 || answer[1] != greeting[2]) co_return "it wants another authentication";
  if (!login) co_return "";
  std::string words = "\x01";
  words += static_cast<char>(parent.user.size());
  words += parent.user;
  words += static_cast<char>(parent.password.size());
  words += parent.password;
  answered = co_await Ask(socket, words, answer, 2);
  if (!answered) co_return kBroke;
  if (answer[1] != 0) co_return "it refuses the user or password";
  co_return "";
}

std::string SocksConnect(const guard::HostPort& target) {
  std::string request("\x05\x01\x00", 3);
  if (const auto& address = target.host.address) {
    bool v4 = address->family == guard::Family::kV4;
    request += v4 ? '\x01' : '\x04';
    request.append(reinterpret_cast<const char*>(address->bytes.data()), v4 ? 4 : 16);
  } else {
    request += '\x03';
    request += static_cast<char>(target.host.name.size());
    request += target.host.name;
  }
  request += static_cast<char>(target.port >> 8);
  request += static_cast<char>(target.port & 0xff);
  return request;
}

Task<std::string> AskSocks(Socket& socket, const ParentProxy& parent,
                           const guard::HostPort& target) {
  std::string problem = co_await SocksLogin(socket, parent);
  if (!problem.empty()) co_return problem;
  std::string answer;
  std::string request = SocksConnect(target);
  bool answered = co_await Ask(socket, request, answer, 5);
  if (!answered) co_return kBroke;
  if (answer[0] != 5) co_return "not a SOCKS5 answer";
  if (answer[1] != 0) co_return "it answers " + std::to_string(static_cast<int>(answer[1]));
  // The bound address, of which one byte has been read, and its port.
  size_t address = static_cast<unsigned char>(answer[4]) + size_t{1};
  if (answer[3] == 1) address = 4;
  if (answer[3] == 4) address = 16;
  answered = co_await ReadInto(socket, answer, address + 1);
  if (!answered) co_return kBroke;
  co_return "";
}

}  // namespace

Task<std::string> AskParent(Socket& socket, const ParentProxy& parent, guard::HostPort target) {
  if (parent.kind == ParentProxy::Kind::kSocks5) {
    co_return co_await AskSocks(socket, parent, target);
  }
  co_return co_await AskHttp(socket, parent, target);
}

}  // namespace cordon::proxy
