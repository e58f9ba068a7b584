// System calls with no libc behind them: no errno, no allocation, no locale,
// no cancellation. This is all that the code between clone and exec (spawn/
// child.cc) and the sandbox's init (spawn/init.cc, which has no libc at all)
// may use. Every call returns the kernel's own value: negative errno on failure.
#pragma once

#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

namespace cordon::raw {

#if defined(__x86_64__)

inline long Syscall(long nr, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                    long f = 0) noexcept {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

inline long Syscall(long nr, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                    long f = 0) noexcept {
  register long x8 __asm__("x8") = nr;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory", "cc");
  return x0;
}

#else
#error "cordon runs on x86_64 and aarch64"
#endif

template <typename T>
inline long Arg(T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

// struct clone_args of the kernel, up to the cgroup field (Linux 5.7).
struct CloneArgs {
  uint64_t flags;
  uint64_t pidfd;
  uint64_t child_tid;
  uint64_t parent_tid;
  uint64_t exit_signal;
  uint64_t stack;
  uint64_t stack_size;
  uint64_t tls;
  uint64_t set_tid;
  uint64_t set_tid_size;
  uint64_t cgroup;
};

// The clone or clone3 system call with two arguments. The child, on the stack
// that they name, runs `entry(argument)` and exits with what that returns.
#if defined(__x86_64__)

__attribute__((noinline)) inline long CloneCall(long nr, long first, long second,
                                                int (*entry)(void*), void* argument) noexcept {
  long result;
  register long r10 __asm__("r10") = 0;
  register int (*r8)(void*) __asm__("r8") = entry;
  register void* r9 __asm__("r9") = argument;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r9, %%rdi\n\t"
      "call *%%r8\n\t"
      "mov %%eax, %%edi\n\t"
      "mov $60, %%eax\n\t"  // exit
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "a"(nr), "D"(first), "S"(second), "d"(0L), "r"(r10), "r"(r8), "r"(r9)
      : "rcx", "r11", "memory");
  return result;
}

#else

__attribute__((noinline)) inline long CloneCall(long nr, long first, long second,
                                                int (*entry)(void*), void* argument) noexcept {
  register long x8 __asm__("x8") = nr;
  register long x0 __asm__("x0") = first;
  register long x1 __asm__("x1") = second;
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  register int (*x10)(void*) __asm__("x10") = entry;
  register void* x11 __asm__("x11") = argument;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x11\n\t"
      "blr x10\n\t"
      "mov x8, #93\n\t"  // exit
      "svc 0\n\t"
      "brk #1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x10), "r"(x11)
      : "memory", "cc", "x30");
  return x0;
}

#endif

// clone(CLONE_VM | CLONE_VFORK) onto the stack that ends at `stack_top`: the
// caller waits until the child has exec'd or exited. Returns the child's pid.
inline long CloneVfork(char* stack_top, int (*entry)(void*), void* argument) noexcept {
  constexpr long kFlags = 0x00000100 | 0x00004000 | 17;  // CLONE_VM | CLONE_VFORK | SIGCHLD
  return CloneCall(__NR_clone, kFlags, Arg(stack_top), entry, argument);
}

// clone3 onto a stack of the child's own: `args.stack` and `args.stack_size` are required.
inline long Clone3(const CloneArgs& args, int (*entry)(void*), void* argument) noexcept {
  return CloneCall(__NR_clone3, Arg(&args), sizeof(args), entry, argument);
}

// As Clone3. Container engines answer ENOSYS or EPERM to clone3, whose flags they cannot
// see: clone does without CLONE_PIDFD and CLONE_CLEAR_SIGHAND, which the caller makes up for.
inline long CloneAnyway(const CloneArgs& args, int (*entry)(void*), void* argument) noexcept {
  long result = Clone3(args, entry, argument);
  constexpr long kNoSuchCall = -38, kRefused = -1;
  constexpr uint64_t kPidfd = 0x1000, kNamespaces = 0x7e020080;
  bool plain = (args.flags & kNamespaces) == 0;
  if (result != kNoSuchCall && !(result == kRefused && plain)) return result;
  auto flags = static_cast<long>((args.flags & 0xffffffff & ~kPidfd) | args.exit_signal);
  return CloneCall(__NR_clone, flags, static_cast<long>(args.stack + args.stack_size), entry,
                   argument);
}

inline size_t Length(const char* text) noexcept {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

[[noreturn]] inline void ExitGroup(int status) noexcept {
  while (true) Syscall(__NR_exit_group, status);
}

}  // namespace cordon::raw
