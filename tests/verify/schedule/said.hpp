#pragma once
// The words of a proof of a schedule.

#include <string>

#include "verify/schedule/schedule.hpp"

namespace ringcraft::verify {

// All violations as lines.
inline std::string said(const ScheduleProof& proof) {
  std::string lines;
  for (const Violation& violation : proof.violations) lines += violation.sentence + "\n";
  return lines;
}

}  // namespace ringcraft::verify
