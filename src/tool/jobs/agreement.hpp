#pragma once
// Agreement of a job's ranks: each was started with flags and reads its inputs by itself, so each states what
// it is about to compute before the first message of the pass.

#include <string>
#include <vector>

#include "tool/jobs/meeting.hpp"

namespace ringcraft::tool {

// One thing that all ranks must have alike.
struct Statement {
  std::string what;   // "--layout", "the contents of q"
  std::string value;  // of this rank, in full, or the hash of a large one
  bool shown = true;  // whether a person can read the value
};

// Collective. Throws Error (Code::kWrongCall) on every rank, in the same words but for rank 0's values, if
// the statements of some rank are not those of rank 0. All ranks state the same things in the same order.
void require_agreement(Meeting& meeting, const std::vector<Statement>& statements);

}  // namespace ringcraft::tool
