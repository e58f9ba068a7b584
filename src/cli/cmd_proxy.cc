// cordon proxy [POLICY] --listen ADDR:PORT
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

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
#include "cli/policy_watch.h"
#include "host/real_paths.h"
#include "plan/net_plan.h"
#include "proxy/proxy.h"
#include "session/interception.h"

namespace cordon::cli {
namespace {

constexpr int kBacklog = 1024;
constexpr timespec kLookForChanges{.tv_sec = 1, .tv_nsec = 0};

struct Options {
  PolicyFlags policy;
  std::string listen;
  std::string ca_out;
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
  static Result<std::unique_ptr<Teller>> Create(const Options& options, const std::string& log) {
    auto teller = std::make_unique<Teller>();
    std::string run = audit::NewRunId();
    if (options.json) {
      sys::UniqueFd out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
      teller->out_.emplace(std::move(out), run, audit::Log::kUnlimited);
    }
    if (log.empty()) return teller;
    auto file = audit::OpenFile(log);
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

struct Loaded {
  plan::NetPlan net;
  std::map<std::string, std::string> environment;
  std::string audit_log;
};

Result<Loaded> Load(const Options& options) {
  PolicyFlags flags = options.policy;
  // Without a policy only what the flags allow: strict has no name of its own.
  bool named = !flags.files.empty() || !flags.settings.empty();
  if (flags.presets.empty() && !named) flags.presets = {"strict"};
  CORDON_ASSIGN_OR_RETURN(LoadedPolicy loaded, LoadPolicy(flags));
  plan::NetPlan net;
  CORDON_ASSIGN_OR_RETURN(net.rules, plan::ResolveNetRules(loaded.policy));
  // Here the mode says nothing about a sandbox: with no name allowed, none is.
  if (net.rules.mode == NetMode::kNone) net.rules.mode = NetMode::kProxy;
  plan::Parent parent = plan::ParentOf(loaded.policy.net, loaded.context.env);
  net.upstream = std::move(parent.upstream);
  net.no_proxy = std::move(parent.no_proxy);
  net.tls_ca = std::move(loaded.policy.net.tls_ca);
  net.credentials = std::move(loaded.policy.net.credentials);
  net.trust_source = plan::TrustSource(host::RealPaths(), loaded.context.env);
  return Loaded{std::move(net), std::move(loaded.context.env), std::move(loaded.policy.audit.log)};
}

// Its clients have to trust the authority; the key never leaves the companion.
Status WriteAuthority(const std::string& path, std::string_view pem) {
  sys::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid() || write(fd.get(), pem.data(), pem.size()) != static_cast<ssize_t>(pem.size())) {
    return base::SystemError("--ca-out " + path, errno);
  }
  return {};
}

Result<std::optional<session::Interception>> StartTls(const Options& options,
                                                      const Loaded& loaded) {
  bool made_here = loaded.net.intercepts() && !loaded.net.tls_ca;
  if (made_here && options.ca_out.empty()) {
    return base::InvalidArgument(
        Reason::kUsage, "net.tls.intercept and net.credential need --ca-out FILE",
        "the clients have to trust the authority whose certificate is written there");
  }
  if (!loaded.net.needs_tls()) return std::optional<session::Interception>();
  if (loaded.net.trust_source.empty()) {
    return base::Unsupported("TLS of the proxy: this host has no bundle of certificate authorities",
                             "install ca-certificates, or name one by SSL_CERT_FILE");
  }
  CORDON_ASSIGN_OR_RETURN(session::Interception made,
                          session::StartTls(loaded.environment, loaded.net));
  if (!options.ca_out.empty()) {
    CORDON_TRY(WriteAuthority(options.ca_out, made.companion.ca_pem()));
  }
  return std::optional(std::move(made));
}

void Reload(const Options& options, proxy::Proxy& proxy) {
  auto loaded = Load(options);
  if (loaded) {
    proxy.Reload(std::move(loaded->net.rules));
    fmt::print(stderr, "cordon: policy read anew\n");
    return;
  }
  Error error = std::move(loaded).error();
  error.message = "the last good policy stays: " + error.message;
  PrintError(error);
}

// Until a signal ends it.
void Supervise(const Options& options, proxy::Proxy& proxy, const sigset_t& signals) {
  std::vector<std::string> files = options.policy.files;
  for (const std::string& text : options.policy.settings) {
    files.push_back(ParseSettingsRequest(text, "").path);
  }
  FileWatch watch(std::move(files));
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
  CORDON_ASSIGN_OR_RETURN(Loaded loaded, Load(options));
  CORDON_ASSIGN_OR_RETURN(auto tls, StartTls(options, loaded));
  proxy::ProxyOptions made{.rules = std::move(loaded.net.rules),
                           .upstream = std::move(loaded.net.upstream),
                           .no_proxy = std::move(loaded.net.no_proxy)};
  if (tls) {
    made.tls = tls->companion.TakeControl();
    made.secrets = std::move(tls->secrets);
  }
  CORDON_ASSIGN_OR_RETURN(std::unique_ptr<Teller> teller,
                          Teller::Create(options, loaded.audit_log));
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
  arguments.Option("--ca-out", options->ca_out, "FILE",
                   "Where the certificate of its TLS authority is written");
  arguments.Flag("--json", options->json,
                 "Print every event as a line of JSON, as audit.log has it");
  arguments.Footer(
      "Denials are told on stderr. A changed --policy file is read anew, as is all of it on\n"
      "SIGHUP; one that cannot be read leaves the last good one in force.\n"
      "Exit status: 0 ended by SIGTERM or SIGINT, 2 bad usage, 125 it could not start.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
