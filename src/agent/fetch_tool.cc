#include "agent/fetch_tool.h"

#include <fmt/core.h>

#include "agent/file_access.h"
#include "agent/html_text.h"
#include "agent/output_record.h"
#include "agent/result_text.h"
#include "base/strings.h"
#include "session/fetch.h"

namespace cordon::agent {
namespace {

constexpr size_t kMostText = 50'000;

ToolResult Denied(const session::Fetched& page) {
  const Violation& first = page.violations.front();
  Error error{.code = Code::kDenied,
              .reason = first.reason,
              .message = "fetching " + page.url + " is denied",
              .hint = first.hint};
  ToolResult result(Json{{"error", ReasonId(error.reason)},
                         {"message", base::Printable(error.message)},
                         {"violations", ViolationsJson(page.violations)}},
                    Format(error, page.violations));
  result.state = ToolResult::State::kFailed;
  result.violations = page.violations;
  return result;
}

Result<ToolResult> Fetch(const Workbench& bench, const Json& arguments, CallContext& context) {
  session::FetchRequest request{.url = TextOf(arguments, "url"),
                                .policy = bench.policy(),
                                .environment = bench.environment(),
                                .log = bench.audit(),
                                .cancellation = &context.cancellation};
  request.wall_ms = static_cast<uint64_t>(NumberOf(arguments, "timeout", 30)) * 1000;
  CORDON_ASSIGN_OR_RETURN(session::Fetched page, session::Fetch(request));
  if (!page.violations.empty()) return Denied(page);
  if (LooksBinary(page.body)) {
    return Unsuitable(page.url, "is binary: " + std::to_string(page.body.size()) + " bytes of " +
                                    base::Printable(page.content_type));
  }
  bool html = page.content_type.find("html") != std::string::npos &&
              SwitchOf(arguments, "raw") == Switch::kOff;
  std::string text = html ? HtmlToText(page.body) : page.body;
  std::vector<std::string> leaks;
  text = bench.Redact(std::move(text), leaks);
  auto offset =
      std::min<size_t>(text.size(), static_cast<size_t>(NumberOf(arguments, "offset", 0)));
  std::string_view rest = std::string_view(text).substr(offset);
  std::string_view shown = base::Utf8Prefix(rest, kMostText);
  Json structured = {{"url", ToUtf8(page.url)},
                     {"status", page.status},
                     {"content_type", ToUtf8(page.content_type)},
                     {"text", ToUtf8(shown)},
                     {"total", text.size()}};
  std::string said =
      fmt::format("[{} {}]\n{}", page.status, base::Printable(page.url), ToUtf8(shown));
  if (!said.ends_with('\n')) said += '\n';
  if (shown.size() < rest.size()) {
    structured["next_offset"] = offset + shown.size();
    said += fmt::format("[{} of {} bytes; go on with offset {}]\n", offset + shown.size(),
                        text.size(), offset + shown.size());
  }
  ToolResult result(std::move(structured), std::move(said));
  result.leaks = std::move(leaks);
  return result;
}

}  // namespace

Tool FetchTool(const Workbench& bench) {
  using Type = Parameter::Type;
  ToolInfo info{
      .name = "fetch_url",
      .title = "Fetch a page",
      .description =
          "Gets a page or file by http or https, as far as the policy lets hosts be "
          "reached, and returns its text; HTML without its tags.",
      .parameters = {{.name = "url",
                      .type = Type::kString,
                      .need = Parameter::Need::kRequired,
                      .doc = "http:// or https://"},
                     {.name = "raw", .type = Type::kBoolean, .doc = "HTML as it is; default false"},
                     {.name = "offset",
                      .type = Type::kInteger,
                      .doc = "The byte of the text to begin with; default 0"},
                     {.name = "timeout",
                      .type = Type::kInteger,
                      .doc = "Seconds; default 30",
                      .least = 1,
                      .most = 300}},
      .effect = Effect::kRemoteAction};
  return {info, [&](const Json& arguments, CallContext& context) {
            return Fetch(bench, arguments, context);
          }};
}

}  // namespace cordon::agent
