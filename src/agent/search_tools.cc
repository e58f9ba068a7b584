#include "agent/search_tools.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>

#include "agent/file_access.h"
#include "agent/file_walk.h"
#include "agent/line_pattern.h"
#include "agent/output_record.h"
#include "agent/result_text.h"
#include "base/error.h"
#include "base/strings.h"
#include "guard/path.h"

namespace cordon::agent {
namespace {

using Type = Parameter::Type;
using Need = Parameter::Need;

constexpr int64_t kMostFound = 1000;
constexpr size_t kMostText = 50'000;
constexpr uint64_t kMostFile = uint64_t{16} << 20;
constexpr size_t kLongestLine = 500;

const Parameter kWhere{
    .name = "path",
    .type = Type::kString,
    .doc = "Where to look: absolute, or from the workspace; default the workspace"};
const Parameter kOffset{
    .name = "offset", .type = Type::kInteger, .doc = "How many results to skip; default 0"};
const Parameter kLimit{.name = "limit",
                       .type = Type::kInteger,
                       .doc = "How many results; default 200",
                       .least = 1,
                       .most = kMostFound};

// What a search found, a page of it at a time.
class Page {
 public:
  explicit Page(const Json& arguments)
      : skip_(NumberOf(arguments, "offset", 0)), limit_(NumberOf(arguments, "limit", 200)) {}

  Step Add(Json item, const std::string& line) {
    if (found_++ < skip_) return Step::kGoOn;
    if (found_ > skip_ + limit_ || text_.size() + line.size() > kMostText) {
      more_ = true;
      return Step::kStop;
    }
    list_.push_back(std::move(item));
    text_ += line + "\n";
    return Step::kGoOn;
  }

  ToolResult Finish(const char* name, const std::string& root, WalkEnd end) {
    int64_t next = skip_ + static_cast<int64_t>(list_.size());
    bool none = list_.empty();
    Json structured = {{"path", ToUtf8(root)}, {name, std::move(list_)}};
    if (more_) {
      structured["next_offset"] = next;
      text_ += fmt::format("[there is more; go on with offset {}]\n", next);
    }
    if (end == WalkEnd::kTooMany) {
      structured["incomplete"] = true;
      text_ += "[too many files to look at all of them; look below a narrower path]\n";
    }
    if (end == WalkEnd::kCancelled) structured["incomplete"] = true;
    if (none) text_ = "[nothing found]\n" + text_;
    ToolResult result(std::move(structured), std::move(text_));
    result.leaks = std::move(leaks_);
    return result;
  }

  std::vector<std::string>& leaks() { return leaks_; }

 private:
  int64_t skip_, limit_, found_ = 0;
  bool more_ = false;
  Json list_ = Json::array();
  std::string text_;
  std::vector<std::string> leaks_;
};

std::string Relative(const std::string& path, const std::string& root) {
  if (root == "/") return path.substr(1);
  return guard::IsInside(path, root) && path != root ? path.substr(root.size() + 1) : path;
}

// A pattern without a slash is a name at any depth.
std::string Anchored(const std::string& root, const std::string& pattern) {
  std::string base = root == "/" ? "" : guard::EscapeGlob(root);
  return base + (pattern.find('/') == pattern.npos ? "/**/" : "/") + pattern;
}

Result<ToolResult> Glob(const Workbench& bench, FileAccess& files, const Json& arguments,
                        const CallContext& context) {
  CORDON_ASSIGN_OR_RETURN(OpenedFile root,
                          files.OpenDirectory(TextOf(arguments, "path", bench.workspace())));
  std::string given = TextOf(arguments, "pattern");
  if (given.empty() || given.starts_with('/')) {
    return base::InvalidArgument(Reason::kArgumentInvalid,
                                 "glob: \"pattern\" is relative to \"path\" and not empty");
  }
  std::string pattern = Anchored(root.path, guard::NormalizePath(given));
  Page page(arguments);
  bool all = SwitchOf(arguments, "ignored") == Switch::kOn;
  CORDON_ASSIGN_OR_RETURN(
      WalkEnd end, Walk(files, root.path, all ? Ignored::kTaken : Ignored::kLeftOut, context,
                        [&](const std::string& path, const OpenedFile&, const ListedEntry& entry) {
                          if (!guard::GlobMatch(pattern, path)) return Step::kGoOn;
                          std::string name = Relative(path, root.path);
                          if (entry.type == DT_DIR) name += '/';
                          return page.Add(ToUtf8(name), base::Printable(name));
                        }));
  return page.Finish("paths", root.path, end);
}

struct Search {
  const Workbench& bench;
  LinePattern pattern;
  std::string root;
  std::string include;  // a glob, or empty
};

bool HasMatch(const Search& search, std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1)) {
    if (search.pattern.Matches(text.substr(0, text.find('\n')))) return true;
  }
  return false;
}

Step SearchText(const Search& search, const std::string& path, std::string_view text, Page& page) {
  std::string name = Relative(path, search.root);
  int64_t number = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (!search.pattern.Matches(line)) continue;
    std::string shown = ToUtf8(base::Utf8Prefix(line, kLongestLine));
    Json item = {{"path", ToUtf8(name)}, {"line", number}, {"text", shown}};
    if (page.Add(std::move(item), fmt::format("{}:{}:{}", base::Printable(name), number, shown)) ==
        Step::kStop) {
      return Step::kStop;
    }
  }
  return Step::kGoOn;
}

// Binary files and very large ones are passed over.
Step SearchFile(const Search& search, OpenedFile& file, Page& page) {
  if (fstat(file.fd.get(), &file.status) != 0 || !S_ISREG(file.status.st_mode)) return Step::kGoOn;
  Result<std::string> text = ReadAll(file, kMostFile);
  if (!text || LooksBinary(*text) || !HasMatch(search, *text)) return Step::kGoOn;
  // As a whole, and only where something of it is shown.
  return SearchText(search, file.path, search.bench.Redact(std::move(*text), page.leaks()), page);
}

Result<ToolResult> Grep(const Workbench& bench, FileAccess& files, const Json& arguments,
                        const CallContext& context) {
  bool any_case = SwitchOf(arguments, "ignore_case") == Switch::kOn;
  CORDON_ASSIGN_OR_RETURN(LinePattern pattern,
                          LinePattern::Compile(TextOf(arguments, "pattern"),
                                               any_case ? Case::kInsensitive : Case::kSensitive));
  std::string where = TextOf(arguments, "path", bench.workspace());
  CORDON_ASSIGN_OR_RETURN(OpenedFile root, files.OpenAny(where));
  Page page(arguments);
  Search search{bench, std::move(pattern), root.path, {}};
  if (std::string include = TextOf(arguments, "include"); !include.empty()) {
    search.include = Anchored(root.path, guard::NormalizePath(include));
  }
  if (S_ISREG(root.status.st_mode)) {
    CORDON_ASSIGN_OR_RETURN(OpenedFile file, files.OpenFile(where));
    search.root = guard::Parent(file.path);
    SearchFile(search, file, page);
    return page.Finish("matches", file.path, WalkEnd::kAll);
  }
  bool all = SwitchOf(arguments, "ignored") == Switch::kOn;
  CORDON_ASSIGN_OR_RETURN(
      WalkEnd end,
      Walk(files, root.path, all ? Ignored::kTaken : Ignored::kLeftOut, context,
           [&](const std::string& path, const OpenedFile& parent, const ListedEntry& entry) {
             bool wanted = search.include.empty() || guard::GlobMatch(search.include, path);
             if (entry.type != DT_REG || !wanted) return Step::kGoOn;
             OpenedFile file;
             file.path = path;
             file.fd.reset(openat(parent.fd.get(), entry.name.c_str(),
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
             return file.fd.valid() ? SearchFile(search, file, page) : Step::kGoOn;
           }));
  return page.Finish("matches", root.path, end);
}

using Act = Result<ToolResult> (*)(const Workbench&, FileAccess&, const Json&, const CallContext&);

Tool Make(const Workbench& bench, ToolInfo info, Act act) {
  return {std::move(info),
          [&bench, act](const Json& arguments, CallContext& context) -> Result<ToolResult> {
            CORDON_ASSIGN_OR_RETURN(FileAccess files, FileAccess::Create(bench));
            return WithDenials(act(bench, files, arguments, context), files);
          }};
}

}  // namespace

std::vector<Tool> SearchTools(const Workbench& bench) {
  const Parameter ignored{.name = "ignored",
                          .type = Type::kBoolean,
                          .doc = "Also what .gitignore files leave out; default false"};
  ToolInfo glob{.name = "glob",
                .title = "Find files by name",
                .description =
                    "Paths that match a pattern of *, ?, [...] and **. A pattern without "
                    "a slash is a name at any depth. Honours .gitignore.",
                .parameters = {{.name = "pattern",
                                .type = Type::kString,
                                .need = Need::kRequired,
                                .doc = "*.py, src/**/test_*"},
                               kWhere,
                               ignored,
                               kOffset,
                               kLimit}};
  ToolInfo grep{
      .name = "grep",
      .title = "Search in files",
      .description =
          "Lines that match a regular expression (POSIX extended, with \\d \\w "
          "\\s \\b). Honours .gitignore; binary files are passed over.",
      .parameters = {
          {.name = "pattern",
           .type = Type::kString,
           .need = Need::kRequired,
           .doc = "The regular expression"},
          kWhere,
          {.name = "include", .type = Type::kString, .doc = "Only files that match this glob"},
          {.name = "ignore_case",
           .type = Type::kBoolean,
           .doc = "Take upper and lower case as the same"},
          ignored,
          kOffset,
          kLimit}};
  return {Make(bench, glob, Glob), Make(bench, grep, Grep)};
}

}  // namespace cordon::agent
