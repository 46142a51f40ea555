// Computes one head of attention, forward and backward, tile by tile with a wrong index.
#include "verify/diagnose/tiles/tile_head.hpp"

#include <algorithm>
#include <cmath>

namespace ringcraft::verify {

using Operand = TileOperand;
using Rows = TileRows;

namespace {

void add_product(std::vector<double>& to, double weight, std::span<const double> row) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += weight * row[c];
}

}  // namespace

std::vector<TileHead::Seen> TileHead::weigh(const TileAt& t, Index i, Rows& out, std::vector<double>& max,
                                            std::vector<double>& sum) {
  std::vector<Seen> seen;
  for (Index j = 0; j < t.key1 - t.key0; ++j)
    if (sees(t, i, j)) seen.push_back({j, score(t, i, j)});
  if (seen.empty() || !possible_) return {};
  double& m = max[static_cast<std::size_t>(at(Operand::kMax, t, i))];
  double& l = sum[static_cast<std::size_t>(at(Operand::kSum, t, i))];
  double larger = m;
  for (const Seen& each : seen) larger = std::max(larger, each.weight);
  const double factor = std::exp(m - larger);
  l *= factor;
  for (double& x : out[static_cast<std::size_t>(at(Operand::kOutScaled, t, i))]) x *= factor;
  for (Seen& each : seen) l += each.weight = std::exp(each.weight - larger);
  m = larger;
  return seen;
}

void TileHead::add_values(const TileAt& t, Index i, const std::vector<Seen>& seen, Rows& out) {
  std::vector<double>& to = out[static_cast<std::size_t>(at(Operand::kOut, t, i))];
  for (const Seen& each : seen)
    add_product(to, each.weight, row_of(e_.inputs.v, b_, g_, at(Operand::kValue, t, each.key)));
}

std::optional<std::pair<Rows, std::vector<double>>> TileHead::forward() {
  const auto n = static_cast<std::size_t>(rows_);
  Rows out(n, std::vector<double>(width_, 0.0));
  std::vector<double> max(n, -HUGE_VAL), sum(n, 0.0), lse(n);
  for_each_part([&](const TileAt& t) {
    std::vector<std::vector<Seen>> weights;
    for (Index i = 0; i < t.row1 - t.row0 && possible_; ++i) {
      weights.push_back(weigh(t, i, out, max, sum));
      if (slip_.by_row) add_values(t, i, weights.back(), out);
    }
    for (std::size_t i = 0; i < weights.size() && possible_ && !slip_.by_row; ++i)
      add_values(t, static_cast<Index>(i), weights[i], out);
  });
  if (!possible_) return {};
  for (std::size_t row = 0; row < n; ++row) {
    if (sum[row] != 0)
      for (double& x : out[row]) x /= sum[row];
    lse[row] = sum[row] != 0 ? max[row] + std::log(sum[row]) : max[row];
  }
  return std::pair{std::move(out), std::move(lse)};
}

std::optional<std::vector<std::vector<ScanKey>>> TileHead::parts_of(Index row) {
  std::vector<std::vector<ScanKey>> parts;
  const Index row0 = row / tile_.rows * tile_.rows;
  for (Index key0 = 0; key0 < keys_ && possible_; key0 += tile_.keys) {
    const TileAt t{row0, std::min<Index>(row0 + tile_.rows, rows_), key0,
                   std::min<Index>(key0 + tile_.keys, keys_)};
    parts.emplace_back();
    for (Index j = 0; j < t.key1 - t.key0; ++j)
      parts.back().push_back({score(t, row - row0, j), sees(t, row - row0, j),
                              row_of(e_.inputs.v, b_, g_, at(Operand::kValue, t, j))});
  }
  if (!possible_) return {};
  return parts;
}

// Clears the sums that a tile is about to overwrite instead of adding to them.
void TileHead::forget(const TileAt& t, Gradients& g) const {
  const auto clear = [](Rows& rows, Index first, Index last) {
    for (Index row = first; row < last; ++row) std::ranges::fill(rows[static_cast<std::size_t>(row)], 0.0);
  };
  if (slip_.has(Operand::kDq)) clear(g.dq, t.row0, t.row1);
  if (slip_.has(Operand::kDk)) clear(g.dk, t.key0, t.key1);
  if (slip_.has(Operand::kDv)) clear(g.dv, t.key0, t.key1);
}

std::optional<TileHead::Gradients> TileHead::backward() {
  const auto zero = [&](Index rows) {
    return Rows(static_cast<std::size_t>(rows), std::vector<double>(width_, 0.0));
  };
  Gradients g{zero(rows_), zero(keys_), zero(keys_)};
  const Inputs& in = e_.inputs;
  for_each_part([&](const TileAt& t) {
    if (slip_.index == TileIndex::kStored && is_visited(t)) forget(t, g);
    for (Index i = 0; i < t.row1 - t.row0; ++i)
      for (Index j = 0; j < t.key1 - t.key0 && possible_; ++j) {
        if (!sees(t, i, j)) continue;
        const Index saved = at(Operand::kDelta, t, i);
        const double delta = dot(row_of(in.dout, b_, h_, saved), row_of(e_.oracle.value.out, b_, h_, saved));
        const double p =
            std::exp(score(t, i, j) - row_of(e_.oracle.value.lse, b_, h_, at(Operand::kLse, t, i))[0]);
        const double dp = dot(row_of(in.dout, b_, h_, at(Operand::kDout, t, i)),
                              row_of(in.v, b_, g_, at(Operand::kValue, t, j)));
        const double ds = e_.problem.softmax_scale * p * (dp - delta);
        add_product(g.dq[static_cast<std::size_t>(at(Operand::kDq, t, i))], ds,
                    row_of(in.k, b_, g_, at(Operand::kDqKey, t, j)));
        // Uses the tile of P, or of dS, instead of its transpose: key i gets the contribution of row i.
        const bool turned = slip_.index == TileIndex::kTransposed;
        const Index turned_key = i % (t.key1 - t.key0), turned_row = j % (t.row1 - t.row0);
        const bool dk_turned = turned && slip_.has(Operand::kDk),
                   dv_turned = turned && slip_.has(Operand::kDv);
        add_product(g.dk[static_cast<std::size_t>(at(Operand::kDk, t, dk_turned ? turned_key : j))], ds,
                    row_of(in.q, b_, h_, at(Operand::kDkQuery, t, dk_turned ? turned_row : i)));
        add_product(g.dv[static_cast<std::size_t>(at(Operand::kDv, t, dv_turned ? turned_key : j))], p,
                    row_of(in.dout, b_, h_, at(Operand::kDvDout, t, dv_turned ? turned_row : i)));
      }
  });
  return possible_ ? std::optional(std::move(g)) : std::nullopt;
}

}  // namespace ringcraft::verify
