// The filter of system calls of a worker (see lock_up.hpp). A second one, which child.cpp sets, ends whoever
// starts a process; it knows the architecture already.
#include "judge/worker/lock_up.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace ringcraft::judge {
namespace {

constexpr unsigned kRefused = SECCOMP_RET_ERRNO | EACCES;

// What fails for whomever asks.
constexpr unsigned kForbidden[] = {
    // files
    SYS_openat, SYS_openat2, SYS_open_by_handle_at, SYS_unlinkat, SYS_renameat2, SYS_mkdirat, SYS_linkat,
    SYS_symlinkat, SYS_fchmodat, SYS_fchownat, SYS_truncate, SYS_mknodat, SYS_mount, SYS_chroot,
    // sockets, and kernel services that reach past this filter
    SYS_socket, SYS_socketpair, SYS_io_uring_setup, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl,
    SYS_add_key, SYS_request_key, SYS_unshare, SYS_setns,
    // other programs and processes
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open,
    SYS_pidfd_send_signal, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#if defined(__x86_64__)  // older names of the same
    SYS_open, SYS_creat, SYS_unlink, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_link, SYS_symlink,
    SYS_chmod, SYS_chown, SYS_lchown, SYS_mknod,
#endif
};

constexpr auto kCall = offsetof(seccomp_data, nr), kFirstArgument = offsetof(seccomp_data, args);

}  // namespace

void lock_up() {
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(RINGCRAFT_SANITIZED)
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCall)};
  for (const unsigned call : kForbidden) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kRefused));
  }
  // A signal may go to this process only: abort() sends one.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 1, 0));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 0, 3));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirstArgument));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(::getpid()), 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kRefused));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
#endif
}

}  // namespace ringcraft::judge
