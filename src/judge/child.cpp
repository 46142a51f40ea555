// Processes, pipes, limits (see child.hpp).
#include "judge/child.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "judge/protocol.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

[[noreturn]] void no_process(const std::string& what) {
  throw Error(
      "the system gives no " + what + " (" + std::strerror(errno) + "); close other programs and try again",
      Code::kMissing);
}

// ---- the child's side between fork and exec: nothing but system calls

struct Prepared {
  std::vector<char*> arguments, environment;
  const char* folder;
  Limits limits;
  int input, output, wire;
};

void limit(int resource, rlim_t value) {
  if (value == 0) return;
  const rlimit soft_and_hard{value, value + 1};  // the hard limit on time would be a plain kill
  ::setrlimit(static_cast<__rlimit_resource>(resource), &soft_and_hard);
}

void close_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0u, 0) == 0) return;
  for (int fd = first; fd < 1024; ++fd) ::close(fd);
}

// From here on whoever starts a process is ended. A thread is a clone that says so in its flags; those of
// clone3 cannot be seen from here, and without it the C library falls back to clone.
void forbid_processes() {
#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
  constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#else
  constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif
  sock_filter program[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
#if defined(__x86_64__)
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 8, 0),  // the calls of x32
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 7, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 6, 0),
#endif
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),  // its low half
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
#endif
}

[[noreturn]] void become(const Prepared& prepared) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a judge that dies takes its children along
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  ::dup2(prepared.input, 0);
  ::dup2(prepared.output, 1);
  ::dup2(prepared.output, 2);
  if (prepared.wire >= 0) ::dup2(prepared.wire, kWireDescriptor);
  close_from(prepared.wire >= 0 ? kWireDescriptor + 1 : 3);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit(RLIMIT_CPU, prepared.limits.cpu_seconds);
  limit(RLIMIT_AS, prepared.limits.address_bytes);
  limit(RLIMIT_FSIZE, prepared.limits.file_bytes);
  if (!prepared.limits.processes) forbid_processes();
  if (*prepared.folder == '\0' || ::chdir(prepared.folder) == 0)
    ::execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Process groups of running children, for a handler of signals; one that finds no room dies with this process
// alone.
std::array<std::atomic<pid_t>, 256> running;
static_assert(std::atomic<pid_t>::is_always_lock_free);

void exchange_running(pid_t from, pid_t to) {
  for (std::atomic<pid_t>& group : running) {
    pid_t expected = from;
    if (group.compare_exchange_strong(expected, to)) return;
  }
}

extern "C" void end_children(int signal) {
  for (const std::atomic<pid_t>& group : running)
    if (const pid_t id = group.load(); id > 0) ::kill(-id, SIGKILL);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// What the shell that this was started from allows at most must be enough: else its limit would look like a
// fault of the child.
void require_room(int resource, rlim_t value, const char* what, const char* flag) {
  rlimit given{};
  if (value == 0 || ::getrlimit(static_cast<__rlimit_resource>(resource), &given) != 0) return;
  if (given.rlim_max >= value) return;
  throw Error("judge", std::to_string(value) + what, "a limit of " + std::to_string(given.rlim_max),
              std::string("lift the limit of this shell (ulimit ") + flag + "), or use another one",
              Code::kMissing);
}

int milliseconds_to(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
}

}  // namespace

// ---- Descriptor

Descriptor::Descriptor(int fd) : fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 10)) {
  ::close(fd);
  if (fd_ < 0) no_process("file descriptor");
}
Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Descriptor::~Descriptor() { close(); }

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Descriptor::set_nonblocking() const { ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK); }

// ---- Child

Child::Child(const Command& command) : output_limit_(command.output_limit) {
  require_room(RLIMIT_AS, command.limits.address_bytes, " bytes of addresses", "-v");
  require_room(RLIMIT_FSIZE, command.limits.file_bytes, " bytes for a file", "-f");
  require_room(RLIMIT_CPU, command.limits.cpu_seconds, " s of processor time", "-t");
  int pipe_ends[2], socket_ends[2] = {-1, -1};
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) no_process("pipe");
  output_ = Descriptor(pipe_ends[0]);
  const Descriptor output_end(pipe_ends[1]), input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor wire_end;
  if (command.wire == Wire::kYes) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_ends) != 0) no_process("socket");
    wire_ = Descriptor(socket_ends[0]);
    wire_end = Descriptor(socket_ends[1]);
    wire_.set_nonblocking();
  }
  output_.set_nonblocking();

  const std::string folder = command.folder.string();
  const Prepared prepared{pointers(command.arguments),
                          pointers(command.environment),
                          folder.c_str(),
                          command.limits,
                          input.get(),
                          output_end.get(),
                          wire_end.get()};
  pid_.value = ::fork();
  if (pid_.value == 0) become(prepared);
  if (pid_.value < 0) no_process("process");
  ::setpgid(pid_.value, pid_.value);  // both sides do it: whoever comes first
  exchange_running(0, pid_.value);
}

Child::~Child() { stop(); }

bool Child::read_output() {
  char buffer[4096];
  while (output_.open() && !flooded_) {
    const ssize_t got = ::read(output_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return true;  // nothing more for now
    if (got == 0) output_.close();
    const std::size_t keep = std::min(static_cast<std::size_t>(got), output_limit_ - printed_.size());
    printed_.append(buffer, keep);
    flooded_ = keep < static_cast<std::size_t>(got);
  }
  return output_.open();
}

std::optional<Ending> Child::wait_until(Clock::time_point deadline) {
  while (!ending_ && pid_.value > 0) {
    int status = 0;
    const pid_t got = ::waitpid(pid_.value, &status, WNOHANG);
    if (got == pid_.value)
      ending_ = WIFSIGNALED(status) ? Ending{true, WTERMSIG(status)} : Ending{false, WEXITSTATUS(status)};
    else if (got < 0 && errno != EINTR)
      break;
    else if (Clock::now() >= deadline)
      break;
    else
      ::poll(nullptr, 0, 1);
  }
  return ending_;
}

void Child::ask_to_end() const {
  if (pid_.value > 0 && !ending_) ::kill(-pid_.value, SIGTERM);
}

void Child::stop() {
  if (pid_.value <= 0) return;
  ::kill(-pid_.value, SIGKILL);  // also what the child itself has started
  exchange_running(pid_.value, 0);
  if (!ending_) {
    ::kill(pid_.value, SIGKILL);
    int status = 0;
    while (::waitpid(pid_.value, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_.value = -1;
}

void end_children_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == SIG_DFL) ::signal(signal, end_children);  // what a parent has turned off stays off
  }
}

// ---- endings and commands

void inherit(std::vector<std::string>& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
}

std::string described(const Ending& ending) {
  if (!ending.signalled) return "ended itself with exit code " + std::to_string(ending.number);
  switch (ending.number) {
    case SIGSEGV:
      return "crashed (segmentation fault)";
    case SIGBUS:
      return "crashed (bus error)";
    case SIGFPE:
      return "crashed (arithmetic fault: an integer was divided by zero)";
    case SIGILL:
      return "crashed (illegal instruction: a function that must return a value ended without one?)";
    case SIGSYS:
      return "asked the system for a socket or another process, which no exercise needs, and was ended";
    case SIGABRT:
      return "crashed (aborted)";
    case SIGXCPU:
      return "used up its processor time";
    case SIGXFSZ:
      return "wrote a file that is too large";
    default:
      return "was ended by signal " + std::to_string(ending.number) + " (" + ::strsignal(ending.number) + ")";
  }
}

Finished run_command(const Command& command, std::chrono::seconds limit) {
  Child child(command);
  const auto deadline = Clock::now() + limit;
  pollfd ready{child.output().get(), POLLIN, 0};
  while (!child.flooded() && Clock::now() < deadline) {
    ::poll(&ready, 1, milliseconds_to(deadline));
    if (!child.read_output()) break;
  }
  const auto ending = child.wait_until(child.flooded() ? Clock::now() : deadline);
  child.stop();
  return {ending.value_or(Ending{true, SIGKILL}), child.printed(), !ending && !child.flooded()};
}

}  // namespace ringcraft::judge
