// What each backend costs a command that works with many files, as ratios to the same
// command without a sandbox, all interleaved in one run: of the time that passed, and of
// processor time (supervisor included), which other work on the machine moves less.
//
//   CORDON_BIN=… tiers_bench [ROUNDS]
//
// Started by root it measures as an ordinary user (nobody).
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fair_run.h"

namespace cordon::bench {
namespace {

constexpr int kFolders = 40, kFilesEach = 25;

struct Workload {
  const char* name;
  const char* script;
};

// Each does its work several times, so that it outweighs the start.
constexpr Workload kWorkloads[] = {
    {"start", ":"},
    {"git status",
     "for i in 1 2 3 4 5 6 7 8; do git status --porcelain >/dev/null || exit 1; done"},
    {"compile", "for i in 1 2 3; do cc -O0 -c f0/s0.c f1/s0.c f2/s0.c || exit 1; done"},
    {"grep -r", "for i in 1 2 3 4; do grep -r no_such_word . >/dev/null; done; :"},
};

constexpr const char* kOrder[] = {"plain", "none", "namespaces", "bubblewrap", "landlock"};

bool Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return file.good();
}

// A repository with a thousand files, as a user would have it.
bool MakeTree() {
  std::string source = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
  for (int folder = 0; folder < kFolders; ++folder) {
    std::string name = "f" + std::to_string(folder);
    if (mkdir(name.c_str(), 0755) != 0) return false;
    for (int file = 0; file < kFilesEach; ++file) {
      std::string number = std::to_string(file);
      std::string text = source + "int f" + number + "(const char* s) { return (int)strlen(s) + " +
                         number + "; }\n";
      if (!Write(name + "/s" + number + ".c", text)) return false;
    }
  }
  setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
  return system(
             "git init -q . && git add . && git -c user.name=a -c user.email=a@b.example "
             "commit -qm one") == 0;
}

struct Cost {
  double passed = -1;  // microseconds; negative: it failed
  double used = 0;     // of processors
};

double Microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

Cost RunOnce(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  auto began = std::chrono::steady_clock::now();
  pid_t pid;
  int status = -1;
  rusage usage{};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  bool ran = posix_spawn(&pid, argv[0], &quiet, nullptr, argv.data(), environ) == 0 &&
             wait4(pid, &status, 0, &usage) == pid && status == 0;
  posix_spawn_file_actions_destroy(&quiet);
  std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
  if (!ran) return {};
  return {took.count(), Microseconds(usage.ru_utime) + Microseconds(usage.ru_stime)};
}

std::vector<std::string> Words(const std::string& cordon, const std::string& backend,
                               const char* script) {
  if (backend == "plain") return {"/bin/sh", "-c", script};
  return {cordon, "run", "--backend", backend, "--net", "none", "--", "/bin/sh", "-c", script};
}

int Main(int argc, char** argv) {
  std::string cordon = CordonBinary();
  int rounds = argc > 1 ? atoi(argv[1]) : 15;
  Scratch scratch;
  if (cordon.empty() || !scratch.entered() || !MakeTree()) {
    std::fprintf(stderr, "tiers_bench: CORDON_BIN, a directory and git are needed\n");
    return 1;
  }
  std::vector<std::string> subjects(std::begin(kOrder), std::end(kOrder));
  // A backend that this host cannot have is left out.
  std::erase_if(subjects, [&](const std::string& name) {
    return RunOnce(Words(cordon, name, ":")).passed < 0;
  });
  struct Samples {
    std::vector<double> passed, used;
  };
  std::map<std::pair<std::string, std::string>, Samples> samples;
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    for (const Workload& work : kWorkloads) {
      std::ranges::shuffle(subjects, random);
      for (const std::string& subject : subjects) {
        Cost cost = RunOnce(Words(cordon, subject, work.script));
        if (cost.passed < 0) continue;
        samples[{work.name, subject}].passed.push_back(cost.passed);
        samples[{work.name, subject}].used.push_back(cost.used);
      }
    }
  }
  std::printf("%-12s", "");
  for (const char* subject : kOrder) std::printf(" %24s", subject);
  for (const Workload& work : kWorkloads) {
    const Samples& plain = samples[{work.name, "plain"}];
    std::printf("\n%-12s", work.name);
    for (const char* subject : kOrder) {
      const Samples& own = samples[{work.name, subject}];
      double passed = Median(own.passed);
      std::printf(" %7.1f ms %5.2f cpu %5.2f", passed / 1000, passed / Median(plain.passed),
                  Median(own.used) / Median(plain.used));
    }
  }
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) { return cordon::bench::Main(argc, argv); }
