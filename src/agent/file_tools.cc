#include "agent/file_tools.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "agent/file_access.h"
#include "agent/output_record.h"
#include "agent/result_text.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"

namespace cordon::agent {
namespace {

using Type = Parameter::Type;
using Need = Parameter::Need;

constexpr uint64_t kMostRead = uint64_t{64} << 20;
constexpr uint64_t kMostEdited = uint64_t{16} << 20;
constexpr uint64_t kMostSent = uint64_t{25} << 20;
constexpr size_t kMostText = 50'000;
constexpr int64_t kMostLines = 2000;
constexpr size_t kMostEntries = 100'000;
constexpr int64_t kListed = 500;

const Parameter kPath{.name = "path",
                      .type = Type::kString,
                      .need = Need::kRequired,
                      .doc = "Absolute, or from the workspace"};

using Act = Result<ToolResult> (*)(const Workbench&, FileAccess&, const Json&);

// The frame of every file tool: the policy as it is now, and its denials in the result.
Tool Make(const Workbench& bench, ToolInfo info, Act act) {
  return {std::move(info),
          [&bench, act](const Json& arguments, CallContext&) -> Result<ToolResult> {
            CORDON_ASSIGN_OR_RETURN(FileAccess files, FileAccess::Create(bench));
            return WithDenials(act(bench, files, arguments), files);
          }};
}

struct Lines {
  std::string text;
  int64_t shown = 0;
  int64_t total = 0;
};

// Lines `first` (from 1) to `first + most`, at most kMostText bytes of them.
Lines Cut(std::string_view content, int64_t first, int64_t most) {
  Lines lines;
  bool full = false;
  for (size_t at = 0; at < content.size();) {
    size_t end = std::min(content.find('\n', at), content.size() - 1);
    std::string_view line = content.substr(at, end - at + 1);
    at = end + 1;
    if (++lines.total < first || lines.shown >= most || full) continue;
    if (lines.shown > 0 && lines.text.size() + line.size() > kMostText) {
      full = true;
      continue;
    }
    if (line.size() > kMostText) {
      lines.text += std::string(base::Utf8Prefix(line, kMostText)) + " [line cut]\n";
      full = true;
    } else {
      lines.text += line;
    }
    ++lines.shown;
  }
  return lines;
}

Result<ToolResult> ReadFile(const Workbench& bench, FileAccess& files, const Json& arguments) {
  CORDON_ASSIGN_OR_RETURN(OpenedFile file, files.OpenFile(TextOf(arguments, "path")));
  CORDON_ASSIGN_OR_RETURN(std::string content, ReadAll(file, kMostRead));
  if (LooksBinary(content)) {
    return Unsuitable(file.path,
                      "is binary: " + std::to_string(content.size()) + " bytes of " +
                          MimeTypeOf(file.path, content),
                      "look at it with a command (file, hexdump)");
  }
  std::vector<std::string> leaks;
  content = bench.Redact(std::move(content), leaks);  // as a whole: a piece may hide half of one
  int64_t first = NumberOf(arguments, "offset", 1);
  Lines lines = Cut(content, first, NumberOf(arguments, "limit", kMostLines));
  int64_t next = first + lines.shown;
  Json structured = {{"path", ToUtf8(file.path)},  {"content", ToUtf8(lines.text)},
                     {"first_line", first},        {"lines", lines.shown},
                     {"total_lines", lines.total}, {"bytes", content.size()}};
  std::string text = ToUtf8(lines.text);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (next <= lines.total) {
    structured["next_offset"] = next;
    text += fmt::format("[lines {} to {} of {}; go on with offset {}]\n", first, next - 1,
                        lines.total, next);
  }
  if (text.empty()) text = lines.total == 0 ? "[empty file]\n" : "[no such line]\n";
  ToolResult result(std::move(structured), std::move(text));
  result.leaks = std::move(leaks);
  return result;
}

Result<ToolResult> WriteFile(const Workbench&, FileAccess& files, const Json& arguments) {
  std::string content = TextOf(arguments, "content");
  CORDON_ASSIGN_OR_RETURN(std::string path, files.Write(TextOf(arguments, "path"), content));
  return ToolResult(Json{{"path", ToUtf8(path)}, {"bytes_written", content.size()}},
                    fmt::format("[wrote {} bytes to {}]\n", content.size(), base::Printable(path)));
}

size_t Replace(std::string& text, std::string_view from, std::string_view to) {
  size_t count = 0;
  std::string result;
  size_t at = 0;
  for (size_t found; (found = text.find(from, at)) != text.npos; at = found + from.size()) {
    result.append(text, at, found - at).append(to);
    ++count;
  }
  text = result.append(text, at);
  return count;
}

Result<ToolResult> EditFile(const Workbench&, FileAccess& files, const Json& arguments) {
  std::string name = TextOf(arguments, "path");
  std::string from = TextOf(arguments, "old_text");
  if (from.empty()) {
    return base::InvalidArgument(Reason::kArgumentInvalid, "edit_file: \"old_text\" is empty",
                                 "write_file replaces a whole file");
  }
  CORDON_TRY(files.Judge(plan::Act::kWrite, name));
  CORDON_ASSIGN_OR_RETURN(OpenedFile file, files.OpenFile(name));
  CORDON_ASSIGN_OR_RETURN(std::string content, ReadAll(file, kMostEdited));
  auto wanted = static_cast<size_t>(NumberOf(arguments, "count", 1));
  size_t count = Replace(content, from, TextOf(arguments, "new_text"));
  if (count != wanted) {
    return Unsuitable(file.path, fmt::format("has the text {} times, not {}", count, wanted),
                      count == 0 ? "read the file and give the text exactly as it is there"
                                 : "give more of the text around it, or that count");
  }
  CORDON_ASSIGN_OR_RETURN(std::string path, files.Write(file.path, content));
  return ToolResult(Json{{"path", ToUtf8(path)}, {"replacements", count}},
                    fmt::format("[replaced {} in {}]\n", count, base::Printable(path)));
}

const char* TypeName(unsigned char type) {
  switch (type) {
    case DT_DIR:
      return "directory";
    case DT_REG:
      return "file";
    case DT_LNK:
      return "link";
    case DT_SOCK:
      return "socket";
    case DT_FIFO:
      return "fifo";
    default:
      return "other";
  }
}

Result<ToolResult> ListDir(const Workbench& bench, FileAccess& files, const Json& arguments) {
  CORDON_ASSIGN_OR_RETURN(OpenedFile directory,
                          files.OpenDirectory(TextOf(arguments, "path", bench.workspace())));
  CORDON_ASSIGN_OR_RETURN(std::vector<ListedEntry> entries, ReadDirectory(directory, kMostEntries));
  auto first = static_cast<size_t>(NumberOf(arguments, "offset", 0));
  auto last =
      std::min(entries.size(), first + static_cast<size_t>(NumberOf(arguments, "limit", kListed)));
  Json list = Json::array();
  std::string text;
  for (size_t i = first; i < last; ++i) {
    const ListedEntry& entry = entries[i];
    struct stat status = {};
    bool known = fstatat(directory.fd.get(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    unsigned char type = known ? IFTODT(status.st_mode) : entry.type;
    Json item = {{"name", ToUtf8(entry.name)}, {"type", TypeName(type)}};
    if (known && type == DT_REG) item["size"] = status.st_size;
    list.push_back(std::move(item));
    text += base::Printable(entry.name) + (type == DT_DIR ? "/" : type == DT_LNK ? "@" : "") + "\n";
  }
  Json structured = {
      {"path", ToUtf8(directory.path)}, {"entries", std::move(list)}, {"total", entries.size()}};
  if (last < entries.size()) {
    structured["next_offset"] = last;
    text += fmt::format("[{} of {} entries; go on with offset {}]\n", last - std::min(first, last),
                        entries.size(), last);
  }
  if (text.empty()) text = "[empty directory]\n";
  return ToolResult(std::move(structured), std::move(text));
}

Result<ToolResult> Stat(const Workbench& bench, FileAccess& files, const Json& arguments) {
  CORDON_ASSIGN_OR_RETURN(OpenedFile file, files.OpenAny(TextOf(arguments, "path")));
  const std::string& path = file.path;
  const struct stat& status = file.status;
  host::RealPaths probe;
  plan::Explanation write =
      plan::Explain(files.plan(), bench.policy().fs, probe, plan::Act::kWrite, path);
  bool writable = write.verdict.allowed && write.on_host;
  std::array<char, 32> time;
  tm parts;
  gmtime_r(&status.st_mtime, &parts);
  strftime(time.data(), time.size(), "%FT%TZ", &parts);
  std::string mode = fmt::format("{:04o}", status.st_mode & 07777);
  const char* type = TypeName(IFTODT(status.st_mode));
  return ToolResult(
      Json{{"path", ToUtf8(path)},
           {"type", type},
           {"size", status.st_size},
           {"mode", mode},
           {"modified", time.data()},
           {"writable", writable},
           {"write_rule", base::Printable(write.verdict.rule)}},
      fmt::format("{}: {}, {} bytes, mode {}, modified {}, {}\n", base::Printable(path), type,
                  status.st_size, mode, time.data(), writable ? "writable" : "not writable"));
}

Result<ToolResult> SendFile(const Workbench& bench, FileAccess& files, const Json& arguments) {
  CORDON_ASSIGN_OR_RETURN(OpenedFile file, files.OpenFile(TextOf(arguments, "path")));
  if (!guard::IsInside(file.path, bench.workspace())) {
    return Unsuitable(file.path, "is not in the workspace", "only files of the workspace are sent");
  }
  CORDON_ASSIGN_OR_RETURN(std::string bytes, ReadAll(file, kMostSent));
  std::string name(guard::BaseName(file.path));
  std::string type = MimeTypeOf(name, bytes);
  ToolResult result(
      Json{{"name", ToUtf8(name)}, {"mime_type", type}, {"size", bytes.size()}},
      fmt::format("[sent {}: {} bytes of {}]\n", base::Printable(name), bytes.size(), type));
  result.attachment = Attachment{ToUtf8(name), type, std::move(bytes)};
  return result;
}

}  // namespace

std::string MimeTypeOf(std::string_view name, std::string_view bytes) {
  constexpr std::array<std::pair<std::string_view, const char*>, 26> kTypes = {{
      {".txt", "text/plain"},        {".md", "text/markdown"},     {".html", "text/html"},
      {".css", "text/css"},          {".csv", "text/csv"},         {".js", "text/javascript"},
      {".json", "application/json"}, {".xml", "application/xml"},  {".toml", "application/toml"},
      {".yaml", "application/yaml"}, {".yml", "application/yaml"}, {".pdf", "application/pdf"},
      {".zip", "application/zip"},   {".gz", "application/gzip"},  {".tar", "application/x-tar"},
      {".png", "image/png"},         {".jpg", "image/jpeg"},       {".jpeg", "image/jpeg"},
      {".gif", "image/gif"},         {".webp", "image/webp"},      {".svg", "image/svg+xml"},
      {".mp3", "audio/mpeg"},        {".wav", "audio/wav"},        {".mp4", "video/mp4"},
      {".wasm", "application/wasm"}, {".py", "text/x-python"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  bool text = !LooksBinary(bytes) && base::IsValidUtf8(bytes);
  return text ? "text/plain" : "application/octet-stream";
}

std::vector<Tool> FileTools(const Workbench& bench) {
  ToolInfo read{.name = "read_file",
                .title = "Read a file",
                .description = "Lines of a text file; long files in pieces.",
                .parameters = {kPath,
                               {.name = "offset",
                                .type = Type::kInteger,
                                .doc = "The first line, from 1; default 1",
                                .least = 1},
                               {.name = "limit",
                                .type = Type::kInteger,
                                .doc = "How many lines; default 2000",
                                .least = 1,
                                .most = 100'000}}};
  ToolInfo write{.name = "write_file",
                 .title = "Write a file",
                 .description =
                     "Makes a text file or replaces it as a whole, and makes the "
                     "directories on the way.",
                 .parameters = {kPath,
                                {.name = "content",
                                 .type = Type::kString,
                                 .need = Need::kRequired,
                                 .doc = "All of the new content"}},
                 .effect = Effect::kLocalMutation};
  ToolInfo edit{
      .name = "edit_file",
      .title = "Edit a file",
      .description = "Replaces a text in a file, if it is there exactly as often as said.",
      .parameters = {kPath,
                     {.name = "old_text",
                      .type = Type::kString,
                      .need = Need::kRequired,
                      .doc = "What is replaced, exactly as it stands in the file"},
                     {.name = "new_text",
                      .type = Type::kString,
                      .need = Need::kRequired,
                      .doc = "What it becomes"},
                     {.name = "count",
                      .type = Type::kInteger,
                      .doc = "How often it must be there; default 1",
                      .least = 1}},
      .effect = Effect::kLocalMutation};
  ToolInfo list{
      .name = "list_dir",
      .title = "List a directory",
      .description = "The entries of a directory, sorted by name.",
      .parameters = {
          {.name = "path",
           .type = Type::kString,
           .doc = "Absolute, or from the workspace; default the workspace"},
          {.name = "offset", .type = Type::kInteger, .doc = "How many entries to skip; default 0"},
          {.name = "limit",
           .type = Type::kInteger,
           .doc = "How many entries; default 500",
           .least = 1,
           .most = kListed}}};
  ToolInfo stat{
      .name = "stat",
      .title = "Look at a path",
      .description = "Type, size, mode and time of a path, and whether it may be written.",
      .parameters = {kPath}};
  ToolInfo send{.name = "send_file",
                .title = "Send a file",
                .description = "Gives the person a file of the workspace, at most 25 MiB.",
                .parameters = {kPath},
                .effect = Effect::kRemoteAction};
  return {Make(bench, read, ReadFile), Make(bench, write, WriteFile), Make(bench, edit, EditFile),
          Make(bench, list, ListDir),  Make(bench, stat, Stat),       Make(bench, send, SendFile)};
}

}  // namespace cordon::agent
