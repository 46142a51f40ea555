// The words of wrong intervals. The first of each list is the right one.
#include "verify/diagnose/functions/ranges/interval_words.hpp"

#include <algorithm>
#include <cstdint>

namespace ringcraft::verify::ranges {
namespace {

// Sums as a machine wraps them.
Position plus(Position a, Position b) {
  return static_cast<Position>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// ---- which borders there are, and which sequence holds a position

// Sequences of this length each, the last one cut at the end.
std::vector<Position> cut_evenly(Position length, Position seqlen) {
  std::vector<Position> borders;
  for (Position border = 0; border < seqlen; border += std::max<Position>(length, 1))
    borders.push_back(border);
  borders.push_back(seqlen);
  return borders;
}

constexpr BordersWord kBorders[] = {
    {nullptr, [](const std::vector<Position>& cu) { return cu; }},
    {"all sequences are taken to be as long as the first one",
     [](const std::vector<Position>& cu) { return cut_evenly(cu[1], cu.back()); }},
    {"all sequences are taken to be as long as the last one",
     [](const std::vector<Position>& cu) { return cut_evenly(cu.back() - cu[cu.size() - 2], cu.back()); }},
    {"all sequences are taken to be equally long, seqlen over their number",
     [](const std::vector<Position>& cu) {
       return cut_evenly(cu.back() / (static_cast<Position>(cu.size()) - 1), cu.back());
     }},
    {"only the first border counts",
     [](const std::vector<Position>& cu) {
       return std::vector{Position{0}, cu[1], cu.back()};
     }},
    {"only the last border counts",
     [](const std::vector<Position>& cu) {
       return std::vector{Position{0}, cu[cu.size() - 2], cu.back()};
     }},
    {"the first border is left out",
     [](const std::vector<Position>& cu) {
       std::vector<Position> others = cu;
       if (cu.size() > 2) others.erase(others.begin() + 1);
       return others;
     }},
    {"the last border is left out", [](const std::vector<Position>& cu) {
       std::vector<Position> others = cu;
       if (cu.size() > 2) others.erase(others.end() - 2);
       return others;
     }}};

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

// ---- the two ends of a sequence

bool none(Position limit) { return limit == kNoLimit; }

constexpr EndWord kStarts[] = {
    {nullptr, [](const IntervalPlace& c) { return c.start; }},
    {"the borders of packed sequences are ignored", [](const IntervalPlace&) { return Position{0}; }},
    {"a sequence begins one past its border",
     [](const IntervalPlace& c) { return c.start + Position{c.packed}; }},
    {"a sequence begins one before its border",
     [](const IntervalPlace& c) { return std::max<Position>(c.start - 1, 0); }},
    {"the sequence before is seen as well", [](const IntervalPlace& c) { return c.before; }},
    {"the borders of packed sequences are ignored where there is no limit",
     [](const IntervalPlace& c) { return none(c.limit) ? Position{0} : c.start; }},
    {"the borders of packed sequences are ignored where there is a limit",
     [](const IntervalPlace& c) { return none(c.limit) ? c.start : Position{0}; }},
    {"the end of the sequence stands for its start",
     [](const IntervalPlace& c) { return c.packed ? c.end : c.start; }}};
constexpr EndWord kEnds[] = {
    {nullptr, [](const IntervalPlace& c) { return c.end; }},
    {"the borders of packed sequences are ignored", [](const IntervalPlace& c) { return c.seqlen; }},
    {"a sequence ends one before its border",
     [](const IntervalPlace& c) { return c.end - Position{c.packed}; }},
    {"a sequence ends one past its border",
     [](const IntervalPlace& c) { return std::min(c.end + 1, c.seqlen); }},
    {"the next sequence is seen as well", [](const IntervalPlace& c) { return c.after; }},
    {"only the first sequence has an end",
     [](const IntervalPlace& c) { return c.start == 0 ? c.end : c.seqlen; }},
    {"the borders of packed sequences are ignored where there is no limit",
     [](const IntervalPlace& c) { return none(c.limit) ? c.seqlen : c.end; }},
    {"the borders of packed sequences are ignored where there is a limit",
     [](const IntervalPlace& c) { return none(c.limit) ? c.end : c.seqlen; }},
    {"the start of the sequence stands for its end",
     [](const IntervalPlace& c) { return c.packed ? c.start : c.end; }}};

// ---- which position a limit is counted from

constexpr PositionWord kPositions[] = {
    {nullptr, [](const IntervalPlace& c) { return c.p; }},
    {"the limit is counted from the position within the sequence, which begins again at 0",
     [](const IntervalPlace& c) { return c.p - c.start; }},
    {"the limit is counted from the first token of the sequence",
     [](const IntervalPlace& c) { return c.start; }},
    {"the limit is counted from the last token of the sequence",
     [](const IntervalPlace& c) { return c.end - 1; }}};

// ---- the two ends of the mask

constexpr MaskWord kLefts[] = {
    {nullptr, [](const IntervalPlace& c, Position start) { return std::max(start, c.p - c.limit); }},
    {"max(start, p - left + 1): a window of W keys, and not of W + 1",
     [](const IntervalPlace& c, Position start) {
       return std::max(start, none(c.limit) ? start : c.p - c.limit + 1);
     }},
    {"max(start, min(p, p - left + 1)): a window of W keys, at least the query's own",
     [](const IntervalPlace& c, Position start) {
       return std::max(start, none(c.limit) ? start : std::min(c.p, c.p - c.limit + 1));
     }},
    {"max(start, p - left - 1): a window of W + 2 keys",
     [](const IntervalPlace& c, Position start) {
       return std::max(start, none(c.limit) ? start : c.p - c.limit - 1);
     }},
    {"0, whatever the query is", [](const IntervalPlace&, Position) { return Position{0}; }},
    {"the start of the sequence, whatever left is",
     [](const IntervalPlace&, Position start) { return start; }},
    {"the start of the sequence where sequences are packed, whatever left is",
     [](const IntervalPlace& c, Position start) {
       return c.packed ? start : std::max(start, c.p - c.limit);
     }},
    {"max(0, p - left) where there is a window: it reaches into the sequence before",
     [](const IntervalPlace& c, Position start) {
       return none(c.limit) ? start : std::max<Position>(0, c.p - c.limit);
     }},
    {"p - left, which may lie before the sequence",
     [](const IntervalPlace& c, Position start) { return none(c.limit) ? start : c.p - c.limit; }},
    {"p - left, of whatever sign", [](const IntervalPlace& c, Position) { return plus(c.p, -c.limit); }},
    {"min(start, p - left)",
     [](const IntervalPlace& c, Position start) {
       return none(c.limit) ? start : std::min(start, c.p - c.limit);
     }},
    {"the smaller of start and p - left, and not the larger",
     [](const IntervalPlace& c, Position start) {
       return none(c.limit) ? start : std::max<Position>(0, std::min(start, c.p - c.limit));
     }},
    {"max(start, p - right): the two limits are exchanged",
     [](const IntervalPlace& c, Position start) { return std::max(start, c.p - c.other); }},
    {"counted from the start of the sequence",
     [](const IntervalPlace& c, Position start) { return std::max(start, c.p - c.limit) - start; }},
    {"max(start, left)",
     [](const IntervalPlace& c, Position start) { return none(c.limit) ? start : std::max(start, c.limit); }},
    {"start + max(0, p - left): the position in the whole stands for that in the sequence",
     [](const IntervalPlace& c, Position start) { return start + std::max<Position>(0, c.p - c.limit); }}};
constexpr MaskWord kRights[] = {
    {nullptr,
     [](const IntervalPlace& c, Position end) { return c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1; }},
    {"min(end, p + right): the last key is missing, with a causal mask the query itself",
     [](const IntervalPlace& c, Position end) { return c.limit >= end - c.p ? end : c.p + c.limit; }},
    {"min(end, p + right + 2): one key of the future too many",
     [](const IntervalPlace& c, Position end) { return c.limit >= end - 2 - c.p ? end : c.p + c.limit + 2; }},
    {"one before the end: the last key is not one past the last",
     [](const IntervalPlace& c, Position end) {
       return (c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1) - 1;
     }},
    {"0, whatever the query is", [](const IntervalPlace&, Position) { return Position{0}; }},
    {"the end of the sequence, whatever right is", [](const IntervalPlace&, Position end) { return end; }},
    {"the end of the sequence where sequences are packed, whatever right is",
     [](const IntervalPlace& c, Position end) {
       return c.packed || c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1;
     }},
    {"the end of the sequence, unless right is 0",
     [](const IntervalPlace& c, Position end) { return c.limit == 0 ? c.p + 1 : end; }},
    {"p + 1, whatever right is", [](const IntervalPlace& c, Position) { return c.p + 1; }},
    {"p + right + 1 where there is a limit: it reaches into the next sequence",
     [](const IntervalPlace& c, Position end) { return none(c.limit) ? end : plus(c.p, c.limit + 1); }},
    {"min(seqlen, p + right + 1) where there is a limit: it reaches into the next sequence",
     [](const IntervalPlace& c, Position end) {
       return none(c.limit) ? end : std::min(c.seqlen, plus(plus(c.p, c.limit), 1));
     }},
    {"min(end, p + right + 1), where the sum passes the largest Position",
     [](const IntervalPlace& c, Position end) { return std::min(end, plus(plus(c.p, c.limit), 1)); }},
    {"max(end, p + right + 1)",
     [](const IntervalPlace& c, Position end) {
       return none(c.limit) ? end : std::max(end, c.p + c.limit + 1);
     }},
    {"min(end, p + left + 1): the two limits are exchanged",
     [](const IntervalPlace& c, Position end) { return c.other >= end - 1 - c.p ? end : c.p + c.other + 1; }},
    {"counted from the start of the sequence",
     [](const IntervalPlace& c, Position end) {
       return (c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1) - c.start;
     }},
    {"start + min(length, p + right + 1): the position in the whole stands for that in the sequence",
     [](const IntervalPlace& c, Position end) {
       return c.start + (c.limit >= end - c.start - 1 - c.p ? end - c.start : c.p + c.limit + 1);
     }},
    {"the length of the interval", [](const IntervalPlace& c, Position end) {
       return (c.limit >= end - 1 - c.p ? end : c.p + c.limit + 1) - std::max(c.start, c.p - c.other);
     }}};

}  // namespace

std::span<const BordersWord> borders_words() { return kBorders; }
std::span<const Finder> finders() { return kFinders; }
std::span<const PositionWord> position_words() { return kPositions; }
std::span<const EndWord> end_words(EndOf end) {
  return end == &KeyInterval::lo ? std::span<const EndWord>(kStarts) : std::span<const EndWord>(kEnds);
}
std::span<const MaskWord> mask_words(EndOf end) {
  return end == &KeyInterval::lo ? std::span<const MaskWord>(kLefts) : std::span<const MaskWord>(kRights);
}

}  // namespace ringcraft::verify::ranges
