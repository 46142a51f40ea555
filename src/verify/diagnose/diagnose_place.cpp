// Finds the first place where a claim differs: recomputes the ring of the claim's layout step by step, with
// the mistake that was found and without it.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kFar = 1e-9;  // steps differ by more than two computations of one step

bool far(const Merged& a, const Merged& b) {
  for (std::size_t c = 0; c < a.out.size(); ++c)
    if (!(std::fabs(a.out[c] - b.out[c]) <= kFar * (1 + std::fabs(b.out[c])))) return true;
  if (a.lse == b.lse) return false;
  return !(std::fabs(a.lse - b.lse) <= kFar * (1 + std::fabs(b.lse)));
}

// "step 2, with the block of rank 1 in hand".
std::string step_words(const TwistedRing& ring, const RowPlace& row, int step) {
  const Arrangement& a = ring.arrangement();
  if (!a.ring) return "tile " + std::to_string(step);
  const int rank = a.row_owner[static_cast<std::size_t>(row.row)];
  return "step " + std::to_string(step) + ", when the block of rank " +
         std::to_string(a.wrapped(rank - step)) + " is due";
}

// The step at which the state of a row with the mistake leaves the right one.
std::string step_of_mistake(const TwistedRing& ring, const Twist& twist, const RowPlace& row) {
  const int count = ring.arrangement().count();
  for (int steps = 1; steps <= count + 1; ++steps)
    if (far(ring.forward(twist, row, steps), ring.forward({}, row, std::min(steps, count))))
      return steps > count ? "one step too many" : step_words(ring, row, steps - 1);
  return "";
}

// The blocks whose absence (or second use) gives the claimed row.
std::string step_of_blocks(const Evidence& e, const TwistedRing& ring, const RowPlace& row) {
  const std::vector<BlockPartial> blocks = ring.partials({}, row);
  const std::size_t n = blocks.size();
  if (n > 8) return "";
  const auto is_claim = [&](const std::vector<BlockPartial>& some) {
    if (some.empty()) return false;
    const Merged value = merged(MergeTwist::kRight, LseTwist::kRight, some, -1, e.exponents());
    const auto is = [&](const Buffer& out) {
      return same_row(row_of(out, row.batch, row.head, row.row), value.out,
                      row_of(e.units().out, row.batch, row.head, row.row), e.nearness(), false);
    };
    return is(e.claim.out) && !is(e.oracle.value.out);  // the only block, used twice, changes nothing
  };
  for (std::size_t set = 1; set < (1u << n); ++set) {
    std::vector<BlockPartial> some;
    int missing = -1;
    for (std::size_t t = 0; t < n; ++t)
      if ((set >> t & 1) != 0)
        some.push_back(blocks[t]);
      else if (blocks[t].keys > 0 && missing < 0)
        missing = static_cast<int>(t);
    if (missing >= 0 && is_claim(some)) return step_words(ring, row, missing) + ": its part is missing";
  }
  for (std::size_t t = 0; t < n; ++t) {
    std::vector<BlockPartial> some = blocks;
    some.push_back(blocks[t]);
    if (blocks[t].keys > 0 && is_claim(some))
      return step_words(ring, row, static_cast<int>(t)) + ": its part is counted twice";
  }
  return "";
}

std::string chunk_words(const Problem& problem, int rank, Index row) {
  if (problem.layout != Layout::kZigzag || problem.per_sequence) return "";
  const Index rows = problem.sharding().rows(rank);
  return row < (rows + 1) / 2 ? ", early chunk" : ", late chunk";
}

}  // namespace

std::string place_of(const Evidence& e, const Found& found) {
  if (e.ring == nullptr) return "";
  const Problem& ring = found.elsewhere ? *found.elsewhere : *e.ring;
  // After a wrong forward pass, wrong gradients are to be expected.
  Comparison causes = e.comparison;
  if (any_wrong(e.comparison, TensorGroup::kForward))
    std::erase_if(causes.tensors,
                  [](const TensorComparison& t) { return t.name != "out" && t.name != "lse"; });
  const auto first = first_wrong(causes, ring.sharding());
  if (!first) return "";
  const Difference& d = first->difference;
  const auto of_all = first_wrong(e.comparison, ring.sharding());
  const bool later = of_all->rank != first->rank || of_all->row != first->row;  // than that of a gradient
  std::string text = std::string(later ? "first wrong in the forward pass" : "first wrong") + ": rank " +
                     std::to_string(first->rank) + ", " + d.tensor +
                     chunk_words(ring, first->rank, first->row) +
                     (d.batches > 1 ? ", batch " + std::to_string(d.batch) : "") +
                     (d.heads > 1 ? ", head " + std::to_string(d.head) : "") + ", local row " +
                     std::to_string(first->row) + " (position " + std::to_string(d.position) + ")";
  if (d.tensor != "out" || !found.ring) return text;
  const RowPlace row{d.batch, d.head, d.position};
  const std::string step = found.matches.empty()
                               ? step_of_blocks(e, *found.ring, row)
                               : step_of_mistake(*found.ring, found.matches[0].suspect->twist, row);
  return step.empty() ? text : text + ", at " + step;
}

}  // namespace ringcraft::verify
