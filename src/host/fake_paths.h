// A file system in memory, for tests of what asks a PathProbe:
//
//   FakePaths paths;
//   paths.File("/w/.git/config", "[core]").Link("/w/here", "/w");
//
// Parents are made as needed. Inodes count up from 1 in the order of making.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/strings.h"
#include "host/path_probe.h"

namespace cordon::host {

class FakePaths final : public PathProbe {
 public:
  FakePaths() { nodes_["/"] = {.type = FileType::kDirectory, .mode = S_IFDIR | 0755, .inode = 1}; }

  FakePaths& Directory(const std::string& path, uint32_t mode = 0755) {
    return Add(path, {.type = FileType::kDirectory, .mode = S_IFDIR | mode});
  }
  FakePaths& File(const std::string& path, std::string text = {}, uint32_t mode = 0644) {
    return Add(path, {.type = FileType::kRegular, .text = std::move(text), .mode = S_IFREG | mode});
  }
  FakePaths& Link(const std::string& path, std::string target) {
    return Add(path, {.type = FileType::kOther, .text = std::move(target), .mode = S_IFLNK | 0777});
  }
  FakePaths& Socket(const std::string& path) {
    return Add(path, {.type = FileType::kSocket, .mode = S_IFSOCK | 0755});
  }
  // A directory that may not be searched: all below it is unreachable.
  FakePaths& Locked(const std::string& path) {
    return Add(path, {.type = FileType::kDirectory, .mode = S_IFDIR, .locked = true});
  }

  PathInfo Inspect(const std::string& path) const override {
    Walk walk = WalkTo("", path);
    if (walk.end == nullptr) return {.type = walk.failure};
    return {.type = walk.end->type,
            .canonical = walk.path,
            .device = 1,
            .inode = walk.end->inode,
            .owner = 0,
            .mode = walk.end->mode};
  }

  Trail Follow(const std::string& base, const std::string& below) const override {
    Walk walk = WalkTo(base == "/" ? "" : base, below);
    return {std::move(walk.links), std::move(walk.path)};
  }

  Result<std::vector<DirectoryEntry>> List(const std::string& directory) const override {
    Walk walk = WalkTo("", directory);
    if (walk.end == nullptr || walk.end->type != FileType::kDirectory || walk.end->locked) {
      return base::SystemError("opendir " + directory, ENOENT);
    }
    std::vector<DirectoryEntry> entries;
    std::string prefix = walk.path == "/" ? "/" : walk.path + "/";
    for (const auto& [name, node] : nodes_) {
      if (name == "/" || !name.starts_with(prefix)) continue;
      if (name.find('/', prefix.size()) != std::string::npos) continue;
      entries.push_back({name.substr(prefix.size()), node.type == FileType::kDirectory});
    }
    return entries;
  }

  Result<std::string> ReadStart(const std::string& path) const override {
    Walk walk = WalkTo("", path);
    if (walk.end == nullptr || walk.end->type != FileType::kRegular) {
      return base::SystemError("open " + path, ENOENT);
    }
    return walk.end->text;
  }

 private:
  static constexpr size_t kMostLinks = 40;  // as the kernel

  struct Node {
    FileType type = FileType::kMissing;
    std::string text;  // of a file, or the target of a link
    uint32_t mode = 0;
    bool locked = false;
    uint64_t inode = 0;
  };

  struct Walk {
    std::string path;
    const Node* end = nullptr;  // null: `failure`
    FileType failure = FileType::kMissing;
    std::vector<std::pair<std::string, std::string>> links;
  };

  FakePaths& Add(const std::string& path, Node node) {
    size_t slash = path.rfind('/');
    if (slash > 0 && !nodes_.contains(path.substr(0, slash))) Directory(path.substr(0, slash));
    node.inode = nodes_.size() + 1;
    nodes_[path] = std::move(node);
    return *this;
  }

  Walk WalkTo(const std::string& base, const std::string& below) const {
    Walk walk{.path = base};
    std::vector<std::string> rest = base::Split(below, '/');
    std::vector<std::string> todo(rest.rbegin(), rest.rend());
    bool missing = false;
    while (!todo.empty()) {
      std::string name = std::move(todo.back());
      todo.pop_back();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        walk.path.resize(walk.path.empty() ? 0 : walk.path.rfind('/'));
        continue;
      }
      if (auto here = nodes_.find(walk.path); here != nodes_.end() && here->second.locked) {
        walk.failure = FileType::kUnreachable;
      }
      std::string next = walk.path + "/" + name;
      auto found = nodes_.find(next);
      if (found == nodes_.end()) missing = true;
      bool stopped = missing || walk.failure == FileType::kUnreachable;
      if (!stopped && S_ISLNK(found->second.mode) && walk.links.size() == kMostLinks) {
        walk.failure = FileType::kUnreachable;
        stopped = true;
      }
      if (stopped || !S_ISLNK(found->second.mode)) {
        walk.path = std::move(next);
        continue;
      }
      const std::string& target = found->second.text;
      walk.links.emplace_back(next, target);
      std::vector<std::string> parts = base::Split(target, '/');
      todo.insert(todo.end(), parts.rbegin(), parts.rend());
      if (target.starts_with('/')) walk.path.clear();
    }
    if (walk.path.empty()) walk.path = "/";
    auto end = nodes_.find(walk.path);
    bool reached = !missing && walk.failure == FileType::kMissing;
    if (reached && end != nodes_.end()) walk.end = &end->second;
    return walk;
  }

  std::map<std::string, Node> nodes_;
};

}  // namespace cordon::host
