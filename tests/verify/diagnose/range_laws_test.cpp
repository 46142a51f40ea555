// Tests the laws of masks: wrong intervals and wrong ranges, made from a formula each, are told by it; right
// ones have no cause, and a wrong cursor is not blamed on the ranges that follow from it.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

using Positions = std::vector<Position>;
using Answered = std::function<KeyInterval(const Mask&, Position seqlen, Position p)>;
using Met = std::function<KeyRanges(const Positions& keys, const std::vector<KeyInterval>&)>;

KeyInterval right_of(const Mask& mask, Position seqlen, Position p) { return MaskCursor(mask, seqlen).at(p); }

KeyRanges counted_ranges(const Positions& keys, const std::vector<KeyInterval>& rows) {
  KeyRanges ranges;
  for (const auto& [lo, hi] : rows) {
    ranges.begin.push_back(static_cast<int>(std::ranges::lower_bound(keys, lo) - keys.begin()));
    ranges.end.push_back(static_cast<int>(std::ranges::lower_bound(keys, hi) - keys.begin()));
  }
  return ranges;
}

// All masks of a small interview, answered by these two.
RangesExhibit exhibit_with(const Answered& answered, const Met& met = counted_ranges) {
  RangesExhibit x;
  for (const Positions& borders : {Positions{}, {0, 9, 30}, {0, 4, 5, 11, 19, 30}})
    for (Mask mask : {full_mask(), causal_mask(), window_mask(3), Mask{.left = 2, .right = 4}}) {
      mask.cu_seqlens = borders;
      Positions all(30);
      std::iota(all.begin(), all.end(), Position{0});
      const auto intervals = [&](const Positions& positions) {
        std::vector<KeyInterval> rows;
        for (const Position p : positions) rows.push_back(answered(mask, 30, p));
        return rows;
      };
      x.walks.push_back({mask, 30, all, intervals(all)});
      const Positions queries = {4, 5, 12, 13, 28}, keys = {0, 3, 5, 11, 19, 29};
      x.meetings.push_back({mask, 30, queries, keys, met(keys, intervals(queries)), intervals(queries)});
    }
  return x;
}

std::string said(const RangesExhibit& x) {
  const std::vector<Cause> causes = causes_of(x);
  return causes.empty() ? "" : causes[0].sentence;
}

}  // namespace

TEST_CASE("right intervals and ranges have no cause") {
  CHECK(causes_of(exhibit_with(right_of)).empty());
  CHECK(causes_of(RangesExhibit{}).empty());
}

TEST_CASE("the formula of a wrong interval is found") {
  const auto without_borders = [](Mask mask, Position seqlen, Position p) {
    mask.cu_seqlens.clear();
    return right_of(mask, seqlen, p);
  };
  CHECK(said(exhibit_with(without_borders)) == "MaskCursor::at: the borders of packed sequences are ignored");
  const auto narrow = [](Mask mask, Position seqlen, Position p) {
    if (mask.left != kNoLimit) --mask.left;
    return right_of(mask, seqlen, p);
  };
  CHECK(said(exhibit_with(narrow)).find("a window of W keys, and not of W + 1") != std::string::npos);
  const auto unlimited = [](Mask mask, Position seqlen, Position p) {
    mask.right = kNoLimit;
    return right_of(mask, seqlen, p);
  };
  CHECK(said(exhibit_with(unlimited)) == "MaskCursor::at: hi is the end of the sequence, whatever right is");
  const auto reset = [](const Mask& mask, Position seqlen, Position p) {
    KeyInterval seen = right_of({kNoLimit, mask.right, mask.cu_seqlens}, seqlen, p);
    if (mask.left != kNoLimit) seen.lo = std::max(seen.lo, p - seen.lo - mask.left);
    return seen;
  };
  CHECK(said(exhibit_with(reset)) ==
        "MaskCursor::at: of lo: the limit is counted from the position within the sequence, which begins "
        "again at 0");
  const auto equal = [](Mask mask, Position seqlen, Position p) {
    if (!mask.cu_seqlens.empty()) {
      const Position length = mask.cu_seqlens[1], start = p / length * length;
      mask.cu_seqlens = {0, start, std::min(start + length, seqlen), seqlen};
      const auto none = std::ranges::unique(mask.cu_seqlens);
      mask.cu_seqlens.erase(none.begin(), none.end());
    }
    return right_of(mask, seqlen, p);
  };
  CHECK(said(exhibit_with(equal)) ==
        "MaskCursor::at: all sequences are taken to be as long as the first one");
  const auto to_the_end = [](const Mask& mask, Position seqlen, Position p) {
    const auto [lo, hi] = right_of(mask, seqlen, p);
    return KeyInterval{lo, mask.right == kNoLimit ? seqlen : hi};
  };
  CHECK(said(exhibit_with(to_the_end)) ==
        "MaskCursor::at: of hi: the borders of packed sequences are ignored where there is no limit");
  const auto unknown = [](const Mask& mask, Position seqlen, Position p) {
    const auto [lo, hi] = right_of(mask, seqlen, p);
    return KeyInterval{lo, p % 7 == 3 ? lo : hi};  // no formula
  };
  CHECK(causes_of(exhibit_with(unknown)).empty());
}

TEST_CASE("the keys that a wrong range counts are found") {
  const auto inclusive = [](const Positions& keys, std::vector<KeyInterval> rows) {
    for (KeyInterval& row : rows) ++row.hi;
    return counted_ranges(keys, rows);
  };
  CHECK(said(exhibit_with(right_of, inclusive)) == "ranges_of: end counts the keys up to hi, hi included");
  const auto positions = [](const Positions&, const std::vector<KeyInterval>& rows) {
    KeyRanges ranges;
    for (const auto& [lo, hi] : rows)
      ranges.begin.push_back(static_cast<int>(lo)), ranges.end.push_back(static_cast<int>(hi));
    return ranges;
  };
  CHECK(said(exhibit_with(right_of, positions)) ==
        "ranges_of: begin is the position lo itself, and end is the position hi itself");
  const auto stops = [](const Positions& keys, const std::vector<KeyInterval>& rows) {
    KeyRanges ranges = counted_ranges(keys, rows);
    while (!ranges.begin.empty() && ranges.begin.back() == static_cast<int>(keys.size()))
      ranges.begin.pop_back(), ranges.end.pop_back();
    return ranges;
  };
  const auto beyond = [&](const Positions& keys, const std::vector<KeyInterval>& rows) {
    return stops({keys.begin(), keys.end() - 2}, rows);
  };
  RangesExhibit stopped = exhibit_with(right_of, beyond);
  for (RangesExhibit::Meeting& meeting : stopped.meetings) meeting.keys.resize(meeting.keys.size() - 2);
  CHECK(said(stopped) == "ranges_of: the rows end where all keys lie before lo, although each query has one");
  const auto of_the_keys = [](const Positions& keys, const std::vector<KeyInterval>&) {
    return KeyRanges{std::vector<int>(keys.size(), 0), std::vector<int>(keys.size(), 1)};
  };
  CHECK(said(exhibit_with(right_of, of_the_keys)) == "ranges_of: queries and keys are exchanged");
}

TEST_CASE("ranges that follow from a wrong cursor are not blamed on ranges_of") {
  const auto stays = [](const Mask& mask, Position seqlen, Position p) {
    KeyInterval seen = right_of(mask, seqlen, p);  // its end is that of the first sequence
    if (!mask.cu_seqlens.empty()) seen.hi = std::min(seen.hi, mask.cu_seqlens[1]);
    return seen;
  };
  const std::vector<Cause> causes = causes_of(exhibit_with(stays));
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].id == "solved-interval");
  const auto unknown = [](const Mask& mask, Position seqlen, Position p) {
    const auto [lo, hi] = right_of(mask, seqlen, p);
    return p % 7 == 5 ? KeyInterval{hi, lo} : KeyInterval{lo, hi};
  };
  CHECK(causes_of(exhibit_with(unknown)).empty());
  const auto last = [](const Mask& mask, Position seqlen, Position p) {
    const KeyInterval seen = right_of(mask, seqlen, p);
    const auto border = std::ranges::upper_bound(mask.cu_seqlens, p);
    return mask.cu_seqlens.empty() ? seen : KeyInterval{seen.lo, std::min(seen.hi, border[-1])};
  };
  CHECK(said(exhibit_with(last)) == "MaskCursor::at: of hi: the start of the sequence stands for its end");
}

TEST_CASE("steps that grow with the square of the tokens are told by what each row passes anew") {
  const auto cause = [](bool by_cursor, const auto& steps_of) {
    RangesExhibit x;
    for (const auto& [rows, keys, borders] : {std::array{256, 256, 129}, {1024, 1024, 513}, {256, 1024, 513}})
      x.counted.push_back({by_cursor, rows, keys, borders, steps_of(rows, keys, borders)});
    if (!by_cursor) x.counted.push_back({false, 1024, 256, 513, steps_of(1024, 256, 513)});
    const std::vector<Cause> causes = causes_of(x);
    return causes.empty() ? std::string() : causes[0].id;
  };
  const auto keys_anew = [](int rows, int keys, int) { return rows * keys / 2 + 5 * rows; };
  const auto borders_anew = [](int rows, int keys, int borders) {
    return rows * borders / 2 + 5 * rows + 2 * keys;
  };
  const auto in_line = [](int rows, int keys, int borders) { return 5 * rows + 2 * keys + borders; };
  CHECK(cause(false, keys_anew) == "solved-range-steps");
  CHECK(cause(false, borders_anew) == "solved-range-borders");
  CHECK(cause(true, borders_anew) == "solved-interval-steps");
  CHECK(cause(false, in_line) == "");
  CHECK(cause(true, in_line) == "");
}

}  // namespace ringcraft::verify
