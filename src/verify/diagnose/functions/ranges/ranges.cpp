// Explains wrong intervals of keys, and wrong ranges of local rows: the first are solved for, the second are
// then compared with what the student's own intervals leave of a shard. Counted steps tell rows that begin
// again.
#include "verify/diagnose/functions/ranges/ranges.hpp"

#include <algorithm>
#include <iterator>

namespace ringcraft::verify {

std::vector<Cause> causes_of(const RangesExhibit& x) {
  std::vector<Cause> causes = ranges::causes_of_intervals(x.walks);
  std::ranges::move(ranges::causes_of_meetings(x.meetings), std::back_inserter(causes));
  std::ranges::move(ranges::causes_of_steps(x.counted), std::back_inserter(causes));
  return causes;
}

}  // namespace ringcraft::verify
