// Explains wrong intervals of keys, and wrong ranges of local rows: the first are solved for, the second are
// then compared with what the student's own intervals leave of a shard.
#include "verify/diagnose/functions/ranges/ranges.hpp"

#include <algorithm>
#include <iterator>

namespace ringcraft::verify {

std::vector<Cause> causes_of(const RangesExhibit& x) {
  std::vector<Cause> causes = ranges::causes_of_intervals(x.walks);
  std::ranges::move(ranges::causes_of_meetings(x.meetings), std::back_inserter(causes));
  return causes;
}

}  // namespace ringcraft::verify
