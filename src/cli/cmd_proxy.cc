// cordon proxy [POLICY] --listen ADDR:PORT
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <tuple>

#include "audit/log.h"
#include "base/error.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/policy_flags.h"
#include "plan/net_plan.h"
#include "proxy/proxy.h"

namespace cordon::cli {
namespace {

constexpr int kBacklog = 1024;
constexpr timespec kLookForChanges{.tv_sec = 1, .tv_nsec = 0};

struct Options {
  PolicyFlags policy;
  std::string listen;
  bool json = false;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

Result<sockaddr_storage> ParseListen(const std::string& text) {
  Error bad = base::InvalidArgument(Reason::kUsage,
                                    "--listen \"" + base::Printable(text) + "\" is no ADDR:PORT",
                                    "for example --listen 127.0.0.1:3128");
  size_t colon = text.rfind(':');
  if (colon == text.npos) return bad;
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  auto [stop, failed] = std::from_chars(text.data() + colon + 1, end, port);
  auto address = guard::ParseIp(host);
  if (!address || failed != std::errc() || stop != end) return bad;
  sockaddr_storage storage{};
  if (address->family == guard::Family::kV4) {
    sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(port)};
    std::memcpy(&v4.sin_addr, address->bytes.data(), 4);
    std::memcpy(&storage, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(port)};
    std::memcpy(&v6.sin6_addr, address->bytes.data(), 16);
    std::memcpy(&storage, &v6, sizeof v6);
  }
  return storage;
}

Result<sys::UniqueFd> Listen(const std::string& text) {
  CORDON_ASSIGN_OR_RETURN(sockaddr_storage address, ParseListen(text));
  sys::UniqueFd fd(socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::SystemError("socket", errno);
  int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return base::SystemError("listen on " + text, errno);
  }
  return fd;
}

int PortOf(const sys::UniqueFd& fd) {
  sockaddr_in6 address{};  // the port lies at the same place in both families
  socklen_t size = sizeof address;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);
}

// Each connection takes two descriptors.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string EventText(const proxy::NetEvent& event) {
  std::string what = event.host;
  if (event.port != 0) what += ":" + std::to_string(event.port);
  if (!event.address.empty() && event.address != event.host) what += " (" + event.address + ")";
  std::string why;
  for (const std::string* part : {&event.rule, &event.detail}) {
    if (!part->empty()) why += ": " + *part;
  }
  return fmt::format("cordon: {} {} [{}]{}\n",
                     event.reason == Reason::kUpstreamFailed ? "failed" : "denied",
                     base::Printable(what), ReasonId(event.reason), base::Printable(why));
}

// Where events go: as text to stderr or as JSON to stdout, and to `audit.log`.
class Teller {
 public:
  static Result<std::unique_ptr<Teller>> Create(const Options& options, const Policy& policy) {
    auto teller = std::make_unique<Teller>();
    std::string run = audit::NewRunId();
    if (options.json) {
      sys::UniqueFd out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
      teller->out_.emplace(std::move(out), run, audit::Log::kUnlimited);
    }
    if (policy.audit.log.empty()) return teller;
    auto file = audit::OpenFile(policy.audit.log);
    if (!file) return std::move(file).error().Within("audit.log");
    teller->log_.emplace(std::move(*file), run, audit::Log::kUnlimited);
    return teller;
  }

  void Tell(const proxy::NetEvent& event) {
    if (out_) std::ignore = out_->Record(event);
    if (!out_ && !event.allowed) fmt::print(stderr, "{}", EventText(event));
    Status kept = log_ ? log_->Record(event) : Status();
    if (!kept && !failing_) fmt::print(stderr, "cordon: audit.log: {}\n", kept.error().message);
    failing_ = !kept;
  }

 private:
  std::optional<audit::Log> out_, log_;
  bool failing_ = false;  // said once until it works again
};

Result<LoadedPolicy> Load(const Options& options) {
  PolicyFlags flags = options.policy;
  // Without a policy only what the flags allow: strict has no name of its own.
  if (flags.presets.empty() && flags.files.empty()) flags.presets = {"strict"};
  return LoadPolicy(flags);
}

Result<proxy::ProxyOptions> ProxyOptionsFor(const LoadedPolicy& loaded) {
  proxy::ProxyOptions made;
  CORDON_ASSIGN_OR_RETURN(made.rules, plan::ResolveNetRules(loaded.policy));
  if (!made.rules.intercept.empty()) {
    return base::Unsupported("net.tls.intercept and net.credential work in `cordon run` only",
                             "nobody but a sandbox trusts the authority that is made for it");
  }
  // Here the mode says nothing about a sandbox: with no name allowed, none is.
  if (made.rules.mode == NetMode::kNone) made.rules.mode = NetMode::kProxy;
  plan::Parent parent = plan::ParentOf(loaded.policy.net, loaded.context.env);
  made.upstream = std::move(parent.upstream);
  made.no_proxy = std::move(parent.no_proxy);
  return made;
}

// Tells when one of the --policy files is not what it was.
class FileWatch {
 public:
  explicit FileWatch(const std::vector<std::string>& files) : files_(files), stamps_(Stamps()) {}
  bool Changed() {
    auto now = Stamps();
    return std::exchange(stamps_, now) != now;
  }

 private:
  std::vector<std::string> Stamps() const {
    std::vector<std::string> stamps;
    for (const std::string& file : files_) {
      struct stat status{};
      stat(file.c_str(), &status);
      stamps.push_back(fmt::format("{} {} {} {}", status.st_ino, status.st_size,
                                   status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
    }
    return stamps;
  }

  const std::vector<std::string>& files_;
  std::vector<std::string> stamps_;
};

Result<guard::NetRules> ReadRules(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, Load(options));
  CORDON_ASSIGN_OR_RETURN(proxy::ProxyOptions made, ProxyOptionsFor(loaded));
  return std::move(made.rules);
}

void Reload(const Options& options, proxy::Proxy& proxy) {
  auto rules = ReadRules(options);
  if (rules) {
    proxy.Reload(std::move(*rules));
    fmt::print(stderr, "cordon: policy read anew\n");
    return;
  }
  Error error = std::move(rules).error();
  error.message = "the last good policy stays: " + error.message;
  PrintError(error);
}

// Until a signal ends it.
void Supervise(const Options& options, proxy::Proxy& proxy, const sigset_t& signals) {
  FileWatch watch(options.policy.files);
  for (;;) {
    int signal = sigtimedwait(&signals, nullptr, &kLookForChanges);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (watch.Changed() || signal == SIGHUP) Reload(options, proxy);
  }
}

Status Serve(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  RaiseDescriptorLimit();
  CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, Load(options));
  CORDON_ASSIGN_OR_RETURN(proxy::ProxyOptions made, ProxyOptionsFor(loaded));
  CORDON_ASSIGN_OR_RETURN(std::unique_ptr<Teller> teller, Teller::Create(options, loaded.policy));
  made.on_event = [&teller](const proxy::NetEvent& event) { teller->Tell(event); };
  CORDON_ASSIGN_OR_RETURN(sys::UniqueFd listener, Listen(options.listen));
  int port = PortOf(listener);
  proxy::Listeners listeners;
  listeners.mux.push_back(std::move(listener));
  CORDON_ASSIGN_OR_RETURN(proxy::Proxy proxy,
                          proxy::Proxy::Start(std::move(made), std::move(listeners)));
  fmt::print(stderr, "cordon: HTTP and SOCKS5 on port {}\n", port);
  Supervise(options, proxy, signals);
  return {};
}

int Run(const Options& options) {
  Status served = Serve(options);
  if (served) return kExitOk;
  PrintError(served.error(), options.form());
  return served.error().reason == Reason::kUsage ? kExitUsage : kExitRefused;
}

}  // namespace

Action SetupProxy(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddPolicyFlags(arguments, options->policy);
  arguments.Add({.name = "--listen",
                 .value = "ADDR:PORT",
                 .doc = "Where to listen; port 0 takes any",
                 .target = &options->listen,
                 .presence = Argument::Presence::kRequired});
  arguments.Flag("--json", options->json,
                 "Print every event as a line of JSON, as audit.log has it");
  arguments.Footer(
      "Denials are told on stderr. A changed --policy file is read anew, as is all of it on\n"
      "SIGHUP; one that cannot be read leaves the last good one in force.\n"
      "Exit status: 0 ended by SIGTERM or SIGINT, 2 bad usage, 125 it could not start.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
