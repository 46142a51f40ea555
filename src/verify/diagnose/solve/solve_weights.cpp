// Recognises blocks whose own results are right and whose weights are wrong: out of a row is a weighted sum
// of the blocks' results, and dq of their parts. Solves for the weights row by row.
#include <algorithm>
#include <cmath>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

bool seen(const Evidence& e, Index row, Index key) {
  return visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row)],
                 e.problem.keys[static_cast<std::size_t>(key)]);
}

// The parts of every block that a row sees, by block.
struct Part {
  int block;
  Numbers numbers, others;  // for out: sum of P v; for dq: sum of P dP k and of P k, with the scale
};
std::vector<Part> parts_of(const Evidence& e, Index b, Index h, Index row, bool of_dq) {
  std::vector<Part> parts;
  const Setting setting{.scale = e.problem.softmax_scale};
  const double lse = row_of(e.oracle.value.lse, b, h, row)[0];
  const auto [from, kv_head] = source_of(e, setting.heads, b, h);
  for (int block = 0; block < e.place.count(); ++block) {
    Part part{block, Numbers(static_cast<std::size_t>(e.problem.head_dim), 0.0), {}};
    part.others = part.numbers;
    bool any = false;
    for (const Index key : e.place.blocks[static_cast<std::size_t>(block)]) {
      if (!seen(e, row, key)) continue;
      any = true;
      const double p = std::exp(setting.scale * product_of(e, setting, b, h, row, key) - lse);
      const auto v = row_of(e.inputs.v, from, kv_head, key);
      if (!of_dq) {
        add(part.numbers, p, v);
        continue;
      }
      const auto k = row_of(e.inputs.k, from, kv_head, key);
      add(part.numbers, setting.scale * p * dot(row_of(e.inputs.dout, b, h, row), v), k);
      add(part.others, setting.scale * p, k);
    }
    if (any) parts.push_back(std::move(part));
  }
  return parts;
}

// The rows examined, and the findings in the first wrong one.
struct Found {
  Index rows = 0, wrong = 0;
  std::string first;
};

std::string place_of(const Evidence& e, Index b, Index h, Index row) {
  std::string words = "row " + std::to_string(row);
  if (e.problem.heads > 1) words += ", head " + std::to_string(h);
  if (e.problem.batch > 1) words += ", batch entry " + std::to_string(b);
  return words;
}

std::string block_words(const Evidence& e, int block) {
  return e.place.ring ? "the block of rank " + std::to_string(block) : "tile " + std::to_string(block);
}

// Solves one row; false if its blocks do not explain it. A row with too few numbers is inconclusive.
bool solve_row(const Evidence& e, Index b, Index h, Index row, bool of_dq, Found& found) {
  const std::size_t tensor = of_dq ? 2 : 0;
  const Buffer& claim = named(e.claim)[tensor].tensor;
  const auto got = row_of(claim, b, h, row);
  const Numbers t = tolerance_of(e, claim, named(e.units())[tensor].tensor,
                                 named(e.oracle.scale)[tensor].tensor, b, h, row);
  const std::vector<Part> parts = parts_of(e, b, h, row, of_dq);
  std::vector<Numbers> columns;
  Numbers wanted(got.begin(), got.end()), weights_right;
  const double delta = dot(row_of(e.inputs.dout, b, h, row), row_of(e.oracle.value.out, b, h, row));
  for (const Part& part : parts) {
    columns.push_back(of_dq ? part.others : part.numbers);
    weights_right.push_back(of_dq ? -delta : 1);
    if (of_dq)
      for (std::size_t c = 0; c < wanted.size(); ++c) wanted[c] -= part.numbers[c];
  }
  for (std::size_t c = 0; c < wanted.size(); ++c) wanted[c] /= t[c];
  for (Numbers& column : columns)
    for (std::size_t c = 0; c < column.size(); ++c) column[c] /= t[c];
  if (columns.size() + 1 >= got.size()) return true;
  const auto [weights, left] = least_squares(columns, wanted);
  double larger = 1;
  for (const double w : weights) larger = std::max(larger, std::fabs(w));
  if (!(left <= 3 * yardsticks_of(e).threshold * larger)) return false;
  ++found.rows;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double moved = 0;
    for (const double x : columns[i]) moved = std::max(moved, std::fabs(x * (weights[i] - weights_right[i])));
    if (moved < 20 || std::fabs(weights[i] - weights_right[i]) < 1e-7 * larger) continue;
    ++found.wrong;
    if (found.first.empty())
      found.first =
          "first: " + place_of(e, b, h, row) + ", " + block_words(e, parts[i].block) +
          (of_dq ? ", where " + short_number(-weights[i]) + " is subtracted instead of " + short_number(delta)
                 : ", whose weight is " + short_number(weights[i]) + " times what it should be");
    break;
  }
  return true;
}

}  // namespace

std::optional<Cause> cause_of_weights(const Evidence& e, bool of_dq) {
  if (!of_dq && e.place.count() < 2) return {};
  Found found;
  const auto rows = sampled({std::vector<Index>(e.problem.queries.size())}, 64)[0];
  for (Index b = 0; b < e.problem.batch; ++b)
    for (Index h = 0; h < e.problem.heads; ++h)
      for (const Index row : rows)
        if (!solve_row(e, b, h, row, of_dq, found)) return {};
  if (found.wrong == 0 || found.rows < 4) return {};
  if (of_dq)
    return Cause{
        "solved-D",
        "D is not the sum of dout * out of its own row; all else of dq is right (" + found.first + ")",
        "Which out and dout make D, and of which row?"};
  return Cause{
      "solved-merge-weights",
      "the blocks' own results are right, and they are put together with wrong weights (" + found.first + ")",
      "What is the weight of the old result, and of the new one, when a block is merged?"};
}

}  // namespace ringcraft::verify
