// Recognises short blocks of an uneven ring that are padded with keys that count: zeros, the last key again,
// or the previous contents of the buffer.
#include <algorithm>
#include <cmath>
#include <string>

#include "verify/diagnose/solve/ring/meetings.hpp"
#include "verify/diagnose/solve/ring/near_rows.hpp"
#include "verify/diagnose/solve/ring/running_state.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

// The contents after the keys of a short block.
struct Filling {
  const char* words;
  int steps_before;  // age of the block whose tail it is; -1: zeros; 0: the last key of the block itself
};

constexpr Filling kFillings[] = {
    {"zeros, which count with score 0", -1},
    {"the last key and value once more", 0},
    {"the last keys and values of the block of the step before, which are still in the buffer", 1},
    {"the last keys and values of the block of two steps before, which are still in the buffer", 2}};

struct Padding {
  const MeetingLaw* law;
  const Filling* filling;
  bool to_longest;  // or to the length of the rank's own shard
};

// A row's sums with the padding keys; they are visible to every row that sees any of the block.
Merged padded_row(const Evidence& e, const RowBlocks& met, const Padding& padding) {
  const int rank = e.place.row_owner[static_cast<std::size_t>(met.row.row)];
  const Index kv_head = met.row.head / e.problem.group();
  const auto q = row_of(e.inputs.q, met.row.batch, met.row.head, met.row.row);
  const std::vector<double> nothing(q.size(), 0.0);
  std::size_t length = met.blocks[0].keys.size();
  for (const ScoredBlock& block : met.blocks)
    if (padding.to_longest) length = std::max(length, block.keys.size());
  RowSums sums(q.size());
  for (int step = 0; step < static_cast<int>(met.blocks.size()); ++step) {
    const ScoredBlock& block = met.blocks[static_cast<std::size_t>(step)];
    bool any = false;
    for (std::size_t i = 0; i < block.keys.size(); ++i)
      if (block.scores[i] != -HUGE_VAL) sums.take(block.scores[i], block.values[i]), any = true;
    if (!any || block.keys.empty() || !padding.law->holds({rank, e.place.wrapped(rank - step), step}))
      continue;
    for (std::size_t i = block.keys.size(); i < length; ++i) {
      const int from = padding.filling->steps_before;
      if (from < 0 || from > step) {
        sums.take(0, nothing);
        continue;
      }
      const auto& keys = met.blocks[static_cast<std::size_t>(step - from)].keys;
      const Index key = from > 0 && i < keys.size() ? keys[i] : keys.back();
      sums.take(e.problem.softmax_scale * dot(q, row_of(e.inputs.k, met.row.batch, kv_head, key)),
                row_of(e.inputs.v, met.row.batch, kv_head, key));
    }
  }
  return std::move(sums).result();
}

}  // namespace

std::optional<Cause> cause_of_padded_blocks(const Evidence& e) {
  const auto length = [](const auto& block) { return block.size(); };
  if (e.ring == nullptr || !e.place.ring ||
      std::ranges::min(e.place.blocks, {}, length).size() ==
          std::ranges::max(e.place.blocks, {}, length).size())
    return {};
  const NearRows rows(e);
  if (rows.count() < 8) return {};
  for (const MeetingLaw& law : meeting_laws(e.place.count()))
    for (const Filling& filling : kFillings)
      for (const bool to_longest : {true, false}) {
        const Padding padding{&law, &filling, to_longest};
        if (!rows.fit([&](const RowBlocks& row) { return padded_row(e, row, padding); },
                      NearRows::Misses::kNone))
          continue;
        return Cause{"padding-counts",
                     "in " + law.words + ", those that are shorter than " +
                         (to_longest ? "the longest one" : "the rank's own shard") +
                         " are filled up to its length, and what fills them counts: " + filling.words,
                     "Which keys of the block that arrives are padding, and what hides them?"};
      }
  return {};
}

}  // namespace ringcraft::verify
