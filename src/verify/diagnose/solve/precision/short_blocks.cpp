// Recognises keys and values with too few bits, in received blocks or in all: bfloat16, float16, 8-bit
// floats, or 8-bit integers with a scale.
#include <algorithm>
#include <cmath>
#include <string>

#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/diagnose/solve/ring/near_rows.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

// A type of few bits: floats with a significand and the exponent of their smallest step, or integers up to
// 127 times a scale, per row or for all rows of a block's head.
struct ShortType {
  const char* words;
  int bits, smallest;
  enum class Scaled : std::uint8_t { kNot, kRow, kBlock } scaled = Scaled::kNot;
};

constexpr ShortType kTypes[] = {
    {"bfloat16", 8, -133},
    {"float16", 11, -24},
    {"an 8-bit float (e4m3)", 4, -9},
    {"an 8-bit float (e5m2)", 3, -16},
    {"whole numbers of 8 bits with a scale for each row", 0, 0, ShortType::Scaled::kRow},
    {"whole numbers of 8 bits with a scale for each head of a block", 0, 0, ShortType::Scaled::kBlock}};

struct Shortened {
  const ShortType* type;
  bool keys, values, own_too;
};

double shortened(double x, const ShortType& type, double largest) {
  if (x == 0 || !std::isfinite(x)) return x;
  if (type.scaled != ShortType::Scaled::kNot) return std::nearbyint(x / largest * 127) * largest / 127;
  const int step = std::max(std::ilogb(x) + 1 - type.bits, type.smallest);
  return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}

double largest_of(std::span<const double> row, double largest) {
  for (const double x : row) largest = std::max(largest, std::fabs(x));
  return largest;
}

Merged result_of(const Evidence& e, const RowBlocks& met, const Shortened& s) {
  const Index kv_head = met.row.head / e.problem.group();
  const auto q = row_of(e.inputs.q, met.row.batch, met.row.head, met.row.row);
  RowSums sums(q.size());
  for (std::size_t b = 0; b < met.blocks.size(); ++b) {
    const ScoredBlock& block = met.blocks[b];
    const bool is_short = b > 0 || s.own_too;
    const auto row_in = [&](const Buffer& tensor, Index key) {
      return row_of(tensor, met.row.batch, kv_head, key);
    };
    double most_k = 0, most_v = 0;
    for (const Index key : block.keys)
      most_k = largest_of(row_in(e.inputs.k, key), most_k),
      most_v = largest_of(row_in(e.inputs.v, key), most_v);
    const auto taken = [&](std::span<const double> row, bool of_this, double most) {
      std::vector<double> numbers(row.begin(), row.end());
      if (s.type->scaled == ShortType::Scaled::kRow) most = largest_of(row, 0);
      if (of_this && is_short)
        for (double& x : numbers) x = shortened(x, *s.type, most);
      return numbers;
    };
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      if (block.scores[i] == -HUGE_VAL) continue;
      const double score =
          e.problem.softmax_scale * dot(q, taken(row_in(e.inputs.k, block.keys[i]), s.keys, most_k));
      sums.take(score, taken(block.values[i], s.values, most_v));
    }
  }
  return std::move(sums).result();
}

}  // namespace

std::optional<Cause> cause_of_short_blocks(const Evidence& e) {
  if (e.ring == nullptr || !e.place.ring) return {};
  const NearRows rows(e);
  if (rows.count() < 8) return {};
  for (const bool own_too : {false, true})
    for (const ShortType& type : kTypes)
      for (const auto& [keys, values, what] :
           {std::tuple{true, true, "k and v"}, {true, false, "k"}, {false, true, "v"}}) {
        const Shortened s{&type, keys, values, own_too};
        if (!rows.fit([&](const RowBlocks& row) { return result_of(e, row, s); }, NearRows::Misses::kTies))
          continue;
        return Cause{"RF12",
                     std::string(what) + (own_too ? " of all blocks" : " of the blocks that arrive") +
                         (keys && values ? " are" : " is") + " rounded to " + type.words,
                     "In which type do k and v travel, and who converts them back?"};
      }
  return {};
}

}  // namespace ringcraft::verify
