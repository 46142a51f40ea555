// Lesson 501: a schedule; peaks beside a ring's; both on a virtual clock; the exposed time of a large model.
#include <algorithm>
#include <cstdio>

#include "ringcraft/parallel/gather/gather_steps.hpp"
#include "ringcraft/parallel/method.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

using namespace ringcraft;
Theory theory(const Method& method, const Problem& p, Pass pass, int heads = 0) {
  return method.theory(p, {.gather_heads = heads}, pass, {2, 4});  // bf16 and float32
}
double mib(const std::vector<Index>& bytes) { return double(std::ranges::max(bytes)) / (1 << 20); }
// The latest clock: a second for a pair of all heads, `hop` seconds for a block of all heads.
double clock(const Method& method, const Problem& p, int heads, double hop) {
  verify::Inputs inputs = verify::make_inputs(verify::make_case(p, {}, 1), DType::kFloat64);
  inputs.dout = Buffer();
  verify::RanksOptions options{.options = {.gather_heads = heads}, .method = &method};
  options.board.link.beta = double(16 * p.kv_extents(0).elements()) / hop;  // k and v, 8 bytes each
  options.seconds_per_pair = 1;
  verify::Measurement cost;
  verify::run_over_ranks(p, inputs, options, &cost);
  return cost.forward.longest();
}

int main() {
  std::puts("4 ranks, 2 slices: what comes and what is computed, slice and distance");
  for (const auto& [came, done] : gather_steps(4, 2))
    std::printf("%d %d %d %d\n", came.slice, came.distance, done.slice, done.distance);
  std::puts("\n8192 tokens per rank, 32 heads on 8: ranks, MiB of a ring, an all-gather of 8, 4, 2, 1 heads");
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    for (const int n : {2, 4, 8, 16}) {
      const Problem p = make_problem({1, 32, 8, 8192 * n, 128}, full_mask(), Layout::kContiguous, n);
      std::printf("%s %d", pass == Pass::kForward ? "forward" : "backward", n);
      std::printf(" %.0f", mib(theory(kRing, p, pass).peak_bytes));
      for (const int heads : {8, 4, 2, 1})
        std::printf(" %.0f", mib(theory(kAllGather, p, pass, heads).peak_bytes));
      std::puts("");
    }
  std::puts("\n64 tokens, zigzag, 4 ranks: documents, a hop; clocks of a ring, an all-gather of 2, 1 heads");
  for (const int documents : {1, 4, 16})
    for (const double hop : {40, 200}) {
      Mask mask = causal_mask();
      for (int d = 0; d <= documents; ++d) mask.cu_seqlens.push_back(64 / documents * d);
      const Problem p = make_problem({1, 2, 2, 64, 2}, mask, Layout::kZigzag, 4);
      const double whole = clock(kAllGather, p, 0, hop), sliced = clock(kAllGather, p, 1, hop);
      std::printf("%d %g %g %g %g\n", documents, hop, clock(kRing, p, 0, hop), whole, sliced);
    }
  std::puts(
      "\nheads, KV heads, tokens, ranks; MiB of K and V, ms exposed, computed, peak MiB, that of a ring");
  for (const auto& [heads, kv, tokens] : {std::tuple{16, 1, 131072}, {32, 8, 131072}})
    for (const int n : {4, 16}) {  // causal; an H100 at its peak, 50 GB/s
      const Problem p = make_problem({1, heads, kv, tokens, 128}, causal_mask(), Layout::kZigzag, n);
      const Theory cost = theory(kAllGather, p, Pass::kForward);
      std::printf("%d %d %d %d %.0f %.2f %.2f %.0f %.0f\n", heads, kv, tokens, n, kv * (tokens / 2048.0),
                  double(cost.bytes_sent[0]) / 50e6, 512.0 * heads * double(cost.pairs[0]) / 989e9,
                  mib(cost.peak_bytes), mib(theory(kRing, p, Pass::kForward).peak_bytes));
    }
}
