#pragma once
// A check in a separate process, which can be cancelled at any time, and its report on one screen.

#include <filesystem>
#include <optional>
#include <string>

#include "judge/build/toolchain.hpp"
#include "process/child.hpp"
#include "tool/terminal/terminal.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// A running `ringcraft check ID`.
class CheckRun {
 public:
  explicit CheckRun(const std::string& id);
  // Cancels it: the compiler, the workers and everything that they started end too.
  ~CheckRun();
  CheckRun(const CheckRun&) = delete;
  CheckRun& operator=(const CheckRun&) = delete;

  // Readable when something has happened to it.
  int descriptor() const { return child_.output().get(); }
  // Reads its output; true when it has ended.
  bool ended();
  double seconds() const;
  // Its report, once it has ended; nothing if it could not judge: said() gives the reason.
  std::optional<verify::Report> report() const;
  std::string said() const { return child_.printed(); }

 private:
  judge::WorkFolder folder_;
  process::Child child_;
  process::Clock::time_point begin_ = process::Clock::now();
};

// The text that verify::json_of wrote. Throws Error for anything else.
verify::Report report_of_json(const std::string& json);

// The report on one screen: warnings, the first failure in full, every other failure in one line, and the
// names of passed rows. Text that does not fit is cut, and the last line says so.
std::string brief_text(const verify::Report& report, verify::Colour colour, WindowSize window);

}  // namespace ringcraft::tool
