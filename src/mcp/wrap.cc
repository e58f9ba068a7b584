#include "mcp/wrap.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <thread>

#include "mcp/lines.h"

namespace cordon::mcp {
namespace {

// For a server to end when its client has.
constexpr int kGraceMs = 5000;

// A line as it is said again: what was read, so that both sides read the same.
std::string Again(const Json& json) { return Line(json); }

Passed NoMessage(std::string_view who) {
  return {.notice = "a line of the " + std::string(who) + " is no JSON and was dropped"};
}

void Put(int fd, const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t written = write(fd, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;  // the other side went away: poll will tell
    if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

Passed FromClient(std::string_view line, const agent::LeakGuard* guard) {
  std::optional<Json> json = ParseJson(line);
  if (!json) return {.back = Line(Failure(nullptr, RpcError::kParse, "this is not JSON"))};
  bool asks = json->is_object() && json->contains("method");
  if (guard != nullptr && asks && json->contains("params")) {
    Status clean = guard->CheckArguments((*json)["params"]);
    if (!clean) {
      Passed passed{.notice = clean.error().message};
      if (json->contains("id")) {
        passed.back = Line(Failure((*json)["id"], RpcError::kInvalidParams, clean.error().message));
      }
      return passed;
    }
  }
  return {.onward = Again(*json)};
}

Passed FromServer(std::string_view line, const agent::LeakGuard* guard) {
  std::optional<Json> json = ParseJson(line);
  if (!json || !(json->is_object() || json->is_array())) return NoMessage("server");
  if (guard == nullptr) return {.onward = Again(*json)};
  std::vector<std::string> leaks;
  Json clean = *json;
  guard->RedactAll(clean, leaks);
  if (leaks.empty()) return {.onward = Again(*json)};
  Passed passed{.notice = std::to_string(leaks.size()) + " secrets in a message of the server"};
  if (guard->on_leak() == OnLeak::kRedact) {
    passed.onward = Again(clean);
  } else if (json->is_object() && json->contains("id") && !json->contains("method")) {
    passed.onward = Line(
        Failure((*json)["id"], RpcError::kInternal, "the result holds a secret and is withheld"));
  }
  return passed;
}

// One direction: lines from `from` as `judge` has them, until it ends or `stop` is readable.
void Copy(int from, int stop, const std::function<void(std::optional<std::string_view>)>& take) {
  LineReader lines;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    pollfd watched[] = {{from, POLLIN, 0}, {stop, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents != 0) return;
    if (watched[0].revents == 0) continue;
    ssize_t got = read(from, buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return;
    if (got > 0) lines.Add(std::string_view(buffer).substr(0, static_cast<size_t>(got)), take);
  }
}

void Wrap(WrapStreams streams, const agent::LeakGuard* guard,
          const std::function<void(std::string_view)>& tell) {
  std::mutex mutex;  // of the client's output
  auto put_client = [&](const std::optional<std::string>& line) {
    std::lock_guard lock(mutex);
    if (line) Put(streams.client_out, *line);
  };
  const Cancellation& server = streams.server;
  // A direction each: neither waits for the other, however much is said.
  std::thread to_server([&] {
    Copy(streams.client_in, server.fd(), [&](std::optional<std::string_view> line) {
      Passed passed = line ? FromClient(*line, guard) : Passed{.notice = "a line is too long"};
      if (!passed.notice.empty()) tell(passed.notice);
      if (passed.onward) Put(streams.server_in.get(), *passed.onward);
      put_client(passed.back);
    });
    streams.server_in.reset();  // the server reads that the client is gone
    pollfd ended{server.fd(), POLLIN, 0};
    if (poll(&ended, 1, kGraceMs) == 0) server.Cancel();
  });
  Copy(streams.server_out.get(), streams.stop, [&](std::optional<std::string_view> line) {
    Passed passed = line ? FromServer(*line, guard) : Passed{.notice = "a line is too long"};
    if (!passed.notice.empty()) tell(passed.notice);
    put_client(passed.onward);
  });
  server.Cancel();
  streams.server_out.reset();
  to_server.join();
}

}  // namespace cordon::mcp
