#pragma once
/// @file
/// The layer of MeshAttention on one device, number by number, with the oracle as its attention: values and
/// scales (the same sums over absolute terms).

#include <cmath>
#include <functional>
#include <vector>

#include "ringcraft/model/mesh_attention.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::testing {

using Numbers = std::vector<double>;

/// A result, and how much rounding may move it.
struct Scaled {
  Numbers value, scale;

  explicit Scaled(std::size_t size = 0) : value(size), scale(size) {}
  void add(Index at, double term, double its_scale) {
    value[static_cast<std::size_t>(at)] += term;
    scale[static_cast<std::size_t>(at)] += its_scale;
  }
};

/// The layer's results for one sequence. Gradients of weights are added to those of other sequences.
struct OneDeviceLayer {
  OneDeviceLayer(const Problem& problem, const AttentionWeights& weights)
      : problem_(make_problem(problem.shape, problem.mask, Layout::kContiguous, 1, problem.softmax_scale)),
        weights_(weights),
        hidden_(static_cast<Index>(weights.norm.size())),
        norm(weights.norm.size()),
        q(weights.q.size()),
        k(weights.k.size()),
        v(weights.v.size()),
        out(weights.out.size()) {}

  void run(const Numbers& x, const Numbers& dz, int sequence) {
    const Index rows = problem_.shape.seqlen;
    // norm
    Numbers normed(x.size()), factor(static_cast<std::size_t>(rows));
    for (Index s = 0; s < rows; ++s) {
      double squares = 0;
      for (Index c = 0; c < hidden_; ++c) squares += x[at(s, c)] * x[at(s, c)] / double(hidden_);
      factor[s] = 1 / std::sqrt(squares + 1e-6);
      for (Index c = 0; c < hidden_; ++c) normed[at(s, c)] = weights_.norm[c] * x[at(s, c)] * factor[s];
    }
    // attention
    Numbers dy = dz;
    for (Index s = 0; s < rows; ++s)
      for (Index c = 0; c < hidden_; ++c) dy[at(s, c)] *= dropout_factor(sequence, s, c);
    const Index heads = problem_.shape.heads, kv_heads = problem_.shape.kv_heads;
    const verify::Inputs inputs{by_heads(normed, weights_.q, heads), by_heads(normed, weights_.k, kv_heads),
                                by_heads(normed, weights_.v, kv_heads), by_heads(dy, weights_.out, heads)};
    const verify::Oracle oracle = verify::oracle(problem_, inputs);
    // z = x + dropout(sum of out W), dW_out
    z = Scaled(x.size());
    for (Index s = 0; s < rows; ++s)
      for (Index c = 0; c < hidden_; ++c) z.add(at(s, c), x[at(s, c)], std::abs(x[at(s, c)]));
    each(oracle.value.out, oracle.scale.out, [&](Index r, Index s, double value, double scale) {
      for (Index c = 0; c < hidden_; ++c) {
        const double keep = dropout_factor(sequence, s, c), w = weights_.out[at(r, c)];
        z.add(at(s, c), keep * value * w, keep * scale * std::abs(w));
        out.add(at(r, c), value * dy[at(s, c)], scale * std::abs(dy[at(s, c)]));
      }
    });
    // q, k, v
    Scaled dnormed(x.size());
    const auto back = [&](const Buffer& value, const Buffer& scale, const Numbers& of, Scaled& dweights) {
      each(value, scale, [&](Index r, Index s, double d, double its) {
        for (Index c = 0; c < hidden_; ++c) {
          dnormed.add(at(s, c), d * of[at(r, c)], its * std::abs(of[at(r, c)]));
          dweights.add(at(r, c), d * normed[at(s, c)], its * std::abs(normed[at(s, c)]));
        }
      });
    };
    back(oracle.value.dq, oracle.scale.dq, weights_.q, q);
    back(oracle.value.dk, oracle.scale.dk, weights_.k, k);
    back(oracle.value.dv, oracle.scale.dv, weights_.v, v);
    // norm, residual: the derivative of x_b f g_b by x_c is g_b f (1 if b = c, less x_b x_c f² / hidden)
    dx = Scaled(x.size());
    for (Index s = 0; s < rows; ++s)
      for (Index c = 0; c < hidden_; ++c) {
        const double f = factor[s];
        dx.add(at(s, c), dz[at(s, c)], std::abs(dz[at(s, c)]));
        norm.add(c, dnormed.value[at(s, c)] * x[at(s, c)] * f,
                 dnormed.scale[at(s, c)] * std::abs(x[at(s, c)] * f));
        for (Index b = 0; b < hidden_; ++b) {
          const double slope =
              weights_.norm[b] * f * ((b == c ? 1 : 0) - x[at(s, b)] * x[at(s, c)] * f * f / double(hidden_));
          dx.add(at(s, c), slope * dnormed.value[at(s, b)], std::abs(slope) * dnormed.scale[at(s, b)]);
        }
      }
  }

 private:
  std::size_t at(Index row, Index column) const { return static_cast<std::size_t>(row * hidden_ + column); }

  // All numbers of a tensor by heads: the row of its weight, the token, value and scale.
  static void each(const Buffer& value, const Buffer& scale,
                   const std::function<void(Index, Index, double, double)>& use) {
    const Extents& e = value.extents();
    const auto values = value.values<double>(), scales = scale.values<double>();
    for (Index h = 0; h < e.heads; ++h)
      for (Index s = 0; s < e.rows; ++s)
        for (Index d = 0; d < e.width; ++d) {
          const auto place = static_cast<std::size_t>((h * e.rows + s) * e.width + d);
          use(h * e.width + d, s, values[place], scales[place]);
        }
  }

  Buffer by_heads(const Numbers& tokens, const Numbers& weights, Index heads) const {
    Buffer to({1, heads, problem_.shape.seqlen, problem_.shape.head_dim}, DType::kFloat64);
    for (Index h = 0; h < heads; ++h)
      for (Index s = 0; s < to.extents().rows; ++s)
        for (Index d = 0; d < to.extents().width; ++d) {
          double sum = 0;
          for (Index c = 0; c < hidden_; ++c)
            sum += tokens[at(s, c)] * weights[at(h * to.extents().width + d, c)];
          head_of<double>(to, 0, h)(s, d) = sum;
        }
    return to;
  }

  const Problem problem_;
  const AttentionWeights& weights_;
  Index hidden_;

 public:
  Scaled z, dx;               ///< of the last sequence
  Scaled norm, q, k, v, out;  ///< gradients, summed over sequences
};

}  // namespace ringcraft::testing
