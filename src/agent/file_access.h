// Files for the tools that read and write them in this process: what the policy
// says of a path is asked first, and what was judged is what is opened. No symbolic
// link is followed at the opening, so nothing can be put in between.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tool.h"
#include "agent/workbench.h"
#include "cordon/outcome.h"
#include "host/real_paths.h"
#include "plan/explain.h"
#include "sys/fd.h"

namespace cordon::agent {

struct OpenedFile {
  std::string path;  // where it really is
  sys::UniqueFd fd;
  struct stat status = {};
};

struct ListedEntry {
  std::string name;
  unsigned char type = 0;  // DT_DIR, DT_REG, DT_LNK …
};

class FileAccess {
 public:
  // By the policy as it applies now.
  static Result<FileAccess> Create(const Workbench& bench);

  // `path` as a tool got it. The result is its real path. A denial is an error with
  // read_denied or write_denied, recorded in `denied()` and in the audit log.
  Result<std::string> Judge(plan::Act act, std::string_view path);

  // A regular file to be read, or a directory to be listed. A FIFO does not block.
  Result<OpenedFile> OpenFile(std::string_view path);
  Result<OpenedFile> OpenDirectory(std::string_view path);
  // Whatever it is, only to be looked at.
  Result<OpenedFile> OpenAny(std::string_view path);

  // Replaces the file, or makes it with the directories on the way: all of it or
  // nothing. A file that is there keeps its mode.
  Result<std::string> Write(std::string_view path, std::string_view content);

  // For a walk below a directory that was judged: a real path without links.
  bool MayRead(const std::string& real_path) const;

  const std::vector<Violation>& denied() const { return denied_; }
  const plan::Plan& plan() const { return *plan_; }

 private:
  FileAccess(const Workbench& bench, plan::Plan plan);
  Error Denied(plan::Act act, const plan::Explanation& answer);
  Result<OpenedFile> Open(std::string_view path, int flags);
  Result<sys::UniqueFd> MakeParent(const std::string& directory);

  const Workbench& bench_;
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<host::RealPaths> probe_;
  std::vector<Violation> denied_;
};

// The result of a call that used `files`: if it was denied something, with the rules
// that did.
Result<ToolResult> WithDenials(Result<ToolResult> result, const FileAccess& files);

// All of a file, if it has no more than `most` bytes.
Result<std::string> ReadAll(const OpenedFile& file, uint64_t most);
// Sorted by name, without "." and "..". At most `most` are looked at; then `kUnsupported`.
Result<std::vector<ListedEntry>> ReadDirectory(const OpenedFile& directory, size_t most);
// A NUL byte near its beginning.
bool LooksBinary(std::string_view bytes);
Error Unsuitable(const std::string& path, std::string_view why, std::string hint = {});

}  // namespace cordon::agent
