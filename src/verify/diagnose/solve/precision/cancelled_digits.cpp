// Recognises results that have lost their digits in a difference where blocks are merged: the error of a
// weight 1 - w, or of out - w (out - block_out), is one rounding of the larger number, in which a small
// result disappears.
#include <algorithm>
#include <cmath>
#include <vector>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"
#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

// A query row: lse of each block's visible keys, and the largest magnitude of each column of the blocks'
// outputs.
struct RowOfBlocks {
  Numbers lse, largest_out;
};

RowOfBlocks blocks_of(const Evidence& e, const TwistedRing& ring, const RowPlace& row) {
  RowOfBlocks at{Numbers(static_cast<std::size_t>(e.place.count()), kNoKey),
                 Numbers(static_cast<std::size_t>(e.problem.head_dim), 0.0)};
  for (const BlockPartial& block : ring.partials({}, row)) {
    at.lse[static_cast<std::size_t>(block.source)] = block.lse();
    if (block.keys == 0) continue;
    for (std::size_t c = 0; c < block.out.size(); ++c)
      at.largest_out[c] = std::max(at.largest_out[c], std::fabs(block.out[c]) / block.sum);
  }
  return at;
}

// How far dk and dv may be off if the weight of each block in a row is off by 1.
class OffByOne {
 public:
  explicit OffByOne(const Evidence& e) : e_(e) {
    const TwistedRing ring(e.problem, e.inputs, e.oracle.value, e.place);
    for (const RowPlace& row : row_places(e.inputs.q.extents())) {
      e.tick();
      rows_.push_back(blocks_of(e, ring, row));
    }
  }

  KvRows of(const RowPlace& key) const {
    const BlockProblem& p = e_.problem;
    const Numbers zero(static_cast<std::size_t>(p.head_dim), 0.0);
    KvRows sum{zero, zero};
    const auto block = static_cast<std::size_t>(e_.place.owner[static_cast<std::size_t>(key.row)]);
    const auto k = row_of(e_.inputs.k, key.batch, key.head, key.row),
               v = row_of(e_.inputs.v, key.batch, key.head, key.row);
    const Extents rows = e_.inputs.q.extents();
    for (Index head = key.head * p.group(); head < (key.head + 1) * p.group(); ++head)
      for (Index row = 0; row < rows.rows; ++row) {
        if (!visible(p.mask, p.queries[static_cast<std::size_t>(row)],
                     p.keys[static_cast<std::size_t>(key.row)]))
          continue;
        const auto q = row_of(e_.inputs.q, key.batch, head, row),
                   dout = row_of(e_.inputs.dout, key.batch, head, row);
        const RowOfBlocks& at =
            rows_[static_cast<std::size_t>((key.batch * rows.heads + head) * rows.rows + row)];
        const double weight = std::exp(p.softmax_scale * dot(q, k) - at.lse[block]);
        double through_score = 0;
        for (std::size_t c = 0; c < v.size(); ++c) {
          through_score += std::fabs(dout[c]) * (std::fabs(v[c]) + 2 * at.largest_out[c]);
          sum.dv[c] += weight * std::fabs(dout[c]);
        }
        for (std::size_t c = 0; c < q.size(); ++c)
          sum.dk[c] += p.softmax_scale * weight * through_score * std::fabs(q[c]);
      }
    return sum;
  }

 private:
  const Evidence& e_;
  std::vector<RowOfBlocks> rows_;  // batch entry after batch entry, head after head
};

// Whether a row is right but for this.
bool is_within(const Evidence& e, std::size_t tensor, const RowPlace& row, const Numbers& off, double most) {
  const auto of = [&](const Answer& answer) {
    return row_of(named(answer)[tensor].tensor, row.batch, row.head, row.row);
  };
  const auto got = of(e.claim), want = of(e.oracle.value), unit = of(e.units());
  const Evidence::Nearness near = e.nearness();
  for (std::size_t c = 0; c < got.size(); ++c)
    if (!(std::fabs(got[c] - want[c]) <=
          most * off[c] + near.unit * unit[c] + near.relative * std::fabs(want[c])))
      return false;
  return true;
}

// Whether every row can meet every key in some seconds, as it must before the first key is compared.
bool are_few_pairs(const Evidence& e) {
  constexpr double kMostProducts = 2e9;  // multiplications
  const BlockProblem& p = e.problem;
  return static_cast<double>(p.queries.size() * p.keys.size()) *
             static_cast<double>(p.batch * p.heads * p.head_dim) <=
         kMostProducts;
}

// The error of a merge, in the type in which blocks are merged: half types leave it to float32.
double most_of(const Evidence& e) {
  return 2.0 * e.place.count() * unit_roundoff(is_half(e.precision) ? DType::kFloat32 : e.precision);
}

}  // namespace

std::optional<Cause> cause_of_cancelled_out(const Evidence& e) {
  if (e.ring == nullptr || e.place.count() < 2 || e.is_wrong("lse") || !are_numbers(e, TensorGroup::kForward))
    return {};
  const TwistedRing ring(e.problem, e.inputs, e.oracle.value, e.place);
  for (const RowPlace& row : row_places(e.inputs.q.extents())) {
    e.tick();
    if (!is_within(e, 0, row, blocks_of(e, ring, row).largest_out, most_of(e))) return {};
  }
  return Cause{
      "solved-cancelled-out",
      "blocks are merged by a weighted difference of out and block_out: elements of out that are far smaller "
      "than those that it had before have lost their digits, by no more than the rounding of those, and all "
      "others are right",
      "How many digits of block_out are left in out - block_out if it is far smaller? A sum of two weighted "
      "terms keeps them"};
}

std::optional<Cause> cause_of_cancelled_weights(const Evidence& e) {
  if (e.ring == nullptr || e.place.count() < 2 || e.is_wrong("dq") || !are_numbers(e, TensorGroup::kBackward))
    return {};
  if (!are_few_pairs(e)) return {};
  const OffByOne off_by_one(e);
  for (const RowPlace& row : row_places(e.inputs.k.extents())) {
    e.tick();
    const KvRows off = off_by_one.of(row);
    if ((e.has("dk") && !is_within(e, 3, row, off.dk, most_of(e))) ||
        (e.has("dv") && !is_within(e, 4, row, off.dv, most_of(e))))
      return {};
  }
  return Cause{
      "solved-cancelled-weights",
      "the weight of a block is formed as 1 - w where blocks are merged (as autograd also does for the "
      "derivative of a sigmoid): dk and dv of keys that hardly any query attends to have lost their digits, "
      "by "
      "no more than the rounding of that 1, and all others are right",
      "How many digits of 1 - w are left if w is 0.9999999? exp(lse of the block - lse of all) keeps them"};
}

}  // namespace ringcraft::verify
