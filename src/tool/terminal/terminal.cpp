// Sets the modes of the terminal and handles its signals. A signal handler may only touch the members of
// State.
#include "tool/terminal/terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "ringcraft/core/error.hpp"

namespace ringcraft::tool {
namespace {

constexpr std::array kTold{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

struct State {
  termios before{};
  volatile sig_atomic_t raw = 0;
  int pipe[2] = {-1, -1};
  std::array<struct sigaction, kTold.size()> told{};
  std::array<struct sigaction, kCrashes.size()> crashes{};
} the_terminal;

void restore() {
  if (the_terminal.raw == 0) return;
  the_terminal.raw = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &the_terminal.before);
}

// Keys at once and without echo; Ctrl-C and Ctrl-Z stay signals, and output is unchanged.
void enter() {
  termios keys = the_terminal.before;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  the_terminal.raw = 1;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
}

extern "C" void tell(int signal) {
  const int kept = errno;
  const auto byte = static_cast<unsigned char>(signal);
  (void)!::write(the_terminal.pipe[1], &byte, 1);
  errno = kept;
}

extern "C" void restore_and_crash(int signal) {
  restore();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

template <std::size_t N>
void install(const std::array<int, N>& signals, std::array<struct sigaction, N>& before,
             void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < N; ++i) {
    ::sigaction(signals[i], nullptr, &before[i]);
    // A signal that the parent ignores stays ignored (nohup).
    if (before[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &action, nullptr);
  }
}

template <std::size_t N>
void uninstall(const std::array<int, N>& signals, const std::array<struct sigaction, N>& before) {
  for (std::size_t i = 0; i < N; ++i) ::sigaction(signals[i], &before[i], nullptr);
}

}  // namespace

std::string KeyParser::feed(std::string_view bytes) {
  std::string keys;
  for (const char byte : bytes) {
    const auto sign = static_cast<unsigned char>(byte);
    switch (state_) {
      case State::kEscape:  // ESC [ ... letter, ESC O letter, or Alt with a letter
        state_ = byte == '[' ? State::kSequence : byte == 'O' ? State::kOneMore : State::kPlain;
        break;
      case State::kSequence:
        if (sign >= 0x40 && sign <= 0x7E) state_ = State::kPlain;
        break;
      case State::kOneMore:
        state_ = State::kPlain;
        break;
      case State::kPlain:
        if (byte == '\x1b')
          state_ = State::kEscape;
        else if (byte == '\x04')
          keys += 'q';
        else if (sign > ' ' && sign < 0x7F)
          keys += static_cast<char>(std::tolower(sign));
    }
  }
  if (state_ == State::kEscape) state_ = State::kPlain;  // the key Esc itself
  return keys;
}

bool on_terminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

WindowSize window_size() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  const char* columns = std::getenv("COLUMNS");
  const long typed = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  const std::size_t fallback = typed >= 20 && typed <= 1000 ? static_cast<std::size_t>(typed) : 80;
  return {known && size.ws_col > 0 ? size.ws_col : fallback, known && size.ws_row > 0 ? size.ws_row : 24u};
}

Terminal::Terminal() {
  if (!on_terminal() || ::tcgetattr(STDIN_FILENO, &the_terminal.before) != 0)
    throw Error("watch needs a terminal to read keys from; without one, ./ringcraft check says the same");
  if (::pipe2(the_terminal.pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error("watch: the system gives no pipe; close other programs and try again", Code::kMissing);
  install(kTold, the_terminal.told, tell);
  install(kCrashes, the_terminal.crashes, restore_and_crash);
  enter();
}

Terminal::~Terminal() {
  restore();
  uninstall(kTold, the_terminal.told);
  uninstall(kCrashes, the_terminal.crashes);
  ::close(the_terminal.pipe[0]);
  ::close(the_terminal.pipe[1]);
}

std::string Terminal::keys() {
  char bytes[64];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return "q";
  return got < 0 ? "" : parser_.feed({bytes, static_cast<std::size_t>(got)});
}

int Terminal::signals() const { return the_terminal.pipe[0]; }

std::optional<int> Terminal::signal() {
  unsigned char byte = 0;
  if (::read(the_terminal.pipe[0], &byte, 1) != 1) return std::nullopt;
  return byte;
}

void Terminal::suspend() {
  restore();
  struct sigaction told {
  }, plain{};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &plain, &told);
  ::raise(SIGTSTP);
  ::sigaction(SIGTSTP, &told, nullptr);
  resume();
}

void Terminal::resume() { enter(); }

void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  ::_exit(128 + signal);
}

}  // namespace ringcraft::tool
