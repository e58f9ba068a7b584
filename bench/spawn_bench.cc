// Start-up cost as ratios, all subjects interleaved in one run: absolute times
// move from hour to hour on shared machines, ratios do not.
//
//   CORDON_BIN=… spawn_bench [ROUNDS]
//
// Started by root it measures as an ordinary user (nobody).
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "fair_run.h"

namespace cordon::bench {
namespace {

struct Subject {
  std::string name;
  std::vector<std::string> argv;
  std::vector<double> microseconds;
  int failures = 0;
};

double RunOnce(Subject& subject) {
  std::vector<char*> argv;
  for (std::string& word : subject.argv) argv.push_back(word.data());
  argv.push_back(nullptr);
  auto began = std::chrono::steady_clock::now();
  pid_t pid;
  int status = -1;
  if (posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0 ||
      waitpid(pid, &status, 0) != pid || status != 0) {
    ++subject.failures;
  }
  std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

std::vector<Subject> Subjects(const std::string& cordon) {
  std::vector<Subject> subjects = {
      {"plain posix_spawn", {"/bin/true"}},
      {"sh -c true", {"/bin/sh", "-c", "true"}},
      {"cordon --version", {cordon, "--version"}},
      {"cordon run (workspace)", {cordon, "run", "--net", "none", "--", "/bin/true"}},
      {"cordon run (strict)", {cordon, "run", "--preset", "strict", "--", "/bin/true"}},
  };
  if (access("/usr/bin/bwrap", X_OK) == 0) {
    subjects.push_back(
        {"bwrap, all namespaces",
         {"/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev",
          "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--", "/bin/true"}});
  }
  return subjects;
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) {
  using namespace cordon::bench;
  std::string cordon = CordonBinary();
  int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  if (cordon.empty() || rounds < 1) {
    std::fprintf(stderr, "usage: CORDON_BIN=... spawn_bench [ROUNDS]\n");
    return 2;
  }
  Scratch scratch;
  if (!scratch.entered()) return 1;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  int out = dup(1);
  dup2(null, 1);
  std::vector<Subject> subjects = Subjects(cordon);
  std::mt19937 random(42);
  for (int round = -3; round < rounds; ++round) {
    std::vector<Subject*> order;
    for (Subject& subject : subjects) order.push_back(&subject);
    std::ranges::shuffle(order, random);
    for (Subject* subject : order) {
      double took = RunOnce(*subject);
      if (round >= 0) subject->microseconds.push_back(took);
    }
  }
  dup2(out, 1);
  double plain = Median(subjects[0].microseconds);
  double bwrap = Median(subjects.back().microseconds);
  std::printf("uid %d, %d rounds, medians\n%-26s %9s %8s %8s %s\n", geteuid(), rounds, "subject",
              "us", "x plain", "x bwrap", "failures");
  for (const Subject& subject : subjects) {
    double median = Median(subject.microseconds);
    std::printf("%-26s %9.0f %8.2f %8.2f %d\n", subject.name.c_str(), median, median / plain,
                median / bwrap, subject.failures);
  }
  return 0;
}
