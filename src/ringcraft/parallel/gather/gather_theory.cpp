// Costs of all-gather attention: messages follow from the visible blocks alone, memory from the schedule.
#include "ringcraft/parallel/gather/gather_passes.hpp"
#include "ringcraft/parallel/gather/gather_steps.hpp"
#include "ringcraft/parallel/ledger.hpp"

namespace ringcraft {
namespace {

using enum Role;

// One rank's pass on paper.
class GatherCount {
 public:
  GatherCount(const Problem& problem, const HeadSlices& slices, int rank, Pass pass, RoleBytes bytes)
      : problem_(problem),
        slices_(slices.count()),
        rank_(rank),
        backward_(pass == Pass::kBackward),
        ledger_(bytes),
        q_(problem.q_extents(rank).elements()),
        row_(problem.row_extents(rank).elements()) {}

  Index peak() {
    ledger_.hold(kElement, (backward_ ? 2 : 1) * q_ + kv(rank_));                // q, k, v, dout
    if (backward_) ledger_.hold(kAccumulator, q_ + row_);                        // out, lse
    if (cut()) ledger_.hold(kAccumulator, q_ + (backward_ ? kv(rank_) : row_));  // the results
    for (const GatherStep& step : gather_steps(problem_.world_size, slices_)) {
      if (step.exchanged.some()) exchange(step.exchanged);
      if (step.computed.some()) backward_ ? compute_backward(step.computed) : compute_forward(step.computed);
      if (step.computed.some()) drop(step.computed);
    }
    return ledger_.peak();
  }

 private:
  bool cut() const { return slices_ > 1; }
  int modulo(int r) const { return (r + problem_.world_size) % problem_.world_size; }
  // k and v of a rank's block, and a slice of them.
  Index kv(int rank) const { return 2 * problem_.kv_extents(modulo(rank)).elements(); }
  Index slice(int rank) const { return kv(rank) / slices_; }
  bool sees(int rank, int source) const { return key_ranges(problem_, modulo(rank), modulo(source)).any(); }

  void own(int slice_of_it) {
    if (!cut() || owned_[slice_of_it % 2]) return;
    owned_[slice_of_it % 2] = true;
    ledger_.hold(kElement, slice(rank_));
  }
  void exchange(const GatheredBlock& block) {
    if (sees(rank_ + block.distance, rank_)) own(block.slice);
    if (sees(rank_, rank_ - block.distance)) ledger_.hold(kElement, slice(rank_ - block.distance));
  }
  void drop(const GatheredBlock& block) {
    if (block.distance > 0) {
      if (sees(rank_, rank_ - block.distance)) ledger_.drop(kElement, slice(rank_ - block.distance));
    } else if (cut()) {
      owned_[block.slice % 2] = false;
      ledger_.drop(kElement, slice(rank_));
    }
  }

  void compute_forward(const GatheredBlock& block) {
    if (block.distance == 0) {
      if (cut()) ledger_.hold(kElement, q_ / slices_);
      ledger_.hold(kAccumulator, (q_ + 2 * row_) / slices_);
      own(block.slice);
    }
    if (block.distance < problem_.world_size - 1) return;
    if (cut()) ledger_.drop(kElement, q_ / slices_);
    ledger_.drop(kAccumulator, row_ / slices_);
    if (cut()) ledger_.drop(kAccumulator, (q_ + row_) / slices_);
  }

  void compute_backward(const GatheredBlock& block) {
    const Index copies = cut() ? 1 : 0;
    if (block.distance == 0) {
      ledger_.hold(kElement, copies * 2 * q_ / slices_);           // q, dout
      ledger_.hold(kAccumulator, copies * (q_ + row_) / slices_);  // out, lse
      ledger_.hold(kAccumulator, (q_ + row_) / slices_);           // dq, delta
      own(block.slice);
    }
    const int source = rank_ - block.distance;
    const Index share = block.distance == 0 || sees(rank_, source) ? slice(source) : 0;
    ledger_.hold(kAccumulator, share);
    gradients_come();
    if (block.distance > 0) {
      under_way_ = share + (sees(rank_ + block.distance, rank_) ? slice(rank_) : 0);
      ledger_.hold(kAccumulator, under_way_ - share);
    }
    if (block.distance < problem_.world_size - 1) return;
    gradients_come();
    ledger_.drop(kElement, copies * 2 * q_ / slices_);
    ledger_.drop(kAccumulator, copies * (q_ + row_ + q_ + slice(rank_) * slices_) / slices_);
    ledger_.drop(kAccumulator, row_ / slices_);
  }
  void gradients_come() {
    ledger_.drop(kAccumulator, under_way_);
    under_way_ = 0;
  }

  const Problem& problem_;
  const int slices_, rank_;
  const bool backward_;
  Ledger ledger_;
  const Index q_, row_;
  bool owned_[2] = {false, false};
  Index under_way_ = 0;  // of gradients
};

}  // namespace

Theory gather_theory(const Problem& problem, const HeadSlices& slices, Pass pass, RoleBytes bytes) {
  const int n = problem.world_size;
  Theory theory(n);
  theory.heads = 1.0 / slices.count();
  theory.steps = static_cast<int>(gather_steps(n, slices.count()).size());
  for (int rank = 0; rank < n; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto sends = [&](int block, std::size_t number) {
      const Index elements = 2 * problem.kv_extents(block).elements();
      theory.bytes_sent[r] += elements * static_cast<Index>(number);
      theory.messages_sent[r] += elements > 0 ? 2 * slices.count() : 0;
    };
    for (int other = 0; other < n; ++other) {
      const Index pairs = key_ranges(problem, rank, other).pairs();
      theory.pairs[r] += pairs * slices.count();
      if (other == rank) continue;
      if (key_ranges(problem, other, rank).any()) sends(rank, bytes.element);
      if (pass == Pass::kBackward && pairs > 0) sends(other, bytes.accumulator);
    }
    theory.peak_bytes[r] = GatherCount(problem, slices, rank, pass, bytes).peak();
  }
  return theory;
}

}  // namespace ringcraft
