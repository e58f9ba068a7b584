// Runs in: supervisor, in a thread of its own.
#include "spawn/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "spawn/caller.h"
#include "spawn/file_changer.h"
#include "spawn/file_gate.h"
#include "spawn/file_opener.h"
#include "spawn/name_maker.h"
#include "spawn/process_gate.h"
#include "spawn/socket_maker.h"
#include "sys/uapi.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, __u64)
#endif

namespace cordon::spawn {
namespace {

constexpr mode_t kInitialUmask = 022;  // what the child set
// Calls that wait (a FIFO's other end, a full backlog), each in a thread.
constexpr int kMaxWaiting = 256;
// A call that the broker has taken on is interrupted by deadly signals only; for
// those that wait, the others are looked for.
constexpr int kSignalInterval = 50;  // ms

// Calls that newer architectures do not have get numbers that never come.
#ifndef __NR_open
#define __NR_open (-1)
#define __NR_creat (-2)
#define __NR_mkdir (-3)
#define __NR_mknod (-4)
#define __NR_rename (-5)
#define __NR_link (-6)
#define __NR_symlink (-7)
#endif
#ifndef __NR_renameat
#define __NR_renameat (-8)
#endif

ProcessGate::Signals SignalsOf(const plan::Plan& plan) {
  return plan.landlock_abi >= 6 ? ProcessGate::Signals::kScoped : ProcessGate::Signals::kOurs;
}

// What the broker has to do itself where there are no namespaces.
struct HostCalls {
  HostCalls(const plan::Plan& plan, pid_t init)
      : gate(plan, init),
        files(gate),
        changes(gate),
        processes(init, SignalsOf(plan), plan.limits.processes) {}
  FileGate gate;
  FileOpener files;
  FileChanger changes;
  ProcessGate processes;
};

class BrokerThread final : public Broker {
 public:
  BrokerThread(sys::UniqueFd listener, sys::UniqueFd root, sys::UniqueFd stop, sys::UniqueFd broken,
               const Sandboxed& sandbox, const plan::Plan& plan, BrokerHooks hooks)
      : plan_(plan),
        listener_(std::move(listener)),
        root_(std::move(root)),
        stop_(std::move(stop)),
        broken_(std::move(broken)),
        host_(plan_.backend == host::Backend::kLandlock
                  ? std::make_unique<HostCalls>(plan_, sandbox.pid)
                  : nullptr),
        violations_(std::move(hooks.on_violation)),
        names_(plan_.fs, violations_, host_ ? &host_->gate : nullptr,
               host_ ? &host_->files : nullptr),
        sockets_(plan_, host_ ? -1 : sandbox.pidfd, names_, violations_) {
    sockets_.SetBeforeConnect(std::move(hooks.before_connect));
  }

  ~BrokerThread() override { Stop(); }

  // EAGAIN when the host has no thread to spare.
  Status Begin() {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& error) {
      return base::SystemError("start the broker", error.code().value(), Reason::kSetupFailed);
    }
    return {};
  }

  int broken() const override { return broken_.get(); }

  BrokerFindings Finish() override {
    Stop();
    return {violations_.Take(), std::move(names_.new_repositories)};
  }

 private:
  void Stop() {
    if (!thread_.joinable()) return;
    uint64_t one = 1;
    static_cast<void>(!write(stop_.get(), &one, sizeof(one)));
    thread_.join();
    // Threads that still wait hold the listener; their callers are dead, and
    // what they wait for may never come. They are woken by a signal.
    while (waiting_.load() > 0) {
      WakeWaiting();
      usleep(1000);
    }
  }

  void WakeWaiting() {
    std::lock_guard lock(waiters_mutex_);
    for (const Waiter& waiter : waiters_) pthread_kill(waiter.thread, SIGURG);
  }

  // Ends the waiting of callers that have a signal to handle, with EINTR.
  void PassSignals() {
    auto now = std::chrono::steady_clock::now();
    if (now < look_at_) return;
    look_at_ = now + std::chrono::milliseconds(kSignalInterval);
    std::lock_guard lock(waiters_mutex_);
    for (const Waiter& waiter : waiters_) {
      if (SignalWaits(waiter.caller)) pthread_kill(waiter.thread, SIGURG);
    }
  }

  void Run() {
    prctl(PR_SET_NAME, "cordon-broker");
    // umask and working directory of this thread's own.
    unshare(CLONE_FS);
    umask(kInitialUmask);
    uint64_t flags = uapi::kSeccompUserNotifFdSyncWakeUp;
    ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);  // Linux 6.6
    while (true) {
      pollfd watched[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (poll(watched, 2, waiting_.load() > 0 ? kSignalInterval : -1) < 0 && errno != EINTR) {
        return Break();
      }
      if (watched[1].revents != 0) return;
      if (waiting_.load() > 0) PassSignals();
      if ((watched[0].revents & POLLIN) != 0) {
        Answer1();
      } else if (watched[0].revents != 0) {
        return;  // POLLHUP: no process is left under the filter
      }
    }
  }

  void Answer1() {
    seccomp_notif notification{};
    if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &notification) != 0) {
      if (errno != ENOENT && errno != EINTR) Break();
      return;  // ENOENT: who called is gone
    }
    sys::UniqueFd own_root;
    int root = root_.get();
    if (plan_.nesting) {  // only then can a process have another root
      char path[64];
      snprintf(path, sizeof(path), "/proc/%u/root", notification.pid);
      own_root.reset(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
      root = own_root.get();
    }
    Caller caller(listener_.get(), notification, root,
                  host_ ? std::string_view(plan_.private_directory) : std::string_view());
    if (Dispatch(caller) || (host_ && DispatchHost(caller))) return;
    Reply(caller.id(), ENOSYS);
  }

  // False: not a call that this broker knows.
  bool Dispatch(const Caller& caller) {
    switch (caller.call()) {
      case __NR_umask:
        // Its argument is a value, so letting it go on decides nothing.
        if ((caller.argument(0) & 0777) != kInitialUmask) umask_changed_ = true;
        Continue(caller);
        return true;
      case __NR_connect:
        DoConnect(caller);
        return true;
      case __NR_openat:
        DoOpen(caller, caller.descriptor(0), 1, caller.descriptor(2), caller.argument(3));
        return true;
      case __NR_open:
        DoOpen(caller, AT_FDCWD, 0, caller.descriptor(1), caller.argument(2));
        return true;
      case __NR_creat:
        DoOpen(caller, AT_FDCWD, 0, O_CREAT | O_WRONLY | O_TRUNC, caller.argument(1));
        return true;
      default:
        return DispatchNames(caller);
    }
  }

  bool DispatchNames(const Caller& caller) {
    switch (caller.call()) {
      case __NR_bind:
        SetUmask(caller);
        return Finish(caller, sockets_.Bind(caller));
      case __NR_mkdir:
        return One(caller, AT_FDCWD, 0, [&](int directory, const std::string& path) {
          return names_.MakeDirectory(caller, directory, path, Mode(caller.argument(1)));
        });
      case __NR_mkdirat:
        return One(caller, caller.descriptor(0), 1, [&](int directory, const std::string& path) {
          return names_.MakeDirectory(caller, directory, path, Mode(caller.argument(2)));
        });
      case __NR_mknod:
        return One(caller, AT_FDCWD, 0, [&](int directory, const std::string& path) {
          return names_.MakeNode(caller, directory, path, Mode(caller.argument(1)));
        });
      case __NR_mknodat:
        return One(caller, caller.descriptor(0), 1, [&](int directory, const std::string& path) {
          return names_.MakeNode(caller, directory, path, Mode(caller.argument(2)));
        });
      case __NR_symlink:
        return Two(caller, 0, 1, [&](const std::string& target, const std::string& path) {
          return names_.MakeSymlink(caller, target, AT_FDCWD, path);
        });
      case __NR_symlinkat:
        return Two(caller, 0, 2, [&](const std::string& target, const std::string& path) {
          return names_.MakeSymlink(caller, target, caller.descriptor(1), path);
        });
      case __NR_link:
        return Two(caller, 0, 1, [&](const std::string& from, const std::string& to) {
          return names_.Link(caller, AT_FDCWD, from, AT_FDCWD, to, 0);
        });
      case __NR_linkat:
        return Two(caller, 1, 3, [&](const std::string& from, const std::string& to) {
          return names_.Link(caller, caller.descriptor(0), from, caller.descriptor(2), to,
                             caller.descriptor(4));
        });
      case __NR_rename:
        return Two(caller, 0, 1, [&](const std::string& from, const std::string& to) {
          return names_.Rename(caller, AT_FDCWD, from, AT_FDCWD, to, 0);
        });
      case __NR_renameat:
      case __NR_renameat2:
        return Two(caller, 1, 3, [&](const std::string& from, const std::string& to) {
          unsigned flags =
              caller.call() == __NR_renameat2 ? static_cast<unsigned>(caller.argument(4)) : 0;
          return names_.Rename(caller, caller.descriptor(0), from, caller.descriptor(2), to, flags);
        });
      default:
        return false;
    }
  }

  // Without namespaces.
  bool DispatchHost(const Caller& caller) {
    if (caller.call() == __NR_inotify_add_watch) {
      Answer<int> watch = host_->changes.AddWatch(caller);
      Reply(caller.id(), watch ? 0 : watch.error(), watch ? *watch : 0);
      return true;
    }
    if (caller.call() == __NR_listen) return Finish(caller, sockets_.Listen(caller));
    if (auto answer = host_->processes.Answer1(caller)) {
      if (!*answer) return Finish(caller, std::unexpected(answer->error()));
      if (**answer == ProcessGate::Verdict::kDone) return Finish(caller, {});
      Continue(caller);
      return true;
    }
    if (auto answer = host_->changes.Answer1(caller)) return Finish(caller, *answer);
    return false;
  }

  static mode_t Mode(uint64_t argument) { return static_cast<mode_t>(argument); }

  bool Finish(const Caller& caller, const Answer<void>& answer) {
    Reply(caller.id(), answer ? 0 : answer.error());
    return true;
  }

  template <typename Act>
  bool One(const Caller& caller, int directory, int path_index, Act act) {
    Answer<std::string> path = caller.ReadPath(caller.argument(path_index));
    if (!path) return Finish(caller, std::unexpected(path.error()));
    if (!caller.Waiting()) return Finish(caller, std::unexpected(EINTR));
    SetUmask(caller);
    return Finish(caller, act(directory, *path));
  }

  template <typename Act>
  bool Two(const Caller& caller, int first_index, int second_index, Act act) {
    Answer<std::string> first = caller.ReadPath(caller.argument(first_index));
    if (!first) return Finish(caller, std::unexpected(first.error()));
    Answer<std::string> second = caller.ReadPath(caller.argument(second_index));
    if (!second) return Finish(caller, std::unexpected(second.error()));
    if (!caller.Waiting()) return Finish(caller, std::unexpected(EINTR));
    return Finish(caller, act(*first, *second));
  }

  // Until someone inside calls umask(2), everyone has the one they started with.
  void SetUmask(const Caller& caller) {
    if (umask_changed_) umask(static_cast<mode_t>(caller.Umask()));
  }

  void Continue(const Caller& caller) {
    seccomp_notif_resp response{};
    response.id = caller.id();
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    Send(response);
  }

  void Reply(uint64_t id, int error, int64_t value = 0) {
    seccomp_notif_resp response{};
    response.id = id;
    response.error = -error;
    response.val = value;
    Send(response);
  }

  void Send(const seccomp_notif_resp& response) {
    while (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) != 0) {
      if (errno == EINTR) continue;
      if (errno != ENOENT) Break();
      return;  // ENOENT: the caller is gone
    }
  }

  void ReplyFd(uint64_t id, int fd, uint32_t flags) {
    seccomp_notif_addfd add{};
    add.id = id;
    add.flags = SECCOMP_ADDFD_FLAG_SEND;
    add.srcfd = static_cast<uint32_t>(fd);
    add.newfd_flags = flags & O_CLOEXEC;
    if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno != ENOENT) {
      Reply(id, errno);
    }
  }

  // A caller without an answer would wait for ever.
  void Break() {
    uint64_t one = 1;
    static_cast<void>(!write(broken_.get(), &one, sizeof(one)));
  }

  void DoOpen(const Caller& caller, int directory, int path_index, int flags, uint64_t mode) {
    Answer<std::string> path = caller.ReadPath(caller.argument(path_index));
    if (!path) return Reply(caller.id(), path.error());
    if (!caller.Waiting()) return Reply(caller.id(), EINTR);
    SetUmask(caller);
    sys::UniqueFd fifo;
    Answer<sys::UniqueFd> opened = OpenFor(caller, {directory, *path, flags, Mode(mode)}, fifo);
    if (opened) {
      ReplyFd(caller.id(), opened->get(), static_cast<uint32_t>(flags));
    } else if (fifo.valid()) {
      uint64_t id = caller.id();
      Wait(caller, [this, id, flags, fifo = std::make_shared<sys::UniqueFd>(std::move(fifo))] {
        char link[32];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fifo->get());
        int fd = open(link, (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC);
        if (fd < 0) return Reply(id, errno);
        ReplyFd(id, fd, static_cast<uint32_t>(flags));
        close(fd);
      });
    } else {
      Reply(caller.id(), opened.error());
    }
  }

  // Without namespaces most calls open what exists. The way of names is for what is
  // made, and for a caller's own descriptors by their names in /proc.
  Answer<sys::UniqueFd> OpenFor(const Caller& caller, NameMaker::OpenRequest request,
                                sys::UniqueFd& fifo) {
    if (!host_ || (request.flags & O_CREAT) != 0) return names_.Open(caller, request, fifo);
    Answer<sys::UniqueFd> opened = host_->files.Open(
        caller, {request.directory, request.path, request.flags, request.mode}, fifo);
    bool refused = !opened && !fifo.valid() &&
                   (opened.error() == EACCES || opened.error() == EROFS || opened.error() == ENXIO);
    if (!refused) return opened;
    Answer<sys::UniqueFd> held = names_.Open(caller, std::move(request), fifo);
    return held || fifo.valid() ? std::move(held) : std::move(opened);
  }

  void DoConnect(const Caller& caller) {
    Answer<PendingConnect> pending = sockets_.Connect(caller);
    if (!pending) return Reply(caller.id(), pending.error());
    uint64_t id = caller.id();
    if (auto error = ConnectAtOnce(*pending)) return Connected(id, *pending, *error);
    auto shared = std::make_shared<PendingConnect>(std::move(*pending));
    Wait(caller, [this, id, shared] { Connected(id, *shared, CompleteConnect(*shared)); });
  }

  void Connected(uint64_t id, const PendingConnect& pending, int error) {
    const Borrowed& borrowed = pending.borrowed;
    bool put = borrowed.replaces >= 0 && (error == 0 || error == EINPROGRESS);
    if (put) {
      int failed =
          ReplaceFd(listener_.get(), id, borrowed.socket.get(), borrowed.replaces, borrowed.flags);
      if (failed != 0) error = failed;
    }
    Reply(id, error);
  }

  template <typename Act>
  void Wait(const Caller& caller, const Act& act) {
    uint64_t id = caller.id();
    if (waiting_.load() >= kMaxWaiting) return Reply(id, EAGAIN);
    ++waiting_;
    try {
      std::thread([this, act, tid = caller.tid()] {
        Register(tid);
        act();
        Unregister();
      }).detach();
    } catch (const std::system_error&) {
      --waiting_;
      Reply(id, EAGAIN);
    }
  }

  void Register(pid_t caller) {
    std::lock_guard lock(waiters_mutex_);
    waiters_.push_back({pthread_self(), caller});
  }

  void Unregister() {
    {
      std::lock_guard lock(waiters_mutex_);
      std::erase_if(waiters_, [](const Waiter& w) { return w.thread == pthread_self(); });
    }
    --waiting_;  // the last touch of this object
  }

  const plan::Plan plan_;
  sys::UniqueFd listener_;
  sys::UniqueFd root_;
  sys::UniqueFd stop_;
  sys::UniqueFd broken_;
  std::unique_ptr<HostCalls> host_;
  ViolationLog violations_;
  NameMaker names_;
  SocketMaker sockets_;
  bool umask_changed_ = false;
  std::atomic<int> waiting_ = 0;
  std::mutex waiters_mutex_;
  struct Waiter {
    pthread_t thread;
    pid_t caller;
  };
  std::vector<Waiter> waiters_;
  std::chrono::steady_clock::time_point look_at_;
  std::thread thread_;
};

void Ignore(int) {}

}  // namespace

Result<std::unique_ptr<Broker>> Broker::Start(sys::UniqueFd listener, sys::UniqueFd root,
                                              const Sandboxed& sandbox, const plan::Plan& plan,
                                              BrokerHooks hooks) {
  sys::UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  sys::UniqueFd broken(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid() || !broken.valid()) return base::SystemError("eventfd", errno);
  // Interrupts the threads that wait; without a handler it would not.
  struct sigaction action{}, before{};
  sigaction(SIGURG, nullptr, &before);
  if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    action.sa_handler = Ignore;
    sigaction(SIGURG, &action, nullptr);
  }
  auto broker =
      std::make_unique<BrokerThread>(std::move(listener), std::move(root), std::move(stop),
                                     std::move(broken), sandbox, plan, std::move(hooks));
  CORDON_TRY(broker->Begin());
  return broker;
}

}  // namespace cordon::spawn
