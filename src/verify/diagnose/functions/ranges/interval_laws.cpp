// Explains wrong intervals: an end is a formula of the position, a limit and the border of a sequence, and
// the sequence is found by a rule. Tries each combination for each end, those with the fewest wrong words
// first.
#include <algorithm>
#include <map>
#include <optional>

#include "verify/diagnose/functions/formula.hpp"
#include "verify/diagnose/functions/ranges/interval_words.hpp"
#include "verify/diagnose/functions/ranges/ranges.hpp"

namespace ringcraft::verify::ranges {
namespace {

using Walk = RangesExhibit::Walk;
using Places = std::vector<IntervalPlace>;

// The places of a walk.
Places places_of(const Walk& walk, const BordersWord& read, const Finder& finder, EndOf end) {
  const Mask& mask = walk.mask;
  const bool left = end == &KeyInterval::lo, packed = !mask.cu_seqlens.empty();
  const std::vector<Position> cu =
      packed ? read.borders(mask.cu_seqlens) : std::vector<Position>{0, walk.seqlen};
  Places places;
  std::size_t s = 0;
  for (const Position p : walk.positions) {
    s = finder.next(cu, s, p);
    places.push_back({p, left ? mask.left : mask.right, left ? mask.right : mask.left, cu[s], cu[s + 1],
                      s > 0 ? cu[s - 1] : 0, s + 2 < cu.size() ? cu[s + 2] : walk.seqlen, walk.seqlen,
                      packed});
  }
  return places;
}

struct Law {
  const BordersWord* borders;
  const Finder* finder;
  const EndWord* end;
  const PositionWord* position;
  const MaskWord* mask;

  int wrong() const {
    return (borders->words != nullptr) + (finder->words != nullptr) + (end->words != nullptr) +
           (position->words != nullptr) + (mask->words != nullptr);
  }
  Position at(IntervalPlace place) const {
    const Position border = end->value(place);
    place.p = position->value(place);
    return mask->value(place, border);
  }
  // The sequence that it takes: words that both ends may share.
  std::string sequence() const {
    std::string text;
    for (const char* words : {borders->words, finder->words, end->words, position->words})
      if (words != nullptr) text += (text.empty() ? "" : "; ") + std::string(words);
    return text;
  }
};

// All laws of an end with at most three wrong words, those with fewer first.
std::vector<Law> laws_of(EndOf which) {
  std::vector<Law> all;
  for (const BordersWord& borders : borders_words())
    for (const Finder& finder : finders())
      for (const PositionWord& position : position_words())
        for (const EndWord& end : end_words(which))
          for (const MaskWord& mask : mask_words(which))
            if (const Law law{&borders, &finder, &end, &position, &mask}; law.wrong() <= 3)
              all.push_back(law);
  std::ranges::stable_sort(all, {}, &Law::wrong);
  return all;
}

Position whole(Position p) { return p; }
Position in_32_bits(Position p) { return in_int(p); }

// Some walks and one end of their intervals.
class EndView {
 public:
  EndView(const std::vector<Walk>& walks, EndOf end) : walks_(walks), end_(end) {}

  bool fits(const Law& law, Position (*cut)(Position) = whole) const {
    const std::vector<Places>& places = places_by(law);
    for (std::size_t w = 0; w < walks_.size(); ++w)
      for (std::size_t i = 0; i < walks_[w].intervals.size(); ++i)
        if (cut(law.at(places[w][i])) != walks_[w].intervals[i].*end_) return false;
    return true;
  }

 private:
  // The places of each walk, computed once.
  const std::vector<Places>& places_by(const Law& law) const {
    std::vector<Places>& places = places_[{law.borders, law.finder}];
    if (places.empty())
      for (const Walk& walk : walks_) places.push_back(places_of(walk, *law.borders, *law.finder, end_));
    return places;
  }

  const std::vector<Walk>& walks_;
  EndOf end_;
  mutable std::map<std::pair<const BordersWord*, const Finder*>, std::vector<Places>> places_;
};

std::optional<Law> law_of(const std::vector<Walk>& walks, EndOf end) {
  static const std::vector<Law> lefts = laws_of(&KeyInterval::lo), rights = laws_of(&KeyInterval::hi);
  const std::vector<Law>& laws = end == &KeyInterval::lo ? lefts : rights;
  const EndView view(walks, end);
  const auto law = std::ranges::find_if(laws, [&](const Law& each) { return view.fits(each); });
  return law == laws.end() ? std::nullopt : std::optional(*law);
}

constexpr const char* kQuestion =
    "Which keys does the first token of a sequence see, which the last, and which the one after it?";

}  // namespace

KeyInterval right_interval(const Mask& mask, Position seqlen, Position p) {
  const Walk walk{mask, seqlen, {p}, {}};
  const auto right_end = [&](EndOf end) {
    const Law law{&borders_words()[0], &finders()[0], &end_words(end)[0], &position_words()[0],
                  &mask_words(end)[0]};
    return law.at(places_of(walk, *law.borders, *law.finder, end)[0]);
  };
  return {right_end(&KeyInterval::lo), right_end(&KeyInterval::hi)};
}

std::vector<Cause> causes_of_intervals(const std::vector<Walk>& all) {
  constexpr Position kFar = Position{1} << 32;
  std::vector<Walk> near, far;
  for (const Walk& walk : all)
    if (!walk.intervals.empty()) (walk.seqlen < kFar ? near : far).push_back(walk);
  if (near.empty()) return {};
  const auto lo = law_of(near, &KeyInterval::lo), hi = law_of(near, &KeyInterval::hi);
  std::string words;
  const auto say = [&](const std::string& of, const std::string& what) {
    if (!what.empty()) words += (words.empty() ? "" : ", and ") + of + what;
  };
  if (lo && lo->mask->words != nullptr) say("lo is ", lo->mask->words);
  if (hi && hi->mask->words != nullptr) say("hi is ", hi->mask->words);
  if (lo && hi && lo->sequence() == hi->sequence()) {
    say("", lo->sequence());
  } else {
    if (lo) say("of lo: ", lo->sequence());
    if (hi) say("of hi: ", hi->sequence());
  }
  if (!words.empty()) return {{"solved-interval", "MaskCursor::at: " + words, kQuestion}};
  for (const auto& [law, end] : {std::pair{lo, &KeyInterval::lo}, {hi, &KeyInterval::hi}})
    if (const EndView view(far, end); law && !view.fits(*law) && view.fits(*law, in_32_bits))
      return {{"solved-interval-bits", "MaskCursor::at: positions are cut to 32 bits",
               "What is the largest number in 32 bits, and how many tokens are there?"}};
  return {};
}

}  // namespace ringcraft::verify::ranges
