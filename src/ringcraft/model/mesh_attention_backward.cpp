// The layer's backward pass, and the sums of its gradients over ranks.
#include <algorithm>
#include <functional>
#include <utility>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/model/mesh_attention.hpp"
#include "ringcraft/model/mesh_rows.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

LayerGradients MeshAttention::backward(const std::vector<double>& dz) {
  if (q_.extents() == Extents{})
    throw Error("backward pass of a layer", "a forward pass before it", "none", "call forward first");
  refuse_rows("dz", dz);
  const Shape& shape = problem_.shape;
  LayerGradients gradients;
  AttentionWeights& weights = gradients.weights;
  weights.norm.resize(share_.norm.size());

  // out: dout = dy Wᵀ, dW = outᵀ dy
  const std::vector<double> dy = gathered(dropped(dz));
  const Buffer dout = projected(share_.out, shape.heads, dy);
  weights.out.resize(share_.out.size());
  for (Index head = 0; head < shape.heads; ++head)
    transposed_multiply_add<double>(head_of<double>(std::as_const(output_.out), 0, head),
                                    as_rows(dy, hidden_), 1.0,
                                    rows_of_head(weights.out, head, shape.head_dim, hidden_));

  const Gradients ring =
      ring_backward(context_, engine_, problem_, Schedule::kForward, q_, kv_, kv_, output_, dout);

  // q, k, v: dnormed = the sum of d W, dW = dᵀ normed
  std::vector<double> partial(dy.size());
  const auto back = [&](const Buffer& d, const std::vector<double>& of, std::vector<double>& dweights) {
    dweights.resize(of.size());
    for (Index head = 0; head < d.extents().heads; ++head) {
      multiply_add<double>(head_of<double>(d, 0, head), rows_of_head(of, head, shape.head_dim, hidden_), 1.0,
                           as_rows(partial, hidden_));
      transposed_multiply_add<double>(head_of<double>(d, 0, head), as_rows(std::as_const(normed_), hidden_),
                                      1.0, rows_of_head(dweights, head, shape.head_dim, hidden_));
    }
  };
  back(ring.dq, share_.q, weights.q);
  back(ring.dkv.k, share_.k, weights.k);
  back(ring.dkv.v, share_.v, weights.v);

  gradients.x = norm_backward(summed(std::move(partial)), weights.norm);
  std::ranges::transform(gradients.x, dz, gradients.x.begin(), std::plus<>());
  return gradients;
}

// With n = x f the numbers before the gains g: dn = g dnormed, dx = f (dn - n mean(n dn)), dg = sum n
// dnormed.
std::vector<double> MeshAttention::norm_backward(const std::vector<double>& dnormed,
                                                 std::vector<double>& dgains) const {
  std::vector<double> dx(x_.size());
  for (Index row = 0; row < static_cast<Index>(positions_.size()); ++row) {
    const auto x = as_rows(x_, hidden_).row(row), d = as_rows(dnormed, hidden_).row(row);
    const auto to = as_rows(dx, hidden_).row(row);
    const double factor = rms_factor(x);
    double mean = 0;
    for (Index c = 0; c < hidden_; ++c) {
      mean += x[c] * factor * share_.norm[c] * d[c] / static_cast<double>(hidden_);
      dgains[c] += x[c] * factor * d[c];
    }
    for (Index c = 0; c < hidden_; ++c) to[c] = factor * (share_.norm[c] * d[c] - x[c] * factor * mean);
  }
  return dx;
}

void MeshAttention::sum_over_ranks(AttentionWeights& gradients) {
  refuse_weights("gradients", gradients);
  Group same_heads(world_, group_of(mesh_, world_.rank(), {Axis::kContext, Axis::kData}));
  std::apply([&](auto&... tensors) { (all_reduce<double>(same_heads, tensors), ...); },
             AttentionWeights::of_heads(gradients));
  all_reduce<double>(same_heads, gradients.norm);
  if (border_ == TensorBorder::kSequenceParallel) all_reduce<double>(tensor_, gradients.norm);
}

}  // namespace ringcraft
