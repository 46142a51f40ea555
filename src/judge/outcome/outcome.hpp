#pragma once
/// @file
/// Outcome: how a check ended, for programs. A report tells a person what is wrong in a sentence; a diagnosis
/// needs to know which checks failed and in which way, in signs that do not change with the wording.

#include <vector>

#include "judge/run/team.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::judge {

/// The ways in which a check ends, one sign each.
namespace sign {
inline constexpr char kPassed = '.';
inline constexpr char kSkipped = '-';   ///< a check that it needs did not pass
inline constexpr char kNotBuilt = 'b';  ///< the file does not compile, or calls what it may not
inline constexpr char kValues = 'x';    ///< wrong values
inline constexpr char kNoNumber = 'n';  ///< NaN or infinity where a number must be
inline constexpr char kEnded = 'e';     ///< a crash, an exit, a limit
inline constexpr char kHang = 'h';      ///< it did not return
inline constexpr char kThrew = 't';     ///< an exception left the function
inline constexpr char kMessages = 'm';  ///< a deadlock, lengths that disagree
inline constexpr char kProtocol = 'p';  ///< it wrote to the judge's connection, or printed without end
inline constexpr char kCounts = 'c';    ///< right values, but other bytes, phases or times than allowed
inline constexpr char kInput = 'i';     ///< it wrote to what it may only read
inline constexpr char kFinding = 'f';   ///< a checked launch of a kernel found a mistake
}  // namespace sign

/// How one check ended.
struct Outcome {
  verify::Status status = verify::Status::kSkipped;
  char sign = sign::kSkipped;
  /// The question and its answer, where a diagnosis can say more; otherwise null.
  std::vector<verify::Exhibit> exhibits = {};
  DType precision = DType::kFloat64;     ///< of the instantiation that the check calls
  std::vector<verify::Case> right = {};  ///< problems whose out was right, on all ranks
};

/// The sign of a program that did something other than answer.
char sign_of(Misbehaviour::Kind kind);

/// kNoNumber if a map has a row without a number, otherwise kValues.
char sign_of(const std::vector<verify::ErrorMap>& maps);

}  // namespace ringcraft::judge
