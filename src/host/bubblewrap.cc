#include "host/bubblewrap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/strings.h"
#include "sys/fd.h"

namespace cordon::host {
namespace {

constexpr std::array kPlaces = {"/usr/bin/bwrap", "/usr/local/bin/bwrap"};
constexpr long kNobody = 65534;
constexpr int kTrialMs = 10'000;

struct Said {
  int status = -1;
  std::string out;
  std::string err;
};

std::string Drain(int fd) {
  std::string text;
  char buffer[1024];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0 && text.size() < 8 * sizeof(buffer)) {
    text.append(buffer, static_cast<size_t>(got));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// After fork: what is safe there. Raw calls: glibc's would tell all threads.
[[noreturn]] void Become(const char* program, char* const* argv, int out, int err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A root that has given up its powers stays who it is, and so does its run.
  if (geteuid() == 0 && syscall(SYS_setgroups, 0, nullptr) == 0 &&
      (syscall(SYS_setresgid, kNobody, kNobody, kNobody) != 0 ||
       syscall(SYS_setresuid, kNobody, kNobody, kNobody) != 0)) {
    _exit(127);
  }
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, 0);
  dup2(out, 1);
  dup2(err, 2);
  char* const environment[] = {nullptr};
  execve(program, argv, environment);
  _exit(127);
}

std::optional<Said> Run(const std::string& program, std::vector<std::string> words) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return std::nullopt;
  sys::UniqueFd out_reader(out[0]), out_writer(out[1]);
  if (pipe2(err, O_CLOEXEC) != 0) return std::nullopt;
  sys::UniqueFd err_reader(err[0]), err_writer(err[1]);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = fork();
  if (pid < 0) return std::nullopt;
  if (pid == 0) Become(program.c_str(), argv.data(), out[1], err[1]);
  out_writer.reset();
  err_writer.reset();
  // The output is a line: it fits into a pipe.
  pollfd ended{out_reader.get(), POLLIN, 0};
  if (poll(&ended, 1, kTrialMs) == 0) kill(pid, SIGKILL);
  Said said;
  said.out = Drain(out_reader.get());
  said.err = Drain(err_reader.get());
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

Result<Bubblewrap> Find() {
  std::string problem;
  for (const char* place : kPlaces) {
    struct stat status;
    if (stat(place, &status) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_uid != 0 || (status.st_mode & 0022) != 0 ||
        (status.st_mode & 0111) == 0) {
      problem = std::string(place) + " is not root's alone";
      continue;
    }
    return Bubblewrap{.program = place, .setuid = (status.st_mode & S_ISUID) != 0};
  }
  return base::Unsupported(problem.empty() ? "bubblewrap is not installed" : problem,
                           problem.empty() ? "apt install bubblewrap, if user namespaces are off"
                                           : "install the distribution's bubblewrap again");
}

struct Phrase {
  std::string_view said;
  const char* detail;
  const char* remedy;
};

constexpr const char* kProfile =
    "load the AppArmor profile of bwrap (Ubuntu: apt install apparmor-profiles, and link "
    "bwrap-userns-restrict into /etc/apparmor.d)";

// The first that fits. By what people have met.
constexpr Phrase kPhrases[] = {
    {"Unknown option", "it is too old", "bubblewrap 0.8.0 or later is needed"},
    {"mount proc", "a new /proc cannot be mounted where parts of this one are covered",
     "start the container with an uncovered /proc (systempaths=unconfined), or set "
     "on_unavailable = \"warn\""},
    {"RTM_NEWADDR", "AppArmor takes the capabilities of its user namespace away", kProfile},
    {"setting up uid map", "user namespaces are denied to it", kProfile},
    {"No permissions to creat", "this kernel lets no unprivileged process make namespaces",
     "sysctl kernel.unprivileged_userns_clone=1, or install bubblewrap setuid root"},
    {"reating new namespace failed", "namespaces are denied to it, as container engines do",
     "let the container make user namespaces, or use --backend landlock"},
    {"make / slave", "mounts are denied to it, as container engines do",
     "let the container mount, or use --backend landlock"},
    {"pivot_root", "this root cannot be left: it is the initramfs, or a chroot",
     "use --backend landlock"},
    {"unexpected capabilities", "it was started with capabilities that it does not take",
     "start it as root or as an ordinary user"},
    {"find source path", "a path of the policy went away", "try again"},
    {"Can't mkdir", "a mount point cannot be made", "name a path that exists on this host"},
    {"Can't create file", "a mount point cannot be made", "name a path that exists on this host"},
};

bool LacksProc(const Said& said) { return said.err.find("mount proc") != std::string::npos; }

Error Failed(const Bubblewrap& bubblewrap, const Said& said) {
  Cause cause = BubblewrapCause(said.err);
  return base::Unsupported(bubblewrap.program + ": " + cause.detail, cause.remedy);
}

std::vector<std::string> TrialWords(const Bubblewrap& bubblewrap) {
  std::vector<std::string> words = {"bwrap", "--ro-bind", "/", "/"};
  for (std::string& flag : BubblewrapFlags(bubblewrap, OwnNetwork::kYes)) {
    words.push_back(std::move(flag));
  }
  for (const char* word : {"--", bubblewrap.program.c_str(), "--version"}) words.emplace_back(word);
  return words;
}

}  // namespace

std::vector<std::string> BubblewrapFlags(const Bubblewrap& bubblewrap, OwnNetwork network) {
  std::vector<std::string> flags = {"--as-pid-1", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                                    "--unshare-cgroup"};
  auto add = [&](std::initializer_list<const char*> words) {
    flags.insert(flags.end(), words.begin(), words.end());
  };
  // Where it is setuid it makes the others by root's power, and a user namespace
  // would not be ours.
  if (!bubblewrap.setuid) add({"--unshare-user", "--disable-userns"});
  if (network == OwnNetwork::kYes) add({"--unshare-net"});
  add({"--dev", "/dev"});
  if (bubblewrap.proc) add({"--proc", "/proc"});
  return flags;
}

bool IsRecentBubblewrap(std::string_view version) {
  int major = 0, minor = 0;
  std::string text(version);
  if (sscanf(text.c_str(), "bubblewrap %d.%d", &major, &minor) != 2) return false;
  return major > 0 || minor >= 8;
}

Cause BubblewrapCause(std::string_view said) {
  for (const Phrase& phrase : kPhrases) {
    if (said.find(phrase.said) != std::string_view::npos) {
      return {std::string(phrase.detail) + " (" + base::Printable(std::string(said)) + ")",
              phrase.remedy};
    }
  }
  std::string text = said.empty() ? "it ended without a word" : base::Printable(std::string(said));
  return {text, "run it by hand to see more, or use --backend landlock"};
}

Result<Bubblewrap> ProbeBubblewrap() {
  CORDON_ASSIGN_OR_RETURN(Bubblewrap bubblewrap, Find());
  std::optional<Said> said = Run(bubblewrap.program, TrialWords(bubblewrap));
  if (said && said->status != 0 && LacksProc(*said)) {
    bubblewrap.proc = false;
    said = Run(bubblewrap.program, TrialWords(bubblewrap));
  }
  if (!said) return base::SystemError("start " + bubblewrap.program, errno);
  if (said->status != 0) return Failed(bubblewrap, *said);
  if (!IsRecentBubblewrap(said->out)) {
    return base::Unsupported(bubblewrap.program + " is " + base::Printable(said->out),
                             "bubblewrap 0.8.0 or later is needed");
  }
  bubblewrap.version = said->out.substr(said->out.find(' ') + 1);
  return bubblewrap;
}

Finding ExamineBubblewrap() {
  Finding finding{.feature = "bubblewrap", .need = Need::kHelpful};
  Result<Bubblewrap> found = ProbeBubblewrap();
  if (!found) {
    finding.detail = found.error().message;
    finding.remedy = found.error().hint + ".";
    return finding;
  }
  finding.available = found->proc;
  finding.detail =
      found->program + " " + found->version + (found->proc ? "" : "; it cannot mount a /proc here");
  if (found->setuid) finding.detail += kSetuid;
  if (!found->proc) finding.remedy = BubblewrapCause("mount proc").remedy + ".";
  return finding;
}

}  // namespace cordon::host
