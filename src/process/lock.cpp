// Builds and installs the filter of system calls.
#include "process/lock.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace ringcraft::process {

#if defined(__x86_64__) || defined(__aarch64__)
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// Whatever is not here, and not below, fails or ends the process.
// clang-format off
constexpr unsigned kAllowed[] = {
    // what is open already
    SYS_read, SYS_pread64, SYS_write, SYS_readv, SYS_writev, SYS_recvfrom, SYS_sendto, SYS_ppoll, SYS_close, SYS_dup,
    SYS_dup3, SYS_lseek, SYS_fstat,
    // memory
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_brk,
    // threads, and their ends
    SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_membarrier,
    SYS_set_tid_address, SYS_sched_yield, SYS_getcpu, SYS_exit, SYS_exit_group,
    // signals of its own
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_sigaltstack, SYS_restart_syscall,
    // clocks, and who one is
    SYS_nanosleep, SYS_gettimeofday, SYS_times,
    SYS_getrusage, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname,
    SYS_sysinfo, SYS_getrandom,
#if defined(__x86_64__)  // older names of the same
    SYS_poll, SYS_dup2, SYS_pause, SYS_time, SYS_arch_prctl,
#endif
};
// clang-format on

// A program never needs one of these: the call ends the process, and the verdict says why. (The C library
// itself opens files now and then, and goes on without them.)
constexpr unsigned kEnding[] = {
    SYS_socket, SYS_execve, SYS_execveat,
#if defined(__x86_64__)
    SYS_fork,   SYS_vfork,
#endif
};

// As pthread_create starts one.
constexpr unsigned kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                             CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
constexpr unsigned kClocks[] = {CLOCK_REALTIME,          CLOCK_MONOTONIC,     CLOCK_PROCESS_CPUTIME_ID,
                                CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
                                CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME};
constexpr unsigned kAdvice[] = {MADV_NORMAL,   MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                                MADV_DONTNEED, MADV_FREE,   MADV_HUGEPAGE,   MADV_NOHUGEPAGE};

constexpr unsigned kRefused = SECCOMP_RET_ERRNO | EACCES;
constexpr unsigned kEnds = SECCOMP_RET_KILL_PROCESS;
constexpr auto kCall = offsetof(seccomp_data, nr);
constexpr unsigned low_half(unsigned i) { return offsetof(seccomp_data, args) + 8 * i; }
constexpr unsigned high_half(unsigned i) { return low_half(i) + 4; }  // both machines are little-endian

// The program, written without a call that a student's file could have replaced.
struct Program {
  sock_filter lines[2 * (std::size(kAllowed) + std::size(kEnding)) + 200];
  unsigned size = 0;

  void add(sock_filter line) { lines[size++] = line; }
  void load(unsigned offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void decide(unsigned verdict) { add(BPF_STMT(BPF_RET | BPF_K, verdict)); }
  void decide_if(unsigned value, unsigned verdict) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    decide(verdict);
  }
  void decide_unless(unsigned value, unsigned verdict) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    decide(verdict);
  }
  void allow_if(unsigned value) { decide_if(value, SECCOMP_RET_ALLOW); }
  // The call is allowed with one of these values of an argument, and with no other.
  template <std::size_t kCount>
  void allow_with(unsigned call, unsigned which, const unsigned (&values)[kCount]) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 2 * kCount + 2));
    load(low_half(which));
    for (const unsigned value : values) allow_if(value);
    decide(kRefused);
  }
  // A thread is a clone with the flags of the C library's. Those of clone3 cannot be seen from here; without
  // it the C library falls back to clone.
  void allow_threads() {
    decide_if(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    load(low_half(0));
    decide_if(kThread, SECCOMP_RET_ALLOW);
    decide(kEnds);
  }
  void allow_once(const OneStart& start) {
    const std::uint64_t arguments[] = {
        static_cast<unsigned>(start.program), reinterpret_cast<std::uintptr_t>(start.path),
        reinterpret_cast<std::uintptr_t>(start.arguments),
        reinterpret_cast<std::uintptr_t>(start.environment), unsigned{AT_EMPTY_PATH}};
    constexpr unsigned kLines = 6 * std::size(arguments) + 1;
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, kLines));
    for (unsigned i = 0; i < std::size(arguments); ++i) {
      load(low_half(i));
      decide_unless(static_cast<unsigned>(arguments[i]), kEnds);
      load(high_half(i));
      decide_unless(static_cast<unsigned>(arguments[i] >> 32), kEnds);
    }
    decide(SECCOMP_RET_ALLOW);
  }
};

}  // namespace

void lock_up(const OneStart* start, bool threads) {
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.decide_unless(kArchitecture, kEnds);
  program.load(kCall);
#if defined(__x86_64__)
  program.add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));  // the calls of x32
  program.decide(kEnds);
#endif
  for (const unsigned call : kAllowed) program.allow_if(call);
  if (threads) program.allow_threads();
  for (const unsigned call : {SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep})
    program.allow_with(call, 0, kClocks);  // no other process's
  program.allow_with(SYS_madvise, 2, kAdvice);
  if (start != nullptr) program.allow_once(*start);
  for (const unsigned call : kEnding) program.decide_if(call, kEnds);
  const unsigned self[] = {static_cast<unsigned>(::getpid())};
  program.allow_with(SYS_tgkill, 0, self);  // abort() sends a signal
  program.allow_with(SYS_kill, 0, self);
  program.allow_with(SYS_prlimit64, 0, {0u, self[0]});
  program.allow_with(SYS_sched_getaffinity, 0, {0u, self[0]});
  program.allow_with(SYS_fcntl, 1, {unsigned{F_GETFD}, unsigned{F_SETFD}, unsigned{F_GETFL}});
  program.allow_with(SYS_prctl, 0,
                     {unsigned{PR_SET_NO_NEW_PRIVS}, unsigned{PR_SET_SECCOMP}});  // a lock within
  program.decide(kRefused);
  const sock_fprog filter{static_cast<unsigned short>(program.size), program.lines};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

bool lock_is_held() {
  const std::uint32_t ends = SECCOMP_RET_KILL_PROCESS;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &ends) == 0;
}
#else
void lock_up(const OneStart*, bool) {}
bool lock_is_held() { return false; }
#endif

}  // namespace ringcraft::process
