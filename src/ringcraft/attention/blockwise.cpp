// Lessons 105 and 106: attention tile by tile, forward and backward, in linear memory (see blockwise.hpp).
#include "ringcraft/attention/blockwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/scratch.hpp"

namespace ringcraft {
namespace {

// One tile: the rows [row0, row1) against the keys [key0, key1).
struct TileBounds {
  Index row0, row1, key0, key1;

  Index rows() const { return row1 - row0; }
  Index keys() const { return key1 - key0; }
};

// Calls body(bounds) for every tile with a visible pair.
template <class Body>
void for_each_tile(const KeyRanges& ranges, Index keys, TileSize size, Body body) {
  for (Index row0 = 0; row0 < ranges.rows(); row0 += size.rows)
    for (Index key0 = 0; key0 < keys; key0 += size.keys) {
      const TileBounds t{row0, std::min<Index>(row0 + size.rows, ranges.rows()), key0,
                         std::min(key0 + size.keys, keys)};
      if (ranges.tile(static_cast<int>(t.row0), static_cast<int>(t.row1), static_cast<int>(t.key0),
                      static_cast<int>(t.key1)) != Tile::kEmpty)
        body(t);
    }
}

// The scores of row i that are visible inside the tile; the others of the row become weight 0.
template <class T>
std::span<T> visible(Matrix<T> scores, const TileBounds& t, const KeyRanges& ranges, Index i) {
  const auto a = static_cast<std::size_t>(t.row0 + i);
  const Index first = std::clamp<Index>(ranges.begin[a], t.key0, t.key1) - t.key0;
  const Index last = std::clamp<Index>(ranges.end[a], t.key0, t.key1) - t.key0;
  const std::span<T> row = scores.row(i);
  std::fill(row.begin(), row.begin() + first, T(0));
  std::fill(row.begin() + std::max(first, last), row.end(), T(0));
  return row.subspan(static_cast<std::size_t>(first),
                     static_cast<std::size_t>(std::max<Index>(last - first, 0)));
}

// Memory for one tile of scores, reshaped for each.
template <class T>
class TileMemory {
 public:
  explicit TileMemory(TileSize size) : memory_(static_cast<std::size_t>(size.rows * size.keys)) {}
  Matrix<T> fit(const TileBounds& t) {
    return {std::span(memory_).first(static_cast<std::size_t>(t.rows() * t.keys())), t.rows(), t.keys()};
  }

 private:
  Scratch<T> memory_;
};

TileSize clipped(TileSize tile, Index rows, Index keys) {
  tile.validate();
  return {std::min(tile.rows, std::max<Index>(rows, 1)), std::min(tile.keys, std::max<Index>(keys, 1))};
}

}  // namespace

void TileSize::validate() const {
  if (rows < 1 || keys < 1)
    throw Error("tile size", "at least 1 row and 1 key", std::to_string(rows) + " x " + std::to_string(keys),
                "leave it out to get the usual one");
}

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = memory.fit(t);
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    const Partial<T> state = acc.slice(t.row0, t.rows());
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> row = visible(weights, t, ranges, i);
      if (row.empty()) continue;
      T &m = state.max[static_cast<std::size_t>(i)], &l = state.sum[static_cast<std::size_t>(i)];
      const T largest = std::max(m, *std::max_element(row.begin(), row.end()));
      if (largest > m) {  // what was summed against the old maximum follows to the new one
        const T rescale = std::exp(m - largest);
        for (T& x : state.out.row(i)) x *= rescale;
        l *= rescale;
        m = largest;
      }
      l += exponentials(row, m);
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), state.out);
  });
}

template <class T>
void set_identity(Partial<T> acc) {
  std::fill(acc.out.data.begin(), acc.out.data.end(), T(0));
  std::fill(acc.max.begin(), acc.max.end(), -std::numeric_limits<T>::infinity());
  std::fill(acc.sum.begin(), acc.sum.end(), T(0));
}

template <class T>
void finish(Partial<T> acc) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    const T l = acc.sum[static_cast<std::size_t>(i)];
    if (l == T(0)) continue;  // no key: O is 0 and m is -inf already
    for (T& x : acc.out.row(i)) x /= l;
    acc.max[static_cast<std::size_t>(i)] += std::log(l);
  }
}

template <class T>
void blockwise_backward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, Matrix<const T> dout,
                        std::span<const T> lse, std::span<const T> delta, const KeyRanges& ranges,
                        T softmax_scale, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> weight_memory(size), dscore_memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = weight_memory.fit(t), dscores = dscore_memory.fit(t);
    const auto q_tile = q.slice(t.row0, t.rows()), dout_tile = dout.slice(t.row0, t.rows());
    const auto k_tile = k.slice(t.key0, t.keys()), v_tile = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q_tile, k_tile, softmax_scale, weights);
    multiply_transposed<T>(dout_tile, v_tile, T(1), dscores);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto a = static_cast<std::size_t>(t.row0 + i);
      const std::span<T> row = visible(weights, t, ranges, i), drow = dscores.row(i);
      if (!row.empty())
        exponentials(row, lse[a]);  // P = exp(S - lse): the weights of the whole row, not of the tile
      for (std::size_t j = 0; j < drow.size(); ++j)
        drow[j] = weights(i, static_cast<Index>(j)) * (drow[j] - delta[a]);
    }
    transposed_multiply_add<T>(weights, dout_tile, T(1), dv.slice(t.key0, t.keys()));
    multiply_add<T>(dscores, k_tile, softmax_scale, dq.slice(t.row0, t.rows()));
    transposed_multiply_add<T>(dscores, q_tile, softmax_scale, dk.slice(t.key0, t.keys()));
  });
}

template <class T>
void row_delta(Matrix<const T> out, Matrix<const T> dout, std::span<T> delta) {
  for (Index i = 0; i < out.rows; ++i) {
    T sum = 0;
    for (Index j = 0; j < out.cols; ++j) sum += out(i, j) * dout(i, j);
    delta[static_cast<std::size_t>(i)] = sum;
  }
}

#define RINGCRAFT_INSTANTIATE(T)                                                                           \
  template void blockwise_forward(Matrix<const T>, Matrix<const T>, Matrix<const T>, const KeyRanges&, T,  \
                                  Partial<T>, TileSize);                                                   \
  template void set_identity(Partial<T>);                                                                  \
  template void finish(Partial<T>);                                                                        \
  template void blockwise_backward(Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<const T>,     \
                                   std::span<const T>, std::span<const T>, const KeyRanges&, T, Matrix<T>, \
                                   Matrix<T>, Matrix<T>, TileSize);                                        \
  template void row_delta(Matrix<const T>, Matrix<const T>, std::span<T>)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
