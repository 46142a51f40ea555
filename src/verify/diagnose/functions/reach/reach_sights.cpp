// How wrong reaches read the mask and the shards, and when they take a block for seen.
#include <algorithm>

#include "verify/diagnose/functions/reach/reach_words.hpp"

namespace ringcraft::verify {
namespace {

constexpr ReachReading kReadings[] = {
    {nullptr, [](Problem&) {}},
    {"the window shows W keys with the query's own, instead of W + 1",
     [](Problem& p) { p.mask.left -= p.mask.left != kNoLimit && p.mask.left > 0 ? 1 : 0; }},
    {"the window shows one key more than W + 1",
     [](Problem& p) { p.mask.left += p.mask.left != kNoLimit ? 1 : 0; }},
    {"the borders of packed sequences are ignored", [](Problem& p) { p.mask.cu_seqlens.clear(); }},
    {"the borders of packed sequences are ignored where there is no limit to the right",
     [](Problem& p) {
       if (p.mask.right == kNoLimit) p.mask.cu_seqlens.clear();
     }},
    {"the borders of packed sequences are ignored where there is a window",
     [](Problem& p) {
       if (p.mask.left != kNoLimit) p.mask.cu_seqlens.clear();
     }},
    {"the left limit of the window is ignored", [](Problem& p) { p.mask.left = kNoLimit; }},
    {"every mask is taken for a causal one to the right", [](Problem& p) { p.mask.right = 0; }},
    {"the right limit is ignored", [](Problem& p) { p.mask.right = kNoLimit; }},
    {"every rank with a token is said to see every block: the mask is ignored, or rows are taken for "
     "positions",
     [](Problem& p) { p.mask = full_mask(); }},
    {"every mask is taken for the plain causal one", [](Problem& p) { p.mask = causal_mask(); }},
    {"every layout is taken for contiguous",
     [](Problem& p) { p.layout = Layout::kContiguous, p.per_sequence = false; }},
    {"sequences that are dealt one by one are taken for dealt as one",
     [](Problem& p) { p.per_sequence = false; }},
    {"the window holds to both sides", [](Problem& p) { p.mask.right = p.mask.left; }},
    {"without a limit to the right nothing is seen",
     [](Problem& p) { p.mask.right = p.mask.right == kNoLimit ? -p.shape.seqlen - 1 : p.mask.right; }},
    {"only the first border of packed sequences holds",
     [](Problem& p) {
       if (p.mask.cu_seqlens.size() > 2) p.mask.cu_seqlens = {0, p.mask.cu_seqlens[1], p.shape.seqlen};
     }},
    {"the first token of a sequence belongs to the sequence before it", [](Problem& p) {
       for (std::size_t i = 1; i + 1 < p.mask.cu_seqlens.size(); ++i) ++p.mask.cu_seqlens[i];
     }}};

// Whether the query sees a key, where a shard holds one.
bool sees_some(const ShardSight& s, const std::vector<Position>& queries, const std::vector<Position>& keys) {
  return sees_any({s.problem, queries, keys});
}

constexpr SightWord kSights[] = {
    {nullptr, sees_any},
    {"only the first query of a rank is asked",
     [](const ShardSight& s) { return !s.queries.empty() && sees_some(s, {s.queries.front()}, s.keys); }},
    {"only the last query of a rank is asked",
     [](const ShardSight& s) { return !s.queries.empty() && sees_some(s, {s.queries.back()}, s.keys); }},
    {"only the first and the last query of a rank are asked",
     [](const ShardSight& s) {
       return !s.queries.empty() && sees_some(s, {s.queries.front(), s.queries.back()}, s.keys);
     }},
    {"only the first key of a block is looked at",
     [](const ShardSight& s) { return !s.keys.empty() && sees_some(s, s.queries, {s.keys.front()}); }},
    {"only the last key of a block is looked at",
     [](const ShardSight& s) { return !s.keys.empty() && sees_some(s, s.queries, {s.keys.back()}); }},
    {"the block is compared with all positions between the first key that the first query sees and the last "
     "one that the last query sees, gaps included",
     [](const ShardSight& s) {
       return !s.queries.empty() && !s.keys.empty() && s.interval(s.queries.front()).lo <= s.keys.back() &&
              s.keys.front() < s.interval(s.queries.back()).hi;
     }},
    {"every key between the first one that the first query sees and the last one that the last query sees "
     "counts as seen, also where no query of the shard sees it",
     [](const ShardSight& s) {
       return !s.queries.empty() && std::ranges::any_of(s.keys, [&](Position k) {
         return s.interval(s.queries.front()).lo <= k && k < s.interval(s.queries.back()).hi;
       });
     }},
    {"the block is taken for all positions from its first key to its last, gaps included",
     [](const ShardSight& s) {
       return !s.keys.empty() && std::ranges::any_of(s.queries, [&](Position q) {
         return s.interval(q).lo <= s.keys.back() && s.keys.front() < s.interval(q).hi;
       });
     }},
    {"the shard of queries is taken for all positions from its first to its last, gaps included",
     [](const ShardSight& s) {
       std::vector<Position> queries;
       if (!s.queries.empty())
         for (Position q = s.queries.front(); q <= s.queries.back(); ++q) queries.push_back(q);
       return sees_some(s, queries, s.keys);
     }},
    {"a key at hi counts as seen, and hi is one past the last",
     [](const ShardSight& s) {
       return std::ranges::any_of(s.queries, [&](Position q) {
         const auto [lo, hi] = s.interval(q);
         return std::ranges::any_of(s.keys, [&, lo = lo, hi = hi](Position k) { return lo <= k && k <= hi; });
       });
     }},
    {"a key at lo does not count, and lo is the first that is seen",
     [](const ShardSight& s) {
       return std::ranges::any_of(s.queries, [&](Position q) {
         const auto [lo, hi] = s.interval(q);
         return std::ranges::any_of(s.keys, [&, lo = lo, hi = hi](Position k) { return lo < k && k < hi; });
       });
     }},
    {"all queries of a rank must see a key",
     [](const ShardSight& s) {
       return std::ranges::all_of(s.queries, [&](Position q) { return sees_some(s, {q}, s.keys); });
     }},
    {"an empty shard counts as seen",
     [](const ShardSight& s) { return s.queries.empty() || s.keys.empty() || sees_any(s); }},
    {"a block without keys counts as seen",
     [](const ShardSight& s) { return s.keys.empty() || sees_any(s); }},
    {"a rank without rows counts as seeing",
     [](const ShardSight& s) { return s.queries.empty() || sees_any(s); }}};

}  // namespace

std::span<const ReachReading> reach_readings() { return kReadings; }
std::span<const SightWord> sight_words() { return kSights; }

}  // namespace ringcraft::verify
