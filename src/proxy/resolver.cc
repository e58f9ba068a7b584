#include "proxy/resolver.h"

#include <ares.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cstring>
#include <map>
#include <unordered_map>

namespace cordon::proxy {
namespace {

using Descriptor = asio::posix::basic_stream_descriptor<Executor>;

constexpr size_t kMaxCached = 1024;
constexpr size_t kMaxAddresses = 16;  // of one name; the rest is not tried
constexpr std::chrono::seconds kMinKept(1);
constexpr std::chrono::seconds kMaxKept(60);
constexpr int kQueryTimeoutMs = 2500;
constexpr int kTries = 3;

void AddAddress(const ares_addrinfo_node& node, std::vector<guard::IpAddress>& to) {
  guard::IpAddress address;
  if (node.ai_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, node.ai_addr, sizeof v4);
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
  } else if (node.ai_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, node.ai_addr, sizeof v6);
    address.family = guard::Family::kV6;
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
  } else {
    return;
  }
  if (to.size() < kMaxAddresses && std::ranges::find(to, address) == to.end()) {
    to.push_back(address);
  }
}

std::string ProblemOf(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
      return "no such name";
    case ARES_ETIMEOUT:
      return "the name server does not answer";
    case ARES_ECONNREFUSED:
      return "the name server cannot be reached";
    case ARES_ECANCELLED:
    case ARES_EDESTRUCTION:
      return "the proxy ends";
    default:
      return std::string("name lookup: ") + ares_strerror(status);
  }
}

// Tells one version of resolv.conf from another.
struct ConfigStamp {
  ino_t inode = 0;
  timespec modified{};
  static ConfigStamp Now() {
    struct stat status;
    if (stat("/etc/resolv.conf", &status) != 0) return {};
    return {status.st_ino, status.st_mtim};
  }
  bool operator==(const ConfigStamp& o) const {
    return inode == o.inode && modified.tv_sec == o.modified.tv_sec &&
           modified.tv_nsec == o.modified.tv_nsec;
  }
};

}  // namespace

// Asynchronous operations hold a share of it, so that it outlives the Resolver
// until the last of them was told of the end.
class Resolver::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(const Executor& executor) : executor_(executor), timer_(executor) {}
  ~Impl() { CloseChannel(); }

  Task<Resolved> Resolve(std::string name) {
    if (auto found = cache_.find(name); found != cache_.end()) {
      if (Clock::now() < found->second.until) co_return found->second.answer;
      cache_.erase(found);
    }
    auto query = Join(name);
    if (!query) co_return Resolved{.problem = "no name server is configured"};
    Signal answered(executor_);
    if (!query->done) query->waiting.push_back(&answered);
    while (!query->done) co_await answered.Wait();
    co_return query->answer;
  }

  void Close() {
    closed_ = true;
    CloseChannel();
  }

  void Cancel() {
    if (channel_ != nullptr) ares_cancel(channel_);
  }

 private:
  struct Query {
    Query(Impl& o, std::string n) : owner(o), name(std::move(n)) {}
    Impl& owner;
    std::string name;
    std::vector<Signal*> waiting;
    bool done = false;
    Resolved answer;
  };
  struct Cached {
    Resolved answer;
    Clock::time_point until;
  };

  std::shared_ptr<Query> Join(const std::string& name) {
    if (auto found = queries_.find(name); found != queries_.end()) return found->second;
    if (closed_ || !OpenChannel()) return nullptr;
    auto query = std::make_shared<Query>(*this, name);
    queries_.emplace(name, query);
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NOSORT;
    // May call back before it returns.
    ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, OnAnswer, query.get());
    ArmTimer();
    return query;
  }

  static void OnAnswer(void* context, int status, int, ares_addrinfo* result) {
    Query* query = static_cast<Query*>(context);
    query->owner.Finish(*query, status, result);
    ares_freeaddrinfo(result);
  }

  void Finish(Query& query, int status, const ares_addrinfo* result) {
    Clock::duration kept = kMaxKept;
    if (status == ARES_SUCCESS && result != nullptr) {
      for (auto* node = result->nodes; node != nullptr; node = node->ai_next) {
        AddAddress(*node, query.answer.addresses);
        kept = std::min<Clock::duration>(kept, std::chrono::seconds(std::max(0, node->ai_ttl)));
      }
    }
    if (query.answer.addresses.empty()) {
      query.answer.problem = ProblemOf(status == ARES_SUCCESS ? ARES_ENODATA : status);
      query.answer.not_found = status == ARES_ENOTFOUND;
    } else {
      Keep(query.name, query.answer, std::max<Clock::duration>(kept, kMinKept));
    }
    query.done = true;
    for (Signal* one : query.waiting) one->Notify();
    queries_.erase(query.name);  // those who wait hold on to it
  }

  void Keep(const std::string& name, const Resolved& answer, Clock::duration kept) {
    auto now = Clock::now();
    if (cache_.size() >= kMaxCached) {
      std::erase_if(cache_, [&](const auto& entry) { return entry.second.until <= now; });
      if (cache_.size() >= kMaxCached) cache_.clear();
    }
    cache_[name] = {answer, now + kept};
  }

  bool OpenChannel() {
    ConfigStamp stamp = ConfigStamp::Now();
    if (channel_ != nullptr && (stamp == stamp_ || !queries_.empty())) return true;
    CloseChannel();
    static const int kInitialised = ares_library_init(ARES_LIB_INIT_ALL);
    if (kInitialised != ARES_SUCCESS) return false;
    char files_then_dns[] = "fb";
    ares_options options{};
    options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    options.timeout = kQueryTimeoutMs;
    options.tries = kTries;
    options.lookups = files_then_dns;
    options.sock_state_cb = OnSocketState;
    options.sock_state_cb_data = this;
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
               ARES_OPT_SOCK_STATE_CB;
    if (ares_init_options(&channel_, &options, mask) != ARES_SUCCESS) {
      channel_ = nullptr;
      return false;
    }
    stamp_ = stamp;
    return true;
  }

  void CloseChannel() {
    if (channel_ == nullptr) return;
    ares_destroy(std::exchange(channel_, nullptr));  // fails what is under way
    timer_.cancel();
  }

  // What c-ares wants to know about one of its sockets.
  struct Watch {
    Watch(const Executor& executor, int fd) : descriptor(executor, fd) {}
    Descriptor descriptor;
    bool read = false;
    bool write = false;
  };

  static void OnSocketState(void* self, int fd, int read, int write) {
    static_cast<Impl*>(self)->SetWatch(fd, read != 0, write != 0);
  }

  void SetWatch(int fd, bool read, bool write) {
    auto found = watches_.find(fd);
    if (!read && !write) {
      if (found == watches_.end()) return;
      found->second->descriptor.release();  // c-ares closes it
      watches_.erase(found);
      return;
    }
    if (found == watches_.end()) {
      found = watches_.emplace(fd, std::make_shared<Watch>(executor_, fd)).first;
    }
    auto watch = found->second;
    if (read && !watch->read) Await(fd, watch, Descriptor::wait_read);
    if (write && !watch->write) Await(fd, watch, Descriptor::wait_write);
    watch->read = read;
    watch->write = write;
  }

  void Await(int fd, const std::shared_ptr<Watch>& watch, Descriptor::wait_type type) {
    watch->descriptor.async_wait(
        type, [self = weak_from_this(), weak = std::weak_ptr(watch), fd, type](ErrorCode error) {
          auto impl = self.lock();
          auto still = weak.lock();
          if (error || !impl || !still || impl->channel_ == nullptr) return;
          bool reading = type == Descriptor::wait_read;
          ares_process_fd(impl->channel_, reading ? fd : ARES_SOCKET_BAD,
                          reading ? ARES_SOCKET_BAD : fd);
          impl->Continue(fd, still, type);
        });
  }

  // Waits again, if c-ares still wants it and the socket is the same one.
  void Continue(int fd, const std::shared_ptr<Watch>& watch, Descriptor::wait_type type) {
    ArmTimer();
    auto found = watches_.find(fd);
    if (found == watches_.end() || found->second != watch) return;
    if (type == Descriptor::wait_read ? watch->read : watch->write) Await(fd, watch, type);
  }

  void ArmTimer() {
    if (channel_ == nullptr || queries_.empty()) return;
    timeval most{.tv_sec = 1, .tv_usec = 0};
    timeval left{};
    ares_timeout(channel_, &most, &left);
    timer_.expires_after(std::chrono::seconds(left.tv_sec) +
                         std::chrono::microseconds(left.tv_usec));
    timer_.async_wait([self = weak_from_this()](ErrorCode error) {
      auto impl = self.lock();
      if (error || !impl || impl->channel_ == nullptr) return;
      ares_process_fd(impl->channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      impl->ArmTimer();
    });
  }

  Executor executor_;
  Timer timer_;
  ares_channel channel_ = nullptr;
  ConfigStamp stamp_;
  bool closed_ = false;
  std::map<int, std::shared_ptr<Watch>> watches_;
  std::unordered_map<std::string, std::shared_ptr<Query>> queries_;
  std::unordered_map<std::string, Cached> cache_;
};

Resolver::Resolver(const Executor& executor) : impl_(std::make_shared<Impl>(executor)) {}

Resolver::~Resolver() { impl_->Close(); }

Task<Resolved> Resolver::Resolve(std::string name) {
  auto impl = impl_;
  co_return co_await impl->Resolve(std::move(name));
}

void Resolver::Cancel() { impl_->Cancel(); }

}  // namespace cordon::proxy
