// Runs in: supervisor. A ChildSpec as its child reads it.
#pragma once

#include <string>
#include <vector>

#include "backend/child_spec.h"
#include "backend/flat_spec.h"

namespace cordon::spawn {

std::vector<backend::FlatStep> Flatten(const std::vector<backend::Step>& steps);

// Points into `spec`, which outlives it.
class Flat {
 public:
  explicit Flat(const backend::ChildSpec& spec);
  Flat(const Flat&) = delete;
  Flat& operator=(const Flat&) = delete;

  const backend::FlatSpec& spec() const { return flat_; }

 private:
  std::vector<backend::FlatStep> steps_;
  std::vector<backend::FlatRule> rules_;
  std::vector<std::string> words_;
  std::vector<const char*> argv_;
  std::vector<const char*> environment_;
  backend::FlatSpec flat_;
};

std::vector<const char*> Pointers(const std::vector<std::string>& words);

// The same in one piece, with the distance from its start in place of each pointer.
// spawn/stage reads it.
std::string Pack(const backend::FlatSpec& spec);

}  // namespace cordon::spawn
