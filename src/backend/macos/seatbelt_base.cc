// Runs in: supervisor. Pure.
#include "backend/macos/seatbelt_base.h"

#include "plan/required.h"

namespace cordon::backend {

// The first denies are for operations that some versions of macOS leave out of
// `default`. kern.proc* is not listed: it tells the environment of every process
// of the user. Names: accounts and groups (opendirectoryd), os_log and syslog,
// notify(3), the per-user directories (dirhelper). Semaphores are Python's
// multiprocessing's.
const char kDenyDefault[] = R"((deny default)
(deny process-info* nvram* iokit-get-properties file-map-executable)

; processes
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.iossupportversion")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "vm.loadavg"))
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow ipc-posix-sem)
(allow ipc-posix-shm-read-data (ipc-posix-name "apple.shm.notification_center"))

; what a program is loaded from
(allow file-read* file-map-executable process-exec*
  (subpath "/Library/Apple")
  (subpath "/Library/Developer")
  (subpath "/System")
  (subpath "/bin")
  (subpath "/private/var/db/dyld")
  (subpath "/private/var/db/timezone")
  (subpath "/private/var/select")
  (subpath "/sbin")
  (subpath "/usr/bin")
  (subpath "/usr/lib")
  (subpath "/usr/libexec")
  (subpath "/usr/sbin")
  (subpath "/usr/share"))
)";

const char kAllowDefault[] = R"((allow default)
(deny file-link file-clone)
(deny appleevent-send job-creation lsopen)
(deny mach-lookup
  (global-name "com.apple.coreservices.appleevents")
  (global-name "com.apple.coreservices.launchservicesd"))
)";

const char kDevices[] = R"((allow pseudo-tty)
(allow file-read* file-write-data file-ioctl
  (literal "/dev/dtracehelper")
  (literal "/dev/null")
  (literal "/dev/ptmx")
  (literal "/dev/random")
  (literal "/dev/tty")
  (literal "/dev/urandom")
  (literal "/dev/zero")
  (subpath "/dev/fd")
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
)";

const char kLinks[] = R"((allow file-read-metadata
  (literal "/etc")
  (literal "/home")
  (literal "/tmp")
  (literal "/var"))
)";

// Without configd some HTTP clients end before they have read the environment.
const char kProxiedNetwork[] = R"((allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd"))
)";

// trustd fetches what a certificate names: it is a way out, and so only there
// where all ways are open.
const char kOpenNetwork[] = R"((allow network-outbound
  (remote ip "*:*")
  (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))
(allow network-bind network-inbound (local ip "*:*"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent"))
)";

const char kOpenLessSockets[] = R"((deny network-outbound (remote unix-socket))
(allow network-outbound
  (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))
)";

const char kOwnSockets[] = R"((allow network-bind (local unix-socket (subpath (param "TMPDIR"))))
(allow network-inbound (local unix-socket (subpath (param "TMPDIR"))))
(allow network-outbound (remote unix-socket (subpath (param "TMPDIR"))))
)";

std::vector<Enforcement> SeatbeltEnforcement(const plan::Plan& plan) {
  bool open = plan.net.mode == NetMode::kOpen;
  bool floor = false;
  for (const Enforcement& item : plan.enforcement) {
    if (item.feature == "fs.floor") floor = item.level != Level::kNone;
  }
  std::vector<Enforcement> list = {
      {"fs.read", "seatbelt", Level::kFull, ""},
      {"fs.write", "seatbelt", Level::kFull, ""},
      {"fs.floor", floor ? "seatbelt" : "", floor ? Level::kFull : Level::kNone,
       floor ? "" : "--no-floor"},
      {"net",
       open                 ? ""
       : plan.net.proxied() ? "seatbelt, proxy"
                            : "seatbelt",
       open ? Level::kNone : Level::kFull, open ? "net.mode is \"open\"" : ""},
      {"unix", "seatbelt", Level::kFull, ""},
      {"ipc", "seatbelt", Level::kPartial, "semaphores are shared with the host"},
      {"pid", "seatbelt", Level::kPartial, "nothing ends what outlives the command"},
      {"seccomp", "seatbelt", Level::kPartial, "macOS filters operations, not system calls"},
      {"env", "clean environment", Level::kFull, ""},
      {"tty", "seatbelt", Level::kPartial, "the caller's terminal is the command's"},
  };
  const LimitPolicy& limits = plan.limits;
  list.push_back(
      plan::OfLimit("limits.cpu", limits.cpu_ms, "rlimit", Level::kPartial, "of each process"));
  list.push_back(plan::OfLimit("limits.memory", limits.memory, "", Level::kNone,
                               "macOS does not enforce one without root"));
  list.push_back(plan::OfLimit("limits.processes", limits.processes, "rlimit", Level::kPartial,
                               "all of the user's processes count"));
  list.push_back(plan::OfLimit("limits.files", limits.open_files, "rlimit", Level::kFull, ""));
  list.push_back({"limits.disk", "", Level::kNone, "no limit set"});
  return list;
}

}  // namespace cordon::backend
