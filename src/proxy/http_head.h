// The head of an HTTP/1.1 request or response, read strictly: whatever two
// programs could take for different messages is an error, never mended. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon::proxy {

// Finds the blank line while the bytes still come in.
class HeadScanner {
 public:
  enum class State { kNeedMore, kComplete, kMalformed };
  // `bytes` is all that was read so far, and grows from call to call. Malformed
  // as soon as there is a NUL, or a CR or LF without the other.
  State Scan(std::string_view bytes);
  size_t size() const { return at_; }  // of the complete head, with its blank line

 private:
  size_t at_ = 0;
  size_t line_start_ = 0;
};

struct HeaderField {
  std::string name;  // as sent; compare with SameFieldName
  std::string value;
  bool operator==(const HeaderField&) const = default;
};
bool SameFieldName(std::string_view a, std::string_view b);

enum class BodyKind { kNone, kLength, kChunked, kUntilClose };
struct BodyFraming {
  BodyKind kind = BodyKind::kNone;
  uint64_t length = 0;  // of kLength
  bool operator==(const BodyFraming&) const = default;
};

enum class KeepAlive { kNo, kYes };

struct RequestHead {
  std::string method;
  std::string target;  // as sent
  int minor_version = 1;
  std::string host;  // the Host field, empty if there is none
  std::vector<HeaderField> fields;
  BodyFraming body;
  KeepAlive keep_alive = KeepAlive::kNo;
  bool wants_websocket = false;  // the only upgrade that is passed on
  bool operator==(const RequestHead&) const = default;
};
Result<RequestHead> ParseRequestHead(std::string_view head);

struct ResponseHead {
  int status = 0;
  std::string reason;  // the phrase
  std::vector<HeaderField> fields;
  BodyFraming body;      // as told; kNone if nothing was told and there is none
  bool has_body = true;  // not after HEAD, nor with 1xx, 204 and 304, whatever was told
  KeepAlive keep_alive = KeepAlive::kNo;
  bool operator==(const ResponseHead&) const = default;
};
Result<ResponseHead> ParseResponseHead(std::string_view head, std::string_view request_method);

// "http://host:port/path?query" apart; `authority` is not judged here, but holds
// no userinfo, percent, backslash or space. Other schemes are errors.
struct AbsoluteTarget {
  std::string authority;
  std::string origin_form;  // "/path?query"
  bool operator==(const AbsoluteTarget&) const = default;
};
Result<AbsoluteTarget> ParseAbsoluteTarget(std::string_view target);

// The head as it is sent on: origin-form, `host` as its only Host, without the
// fields that concern one hop only, and framed by what was understood.
std::string FormatRequest(const RequestHead& head, std::string_view origin_form,
                          std::string_view host);
std::string FormatResponse(const ResponseHead& head, KeepAlive to_client);

}  // namespace cordon::proxy
