#pragma once
/// @file
/// One head of attention with everything that its kernels read and write: the same random head for the dense,
/// the blockwise and the fast algorithm.

#include <limits>
#include <vector>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/dense.hpp"
#include "ringcraft/attention/fast/fast_blockwise.hpp"
#include "ringcraft/core/random.hpp"
#include "support/random_problem.hpp"

namespace ringcraft::testing {

/// Inputs of one head.
template <class T>
struct Head {
  Index rows, keys, dim;
  std::vector<T> q, k, v, dout;
  KeyRanges ranges;
  T scale;

  Matrix<const T> queries() const { return {q, rows, dim}; }
  Matrix<const T> key_matrix() const { return {k, keys, dim}; }
  Matrix<const T> values() const { return {v, keys, dim}; }
  Matrix<const T> upstream() const { return {dout, rows, dim}; }
};

/// Results of forward and backward.
template <class T>
struct Result {
  std::vector<T> out, lse, dq, dk, dv;
};

template <class T>
std::vector<T> normal(Random& random, Index count, double deviation = 1) {
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& x : numbers) x = static_cast<T>(deviation * random.normal());
  return numbers;
}

/// Random queries and keys at random increasing positions: seqlen_q and seqlen_k differ, rows without a key
// happen.
template <class T>
Head<T> random_head(Random& random, double deviation = 1) {
  const Position seqlen = random.integer(2, 40);
  std::vector<Position> queries, keys;
  for (Position p = 0; p < seqlen; ++p) {
    if (random.integer(0, 2) > 0) queries.push_back(p);
    if (random.integer(0, 2) > 0) keys.push_back(p);
  }
  if (keys.empty()) keys.push_back(0);
  Head<T> head;
  head.rows = static_cast<Index>(queries.size());
  head.keys = static_cast<Index>(keys.size());
  head.dim = random.integer(1, 9);
  head.q = normal<T>(random, head.rows * head.dim, deviation);
  head.k = normal<T>(random, head.keys * head.dim, deviation);
  head.v = normal<T>(random, head.keys * head.dim);
  head.dout = normal<T>(random, head.rows * head.dim);
  head.ranges = ranges_of(random_mask(random, seqlen), seqlen, queries, keys);
  head.scale = static_cast<T>(random.integer(0, 1) == 0 ? 0.5 : -0.7);
  return head;
}

template <class T>
std::vector<T> delta_of(const Head<T>& head, const std::vector<T>& out) {
  std::vector<T> delta(static_cast<std::size_t>(head.rows));
  row_delta<T>({out, head.rows, head.dim}, head.upstream(), delta);
  return delta;
}

template <class T, class Forward, class Backward>
Result<T> run(const Head<T>& head, Forward forward, Backward backward) {
  const auto rows = static_cast<std::size_t>(head.rows), keys = static_cast<std::size_t>(head.keys);
  const auto dim = static_cast<std::size_t>(head.dim);
  const T poison = std::numeric_limits<T>::quiet_NaN();
  Result<T> r{std::vector<T>(rows * dim, poison), std::vector<T>(rows, poison), std::vector<T>(rows * dim, 0),
              std::vector<T>(keys * dim, 0), std::vector<T>(keys * dim, 0)};
  forward(Matrix<T>{r.out, head.rows, head.dim}, std::span<T>(r.lse));
  const std::vector<T> delta = delta_of(head, r.out);
  backward(std::span<const T>(r.lse), std::span<const T>(delta), Matrix<T>{r.dq, head.rows, head.dim},
           Matrix<T>{r.dk, head.keys, head.dim}, Matrix<T>{r.dv, head.keys, head.dim});
  return r;
}

template <class T>
Result<T> dense(const Head<T>& h) {
  return run<T>(
      h,
      [&](Matrix<T> out, std::span<T> lse) {
        dense_forward<T>(h.queries(), h.key_matrix(), h.values(), h.ranges, h.scale, out, lse);
      },
      [&](auto lse, auto delta, auto dq, auto dk, auto dv) {
        dense_backward<T>(h.queries(), h.key_matrix(), h.values(), h.upstream(), lse, delta, h.ranges,
                          h.scale, dq, dk, dv);
      });
}

template <class T>
Result<T> blockwise(const Head<T>& h, TileSize tile) {
  return run<T>(
      h,
      [&](Matrix<T> out, std::span<T> lse) {
        std::vector<T> sum(static_cast<std::size_t>(h.rows));
        const Partial<T> acc{out, lse, sum};
        set_identity(acc);
        blockwise_forward<T>(h.queries(), h.key_matrix(), h.values(), h.ranges, h.scale, acc, tile);
        finish(acc);
      },
      [&](auto lse, auto delta, auto dq, auto dk, auto dv) {
        blockwise_backward<T>(h.queries(), h.key_matrix(), h.values(), h.upstream(), lse, delta, h.ranges,
                              h.scale, dq, dk, dv, tile);
      });
}

template <class T>
Result<T> fast(const Head<T>& h) {
  return run<T>(
      h,
      [&](Matrix<T> out, std::span<T> lse) {
        std::vector<T> sum(static_cast<std::size_t>(h.rows));
        const Partial<T> acc{out, lse, sum};
        set_identity(acc);
        fast_forward<T>(h.queries(), h.key_matrix(), h.values(), h.ranges, h.scale, acc);
        finish(acc);
      },
      [&](auto lse, auto delta, auto dq, auto dk, auto dv) {
        fast_backward<T>(h.queries(), h.key_matrix(), h.values(), h.upstream(), lse, delta, h.ranges, h.scale,
                         dq, dk, dv);
      });
}

}  // namespace ringcraft::testing
