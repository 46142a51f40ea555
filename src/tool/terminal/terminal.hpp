#pragma once
// A terminal that delivers single keys. Its modes are restored at every end of the program, by quitting, a
// signal or a crash, and while it is stopped. Nothing is drawn: no second screen, no cursor that moves, so it
// works on any terminal and in a log.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ringcraft::tool {

// Bytes of a keyboard to keys: letters in lower case, digits and signs. Arrow keys, function keys, Alt with a
// letter and letters beyond ASCII are no keys; the end of input (Ctrl-D) is 'q'.
class KeyParser {
 public:
  // The keys of the bytes of one read. A sequence that is cut in two continues with the next bytes.
  std::string feed(std::string_view bytes);

 private:
  enum class State { kPlain, kEscape, kSequence, kOneMore } state_ = State::kPlain;
};

// Whether standard input and output are a terminal.
bool on_terminal();

// Columns and lines of standard output: the terminal's, else $COLUMNS by 24, else 80 by 24.
struct WindowSize {
  std::size_t columns, lines;
};
WindowSize window_size();

// Keys without Enter and without echo while it lives. One at a time.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // The keys typed since the last call; 'q' when the terminal has gone away.
  std::string keys();
  // Readable when a signal has come: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT or SIGWINCH.
  int signals() const;
  // The oldest signal that has come; nothing if there is none.
  std::optional<int> signal();
  // Stops the program as Ctrl-Z does, with the terminal restored; returns when it is continued.
  void suspend();
  // Single keys again, after the program was continued.
  void resume();

 private:
  KeyParser parser_;
};

// Ends this program by the signal's default action, so that its parent sees why.
[[noreturn]] void end_by(int signal);

}  // namespace ringcraft::tool
