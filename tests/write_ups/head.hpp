#pragma once
/// @file
/// One head of attention in plain loops, cut into ranks: the tests of this folder use it rightly and, on
/// purpose, wrongly. Only the layouts come from the library.

#include <cmath>
#include <limits>
#include <vector>

#include "ringcraft/core/random.hpp"
#include "ringcraft/problem/layout.hpp"

namespace ringcraft::testing {

inline constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// A matrix with its memory.
struct Table {
  Index rows = 0, cols = 0;
  std::vector<double> numbers;

  Table() = default;
  Table(Index r, Index c) : rows(r), cols(c), numbers(static_cast<std::size_t>(r * c)) {}
  double& operator()(Index i, Index j) { return numbers[static_cast<std::size_t>(i * cols + j)]; }
  double operator()(Index i, Index j) const { return numbers[static_cast<std::size_t>(i * cols + j)]; }
};

inline Table random_table(Index rows, Index cols, Random& random) {
  Table table(rows, cols);
  for (double& number : table.numbers) number = random.normal();
  return table;
}

/// The largest difference of two tables over the largest number of the second; NaN if there is one.
inline double relative_error(const Table& got, const Table& want) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < want.numbers.size(); ++i) {
    const double error = std::fabs(got.numbers[i] - want.numbers[i]);
    if (!(error <= worst)) worst = error;
    largest = std::max(largest, std::fabs(want.numbers[i]));
  }
  return worst / largest;
}

using Positions = std::vector<Position>;

/// All positions of a sequence.
inline Positions everything(Position seqlen) { return Sharding{Layout::kContiguous, seqlen, 1}.positions(0); }

/// One head over a whole sequence.
struct Head {
  Table q, k, v, dout;
  bool causal = true;

  Head(Position seqlen, Index head_dim, bool is_causal, std::uint64_t seed) : causal(is_causal) {
    Random random(seed);
    for (Table* table : {&q, &k, &v, &dout}) *table = random_table(seqlen, head_dim, random);
  }

  Position seqlen() const { return q.rows; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(q.cols)); }
  /// The scaled score of a pair, -inf if the query does not see the key.
  double score(Position query, Position key) const {
    if (causal && key > query) return kNothing;
    double dot = 0;
    for (Index c = 0; c < q.cols; ++c) dot += q(query, c) * k(key, c);
    return dot * scale();
  }
};

/// (m, l, O) of one query.
struct State {
  double m = kNothing, l = 0;
  std::vector<double> o;
};

/// The state of a query after it has seen these keys.
inline State partial(const Head& head, Position query, const Positions& keys) {
  State state{kNothing, 0, std::vector<double>(static_cast<std::size_t>(head.v.cols))};
  for (const Position key : keys) state.m = std::max(state.m, head.score(query, key));
  for (const Position key : keys) {
    const double score = head.score(query, key), weight = score == kNothing ? 0 : std::exp(score - state.m);
    state.l += weight;
    for (Index c = 0; c < head.v.cols; ++c) state.o[static_cast<std::size_t>(c)] += weight * head.v(key, c);
  }
  return state;
}

/// The merge as it is often printed, without a rule for rows that have seen no key.
inline State merged_unguarded(const State& a, const State& b) {
  const double m = std::max(a.m, b.m), wa = std::exp(a.m - m), wb = std::exp(b.m - m);
  State state{m, wa * a.l + wb * b.l, a.o};
  for (std::size_t c = 0; c < a.o.size(); ++c) state.o[c] = wa * a.o[c] + wb * b.o[c];
  return state;
}

/// The right merge.
inline State merged(const State& a, const State& b) {
  if (a.m == kNothing) return b;
  if (b.m == kNothing) return a;
  return merged_unguarded(a, b);
}

/// out and lse of the whole sequence.
struct Forward {
  Table out;
  std::vector<double> lse;
};

inline Forward forward(const Head& head) {
  Forward result{Table(head.seqlen(), head.v.cols), {}};
  for (Position i = 0; i < head.seqlen(); ++i) {
    const State state = partial(head, i, everything(head.seqlen()));
    for (Index c = 0; c < head.v.cols; ++c) result.out(i, c) = state.o[static_cast<std::size_t>(c)] / state.l;
    result.lse.push_back(state.m + std::log(state.l));
  }
  return result;
}

/// dq, dk and dv, each of the size of the whole sequence.
struct Gradients {
  Table dq, dk, dv;
  Gradients(Index rows, Index cols) : dq(rows, cols), dk(rows, cols), dv(rows, cols) {}
};

/// Adds what these queries and these keys contribute. delta has a number for each query of the sequence.
inline void add_block(Gradients& into, const Head& head, const std::vector<double>& lse,
                      const std::vector<double>& delta, const Positions& queries, const Positions& keys) {
  for (const Position i : queries)
    for (const Position j : keys) {
      if (head.score(i, j) == kNothing) continue;
      const double p = std::exp(head.score(i, j) - lse[static_cast<std::size_t>(i)]);
      double dp = 0;
      for (Index c = 0; c < head.v.cols; ++c) dp += head.dout(i, c) * head.v(j, c);
      const double ds = p * (dp - delta[static_cast<std::size_t>(i)]) * head.scale();
      for (Index c = 0; c < head.v.cols; ++c) {
        into.dv(j, c) += p * head.dout(i, c);
        into.dq(i, c) += ds * head.k(j, c);
        into.dk(j, c) += ds * head.q(i, c);
      }
    }
}

/// delta_i = rowsum(out_i * dout_i).
inline std::vector<double> row_deltas(const Head& head, const Table& out) {
  std::vector<double> delta;
  for (Position i = 0; i < head.seqlen(); ++i) {
    delta.push_back(0);
    for (Index c = 0; c < head.v.cols; ++c) delta.back() += out(i, c) * head.dout(i, c);
  }
  return delta;
}

/// The gradients of sum(out * dout).
inline Gradients gradients(const Head& head) {
  const Forward pass = forward(head);
  Gradients result(head.seqlen(), head.v.cols);
  add_block(result, head, pass.lse, row_deltas(head, pass.out), everything(head.seqlen()),
            everything(head.seqlen()));
  return result;
}

}  // namespace ringcraft::testing
