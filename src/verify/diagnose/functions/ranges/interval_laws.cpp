// Explains wrong intervals: an end is a formula of the position, a limit and the border of a sequence, and
// the sequence is found by a rule. Tries each combination for each end, the right ones first.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "verify/diagnose/functions/formula.hpp"
#include "verify/diagnose/functions/ranges/ranges.hpp"

namespace ringcraft::verify::ranges {
namespace {

using Walk = RangesExhibit::Walk;

// One answer, and where a finder puts it.
struct Place {
  Position p, limit, other;  // limit: of this side; other: of the opposite one
  Position start, end;       // of the sequence that was found
  Position before, after;    // the ends of its neighbours: their start, and their end
  Position seqlen;
  bool packed;  // whether there are borders
};

// Sums as a machine wraps them.
Position plus(Position a, Position b) {
  return static_cast<Position>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// ---- which sequence

struct Finder {
  const char* words;  // nullptr: the right one
  std::size_t (*next)(const std::vector<Position>& cu, std::size_t s, Position p);
};

std::size_t sequence_holding(const std::vector<Position>& cu, std::size_t s, Position p) {
  while (s + 2 < cu.size() && cu[s + 1] <= p) ++s;
  return s;
}

constexpr Finder kFinders[] = {
    {nullptr, sequence_holding},
    {"the first token of a sequence counts as one of the sequence before",
     [](const std::vector<Position>& cu, std::size_t s, Position p) {
       return sequence_holding(cu, s, p - 1);
     }},
    {"the last token of a sequence counts as one of the next",
     [](const std::vector<Position>& cu, std::size_t s, Position p) {
       return sequence_holding(cu, s, p + 1);
     }},
    {"a call passes one border at most",
     [](const std::vector<Position>& cu, std::size_t s, Position p) {
       return s + 2 < cu.size() && cu[s + 1] <= p ? s + 1 : s;
     }},
    {"the cursor stays in the first sequence",
     [](const std::vector<Position>&, std::size_t s, Position) { return s; }},
    {"the cursor leaves the first sequence, and no other",
     [](const std::vector<Position>& cu, std::size_t, Position p) {
       return std::size_t{cu.size() > 2 && cu[1] <= p};
     }},
    {"every call goes on to the next sequence",
     [](const std::vector<Position>& cu, std::size_t s, Position) { return std::min(s + 1, cu.size() - 2); }},
    {"the sequence is one too far", [](const std::vector<Position>& cu, std::size_t, Position p) {
       return std::min(sequence_holding(cu, 0, p) + 1, cu.size() - 2);
     }}};

// The places of a walk; the right limit is that of hi.
std::vector<Place> places_of(const Walk& walk, const Finder& finder, bool left) {
  const Mask& mask = walk.mask;
  const std::vector<Position> whole{0, walk.seqlen};
  const std::vector<Position>& cu = mask.cu_seqlens.empty() ? whole : mask.cu_seqlens;
  std::vector<Place> places;
  std::size_t s = 0;
  for (const Position p : walk.positions) {
    s = finder.next(cu, s, p);
    places.push_back({p, left ? mask.left : mask.right, left ? mask.right : mask.left, cu[s], cu[s + 1],
                      s > 0 ? cu[s - 1] : 0, s + 2 < cu.size() ? cu[s + 2] : walk.seqlen, walk.seqlen,
                      !mask.cu_seqlens.empty()});
  }
  return places;
}

// ---- the two ends of a sequence, and of the mask

struct EndWord {
  const char* words;  // nullptr: the right one
  Position (*value)(const Place&);
};

constexpr EndWord kStarts[] = {
    {nullptr, [](const Place& c) { return c.start; }},
    {"the borders of packed sequences are ignored", [](const Place&) { return Position{0}; }},
    {"a sequence begins one past its border", [](const Place& c) { return c.start + Position{c.packed}; }},
    {"a sequence begins one before its border",
     [](const Place& c) { return std::max<Position>(c.start - 1, 0); }},
    {"the sequence before is seen as well", [](const Place& c) { return c.before; }},
    {"the end of the sequence stands for its start", [](const Place& c) { return c.end; }}};
constexpr EndWord kEnds[] = {
    {nullptr, [](const Place& c) { return c.end; }},
    {"the borders of packed sequences are ignored", [](const Place& c) { return c.seqlen; }},
    {"a sequence ends one before its border", [](const Place& c) { return c.end - Position{c.packed}; }},
    {"a sequence ends one past its border", [](const Place& c) { return std::min(c.end + 1, c.seqlen); }},
    {"the next sequence is seen as well", [](const Place& c) { return c.after; }},
    {"only the first sequence has an end", [](const Place& c) { return c.start == 0 ? c.end : c.seqlen; }},
    {"the start of the sequence stands for its end", [](const Place& c) { return c.start; }}};

struct MaskWord {
  const char* words;  // nullptr: the right one
  Position (*value)(const Place&, Position border);
};

bool none(Position limit) { return limit == kNoLimit; }

constexpr MaskWord kLefts[] = {
    {nullptr, [](const Place& c, Position start) { return std::max(start, c.p - c.limit); }},
    {"max(start, p - left + 1): a window of W keys, and not of W + 1",
     [](const Place& c, Position start) {
       return std::max(start, none(c.limit) ? start : c.p - c.limit + 1);
     }},
    {"max(start, p - left - 1): a window of W + 2 keys",
     [](const Place& c, Position start) {
       return std::max(start, none(c.limit) ? start : c.p - c.limit - 1);
     }},
    {"0, whatever the query is", [](const Place&, Position) { return Position{0}; }},
    {"the start of the sequence, whatever left is", [](const Place&, Position start) { return start; }},
    {"the start of the sequence where sequences are packed, whatever left is",
     [](const Place& c, Position start) { return c.packed ? start : std::max(start, c.p - c.limit); }},
    {"max(0, p - left) where there is a window: it reaches into the sequence before",
     [](const Place& c, Position start) {
       return none(c.limit) ? start : std::max<Position>(0, c.p - c.limit);
     }},
    {"p - left, which may lie before the sequence",
     [](const Place& c, Position start) { return none(c.limit) ? start : c.p - c.limit; }},
    {"p - left, of whatever sign", [](const Place& c, Position) { return plus(c.p, -c.limit); }},
    {"min(start, p - left)",
     [](const Place& c, Position start) { return none(c.limit) ? start : std::min(start, c.p - c.limit); }},
    {"the smaller of start and p - left, and not the larger",
     [](const Place& c, Position start) {
       return none(c.limit) ? start : std::max<Position>(0, std::min(start, c.p - c.limit));
     }},
    {"max(start, p - right): the two limits are exchanged",
     [](const Place& c, Position start) { return std::max(start, c.p - c.other); }},
    {"counted from the start of the sequence",
     [](const Place& c, Position start) { return std::max(start, c.p - c.limit) - start; }},
    {"max(start, left)",
     [](const Place& c, Position start) { return none(c.limit) ? start : std::max(start, c.limit); }},
    {"start + max(0, p - left): the position in the whole stands for that in the sequence",
     [](const Place& c, Position start) { return start + std::max<Position>(0, c.p - c.limit); }}};
constexpr MaskWord kRights[] = {
    {nullptr,
     [](const Place& c, Position end) { return c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1; }},
    {"min(end, p + right): the last key is missing, with a causal mask the query itself",
     [](const Place& c, Position end) { return c.limit >= end - c.p ? end : c.p + c.limit; }},
    {"min(end, p + right + 2): one key of the future too many",
     [](const Place& c, Position end) { return c.limit >= end - 2 - c.p ? end : c.p + c.limit + 2; }},
    {"one before the end: the last key is not one past the last",
     [](const Place& c, Position end) { return (c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1) - 1; }},
    {"0, whatever the query is", [](const Place&, Position) { return Position{0}; }},
    {"the end of the sequence, whatever right is", [](const Place&, Position end) { return end; }},
    {"the end of the sequence where sequences are packed, whatever right is",
     [](const Place& c, Position end) {
       return c.packed || c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1;
     }},
    {"the end of the sequence, unless right is 0",
     [](const Place& c, Position end) { return c.limit == 0 ? c.p + 1 : end; }},
    {"p + 1, whatever right is", [](const Place& c, Position) { return c.p + 1; }},
    {"p + right + 1 where there is a limit: it reaches into the next sequence",
     [](const Place& c, Position end) { return none(c.limit) ? end : plus(c.p, c.limit + 1); }},
    {"min(seqlen, p + right + 1) where there is a limit: it reaches into the next sequence",
     [](const Place& c, Position end) {
       return none(c.limit) ? end : std::min(c.seqlen, plus(plus(c.p, c.limit), 1));
     }},
    {"min(end, p + right + 1), where the sum passes the largest Position",
     [](const Place& c, Position end) { return std::min(end, plus(plus(c.p, c.limit), 1)); }},
    {"max(end, p + right + 1)",
     [](const Place& c, Position end) { return none(c.limit) ? end : std::max(end, c.p + c.limit + 1); }},
    {"min(end, p + left + 1): the two limits are exchanged",
     [](const Place& c, Position end) { return c.other >= end - 1 - c.p ? end : c.p + c.other + 1; }},
    {"counted from the start of the sequence",
     [](const Place& c, Position end) {
       return (c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1) - c.start;
     }},
    {"start + min(length, p + right + 1): the position in the whole stands for that in the sequence",
     [](const Place& c, Position end) {
       return c.start + (c.limit >= end - c.start - 1 - c.p ? end - c.start : c.p + c.limit + 1);
     }},
    {"the length of the interval", [](const Place& c, Position end) {
       return (c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1) - std::max(c.start, c.p - c.other);
     }}};

// ---- the search

struct Law {
  const Finder* finder;
  const EndWord* border;
  const MaskWord* mask;

  Position at(const Place& place) const { return mask->value(place, border->value(place)); }
  // The sequence that it takes: words that both ends may share.
  std::string sequence() const {
    std::string text = finder->words == nullptr ? "" : finder->words;
    if (border->words != nullptr) text += (text.empty() ? "" : "; ") + std::string(border->words);
    return text;
  }
};

using EndOf = Position KeyInterval::*;

bool gives(const Law& law, const std::vector<Walk>& walks, EndOf end, Position (*cut)(Position)) {
  for (const Walk& walk : walks) {
    const std::vector<Place> places = places_of(walk, *law.finder, end == &KeyInterval::lo);
    for (std::size_t i = 0; i < walk.intervals.size(); ++i)
      if (cut(law.at(places[i])) != walk.intervals[i].*end) return false;
  }
  return true;
}

Position whole(Position p) { return p; }
Position in_32_bits(Position p) { return in_int(p); }

// How many parts of a law are wrong: the simplest explanation comes first.
std::optional<Law> law_of(const std::vector<Walk>& walks, EndOf end) {
  const bool left = end == &KeyInterval::lo;
  std::optional<Law> best;
  int fewest = 4;
  for (const Finder& finder : kFinders)
    for (const EndWord& border : left ? std::span<const EndWord>(kStarts) : std::span<const EndWord>(kEnds))
      for (const MaskWord& mask :
           left ? std::span<const MaskWord>(kLefts) : std::span<const MaskWord>(kRights)) {
        const Law law{&finder, &border, &mask};
        const int wrong =
            int{finder.words != nullptr} + int{border.words != nullptr} + int{mask.words != nullptr};
        if (wrong >= fewest || !gives(law, walks, end, whole)) continue;
        best = law;
        fewest = wrong;
      }
  return best;
}

constexpr const char* kQuestion =
    "Which keys does the first token of a sequence see, which the last, and which the one after it?";

}  // namespace

KeyInterval right_interval(const Mask& mask, Position seqlen, Position p) {
  const Walk walk{mask, seqlen, {p}, {}};
  const Place left = places_of(walk, kFinders[0], true)[0], right = places_of(walk, kFinders[0], false)[0];
  return {kLefts[0].value(left, left.start), kRights[0].value(right, right.end)};
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
    if (law && !gives(*law, far, end, whole) && gives(*law, far, end, in_32_bits))
      return {{"solved-interval-bits", "MaskCursor::at: positions are cut to 32 bits",
               "What is the largest number in 32 bits, and how many tokens are there?"}};
  return {};
}

}  // namespace ringcraft::verify::ranges
