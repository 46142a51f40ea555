// Running sums of 16 bits (see running_state.hpp): l, O or both are rounded after every key, every tile or
// every block, to the nearest number or by cutting bits off. An l in bfloat16 does not grow any more where a
// weight is less than half a step: with many keys it is far too small.
#include <algorithm>
#include <cmath>
#include <string>

#include "verify/diagnose/solve/ring/running_state.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

enum class Kept : std::uint8_t { kSum, kOut, kBoth };

struct SumRounding {
  Kept kept;
  int bits;  // of the significand: 8 of bfloat16, 11 of float16
  bool cut;
  Index tile;          // keys between two roundings; 0: a block
  bool factor_too;     // the rescaled state is rounded before the new weights are added
  bool within_blocks;  // the sum of a block alone: blocks are joined in full precision
};

double rounded(double x, const SumRounding& r) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const double part = std::ldexp(std::frexp(x, &exponent), r.bits);
  return std::ldexp(r.cut ? std::trunc(part) : std::nearbyint(part), exponent - r.bits);
}

// A row's scores in the order in which its rank meets the keys, block by block.
struct ScoredBlock {
  std::vector<double> scores;
  std::vector<std::span<const double>> values;
};

struct RoundedState {
  std::vector<double> out;
  double max = -HUGE_VAL, sum = 0;

  void round(const SumRounding& r) {
    if (r.kept != Kept::kOut) sum = rounded(sum, r);
    if (r.kept != Kept::kSum)
      for (double& x : out) x = rounded(x, r);
  }
  void rescale(double to) {
    const double factor = max == -HUGE_VAL ? 0 : std::exp(max - to);
    max = to, sum *= factor;
    for (double& x : out) x *= factor;
  }
};

void scan_block(RoundedState& state, const ScoredBlock& block, const SumRounding& r) {
  const std::size_t tile =
      r.tile == 0 ? std::max<std::size_t>(block.scores.size(), 1) : static_cast<std::size_t>(r.tile);
  for (std::size_t first = 0; first < block.scores.size(); first += tile) {
    const std::size_t last = std::min(first + tile, block.scores.size());
    double top = state.max;
    for (std::size_t i = first; i < last; ++i) top = std::max(top, block.scores[i]);
    if (top == -HUGE_VAL) continue;
    state.rescale(top);
    if (r.factor_too) state.round(r);
    for (std::size_t i = first; i < last; ++i) {
      if (block.scores[i] == -HUGE_VAL) continue;
      const double weight = std::exp(block.scores[i] - top);
      state.sum += weight;
      add(state.out, weight, block.values[i]);
    }
    state.round(r);
  }
}

Merged result_of(const std::vector<ScoredBlock>& blocks, std::size_t width, const SumRounding& r) {
  RoundedState state{std::vector<double>(width, 0.0)};
  for (const ScoredBlock& block : blocks) {
    if (!r.within_blocks) {
      scan_block(state, block, r);
      continue;
    }
    RoundedState own{std::vector<double>(width, 0.0)};
    scan_block(own, block, r);
    if (own.max == -HUGE_VAL) continue;
    const double top = std::max(state.max, own.max);
    state.rescale(top), own.rescale(top);
    state.sum += own.sum;
    add(state.out, 1, own.out);
  }
  if (state.max == -HUGE_VAL) return {std::move(state.out), -HUGE_VAL};
  for (double& x : state.out) x /= state.sum;
  return {std::move(state.out), state.max + std::log(state.sum)};
}

class RoundedRows {
 public:
  explicit RoundedRows(const Evidence& e) : e_(e) {
    for (const RowPlace& row : sample_of(e, TensorGroup::kForward, 60, 20).rows)
      rows_.emplace_back(row, blocks_of(row));
  }

  std::size_t count() const { return rows_.size(); }

  // How much of the rows a rounding gives: the share of rows, or, in a claim of 16 bits, how much nearer the
  // claim is than to exact sums.
  bool fits(const SumRounding& r) const {
    constexpr std::size_t kGlance = 12;
    return share(r, kGlance) && share(r, rows_.size());
  }

 private:
  std::vector<ScoredBlock> blocks_of(const RowPlace& row) const {
    std::vector<ScoredBlock> all;
    const int rank = e_.place.row_owner[static_cast<std::size_t>(row.row)];
    const Index kv_head = row.head / e_.problem.group();
    const auto q = row_of(e_.inputs.q, row.batch, row.head, row.row);
    for (int step = 0; step < e_.place.count(); ++step) {
      ScoredBlock& block = all.emplace_back();
      for (const Index key : e_.place.blocks[static_cast<std::size_t>(e_.place.wrapped(rank - step))]) {
        const bool seen = visible(e_.problem.mask, e_.problem.queries[static_cast<std::size_t>(row.row)],
                                  e_.problem.keys[static_cast<std::size_t>(key)]);
        block.values.push_back(row_of(e_.inputs.v, row.batch, kv_head, key));
        block.scores.push_back(seen ? e_.problem.softmax_scale *
                                          dot(q, row_of(e_.inputs.k, row.batch, kv_head, key))
                                    : -HUGE_VAL);
      }
    }
    return all;
  }

  bool share(const SumRounding& r, std::size_t most) const {
    constexpr double kEnough = 0.9, kNearer = 0.6, kNear = 0.75;
    double hits = 0, looked_at = 0, count = 0, squares = 0, right = 0;
    for (std::size_t i = 0; i < std::min(most, rows_.size()); ++i) {
      const auto& [row, blocks] = rows_[i];
      const Merged value = result_of(blocks, static_cast<std::size_t>(e_.problem.head_dim), r);
      if (std::isinf(value.lse)) continue;
      ++looked_at;
      bool hit = true;
      const auto look = [&](const Buffer& claim, const Buffer& want, const Buffer& unit,
                            std::span<const double> got) {
        const auto claimed = row_of(claim, row.batch, row.head, row.row),
                   exact = row_of(want, row.batch, row.head, row.row),
                   units = row_of(unit, row.batch, row.head, row.row);
        hit = hit && same_row(claimed, got, units, e_.nearness(), false);
        for (std::size_t c = 0; c < got.size(); ++c) {
          const double of_twist = (claimed[c] - got[c]) / (units[c] + 1e-288),
                       of_right = (claimed[c] - exact[c]) / (units[c] + 1e-288);
          squares += of_twist * of_twist, right += of_right * of_right, ++count;
        }
      };
      if (e_.has("out")) look(e_.claim.out, e_.oracle.value.out, e_.units().out, value.out);
      if (e_.has("lse")) look(e_.claim.lse, e_.oracle.value.lse, e_.units().lse, {&value.lse, 1});
      hits += hit;
    }
    if (looked_at < 4 || hits < kEnough * looked_at) return false;
    return !is_half(e_.precision) || (squares < kNear * kNear * count && squares < kNearer * kNearer * right);
  }

  const Evidence& e_;
  std::vector<std::pair<RowPlace, std::vector<ScoredBlock>>> rows_;
};

Cause cause_of(const SumRounding& r) {
  const char* what = r.kept == Kept::kSum   ? "the running sum l of the weights is"
                     : r.kept == Kept::kOut ? "the running sum O of weights times v is"
                                            : "the running sums l and O are";
  const std::string when = r.tile == 0   ? "block"
                           : r.tile == 1 ? "key"
                                         : "tile of " + std::to_string(r.tile) + " keys";
  return {"solved-rounded-sum",
          std::string(what) + " kept in " + (r.bits == 8 ? "bfloat16" : "float16") +
              (r.within_blocks ? " within a block" : "") + ": " + (r.cut ? "cut off" : "rounded") +
              " after every " + when +
              (r.kept == Kept::kOut ? "" : ", it loses what is small beside the sum") +
              (r.kept == Kept::kSum ? ", while O is not rounded" : ""),
          "In which type do l and O wait for the next key, and how large a weight does it still take up?"};
}

}  // namespace

std::optional<Cause> cause_of_rounded_sums(const Evidence& e) {
  if (e.ring == nullptr || !e.place.ring) return {};
  const RoundedRows rows(e);
  if (rows.count() < 8) return {};
  for (const bool within_blocks : {false, true})
    for (const Index tile : {0, 1, 16, 32, 64, 128})
      for (const Kept kept : {Kept::kSum, Kept::kBoth, Kept::kOut})
        for (const int bits : {8, 11})
          for (const bool cut : {false, true})
            for (const bool factor_too : {false, true}) {
              const SumRounding r{kept, bits, cut, tile, factor_too, within_blocks};
              if ((!within_blocks || tile != 0) && rows.fits(r)) return cause_of(r);
            }
  return {};
}

}  // namespace ringcraft::verify
