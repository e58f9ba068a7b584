// What is sent on reads back as what was understood, whatever came in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proxy/http_body.h"
#include "proxy/http_head.h"

namespace {

using namespace cordon::proxy;

void Require(bool holds) {
  if (!holds) abort();
}

// The framing of the head that is sent on is the one that was understood, and
// there is one Host.
void CheckSentOn(const RequestHead& head) {
  std::string sent = FormatRequest(head, "/x", "host.test");
  HeadScanner scanner;
  Require(scanner.Scan(sent) == HeadScanner::State::kComplete && scanner.size() == sent.size());
  auto again = ParseRequestHead(sent);
  Require(again && again->body == head.body && again->host == "host.test");
  Require(again->method == head.method && again->wants_websocket == head.wants_websocket);
}

// A body that was framed anew is read the same way, to its end.
void CheckBody(BodyFraming framing, std::string_view bytes) {
  BodyReader reader(framing);
  std::string out;
  auto taken = reader.Read(bytes, out);
  if (!taken || !reader.done()) return;
  BodyReader next(framing);
  std::string again;
  auto all = next.Read(out, again);
  Require(all && *all == out.size() && next.done() && again == out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  HeadScanner scanner;
  if (scanner.Scan(text) == HeadScanner::State::kComplete) {
    std::string_view head = text.substr(0, scanner.size());
    if (auto request = ParseRequestHead(head)) {
      CheckSentOn(*request);
      CheckBody(request->body, text.substr(scanner.size()));
      (void)ParseAbsoluteTarget(request->target);
    }
    if (auto response = ParseResponseHead(head, "GET")) {
      auto again = ParseResponseHead(FormatResponse(*response, KeepAlive::kYes), "GET");
      Require(again && again->status == response->status && again->body == response->body);
    }
  }
  CheckBody({BodyKind::kChunked, 0}, text);
  return 0;
}
