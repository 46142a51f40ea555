// Recognises running states with parts of other ranks: if queries travel, the numerator O, the denominator l
// and the maximum m return home in separate messages.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/ring/other_rows.hpp"
#include "verify/diagnose/solve/ring/running_state.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

struct WholeState {
  std::vector<double> out;
  double max = -HUGE_VAL, sum = 0;
};

// Which of the three belong to the other row.
struct Trade {
  bool out, sum, max;
};

class TradedRows {
 public:
  explicit TradedRows(const Evidence& e)
      : e_(e), ring_(e.problem, e.inputs, e.oracle.value, e.place, e.exponents()) {}

  bool fits(const OtherRow& other, const Trade& trade, const Sample& sample) {
    std::size_t looked_at = 0;
    for (const RowPlace& row : sample.rows) {
      const std::optional<RowPlace> from = other.of(row);
      if (!from) continue;  // shards of different lengths
      const WholeState &own = whole(row), &theirs = whole(*from);
      const double sum = trade.sum ? theirs.sum : own.sum, max = trade.max ? theirs.max : own.max;
      if (!(sum > 0) || max == -HUGE_VAL) continue;
      ++looked_at;
      std::vector<double> value = trade.out ? theirs.out : own.out;
      for (double& x : value) x /= sum;
      const double lse = max + std::log(sum);
      if (e_.has("out") && !is_claimed_row(e_, e_.claim.out, e_.units().out, row, value)) return false;
      if (e_.has("lse") && !is_claimed_row(e_, e_.claim.lse, e_.units().lse, row, {&lse, 1})) return false;
    }
    return looked_at * 2 >= sample.rows.size();
  }

 private:
  const WholeState& whole(const RowPlace& row) {
    const auto key = std::pair{row.batch * e_.problem.heads + row.head, row.row};
    const auto known = states_.find(key);
    if (known != states_.end()) return known->second;
    WholeState all{std::vector<double>(static_cast<std::size_t>(e_.problem.head_dim), 0.0)};
    const std::vector<BlockPartial> parts = ring_.partials({}, row);
    for (const BlockPartial& block : parts) all.max = std::max(all.max, block.max);
    for (const BlockPartial& block : parts) {
      if (block.keys == 0) continue;
      const double factor = std::exp(block.max - all.max);
      all.sum += factor * block.sum;
      add(all.out, factor, block.out);
    }
    return states_[key] = std::move(all);
  }

  const Evidence& e_;
  TwistedRing ring_;
  std::map<std::pair<Index, Index>, WholeState> states_;
};

// Whether this trade changes a tensor that is wrong: another maximum leaves out as it is.
bool may_show(const Evidence& e, const Trade& trade) { return e.is_wrong("lse") || trade.out || trade.sum; }

Cause cause_of(const OtherRow& other, const Trade& trade, bool of_rank) {
  std::vector<std::string> parts;
  if (trade.out) parts.push_back("O");
  if (trade.sum) parts.push_back("l");
  if (trade.max) parts.push_back("the maximum");
  return {"solved-traded-state",
          "the state of a row is put together from two rows: " + list_of(parts) +
              (parts.size() == 1 ? " is that of " : " are those of ") + other.words +
              (of_rank ? " (at the same place of its shard; r is the row's own rank), all else is the "
                         "row's own: one part makes more or fewer hops than the others"
                       : ", all else is the row's own"),
          of_rank ? "Do O, l and the maximum make the same number of hops, and the queries, too?"
                  : "By which row, head and batch entry are O, l and the maximum read?"};
}

}  // namespace

std::optional<Cause> cause_of_traded_state(const Evidence& e) {
  if (e.ring == nullptr || !e.place.ring || e.place.count() < 2) return {};
  const Sample glance = sample_of(e, TensorGroup::kForward, 3, 0),
               all = sample_of(e, TensorGroup::kForward, 48, 48);
  if (all.rows.size() < 8) return {};
  TradedRows rows(e);
  for (const bool of_rank : {true, false})
    for (const OtherRow& other : of_rank ? rows_of_other_ranks(e) : rows_of_other_heads(e))
      for (const Trade& trade : {Trade{true, false, false},
                                 {false, true, false},
                                 {false, false, true},
                                 {true, true, false},
                                 {true, false, true},
                                 {false, true, true}})
        if (may_show(e, trade) && rows.fits(other, trade, glance) && rows.fits(other, trade, all))
          return cause_of(other, trade, of_rank);
  return {};
}

}  // namespace ringcraft::verify
