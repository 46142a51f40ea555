#pragma once
/// @file
/// Child processes of the judge: compilers and workers. A child has a process group, limits and an
/// environment of its own, inherits no descriptor but its standard three and the wire, and is killed and
/// reaped at the latest when its Child is destroyed. Nothing here ever blocks without a deadline.

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "process/descriptor.hpp"
#include "process/reach.hpp"

namespace ringcraft::process {

using Clock = std::chrono::steady_clock;

/// Limits of a child; 0 means no limit.
struct Limits {
  rlim_t cpu_seconds = 0;
  rlim_t address_bytes = 0;
  rlim_t file_bytes = 0;
  std::size_t threads =
      0;  ///< at one time; counted now and then. 1, of one that is locked: it can start none
  /// Whether it is locked up (lock.hpp) before it begins. The program must need no other file to begin with,
  /// no library either.
  bool locked = false;
};

/// The file that a child gets as kWireDescriptor (descriptor_numbers.hpp).
enum class Wire : char {
  kNothing,
  kSocket,  ///< to the judge
  kFile,    ///< Command::reply
};

/// Where a child's standard output and error go.
enum class Prints : char {
  kToUs,      ///< into Child::printed
  kWithOurs,  ///< where those of this process go
};

/// From here on every child runs as this user, and in the group of the same number, unless its command says
/// otherwise. Only root may: throws Error (kMissing) for anyone else. Before the first child.
void run_children_as(uid_t user);
/// That user; empty if children run as this process does.
std::optional<uid_t> other_user();

/// The program to start, and how.
struct Command {
  std::vector<std::string> arguments;    ///< the first is the program, an absolute path
  std::vector<std::string> environment;  ///< NAME=value, and nothing else
  std::filesystem::path folder;          ///< working directory; empty: the judge's
  Limits limits;
  std::optional<Reach> reach;                ///< the files that it may open by name; without: all
  std::optional<uid_t> user = other_user();  ///< the user, and the group, that it runs as; without: ours
  std::filesystem::path group = {};          ///< the folder of a control group that it begins in; empty: ours
  std::filesystem::path input = "/dev/null";  ///< its standard input
  Wire wire = Wire::kNothing;
  std::filesystem::path reply;  ///< an empty file for it to write to
  bool sees_itself = false;     ///< whether its own program is open for reading as kProgramDescriptor
  Prints prints = Prints::kToUs;
  std::size_t output_limit = std::size_t{64} << 10;  ///< bytes of standard output and error that are kept
};

/// Adds those of these variables that this process has to a child's environment.
void inherit(std::vector<std::string>& environment, std::initializer_list<const char*> names);

/// How a child ended.
struct Ending {
  bool signalled = false;
  int number = 0;  ///< the signal, or the exit code
};

/// "crashed (segmentation fault)", "ended itself with exit code 0", "used up its processor time" ...
std::string described(const Ending& ending);

/// A running child.
class Child {
 public:
  /// Starts it. Throws Error (kMissing) if the system gives no process or no pipe.
  explicit Child(const Command& command);
  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) noexcept = default;
  ~Child();

  /// The judge's end of the socket, non-blocking; not open without Wire::kSocket.
  const Descriptor& wire() const { return wire_; }
  /// Reading end of its standard output and error, non-blocking.
  const Descriptor& output() const { return output_; }

  /// Takes what the child has printed; keeps the first output_limit bytes. False when there will be no more:
  /// the output is closed then.
  bool read_output();
  const std::string& printed() const { return printed_; }
  /// Forgets what was printed, so that output_limit counts from here.
  void forget_output() { printed_.clear(); }
  /// Whether it printed more than the limit.
  bool flooded() const { return flooded_; }
  /// Whether it has more threads than it may. A look at /proc; at most one in 50 ms is taken.
  bool crowded();
  /// The processor seconds that it has spent so far, in all its threads; 0 once it has been reaped.
  double processor_seconds() const;

  /// How it ended, if it has ended by this time.
  std::optional<Ending> wait_until(Clock::time_point deadline);
  /// Asks the whole process group to end (SIGTERM), which gives it the time to end its own children.
  void ask_to_end() const;
  /// Kills the whole process group and reaps the child.
  void stop();

 private:
  struct Pid {  // a moved-from child has none
    pid_t value = -1;
    Pid() = default;
    Pid(Pid&& other) noexcept : value(std::exchange(other.value, -1)) {}
    Pid& operator=(Pid&& other) noexcept {
      std::swap(value, other.value);
      return *this;
    }
  };

  Pid pid_;
  std::optional<Ending> ending_;
  Descriptor wire_, output_;
  std::string printed_;
  std::size_t output_limit_, most_threads_;
  Clock::time_point counted_;  // its threads, the last time
  bool flooded_ = false, crowded_ = false;
};

/// From now on a signal that ends this program (SIGINT, SIGTERM, SIGHUP, SIGQUIT) first kills every running
/// Child with its whole process group: compilers leave no files and no processes.
void end_children_on_signals();

/// Result of a finished command.
struct Finished {
  Ending ending;
  std::string printed;     ///< standard output and error, as far as kept
  bool timed_out = false;  ///< it was killed at the deadline
  bool crowded = false;    ///< it was killed for its threads
  bool good() const { return !timed_out && !crowded && !ending.signalled && ending.number == 0; }
};

/// Runs a command to its end, at most this long.
Finished run_command(const Command& command, std::chrono::seconds limit);

}  // namespace ringcraft::process
