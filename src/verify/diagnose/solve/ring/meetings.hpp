#pragma once
/// @file
/// Laws of the rank and the step that say which of the blocks that ranks meet are wrong.

#include <functional>
#include <string>
#include <vector>

namespace ringcraft::verify {

/// A block that a rank meets at a step.
struct Meeting {
  int rank, slot, step;
};

/// A selection of meetings: "the blocks that arrive".
struct MeetingLaw {
  std::string words;
  std::function<bool(const Meeting&)> holds;
};

/// The laws for so many ranks, the plainest first.
std::vector<MeetingLaw> meeting_laws(int ranks);

}  // namespace ringcraft::verify
