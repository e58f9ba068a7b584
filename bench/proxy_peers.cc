#include "proxy_peers.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace cordon::bench {
namespace {

constexpr int kStartSeconds = 8;

// Free now; the program that it is for takes it at once.
int FreePort() { return PortOf(ListenOnLoopback().get()); }

// stdin and stdout are those given; of what it says nothing is shown.
Child StartProgram(std::vector<std::string> words, int in, int out) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid != 0) return Child(pid);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(in < 0 ? null : in, 0);
  dup2(out < 0 ? null : out, 1);
  dup2(null, 2);
  execv(argv[0], argv.data());
  _exit(127);
}

std::string WriteFile(const std::string& name, const std::string& text) {
  std::string path = std::filesystem::current_path() / name;
  std::ofstream(path) << text;
  return path;
}

Peer Tinyproxy(const std::string& program) {
  Peer peer{.name = "tinyproxy", .way = Way::kConnect, .port = FreePort(), .argv = {}};
  std::string file = WriteFile("tinyproxy.conf", "Port " + std::to_string(peer.port) +
                                                     "\nListen 127.0.0.1\nAllow 127.0.0.1\n"
                                                     "MaxClients 400\nLogLevel Critical\n");
  peer.argv = {program, "-d", "-c", file};
  return peer;
}

Peer Squid(const std::string& program) {
  Peer peer{.name = "squid", .way = Way::kConnect, .port = FreePort(), .argv = {}};
  std::string file = WriteFile("squid.conf", "http_port 127.0.0.1:" + std::to_string(peer.port) +
                                                 "\nhttp_access allow all\ncache deny all\n"
                                                 "access_log none\ncache_log /dev/null\n"
                                                 "pid_filename none\nnetdb_filename none\n"
                                                 "pinger_enable off\nshutdown_lifetime 0\n"
                                                 "max_filedescriptors 1024\n");
  peer.argv = {program, "-N", "-f", file};
  return peer;
}

Peer Haproxy(const std::string& program, int target) {
  Peer peer{.name = "haproxy (TCP)", .way = Way::kDirect, .port = FreePort(), .argv = {}};
  std::string file =
      WriteFile("haproxy.conf",
                "global\n  maxconn 1000\ndefaults\n  mode tcp\n  option splice-auto\n"
                "  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n"
                "listen bench\n  bind 127.0.0.1:" +
                    std::to_string(peer.port) +
                    "\n  server target 127.0.0.1:" + std::to_string(target) + "\n");
  peer.argv = {program, "-db", "-q", "-f", file};
  return peer;
}

Peer Microsocks(const std::string& program) {
  Peer peer{.name = "microsocks", .way = Way::kSocks5, .port = FreePort(), .argv = {}};
  peer.argv = {program, "-i", "127.0.0.1", "-p", std::to_string(peer.port)};
  return peer;
}

}  // namespace

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  for (int tries = 0; tries < 100; ++tries) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Child::Ended() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ <= 0;
}

Child StartTarget(sys::UniqueFd listener) {
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid != 0) return Child(pid);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  ServeTarget(std::move(listener));
}

Client Client::Start(std::vector<std::string> wrapper) {
  wrapper.push_back(std::filesystem::read_symlink("/proc/self/exe"));
  wrapper.emplace_back("--client");
  int orders[2] = {-1, -1}, answers[2] = {-1, -1};
  if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) std::abort();
  Child child = StartProgram(std::move(wrapper), orders[0], answers[1]);
  close(orders[0]);
  close(answers[1]);
  return {std::move(child), File(fdopen(orders[1], "w")), File(fdopen(answers[0], "r"))};
}

double Client::Ask(Measure measure, const Route& route) {
  std::fputs(FormatOrder(measure, route).c_str(), orders_.get());
  std::fflush(orders_.get());
  double answer = 0;
  return std::fscanf(answers_.get(), "%lf", &answer) == 1 ? answer : 0;
}

Peer CordonProxy(const std::string& cordon, int target) {
  Peer peer{.name = "cordon proxy, CONNECT", .way = Way::kConnect, .port = FreePort(), .argv = {}};
  peer.argv = {cordon,           "proxy",
               "--allow-domain", "127.0.0.1:" + std::to_string(target),
               "--listen",       "127.0.0.1:" + std::to_string(peer.port)};
  return peer;
}

std::vector<Peer> InstalledPeers(int target) {
  std::vector<Peer> peers;
  for (std::string name : {"tinyproxy", "squid", "haproxy", "microsocks"}) {
    for (std::string directory : {"/usr/local/bin/", "/usr/sbin/", "/usr/bin/"}) {
      std::string program = directory + name;
      if (access(program.c_str(), X_OK) != 0) continue;
      peers.push_back(name == "tinyproxy" ? Tinyproxy(program)
                      : name == "squid"   ? Squid(program)
                      : name == "haproxy" ? Haproxy(program, target)
                                          : Microsocks(program));
      break;
    }
  }
  return peers;
}

std::optional<Child> StartPeer(const Peer& peer) {
  Child child = StartProgram(peer.argv, -1, -1);
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kStartSeconds);
  while (std::chrono::steady_clock::now() < until) {
    if (ConnectToLoopback(peer.port).valid()) return child;
    if (child.Ended()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return std::nullopt;
}

}  // namespace cordon::bench
