#include "mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "mcp/lines.h"

namespace cordon::mcp {
namespace {

constexpr size_t kSafeWrite = 4096;
constexpr int kLookAgainMs = 200;

// All requests share the one pipe; a line is never broken by another.
class Pipe : public Outlet {
 public:
  explicit Pipe(int fd) : fd_(fd) {}

  void Send(const Json& message) override {
    std::string line = Line(message);
    std::lock_guard lock(mutex_);
    std::string_view rest = line;
    while (!rest.empty() && !broken_) {
      // A pipe that polls writable takes as much as this without blocking.
      pollfd writable{fd_, POLLOUT, 0};
      int ready = poll(&writable, 1, kLookAgainMs);
      if (ready == 0 && abandoned_) broken_ = true;
      if (ready <= 0) continue;
      ssize_t written = write(fd_, rest.data(), std::min(rest.size(), kSafeWrite));
      if (written >= 0) {
        rest.remove_prefix(static_cast<size_t>(written));
      } else if (errno != EINTR && errno != EAGAIN) {
        broken_ = true;
      }
    }
  }

  // From now on nobody waits for a client that does not read.
  void Abandon() { abandoned_ = true; }
  bool broken() const { return broken_; }

 private:
  const int fd_;
  std::mutex mutex_;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> abandoned_ = false;
};

void HandleLine(std::string_view line, Session& session, const std::shared_ptr<Outlet>& outlet) {
  std::optional<Json> json = ParseJson(line);
  // A batch is of one version of the protocol only; each is answered by itself.
  if (json && json->is_array() && !json->empty()) {
    for (const Json& message : *json) session.Handle(MessageOf(message), outlet);
    return;
  }
  session.Handle(json ? MessageOf(*json) : ReadMessage(line), outlet);
}

}  // namespace

void ServeStdio(agent::Toolbox& box, const Offer& offer, int in, int out, int stop) {
  auto pipe = std::make_shared<Pipe>(out);
  Session session(box, offer);
  LineReader lines;
  std::string buffer(64 * 1024, '\0');
  while (!pipe->broken()) {
    pollfd watched[] = {{in, POLLIN, 0}, {stop, POLLIN, 0}, {out, 0, 0}};
    if (poll(watched, 3, -1) < 0 && errno != EINTR) break;
    if (watched[1].revents != 0 || (watched[2].revents & (POLLERR | POLLNVAL)) != 0) break;
    if (watched[0].revents == 0) continue;
    ssize_t got = read(in, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    lines.Add(std::string_view(buffer).substr(0, static_cast<size_t>(got)),
              [&](std::optional<std::string_view> line) {
                if (line) return HandleLine(*line, session, pipe);
                pipe->Send(Failure(nullptr, RpcError::kInvalidRequest, "the message is too long"));
              });
  }
  pipe->Abandon();
  session.Close();
}

}  // namespace cordon::mcp
