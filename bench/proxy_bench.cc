// What a proxy costs as ratios to a direct connection, all subjects interleaved
// in one run.
//
//   CORDON_BIN=… proxy_bench [ROUNDS]
//
// Started by root it measures as an ordinary user (nobody).
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "fair_run.h"
#include "proxy_load.h"
#include "proxy_peers.h"

namespace cordon::bench {
namespace {

constexpr std::array kMeasures = {Measure::kLatency, Measure::kRate, Measure::kOneStream,
                                  Measure::kManyStreams};
constexpr int kPortInside = 3128;  // of the proxy that a sandbox has
constexpr int kDefaultRounds = 5;

struct Goal {
  const char* title;
  const char* form;  // of the value, after `scale`
  double scale;
  double ratio;
  bool at_most;
};
constexpr std::array<Goal, kMeasures.size()> kGoals = {{{"tunnel us", "%9.0f", 1, 3.5, true},
                                                        {"conns/s", "%9.0f", 1, 0.4, false},
                                                        {"GB/s, 1", "%9.2f", 1e-9, 0.55, false},
                                                        {"GB/s, 64", "%9.2f", 1e-9, 0.55, false}}};

struct Subject {
  std::string name;
  Client* client;
  Route route;
  std::array<std::vector<double>, kMeasures.size()> values;  // one of each round, 0: failed
};

void RunRound(std::vector<Subject>& subjects, std::mt19937& random) {
  for (size_t m = 0; m < kMeasures.size(); ++m) {
    std::vector<Subject*> order;
    for (Subject& subject : subjects) order.push_back(&subject);
    std::ranges::shuffle(order, random);
    for (Subject* subject : order) {
      subject->values[m].push_back(subject->client->Ask(kMeasures[m], subject->route));
    }
  }
}

struct Summary {
  double value = 0;
  double ratio = 0;  // the median of the rounds' ratios, each to direct in the same round
  size_t failures = 0;
};

Summary Summarize(const std::vector<double>& values, const std::vector<double>& direct) {
  Summary summary;
  std::vector<double> good, ratios;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0 || direct[i] <= 0) {
      ++summary.failures;
      continue;
    }
    good.push_back(values[i]);
    ratios.push_back(values[i] / direct[i]);
  }
  summary.value = Median(std::move(good));
  summary.ratio = Median(std::move(ratios));
  return summary;
}

void PrintRow(const Subject& subject, const Subject& direct) {
  std::printf("%-23s", subject.name.c_str());
  size_t failures = 0;
  for (size_t m = 0; m < kMeasures.size(); ++m) {
    const Goal& goal = kGoals[m];
    Summary summary = Summarize(subject.values[m], direct.values[m]);
    bool met = goal.at_most ? summary.ratio <= goal.ratio : summary.ratio >= goal.ratio;
    std::printf(goal.form, summary.value * goal.scale);
    std::printf(" %5.2fx%c", summary.ratio, met ? ' ' : '!');
    failures += summary.failures;
  }
  std::printf(" %zu\n", failures);
}

void PrintTable(const std::vector<Subject>& subjects) {
  std::printf("%-23s", "medians, x direct");
  for (const Goal& goal : kGoals) std::printf("%9s %7s", goal.title, "");
  std::printf(" failures\n");
  for (const Subject& subject : subjects) PrintRow(subject, subjects.front());
  std::printf("%-23s", "goal, from inside");
  for (const Goal& goal : kGoals) {
    std::printf("%9s %5.2fx ", goal.at_most ? "at most" : "at least", goal.ratio);
  }
  std::printf("\n! misses the goal\n");
}

int Run(const std::string& cordon, int rounds) {
  sys::UniqueFd listener = ListenOnLoopback();
  const int target = PortOf(listener.get());
  Child server = StartTarget(std::move(listener));
  Client outside = Client::Start({});
  Client inside = Client::Start({cordon, "run", "--net", "proxy", "--allow-domain",
                                 "127.0.0.1:" + std::to_string(target), "--"});
  std::vector<Subject> subjects = {
      {"direct", &outside, {Way::kDirect, target, target}, {}},
      {"from inside, CONNECT", &inside, {Way::kConnect, kPortInside, target}, {}},
      {"from inside, SOCKS5", &inside, {Way::kSocks5, kPortInside, target}, {}}};
  std::vector<Peer> peers = InstalledPeers(target);
  peers.insert(peers.begin(), CordonProxy(cordon, target));
  std::vector<Child> running;
  for (const Peer& peer : peers) {
    auto child = StartPeer(peer);
    if (!child) {
      std::fprintf(stderr, "proxy_bench: %s did not start\n", peer.name.c_str());
      continue;
    }
    running.push_back(std::move(*child));
    subjects.push_back({peer.name, &outside, {peer.way, peer.port, target}, {}});
    if (&peer == &peers.front()) {
      subjects.push_back({"cordon proxy, SOCKS5", &outside, {Way::kSocks5, peer.port, target}, {}});
    }
  }
  std::mt19937 random(42);
  for (int round = 0; round < rounds; ++round) RunRound(subjects, random);
  std::printf("uid %d, %d rounds\n", geteuid(), rounds);
  PrintTable(subjects);
  return 0;
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) {
  using namespace cordon::bench;
  if (argc > 1 && std::string(argv[1]) == "--client") ServeOrders();
  std::string cordon = CordonBinary();
  int rounds = argc > 1 ? std::atoi(argv[1]) : kDefaultRounds;
  if (cordon.empty() || rounds < 1) {
    std::fprintf(stderr, "usage: CORDON_BIN=... proxy_bench [ROUNDS]\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  Scratch scratch;
  return scratch.entered() ? Run(cordon, rounds) : 1;
}
