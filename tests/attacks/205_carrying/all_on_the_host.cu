// Merges on the host, without any kernel.
// Fails: one-row "crashed (segmentation fault)"
#include <cmath>

#include "engine/launch.cuh"
#include "engine/vector4.cuh"
#include "merge/merge.hpp"

namespace ringcraft::kernels {
namespace {


float weigh(float max, float largest) { return max == -INFINITY ? 0.0f : expf(max - largest); }
}  // namespace
void merge(Partials<float> acc, Partials<const float> block, Index rows, int head_dim, cudaStream_t) {
  for (Index r = 0; r < rows; ++r) {
    const float other = block.max_gmem[r], mine = acc.max_gmem[r];
    if (other == -INFINITY) continue;
    const float big = fmaxf(mine, other), a = weigh(mine, big), b = weigh(other, big);
    for (int d = 0; d < head_dim; ++d) {
      float& o = acc.out_gmem[r * head_dim + d];
      o = fmaf(b, block.out_gmem[r * head_dim + d], a * o);
    }
    acc.max_gmem[r] = big;
    acc.sum_gmem[r] = a * acc.sum_gmem[r] + b * block.sum_gmem[r];
  }
}
void merge_normalized(float* out, float* lse, const float* bout, const float* blse, Index rows, int head_dim, cudaStream_t) {
  for (Index r = 0; r < rows; ++r) {
    if (blse[r] == -INFINITY) continue;
    const float big = fmaxf(lse[r], blse[r]), a = weigh(lse[r], big), b = weigh(blse[r], big), norm = a + b;
    for (int d = 0; d < head_dim; ++d) out[r * head_dim + d] = fmaf(b / norm, bout[r * head_dim + d], a / norm * out[r * head_dim + d]);
    lse[r] = big + logf(norm);
  }
}
}  // namespace ringcraft::kernels
