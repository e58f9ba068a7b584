// Runs in: supervisor.
#include "spawn/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "sys/fd.h"

namespace cordon::spawn {
namespace {

std::string ReadFile(const char* path) {
  sys::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  ssize_t got;
  while (file.valid() && (got = read(file.get(), buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

void AddChildren(pid_t process, std::vector<pid_t>& all) {
  char path[320];
  snprintf(path, sizeof(path), "/proc/%d/task", process);
  DIR* tasks = opendir(path);
  if (tasks == nullptr) return;
  while (dirent* task = readdir(tasks)) {
    if (task->d_name[0] < '1' || task->d_name[0] > '9') continue;
    snprintf(path, sizeof(path), "/proc/%d/task/%s/children", process, task->d_name);
    std::string numbers = ReadFile(path);
    char* end = nullptr;
    for (const char* at = numbers.c_str(); *at != '\0'; at = end) {
      long child = strtol(at, &end, 10);
      if (end == at) break;
      all.push_back(static_cast<pid_t>(child));
    }
  }
  closedir(tasks);
}

struct Relations {
  pid_t parent = -1;
  pid_t group = -1;
};

Relations RelationsOf(pid_t process) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/stat", process);
  std::string text = ReadFile(path);
  size_t after = text.rfind(')');  // the name before it may hold anything
  Relations found;
  if (after == std::string::npos ||
      sscanf(text.c_str() + after + 1, " %*c %d %d", &found.parent, &found.group) != 2) {
    return {};
  }
  return found;
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  std::vector<pid_t> all;
  AddChildren(root, all);
  for (size_t i = 0; i < all.size(); ++i) AddChildren(all[i], all);
  return all;
}

bool IsInTree(pid_t thread, pid_t root) {
  constexpr int kDeepest = 4096;
  pid_t at = ProcessOf(thread);
  for (int steps = 0; at > 1 && steps < kDeepest; ++steps) {
    if (at == root) return true;
    at = RelationsOf(at).parent;
  }
  return false;
}

uint64_t CountTasks(pid_t root) {
  uint64_t count = 0;
  for (pid_t process : Descendants(root)) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", process);
    struct stat status;
    // A directory of tasks has one link each, besides its own two.
    if (stat(path, &status) == 0 && status.st_nlink > 2) count += status.st_nlink - 2;
  }
  return count;
}

pid_t GroupOf(pid_t process) { return RelationsOf(process).group; }

pid_t ProcessOf(pid_t thread) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/status", thread);
  std::string text = ReadFile(path);
  size_t at = text.find("\nTgid:");
  return at == std::string::npos ? -1 : atoi(text.c_str() + at + 6);
}

}  // namespace cordon::spawn
