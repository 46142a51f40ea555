#pragma once
/// @file
/// Attention by its definition: plain loops in long double over the pair predicate. It shares no line with
/// the library's kernels and knows no key ranges.

#include <cmath>
#include <limits>
#include <vector>

#include "ringcraft/core/matrix.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "support/predicate.hpp"

namespace ringcraft::testing {

/// out and lse of float64 tensors whose rows are the positions 0, 1, 2, ...
inline Output plain_forward(const Buffer& q, const KvBlock& kv, const Mask& mask, double softmax_scale) {
  const Extents e = q.extents();
  Output result{Buffer(e, DType::kFloat64), Buffer({e.batch, e.heads, e.rows, 1}, DType::kFloat64)};
  const Index group = e.heads / kv.k.extents().heads;
  for (Index b = 0; b < e.batch; ++b)
    for (Index h = 0; h < e.heads; ++h) {
      const auto queries = head_of<double>(q, b, h), keys = head_of<double>(kv.k, b, h / group);
      const auto values = head_of<double>(kv.v, b, h / group);
      for (Index i = 0; i < e.rows; ++i) {
        std::vector<long double> out(static_cast<std::size_t>(e.width), 0),
            scores(static_cast<std::size_t>(keys.rows));
        long double largest = -std::numeric_limits<long double>::infinity(), sum = 0;
        for (Index j = 0; j < keys.rows; ++j) {
          long double dot = 0;
          for (Index c = 0; c < e.width; ++c) dot += static_cast<long double>(queries(i, c)) * keys(j, c);
          scores[static_cast<std::size_t>(j)] = dot * softmax_scale;
          if (sees(mask, i, j)) largest = std::max(largest, scores[static_cast<std::size_t>(j)]);
        }
        for (Index j = 0; j < keys.rows; ++j) {
          if (!sees(mask, i, j)) continue;
          const long double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
          sum += weight;
          for (Index c = 0; c < e.width; ++c) out[static_cast<std::size_t>(c)] += weight * values(j, c);
        }
        for (Index c = 0; c < e.width; ++c)
          head_of<double>(result.out, b, h)(i, c) =
              sum == 0 ? 0 : static_cast<double>(out[static_cast<std::size_t>(c)] / sum);
        head_of<double>(result.lse, b, h)(i, 0) = static_cast<double>(largest + std::log(sum));
      }
    }
  return result;
}

}  // namespace ringcraft::testing
