#pragma once
// A check in a process of its own, which can be called off at any time, and its report on one screen.

#include <filesystem>
#include <optional>
#include <string>

#include "judge/build/toolchain.hpp"
#include "process/child.hpp"
#include "tool/terminal/terminal.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// `ringcraft check ID`, under way.
class CheckRun {
 public:
  explicit CheckRun(const std::string& id);
  // Calls it off: the compiler, the workers and everything that they started end too.
  ~CheckRun();
  CheckRun(const CheckRun&) = delete;
  CheckRun& operator=(const CheckRun&) = delete;

  // Readable when something has happened to it.
  int descriptor() const { return child_.output().get(); }
  // Takes what it has printed; true when it has come to its end.
  bool ended();
  double seconds() const;
  // Its report, once it has ended; nothing if it could not judge, and said() tells why.
  std::optional<verify::Report> report() const;
  std::string said() const { return child_.printed(); }

 private:
  judge::WorkFolder folder_;
  process::Child child_;
  process::Clock::time_point begin_ = process::Clock::now();
};

// The text that verify::json_of wrote. Throws Error for anything else.
verify::Report report_of_json(const std::string& json);

// The report on one screen: warnings, the first failure whole, every other failure as one line, and what
// passed as names. Text that does not fit is cut, and the last line says so.
std::string brief_text(const verify::Report& report, verify::Colour colour, WindowSize window);

}  // namespace ringcraft::tool
