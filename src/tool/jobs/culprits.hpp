#pragma once
// Ranks that keep a job from its end, or that ended it without a message, from the records of all of them.

#include <string>
#include <vector>

#include "tool/jobs/job_record.hpp"

namespace ringcraft::tool {

using Records = std::vector<RankRecord>;  // [rank]

// Whether a rank's last event is this one.
bool any(const Records& records, RankEvent event);

// Whether the ranks are in the job. They enter it together: from then on, a rank without a record is on
// another host.
bool has_joined(const Records& records);

// "waiting for 200 ranks: 37 have started, 0 have joined", of those on this host; empty once all of these
// have joined.
std::string joining(const Records& records);

// Ranks that keep the others waiting: those that are stopped, since each of these keeps the job from its end;
// otherwise, where no message is under way, those that have not joined, or after rank 0, which writes, have
// not left.
std::vector<int> laggards(const Records& records);

// The ranks that ended without a message, for the beginning of a sentence; "mpirun" if all are accounted for.
std::string silent_ranks(const Records& records);

// "rank 2", "ranks 1, 3"
std::string named(const std::vector<int>& ranks);

}  // namespace ringcraft::tool
