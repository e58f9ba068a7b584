#include "cli/scan_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "cli/ignore_rules.h"
#include "sys/fd.h"

namespace cordon::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunk = 1 << 18;
constexpr size_t kMaxIgnoreFile = 1 << 20;

struct FolderRules {
  fs::path folder;
  IgnoreRules rules;
};

std::string ReadSmallFile(const fs::path& path) {
  std::error_code error;
  uintmax_t size = fs::file_size(path, error);
  if (error || size > kMaxIgnoreFile) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Walk {
 public:
  Walk(IgnoreFiles ignore, const std::function<void(const Error&)>& failed)
      : ignore_(ignore), failed_(failed) {}

  void Start(const std::string& folder, std::vector<ScanTarget>& targets) {
    rules_.clear();
    if (ignore_ == IgnoreFiles::kHonour) ReadRulesAbove(fs::absolute(folder).lexically_normal());
    Folder(folder, targets);
  }

 private:
  // Those of the folders between the top of the repository and this one.
  void ReadRulesAbove(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> above;
    for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
      if (at != folder) above.push_back(at);
      if (!fs::exists(at / ".git", error)) continue;
      Add(at, at / ".git" / "info" / "exclude");
      for (auto it = above.rbegin(); it != above.rend(); ++it) Add(*it, *it / ".gitignore");
      return;
    }
  }

  void Add(const fs::path& folder, const fs::path& file) {
    std::string text = ReadSmallFile(file);
    if (!text.empty()) rules_.push_back({folder, IgnoreRules(text)});
  }

  bool IsIgnored(const fs::path& path, IgnoreRules::Kind kind) const {
    for (auto it = rules_.rbegin(); it != rules_.rend(); ++it) {
      IgnoreRules::Answer answer =
          it->rules.Ask(path.lexically_relative(it->folder).string(), kind);
      if (answer != IgnoreRules::Answer::kNothing) return answer == IgnoreRules::Answer::kIgnored;
    }
    return false;
  }

  void Folder(const fs::path& folder, std::vector<ScanTarget>& targets) {
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) entries.push_back(*it);
    if (error) failed_(base::SystemError("open " + folder.string(), error.value()));
    std::sort(entries.begin(), entries.end());
    size_t outer = rules_.size();
    fs::path absolute = fs::absolute(folder).lexically_normal();
    if (ignore_ == IgnoreFiles::kHonour) Add(absolute, absolute / ".gitignore");
    for (const fs::directory_entry& entry : entries) Entry(absolute, entry, targets);
    rules_.erase(rules_.begin() + static_cast<ptrdiff_t>(outer), rules_.end());
  }

  void Entry(const fs::path& folder, const fs::directory_entry& entry,
             std::vector<ScanTarget>& targets) {
    std::error_code error;
    fs::file_status status = entry.symlink_status(error);
    bool is_folder = fs::is_directory(status);
    if (error || (!is_folder && !fs::is_regular_file(status))) return;
    fs::path name = entry.path().filename();
    if (name == ".git") return;
    auto kind = is_folder ? IgnoreRules::Kind::kFolder : IgnoreRules::Kind::kFile;
    if (IsIgnored(folder / name, kind)) return;
    if (is_folder) {
      Folder(entry.path(), targets);
    } else {
      targets.push_back({entry.path().lexically_normal().string(), ScanTarget::Origin::kFound});
    }
  }

  IgnoreFiles ignore_;
  const std::function<void(const Error&)>& failed_;
  std::vector<FolderRules> rules_;
};

// Zero bytes are for programs and pictures; UTF-16 has them too, but every second one.
bool LooksBinary(std::string_view head) {
  head = head.substr(0, 8192);
  auto zeros = static_cast<size_t>(std::count(head.begin(), head.end(), '\0'));
  if (zeros == 0) return false;
  size_t odd = 0;
  for (size_t i = 1; i < head.size(); i += 2) odd += head[i] == '\0' ? 1 : 0;
  size_t even = zeros - odd;
  bool wide = zeros * 10 >= head.size() * 4 && (odd * 20 <= zeros || even * 20 <= zeros);
  bool gzip = head.starts_with("\x1f\x8b");
  return !wide && !gzip;
}

FileScan ScanFile(const guard::SecretRules& rules, const ScanTarget& target,
                  guard::SecretScanOptions::InlineAllow inline_allow) {
  FileScan scan{.path = target.path};
  sys::UniqueFd fd(open(target.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) {
    scan.state = FileScan::State::kFailed;
    scan.error = base::SystemError("open " + target.path, errno);
    return scan;
  }
  guard::SecretScanner scanner(rules, {.inline_allow = inline_allow, .path = target.path});
  bool first = true;
  Result<uint64_t> bytes = ReadChunks(fd.get(), [&](std::string_view chunk) {
    bool found = target.origin == ScanTarget::Origin::kFound;
    if (std::exchange(first, false) && found && LooksBinary(chunk)) {
      scan.state = FileScan::State::kBinary;
      return false;
    }
    scanner.Feed(chunk, scan.findings);
    return true;
  });
  if (!bytes) {
    scan.state = FileScan::State::kFailed;
    scan.error = std::move(bytes).error().Within(target.path);
    return scan;
  }
  scan.bytes = *bytes;
  if (scan.state == FileScan::State::kScanned) scanner.Finish(scan.findings);
  return scan;
}

}  // namespace

Result<uint64_t> ReadChunks(int fd, const std::function<bool(std::string_view)>& take) {
  auto buffer = std::make_unique_for_overwrite<char[]>(kChunk);
  uint64_t total = 0;
  for (;;) {
    ssize_t got = read(fd, buffer.get(), kChunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::SystemError("read", errno);
    total += static_cast<uint64_t>(got);
    if (got == 0 || !take({buffer.get(), static_cast<size_t>(got)})) return total;
  }
}

std::vector<ScanTarget> FindScanTargets(const std::vector<std::string>& names, IgnoreFiles ignore,
                                        const std::function<void(const Error&)>& failed) {
  std::vector<ScanTarget> targets;
  Walk walk(ignore, failed);
  for (const std::string& name : names) {
    std::error_code error;
    if (fs::is_directory(name, error)) {
      walk.Start(name, targets);
    } else {
      targets.push_back({name, ScanTarget::Origin::kNamed});
    }
  }
  return targets;
}

std::vector<FileScan> ScanFiles(const guard::SecretRules& rules,
                                const std::vector<ScanTarget>& targets,
                                guard::SecretScanOptions::InlineAllow inline_allow,
                                const std::function<void(size_t done)>& progress) {
  std::vector<FileScan> scans(targets.size());
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0;
  std::mutex mutex;
  std::condition_variable finished;
  auto work = [&] {
    for (size_t i = next++; i < targets.size(); i = next++) {
      scans[i] = ScanFile(rules, targets[i], inline_allow);
      std::lock_guard lock(mutex);
      if (++done == targets.size()) finished.notify_one();
    }
  };
  size_t count =
      std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), targets.size());
  if (count <= 1) {
    work();
    return scans;
  }
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < count; ++i) threads.emplace_back(work);
  std::unique_lock lock(mutex);
  while (!finished.wait_for(lock, std::chrono::milliseconds(250),
                            [&] { return done == targets.size(); })) {
    progress(done);
  }
  return scans;
}

}  // namespace cordon::cli
