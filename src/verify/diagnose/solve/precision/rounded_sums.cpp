// Recognises running sums of 16 bits: l, O or both are rounded after every key, every tile or every block, to
// nearest or by truncation. An l in bfloat16 stops growing once a weight is less than half a step: with many
// keys it is far too small.
#include <algorithm>
#include <cmath>
#include <string>

#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/diagnose/solve/ring/near_rows.hpp"
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
  bool each_key;       // rounded after each key of a tile, whose maximum is computed first
  bool within_blocks;  // only the sum of a block: blocks are merged in full precision
};

double rounded(double x, const SumRounding& r) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const double part = std::ldexp(std::frexp(x, &exponent), r.bits);
  return std::ldexp(r.cut ? std::trunc(part) : std::nearbyint(part), exponent - r.bits);
}

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
      if (r.each_key) state.round(r);
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

Cause cause_of(const SumRounding& r) {
  const char* what = r.kept == Kept::kSum   ? "the running sum l of the weights is"
                     : r.kept == Kept::kOut ? "the running sum O of weights times v is"
                                            : "the running sums l and O are";
  const std::string when = r.tile == 0 && !r.each_key  ? "block"
                           : r.tile == 1 || r.each_key ? "key"
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
  const NearRows rows(e);
  if (rows.count() < 8) return {};
  const auto width = static_cast<std::size_t>(e.problem.head_dim);
  for (const bool within_blocks : {false, true})
    for (const bool each_key : {false, true})
      for (const Index tile : {0, 1, 16, 32, 64, 128})
        for (const Kept kept : {Kept::kSum, Kept::kBoth, Kept::kOut})
          for (const int bits : {8, 11})
            for (const bool cut : {false, true})
              for (const bool factor_too : {false, true}) {
                if ((within_blocks && tile == 0 && !each_key) || (tile == 1 && each_key)) continue;
                const SumRounding r{kept, bits, cut, tile, factor_too, each_key, within_blocks};
                if (rows.fit([&](const RowBlocks& row) { return result_of(row.blocks, width, r); },
                             NearRows::Misses::kTies))
                  return cause_of(r);
              }
  return {};
}

}  // namespace ringcraft::verify
