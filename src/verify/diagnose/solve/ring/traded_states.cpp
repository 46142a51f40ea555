// Running states of which parts belong to other ranks (see running_state.hpp): with queries that walk, the
// numerator O, the denominator l and the maximum m travel home by messages of their own.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "verify/diagnose/solve/ring/running_state.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

struct WholeState {
  std::vector<double> out;
  double max = -HUGE_VAL, sum = 0;
};

// Of which rank each part is, counted from the owner of the rows.
struct Trade {
  int out, sum, max;
};

class TradedRows {
 public:
  explicit TradedRows(const Evidence& e)
      : e_(e), ring_(e.problem, e.inputs, e.oracle.value, e.place, e.exponents()) {}

  bool fits(const Trade& trade, const Sample& sample) {
    std::size_t looked_at = 0;
    for (const RowPlace& row : sample.rows) {
      const WholeState *out = part(row, trade.out), *sum = part(row, trade.sum), *max = part(row, trade.max);
      if (out == nullptr || sum == nullptr || max == nullptr) continue;  // shards of several lengths
      if (!(sum->sum > 0) || max->max == -HUGE_VAL) continue;
      ++looked_at;
      std::vector<double> value = out->out;
      for (double& x : value) x /= sum->sum;
      const double lse = max->max + std::log(sum->sum);
      if (e_.has("out") && !same(e_.claim.out, e_.units().out, row, value)) return false;
      if (e_.has("lse") && !same(e_.claim.lse, e_.units().lse, row, {&lse, 1})) return false;
    }
    return looked_at * 2 >= sample.rows.size();
  }

 private:
  bool same(const Buffer& claim, const Buffer& unit, const RowPlace& row,
            std::span<const double> value) const {
    return same_row(row_of(claim, row.batch, row.head, row.row), value,
                    row_of(unit, row.batch, row.head, row.row), e_.nearness(), false);
  }

  // The state of the row at the same place of the rank that is so many further on; null if it has none.
  const WholeState* part(RowPlace row, int ranks) {
    const auto at = static_cast<std::size_t>(row.row);
    const auto& shard =
        e_.place.shards[static_cast<std::size_t>(e_.place.wrapped(e_.place.row_owner[at] + ranks))];
    const auto local = static_cast<std::size_t>(e_.place.row_local[at]);
    if (local >= shard.size()) return nullptr;
    row.row = shard[local];
    const auto key = std::pair{row.batch * e_.problem.heads + row.head, row.row};
    const auto known = states_.find(key);
    if (known != states_.end()) return &known->second;
    WholeState whole{std::vector<double>(static_cast<std::size_t>(e_.problem.head_dim), 0.0)};
    const std::vector<BlockPartial> parts = ring_.partials({}, row);
    for (const BlockPartial& block : parts) whole.max = std::max(whole.max, block.max);
    for (const BlockPartial& block : parts) {
      if (block.keys == 0) continue;
      const double factor = std::exp(block.max - whole.max);
      whole.sum += factor * block.sum;
      add(whole.out, factor, block.out);
    }
    return &(states_[key] = std::move(whole));
  }

  const Evidence& e_;
  TwistedRing ring_;
  std::map<std::pair<Index, Index>, WholeState> states_;
};

std::string rank_words(int offset, int ranks) {
  if (offset == 0) return "rank r";
  if (offset == ranks - 1) return "rank r - 1";
  return "rank r + " + std::to_string(offset);
}

}  // namespace

std::optional<Cause> cause_of_traded_state(const Evidence& e) {
  if (e.ring == nullptr || !e.place.ring || e.place.count() < 2) return {};
  const Sample glance = sample_of(e, TensorGroup::kForward, 3, 0),
               all = sample_of(e, TensorGroup::kForward, 48, 48);
  if (all.rows.size() < 8) return {};
  TradedRows rows(e);
  const int n = e.place.count();
  for (int out = 0; out < n; ++out)
    for (int sum = 0; sum < n; ++sum)
      for (int max = 0; max < n; ++max) {
        const Trade trade{out, sum, max};
        if ((out == sum && sum == max) || !rows.fits(trade, glance) || !rows.fits(trade, all)) continue;
        return Cause{
            "solved-traded-state",
            "the state of the rows of rank r is put together from several ranks: O is that of " +
                rank_words(out, n) + ", l that of " + rank_words(sum, n) + ", the maximum that of " +
                rank_words(max, n) + ": one of them makes another number of hops than the others",
            "Do O, l and the maximum make the same number of hops, and do the queries make it, too?"};
      }
  return {};
}

}  // namespace ringcraft::verify
