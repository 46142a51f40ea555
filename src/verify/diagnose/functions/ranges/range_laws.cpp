// Explains wrong ranges of local rows: an end counts keys before some position, or is a position itself. The
// positions are the student's own intervals, so that a wrong cursor is not blamed on what is built on it.
#include <algorithm>
#include <functional>
#include <optional>

#include "verify/diagnose/functions/ranges/ranges.hpp"

namespace ringcraft::verify::ranges {
namespace {

using Meeting = RangesExhibit::Meeting;

// One row, and what an end is made of.
struct RowView {
  const Meeting* at;
  Index row;
  KeyInterval seen;  // the interval that was taken for it
  Index last;        // the previous answer for this end, 0 at first
  Index begin, end;  // the answer

  Index keys() const { return static_cast<Index>(at->keys.size()); }
  Index before(Position position) const {
    return std::ranges::lower_bound(at->keys, position) - at->keys.begin();
  }
  Position first_key() const { return at->keys.empty() ? 0 : at->keys.front(); }
};

// ---- which interval a row takes

struct IntervalWord {
  const char* words;  // nullptr: that of the row's position
  KeyInterval (*value)(const Meeting&, std::size_t row);
};
constexpr IntervalWord kIntervals[] = {
    {nullptr, [](const Meeting& m, std::size_t a) { return m.intervals[a]; }},
    {"the local row number is taken for its position",
     [](const Meeting& m, std::size_t a) {
       return right_interval(m.mask, m.seqlen, static_cast<Position>(a));
     }},
    {"the first query's position plus the row number is taken for its position",
     [](const Meeting& m, std::size_t a) {
       const Position p = m.queries.front() + static_cast<Position>(a);
       return right_interval(m.mask, m.seqlen, std::min(p, m.seqlen - 1));
     }},
    {"every row takes the interval of the first one",
     [](const Meeting& m, std::size_t) { return m.intervals.front(); }},
    {"the borders of packed sequences are ignored",
     [](const Meeting& m, std::size_t a) {
       return right_interval({m.mask.left, m.mask.right, {}}, m.seqlen, m.queries[a]);
     }},
    {"a sequence begins with the first query of the shard at the earliest",
     [](const Meeting& m, std::size_t a) {
       return KeyInterval{std::max(m.intervals[a].lo, m.queries.front()), m.intervals[a].hi};
     }},
    {"in the blocks before the shard the window counts alone, without the border of the sequence",
     [](const Meeting& m, std::size_t a) {
       const auto [lo, hi] = m.intervals[a];
       const bool alone = lo < m.queries.front() && m.mask.left != kNoLimit;
       return KeyInterval{alone ? std::max<Position>(0, m.queries[a] - m.mask.left) : lo, hi};
     }},
    {"the sequence ends with the number of keys of the shard",
     [](const Meeting& m, std::size_t a) {
       return m.mask.cu_seqlens.empty()
                  ? right_interval(m.mask, static_cast<Position>(m.keys.size()), m.queries[a])
                  : m.intervals[a];
     }},
    {"a plain causal mask is taken, whatever the mask is", [](const Meeting& m, std::size_t a) {
       return right_interval({kNoLimit, 0, {}}, m.seqlen, m.queries[a]);
     }}};

// ---- how its ends become local rows

struct RowWord {
  const char* words;  // nullptr: the right one
  Index (*value)(const RowView&);
};
constexpr RowWord kRowBegins[] = {
    {nullptr, [](const RowView& r) { return r.before(r.seen.lo); }},
    {"counts the keys up to lo, lo included", [](const RowView& r) { return r.before(r.seen.lo + 1); }},
    {"is one less than the keys before lo",
     [](const RowView& r) { return std::max<Index>(0, r.before(r.seen.lo) - 1); }},
    {"is the first key that was seen, with numbers from 1",
     [](const RowView& r) { return r.before(r.seen.lo) + 1; }},
    {"is the position lo itself", [](const RowView& r) { return static_cast<Index>(r.seen.lo); }},
    {"is lo, cut to the number of keys",
     [](const RowView& r) { return std::min<Index>(r.seen.lo, r.keys()); }},
    {"is lo minus the first key's position, as if the keys had no gaps",
     [](const RowView& r) { return std::clamp<Index>(r.seen.lo - r.first_key(), 0, r.keys()); }},
    {"is lo minus the first key's position", [](const RowView& r) { return r.seen.lo - r.first_key(); }},
    {"is 0", [](const RowView&) { return Index{0}; }},
    {"moves by one key at most from row to row",
     [](const RowView& r) { return std::min(r.last + 1, r.before(r.seen.lo)); }},
    {"stops at the last key, which is not looked at",
     [](const RowView& r) { return std::min(r.before(r.seen.lo), std::max<Index>(r.keys() - 1, 0)); }},
    {"counts the keys before hi", [](const RowView& r) { return r.before(r.seen.hi); }},
    {"is 0 where the row sees no key",
     [](const RowView& r) { return r.before(r.seen.lo) >= r.before(r.seen.hi) ? 0 : r.before(r.seen.lo); }}};
constexpr RowWord kRowEnds[] = {
    {nullptr, [](const RowView& r) { return std::max(r.before(r.seen.lo), r.before(r.seen.hi)); }},
    {"counts the keys up to hi, hi included", [](const RowView& r) { return r.before(r.seen.hi + 1); }},
    {"is the last key, not one past it", [](const RowView& r) { return r.before(r.seen.hi) - 1; }},
    {"counts the keys before hi - 1", [](const RowView& r) { return r.before(r.seen.hi - 1); }},
    {"is the position hi itself", [](const RowView& r) { return static_cast<Index>(r.seen.hi); }},
    {"is hi, cut to the number of keys",
     [](const RowView& r) { return std::min<Index>(r.seen.hi, r.keys()); }},
    {"is hi minus the first key's position, as if the keys had no gaps",
     [](const RowView& r) { return std::clamp<Index>(r.seen.hi - r.first_key(), 0, r.keys()); }},
    {"is hi minus the first key's position", [](const RowView& r) { return r.seen.hi - r.first_key(); }},
    {"is the number of keys", [](const RowView& r) { return r.keys(); }},
    {"is the length of the range",
     [](const RowView& r) { return r.before(r.seen.hi) - r.before(r.seen.lo); }},
    {"is begin and the length of the interval, as if all its keys were here",
     [](const RowView& r) { return std::min(r.begin + r.seen.hi - r.seen.lo, r.keys()); }},
    {"moves by one key at most from row to row",
     [](const RowView& r) { return std::min(r.last + 1, r.before(r.seen.hi)); }},
    {"stops at the last key, which is not looked at",
     [](const RowView& r) { return std::min(r.before(r.seen.hi), std::max<Index>(r.keys() - 1, 0)); }},
    {"is the number of keys, where the row sees any",
     [](const RowView& r) { return r.before(r.seen.lo) < r.before(r.seen.hi) ? r.keys() : 0; }},
    {"counts the keys before lo", [](const RowView& r) { return r.before(r.seen.lo); }},
    {"lies before begin where the row sees no key", [](const RowView& r) { return r.before(r.seen.hi); }},
    {"is 0 where the row sees no key",
     [](const RowView& r) { return r.before(r.seen.lo) >= r.before(r.seen.hi) ? 0 : r.before(r.seen.hi); }}};

// ---- the search

enum class Side : bool { kBegin, kEnd };

bool gives(const IntervalWord& interval, const RowWord& word, Side side,
           const std::vector<Meeting>& meetings) {
  for (const Meeting& m : meetings) {
    Index last = 0;
    for (std::size_t a = 0; a < m.queries.size(); ++a) {
      const RowView row{&m,   static_cast<Index>(a), interval.value(m, a),
                        last, m.ranges.begin[a],     m.ranges.end[a]};
      const Index got = side == Side::kBegin ? row.begin : row.end;
      if (word.value(row) != got) return false;
      last = got;
    }
  }
  return true;
}

struct FoundEnd {
  const char *interval, *word;
};

std::optional<FoundEnd> found_end(Side side, const std::vector<Meeting>& meetings) {
  const auto words =
      side == Side::kBegin ? std::span<const RowWord>(kRowBegins) : std::span<const RowWord>(kRowEnds);
  for (const IntervalWord& interval : kIntervals)
    for (const RowWord& word : words)
      if (gives(interval, word, side, meetings)) return FoundEnd{interval.words, word.words};
  return {};
}

// The whole meeting with the two lists in each other's place.
bool exchanged(const Meeting& m) {
  return m.queries.size() != m.keys.size() && m.ranges.begin.size() == m.keys.size();
}

}  // namespace

std::vector<Cause> causes_of_meetings(const std::vector<Meeting>& all) {
  constexpr const char* kQuestion =
      "Which keys of the list lie before the first that the row sees, and how many are they?";
  std::vector<Meeting> meetings;
  bool rows_of_keys = false;
  for (const Meeting& m : all) {
    rows_of_keys = rows_of_keys || exchanged(m);
    const bool whole = m.ranges.begin.size() == m.queries.size() && m.ranges.end.size() == m.queries.size() &&
                       m.intervals.size() == m.queries.size();
    if (whole && !m.queries.empty()) meetings.push_back(m);
  }
  if (rows_of_keys) return {{"solved-range", "ranges_of: queries and keys are exchanged", kQuestion}};
  if (meetings.empty()) return {};
  const auto begin = found_end(Side::kBegin, meetings), end = found_end(Side::kEnd, meetings);
  const auto words_of = [](const char* name, const std::optional<FoundEnd>& law) {
    std::string text;
    if (law && law->word != nullptr) text = std::string(name) + " " + law->word;
    if (law && law->interval != nullptr) text += (text.empty() ? "" : "; ") + std::string(law->interval);
    return text;
  };
  std::string words = words_of("begin", begin);
  if (const std::string more = words_of("end", end); !more.empty() && more != words)
    words += (words.empty() ? "" : ", and ") + more;
  if (words.empty()) return {};
  return {{"solved-range", "ranges_of: " + words, kQuestion}};
}

}  // namespace ringcraft::verify::ranges
