// Explains wrong ranges of local rows: an end counts keys before some position, or is a position itself. The
// positions are the student's own intervals, so that a wrong cursor is not blamed on what is built on it.
// Rows may be missing.
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
  KeyInterval seen;  // the interval that was taken for it
  Index last;        // the previous answer for this end, 0 at first
  Index begin;       // as answered

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

// ---- which rows there are

struct KeptWord {
  const char* words;  // nullptr: all of them
  bool (*keeps)(const Meeting&, std::size_t row);
};

Index keys_before(const Meeting& m, Position position) {
  return std::ranges::lower_bound(m.keys, position) - m.keys.begin();
}
bool sees_none(const Meeting& m, std::size_t row) {
  return keys_before(m, m.intervals[row].lo) >= keys_before(m, m.intervals[row].hi);
}
// Whether this holds for no row up to this one.
template <class Holds>
bool none_up_to(const Meeting& m, std::size_t row, Holds holds) {
  for (std::size_t a = 0; a <= row; ++a)
    if (holds(m, a)) return false;
  return true;
}

constexpr KeptWord kKept[] = {
    {nullptr, [](const Meeting&, std::size_t) { return true; }},
    {"without keys there are no rows", [](const Meeting& m, std::size_t) { return !m.keys.empty(); }},
    {"the rows end where all keys lie before lo, although each query has one",
     [](const Meeting& m, std::size_t a) {
       return keys_before(m, m.intervals[a].lo) < static_cast<Index>(m.keys.size());
     }},
    {"the rows end where all keys lie before hi, although each query has one",
     [](const Meeting& m, std::size_t a) {
       return keys_before(m, m.intervals[a].hi) < static_cast<Index>(m.keys.size());
     }},
    {"the rows end with the first that sees the last key, although each query has one",
     [](const Meeting& m, std::size_t a) {
       return a == 0 || keys_before(m, m.intervals[a - 1].hi) < static_cast<Index>(m.keys.size());
     }},
    {"the rows end where one sees no key, although each query has one",
     [](const Meeting& m, std::size_t a) { return none_up_to(m, a, sees_none); }},
    {"rows that see no key are left out, although each query has one",
     [](const Meeting& m, std::size_t a) { return !sees_none(m, a); }},
    {"the rows end after the first one without a key, although each query has one",
     [](const Meeting& m, std::size_t a) { return a == 0 || none_up_to(m, a - 1, sees_none); }},
    {"the last row is missing", [](const Meeting& m, std::size_t a) { return a + 1 < m.queries.size(); }},
    {"the first row is missing", [](const Meeting&, std::size_t a) { return a > 0; }}};

// ---- the search

enum class Side : bool { kBegin, kEnd };

struct RowLaw {
  const KeptWord* kept;
  const IntervalWord* interval;
  const RowWord* word;
};

bool gives(const RowLaw& law, Side side, const Meeting& m) {
  const std::vector<int>& got = side == Side::kBegin ? m.ranges->begin : m.ranges->end;
  std::size_t at = 0;
  Index last = 0;
  for (std::size_t a = 0; a < m.queries.size(); ++a) {
    if (!law.kept->keeps(m, a)) continue;
    if (at == got.size()) return false;
    const Index begin = at < m.ranges->begin.size() ? m.ranges->begin[at] : 0;
    if (law.word->value({&m, law.interval->value(m, a), last, begin}) != got[at]) return false;
    last = got[at++];
  }
  return at == got.size();
}

std::optional<RowLaw> found_end(Side side, const std::vector<Meeting>& meetings) {
  const auto words =
      side == Side::kBegin ? std::span<const RowWord>(kRowBegins) : std::span<const RowWord>(kRowEnds);
  for (const KeptWord& kept : kKept)
    for (const IntervalWord& interval : kIntervals)
      for (const RowWord& word : words)
        if (const RowLaw law{&kept, &interval, &word};
            std::ranges::all_of(meetings, [&](const Meeting& m) { return gives(law, side, m); }))
          return law;
  return {};
}

// Whether a right cursor could give these intervals: ranges of any others follow from a wrong one.
bool could_be_right(const Meeting& m) {
  for (std::size_t a = 0; a < m.intervals.size(); ++a) {
    const auto [lo, hi] = m.intervals[a];
    if (lo < 0 || hi < lo || hi > m.seqlen) return false;
    if (a > 0 && (lo < m.intervals[a - 1].lo || hi < m.intervals[a - 1].hi)) return false;
  }
  return true;
}

// The whole meeting with the two lists in each other's place.
bool exchanged(const Meeting& m) {
  return m.queries.size() != m.keys.size() && !m.keys.empty() && m.ranges->begin.size() == m.keys.size();
}

}  // namespace

std::vector<Cause> causes_of_meetings(const std::vector<Meeting>& all) {
  constexpr const char* kQuestion =
      "Which keys of the list lie before the first that the row sees, and how many are they?";
  std::vector<Meeting> meetings;
  for (const Meeting& m : all)
    if (m.ranges && !m.queries.empty() && m.intervals.size() == m.queries.size() && could_be_right(m))
      meetings.push_back(m);
  if (meetings.empty()) return {};
  if (std::ranges::any_of(meetings, exchanged) &&
      std::ranges::all_of(meetings, [](const Meeting& m) { return m.ranges->begin.size() == m.keys.size(); }))
    return {{"solved-range", "ranges_of: queries and keys are exchanged", kQuestion}};
  const auto begin = found_end(Side::kBegin, meetings), end = found_end(Side::kEnd, meetings);
  std::string words;
  const auto say = [&](const std::string& of, const char* what) {
    if (what != nullptr && words.find(of + what) == std::string::npos)
      words += (words.empty() ? "" : ", and ") + of + what;
  };
  for (const auto& [of, law] : {std::pair{"begin ", begin}, {"end ", end}}) {
    if (!law) continue;
    say("", law->kept->words);
    say(of, law->word->words);
    say("", law->interval->words);
  }
  if (words.empty()) return {};
  return {{"solved-range", "ranges_of: " + words, kQuestion}};
}

}  // namespace ringcraft::verify::ranges
