// Recognises running states with parts of other ranks: if queries travel, the numerator O, the denominator l
// and the maximum m return home in separate messages.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/ring/running_state.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

struct WholeState {
  std::vector<double> out;
  double max = -HUGE_VAL, sum = 0;
};

// Another row whose O, l or maximum may be read.
struct OtherRow {
  std::string words;
  std::function<std::optional<RowPlace>(const RowPlace&)> row;
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
      const std::optional<RowPlace> from = other.row(row);
      if (!from) continue;  // shards of different lengths
      const WholeState &own = whole(row), &theirs = whole(*from);
      const double sum = trade.sum ? theirs.sum : own.sum, max = trade.max ? theirs.max : own.max;
      if (!(sum > 0) || max == -HUGE_VAL) continue;
      ++looked_at;
      std::vector<double> value = trade.out ? theirs.out : own.out;
      for (double& x : value) x /= sum;
      const double lse = max + std::log(sum);
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

std::vector<OtherRow> other_rows(const Evidence& e) {
  std::vector<OtherRow> all;
  const Index heads = e.problem.heads, batches = e.problem.batch;
  const int n = e.place.count();
  for (int by = 1; by < n; ++by)
    all.push_back(
        {by == n - 1 ? "rank r - 1" : "rank r + " + std::to_string(by),
         [=, &e](RowPlace row) -> std::optional<RowPlace> {
           const auto at = static_cast<std::size_t>(row.row);
           const auto& shard =
               e.place.shards[static_cast<std::size_t>(e.place.wrapped(e.place.row_owner[at] + by))];
           const auto local = static_cast<std::size_t>(e.place.row_local[at]);
           if (local >= shard.size()) return {};
           row.row = shard[local];
           return row;
         }});
  const auto add = [&](std::string words, auto change) {
    all.push_back({std::move(words), [=](RowPlace row) -> std::optional<RowPlace> {
                     change(row);
                     return row;
                   }});
  };
  if (heads > 1) {
    add("head 0", [](RowPlace& row) { row.head = 0; });
    add("the last head", [=](RowPlace& row) { row.head = heads - 1; });
    add("the next head", [=](RowPlace& row) { row.head = (row.head + 1) % heads; });
    add("the head before", [=](RowPlace& row) { row.head = (row.head + heads - 1) % heads; });
  }
  if (batches > 1) {
    add("batch entry 0", [](RowPlace& row) { row.batch = 0; });
    add("the next batch entry", [=](RowPlace& row) { row.batch = (row.batch + 1) % batches; });
  }
  return all;
}

}  // namespace

std::optional<Cause> cause_of_traded_state(const Evidence& e) {
  if (e.ring == nullptr || !e.place.ring || e.place.count() < 2) return {};
  const Sample glance = sample_of(e, TensorGroup::kForward, 3, 0),
               all = sample_of(e, TensorGroup::kForward, 48, 48);
  if (all.rows.size() < 8) return {};
  TradedRows rows(e);
  for (const OtherRow& other : other_rows(e))
    for (const Trade& trade : {Trade{true, false, false},
                               {false, true, false},
                               {false, false, true},
                               {true, true, false},
                               {true, false, true},
                               {false, true, true}}) {
      if (!rows.fits(other, trade, glance) || !rows.fits(other, trade, all)) continue;
      std::vector<std::string> parts;
      if (trade.out) parts.push_back("O");
      if (trade.sum) parts.push_back("l");
      if (trade.max) parts.push_back("the maximum");
      const bool of_rank = other.words.starts_with("rank");
      return Cause{
          "solved-traded-state",
          "the state of a row is put together from two rows: " + list_of(parts) +
              (parts.size() == 1 ? " is that of " : " are those of ") + other.words +
              (of_rank ? " (at the same place of its shard; r is the row's own rank), all else is the "
                         "row's own: one part makes more or fewer hops than the others"
                       : ", all else is the row's own"),
          of_rank ? "Do O, l and the maximum make the same number of hops, and the queries, too?"
                  : "By which row, head and batch entry are O, l and the maximum read?"};
    }
  return {};
}

}  // namespace ringcraft::verify
