// Starts children with pipes and limits, and kills them when the time is up.
#include "process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "process/descriptor_numbers.hpp"
#include "process/lock.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::process {
namespace {

// ---- the child's side between fork and exec: nothing but system calls

struct Prepared {
  std::vector<char*> arguments, environment;
  const char *path, *folder;
  Limits limits;
  int input, output, error, wire, program, reach, group;
  bool sees_itself;
  std::optional<uid_t> user;
};

// The system calls themselves: the C library's functions would wait for other threads, which a fork does
// not copy.
bool become_user(uid_t user) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setresgid, user, user, user) == 0 &&
         ::syscall(SYS_setresuid, user, user, user) == 0;
}

void limit(int resource, rlim_t value) {
  if (value == 0) return;
  const rlimit soft_and_hard{value, value + 1};  // the hard limit on time would be a plain kill
  ::setrlimit(static_cast<__rlimit_resource>(resource), &soft_and_hard);
}

void put_at(int number, int descriptor, int flags) {
  if (descriptor >= 0)
    ::dup3(descriptor, number, flags);
  else
    ::close(number);
}

void close_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0u, 0) == 0) return;
  for (int fd = first; fd < 1024; ++fd) ::close(fd);
}

[[noreturn]] void become(const Prepared& prepared) {
  ::setpgid(0, 0);
  if (prepared.group >= 0 && ::write(prepared.group, "0", 1) != 1) ::_exit(127);
  if (prepared.user && !become_user(*prepared.user)) ::_exit(127);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a judge that dies takes its children along
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  ::dup2(prepared.input, 0);
  ::dup2(prepared.output, 1);
  ::dup2(prepared.error, 2);
  if (prepared.reach >= 0 && !hold_to(prepared.reach)) ::_exit(127);
  put_at(kWireDescriptor, prepared.wire, 0);
  put_at(kProgramDescriptor, prepared.program, prepared.sees_itself ? 0 : O_CLOEXEC);
  close_from(kProgramDescriptor + 1);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit(RLIMIT_CPU, prepared.limits.cpu_seconds);
  limit(RLIMIT_AS, prepared.limits.address_bytes);
  limit(RLIMIT_FSIZE, prepared.limits.file_bytes);
  if (*prepared.folder != '\0' && ::chdir(prepared.folder) != 0) ::_exit(127);
  if (prepared.limits.locked) {
    const OneStart start{kProgramDescriptor, "", prepared.arguments.data(), prepared.environment.data()};
    lock_up(&start, prepared.limits.threads != 1);
    ::syscall(SYS_execveat, long{start.program}, start.path, start.arguments, start.environment,
              long{AT_EMPTY_PATH});
  } else {
    ::execve(prepared.path, prepared.arguments.data(), prepared.environment.data());
  }
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

// The hard limit of the calling shell must suffice: else that limit would look like a fault of the child.
void require_room(int resource, rlim_t value, const char* what, const char* flag) {
  rlimit given{};
  if (value == 0 || ::getrlimit(static_cast<__rlimit_resource>(resource), &given) != 0) return;
  if (given.rlim_max >= value) return;
  throw Error("judge", std::to_string(value) + what, "a limit of " + std::to_string(given.rlim_max),
              std::string("lift the limit of this shell (ulimit ") + flag + "), or use another one",
              Code::kMissing);
}

Descriptor opened(const std::filesystem::path& file, int how) {
  const int descriptor = ::open(file.c_str(), how | O_CLOEXEC);
  if (descriptor < 0) not_given("access to " + file.string());
  return Descriptor(descriptor);
}

int milliseconds_to(Clock::time_point deadline, std::int64_t most) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
}

std::optional<uid_t> user_of_children;

}  // namespace

void run_children_as(uid_t user) {
  if (::geteuid() != 0)
    throw Error("children as another user", "root", "user " + std::to_string(::geteuid()),
                "call it as root, or leave this out", Code::kMissing);
  user_of_children = user;
}

std::optional<uid_t> other_user() { return user_of_children; }

// ---- Child

Child::Child(const Command& command)
    : output_limit_(command.output_limit), most_threads_(command.limits.threads), counted_(Clock::now()) {
  require_room(RLIMIT_AS, command.limits.address_bytes, " bytes of addresses", "-v");
  require_room(RLIMIT_FSIZE, command.limits.file_bytes, " bytes for a file", "-f");
  require_room(RLIMIT_CPU, command.limits.cpu_seconds, " s of processor time", "-t");
  int pipe_ends[2], socket_ends[2] = {-1, -1};
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) not_given("pipe");
  output_ = Descriptor(pipe_ends[0]);
  const Descriptor output_end(pipe_ends[1]), input = opened(command.input, O_RDONLY);
  Descriptor wire_end, program;
  if (command.wire == Wire::kSocket) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_ends) != 0) not_given("socket");
    wire_ = Descriptor(socket_ends[0]);
    wire_end = Descriptor(socket_ends[1]);
    wire_.set_nonblocking();
  } else if (command.wire == Wire::kFile) {
    wire_end = opened(command.reply, O_WRONLY);
  }
  output_.set_nonblocking();
  std::vector<std::string> arguments = command.arguments;
  if (command.limits.locked || command.sees_itself) program = opened(arguments[0], O_RDONLY);
  if (command.limits.locked) arguments[0] = std::filesystem::path(arguments[0]).filename();

  const Descriptor group =
      command.group.empty() ? Descriptor() : opened(command.group / "cgroup.procs", O_WRONLY);
  const Descriptor reach = command.reach ? rules_of(*command.reach) : Descriptor();
  const std::string folder = command.folder.string();
  const bool with_ours = command.prints == Prints::kWithOurs;
  const Prepared prepared{pointers(arguments),
                          pointers(command.environment),
                          command.arguments[0].c_str(),
                          folder.c_str(),
                          command.limits,
                          input.get(),
                          with_ours ? 1 : output_end.get(),
                          with_ours ? 2 : output_end.get(),
                          wire_end.get(),
                          program.get(),
                          reach.get(),
                          group.get(),
                          command.sees_itself,
                          command.user};
  pid_.value = ::fork();
  if (pid_.value == 0) become(prepared);
  if (pid_.value < 0) not_given("process");
  ::setpgid(pid_.value, pid_.value);  // both sides do it; the order does not matter
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

// A folder of threads has a link for each, and two of its own.
bool Child::crowded() {
  using namespace std::chrono_literals;
  if (most_threads_ == 0 || crowded_ || Clock::now() < counted_ + 50ms) return crowded_;
  counted_ = Clock::now();
  struct stat threads {};
  const std::string folder = "/proc/" + std::to_string(pid_.value) + "/task";
  return crowded_ = ::stat(folder.c_str(), &threads) == 0 && threads.st_nlink > most_threads_ + 2;
}

double Child::processor_seconds() const {
  clockid_t clock;
  timespec spent{};
  if (pid_.value <= 0 || ending_ || ::clock_getcpuclockid(pid_.value, &clock) != 0 ||
      ::clock_gettime(clock, &spent) != 0)
    return 0;
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
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
  const auto too_much = [&] { return child.flooded() || child.crowded(); };
  while (!too_much() && Clock::now() < deadline) {
    ::poll(&ready, 1, milliseconds_to(deadline, command.limits.threads > 0 ? 100 : 1000));
    if (!child.read_output()) break;
  }
  const bool stopped = too_much();
  const auto ending = child.wait_until(stopped ? Clock::now() : deadline);
  child.stop();
  return {ending.value_or(Ending{true, SIGKILL}), child.printed(), !ending && !stopped, child.crowded()};
}

}  // namespace ringcraft::process
