#pragma once
// Two drawings of one timeline: in a terminal and as SVG. Colours are those of Okabe and Ito, which people
// with any colour vision tell apart; without colour, signs and patterns do.

#include <string>
#include <vector>

#include "verify/report/report.hpp"
#include "verify/schedule/timeline.hpp"

namespace ringcraft::tool {

// Some ranks of a timeline, to be drawn.
struct Drawing {
  const verify::Timeline& timeline;
  std::vector<int> ranks;  // increasing
  std::string title;       // one line

  const verify::Lane& lane(int rank) const { return timeline.lanes[static_cast<std::size_t>(rank)]; }
  // The number of ranks that are not drawn.
  std::size_t left_out() const { return timeline.lanes.size() - ranks.size(); }
  // The words for them; for a drawing that leaves some out.
  std::string left_out_words() const;
};

// The words for an activity, in a legend.
std::string_view name_of(verify::Activity activity);

// A line for each rank, in `width` columns, with a time axis and a legend. A column shows what the rank did
// for the largest part of its time.
std::string lanes_text(const Drawing& drawing, std::size_t width, verify::Colour colour);

// The same as an SVG file, with arrows for the messages if they are few.
std::string svg_text(const Drawing& drawing);

// A table of the sums of each rank.
std::string sums_text(const Drawing& drawing);

}  // namespace ringcraft::tool
