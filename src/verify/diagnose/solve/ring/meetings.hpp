#pragma once
/// @file
/// Which of the blocks that ranks meet are wrong: laws of the rank and the step.

#include <functional>
#include <string>
#include <vector>

namespace ringcraft::verify {

/// A block that a rank meets at a step.
struct Meeting {
  int rank, slot, step;
};

/// Which of them: "the blocks that arrive".
struct MeetingLaw {
  std::string words;
  std::function<bool(const Meeting&)> holds;
};

/// The laws for so many ranks, the plainest first.
std::vector<MeetingLaw> meeting_laws(int ranks);

}  // namespace ringcraft::verify
