// Explains steps that grow with the square of the tokens: they are the product of the rows and of what each
// row passes anew, the keys or the borders. Counts with other numbers of rows and of keys distinguish them.
#include <algorithm>

#include "verify/diagnose/functions/ranges/ranges.hpp"

namespace ringcraft::verify::ranges {
namespace {

using Counted = RangesExhibit::Counted;

// Whether each row takes about as many steps as there are of these: the same share of them in all counts.
bool passes_for_each_row(const std::vector<Counted>& counted, Position Counted::*these) {
  const auto share = [&](const Counted& c) {
    return static_cast<double>(c.steps) / (static_cast<double>(c.rows) * static_cast<double>(c.*these));
  };
  const auto [least, most] = std::ranges::minmax_element(counted, {}, share);
  return share(*most) < 2 * share(*least);
}

}  // namespace

std::vector<Cause> causes_of_steps(const std::vector<Counted>& counted) {
  if (counted.size() < 2) return {};
  const auto [few, many] = std::ranges::minmax_element(counted, {}, &Counted::borders);
  const bool more_borders = few->borders < many->borders;
  const char* const question = "Positions do not decrease: where did the search for the last one stop?";
  if (counted.front().by_cursor) {
    if (!more_borders || !passes_for_each_row(counted, &Counted::borders)) return {};
    return {{"solved-interval-steps",
             "MaskCursor::at: the steps grow as the calls times the borders: each call passes the borders "
             "before its sequence anew",
             question}};
  }
  if (passes_for_each_row(counted, &Counted::keys))
    return {{"solved-range-steps",
             "ranges_of: the steps grow as the rows times the keys: each row goes through the keys anew",
             question}};
  if (more_borders && passes_for_each_row(counted, &Counted::borders))
    return {
        {"solved-range-borders",
         "ranges_of: the steps grow as the rows times the borders: each row passes the borders before its "
         "sequence anew, as a new MaskCursor does",
         question}};
  return {};
}

}  // namespace ringcraft::verify::ranges
