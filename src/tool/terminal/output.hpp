#pragma once
// Output for people and for programs: a progress bar on standard error, which shows once two seconds have
// passed and only on a terminal, amounts of bytes, and a report written as JSON.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "verify/report/report.hpp"

namespace ringcraft::tool {

class Progress {
 public:
  // `total` units of work lie ahead; the caller defines a unit. Ctrl-C shows the words if there is a
  // terminal.
  explicit Progress(double total, const char* when_stopped = "");
  ~Progress();
  // Shows the current step and the share of the work that is done.
  void at(double done, const std::string& what);

 private:
  void clear();

  double total_;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// "12.58 MB", "1.50 kB", "12 B"; an MB is a million bytes.
std::string bytes_text(double bytes);

// Colour if standard output is a terminal that has some (TERM is not dumb) and NO_COLOR is not set.
verify::Colour colour();

// NAME=value of this process's environment, for a child process.
std::vector<std::string> whole_environment();

// Writes the file that `flag` asks for. Throws Error if it cannot be written.
void write_text(const std::string& flag, const std::string& path, const std::string& text);

// Throws Error if the file that `flag` asks for cannot be written: to be called before the work, not after
// it. An empty path asks for nothing.
void require_writable(const std::string& flag, const std::string& path);

// Whether two paths name one file, which need not be there yet.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

// Throws Error if `written`, the value of `flag`, is the file that the call reads: nothing of the user's is
// overwritten.
void require_other_file(const std::string& flag, const std::filesystem::path& written,
                        const std::filesystem::path& read);

// Writes a report for programs, for --json.
void write_json(const std::string& path, const verify::Report& report);

}  // namespace ringcraft::tool
