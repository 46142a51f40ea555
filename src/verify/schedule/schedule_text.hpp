#pragma once
/// @file
/// Schedules as people write them, line by line, ready for the checker. `#` begins a comment.
///
///     ranks 3                  # first of all
///     tokens 12                # of the whole sequence; default: one per rank
///     layout zigzag            # default: contiguous
///     mask causal              # full (default), causal, or window W
///     packed 0,5,12            # borders of packed sequences
///     pass forward             # or: backward, or: backward reversed
///     costs ring               # also demand the ring's bytes, messages, hops and memory
///
///     step 0
///     0: send K0 to 1, recv K2 from 2, compute q0 k0, wait
///     1: ...
///
/// A line of a step says what one rank does, in order. `K2` is the KV block of rank 2, `dK2` the sum of its
/// gradients so far. Every rank holds its own block at the beginning; in a reversed backward pass the block
/// that the forward pass ends with, if it comes so far, and its own if that stops before the last step.
///
///     send K0 to 1             sends and receives that follow each other are started together
///     recv K2 from 2 [into A]  A names the memory; default: memory of its own
///     compute q0 k2 [into A]   q stays on its rank; backward: the rank's share of dK2 is written to A
///     add dK2                  adds that share to dK2, or begins dK2 with it where it is not here
///     wait                     for all that this rank has started
///     wait K2                  for the start that holds this message

#include <string>
#include <string_view>

#include "verify/schedule/schedule.hpp"

namespace ringcraft::verify {

/// A schedule that was read from a text.
struct WrittenSchedule {
  Problem problem;
  ScheduleGoal goal;
  Trace trace;          ///< with made-up addresses; sizes in elements
  ScheduleNotes notes;  ///< annotations of each event from the text
};

/// Reads a schedule. `file` is the name for errors. Throws Error "FILE:LINE: ..." for a line that does not
/// have the form above, or that names something that does not exist.
WrittenSchedule parse_schedule(std::string_view text, const std::string& file);

}  // namespace ringcraft::verify
