// The costs of an all-gather with equal shards and full attention: the closed forms of lesson 501 against
// numbers worked out by hand, the library's theory, and real runs. And the promises of its schedule.
#include <algorithm>

#include "parallel/method_choices.hpp"
#include "ringcraft/parallel/gather/gather_steps.hpp"
#include "support/catch.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

using namespace ringcraft;

namespace {

// The peak of a rank, in elements of both roles.
struct Peak {
  Index element, accumulator;

  Index bytes(RoleBytes of) const {
    return element * static_cast<Index>(of.element) + accumulator * static_cast<Index>(of.accumulator);
  }
};

// Q: numbers of q; K: of k; L: of lse; a block has 2K. `slices` of the heads, on `n` ranks.
Peak forward_peak(Index Q, Index K, Index L, Index n, Index slices) {
  if (slices == 1) return {Q + 2 * K * n, Q + 2 * L};
  const Index blocks = n == 1 ? 1 : n + 1;
  return {Q + 2 * K + (Q + 2 * K * blocks) / slices, Q + L + (Q + 2 * L) / slices};
}

// Accumulators are at least as wide as elements: the peak is where the shares of three blocks are under way.
Peak backward_peak(Index Q, Index K, Index L, Index n, Index slices) {
  const Index shares = n == 1 ? 1 : n == 2 ? 3 : 4;
  if (slices == 1)
    return {2 * Q + 2 * K * std::min(n, std::max<Index>(2, n - 1)), 2 * Q + 2 * L + 2 * K * shares};
  const Index blocks = n == 1 ? 1 : n + 1;
  return {2 * Q + 2 * K + (2 * Q + 2 * K * blocks) / slices,
          2 * Q + L + 2 * K + (2 * (Q + L) + 2 * K * shares) / slices};
}

Problem equal_shards(Index heads, Index kv_heads, Index rows, int n) {
  return make_problem({1, heads, kv_heads, rows * n, 8}, full_mask(), Layout::kContiguous, n);
}

Theory gather_cost(const Problem& p, Pass pass, Index slices, RoleBytes bytes) {
  return kAllGather.theory(p, {.gather_heads = static_cast<int>(p.shape.kv_heads / slices)}, pass, bytes);
}

}  // namespace

TEST_CASE("three peaks of an all-gather, worked out by hand") {
  // 3 ranks of 4 rows, 4 heads on 2, width 8: Q = 128, K = 64, L = 16.
  const Problem p = equal_shards(4, 2, 4, 3);
  // q 128, blocks 3 * 128; O 128, m and l 32
  CHECK(gather_cost(p, Pass::kForward, 1, {1, 1}).peak_bytes == std::vector<Index>(3, 672));
  // q 128, own block 128, q of a slice 64, 4 blocks of 64; results 144, state of a slice 80
  CHECK(gather_cost(p, Pass::kForward, 2, {1, 1}).peak_bytes == std::vector<Index>(3, 800));
  // q, dout 256, 2 blocks of 128; out, lse, dq, delta 288, gradients of 4 blocks 512
  CHECK(gather_cost(p, Pass::kBackward, 1, {1, 1}).peak_bytes == std::vector<Index>(3, 1312));
}

TEST_CASE("an all-gather holds what its closed forms say, in theory and in a run") {
  for (const int n : {1, 2, 3, 5, 8})
    for (const Index slices : {1, 2, 4}) {
      CAPTURE(n, slices);
      const Problem p = equal_shards(8, 4, 6, n);
      const Index q = 8 * 6 * 8, k = 4 * 6 * 8, l = 8 * 6;
      for (const RoleBytes bytes : {RoleBytes{1, 1}, {2, 4}, {8, 8}}) {
        const Index forward = forward_peak(q, k, l, n, slices).bytes(bytes),
                    backward = backward_peak(q, k, l, n, slices).bytes(bytes);
        for (const Index peak : gather_cost(p, Pass::kForward, slices, bytes).peak_bytes)
          CHECK(peak == forward);
        for (const Index peak : gather_cost(p, Pass::kBackward, slices, bytes).peak_bytes)
          CHECK(peak == backward);
      }
      verify::Measurement cost;
      verify::run_over_ranks(
          p, verify::make_inputs(verify::make_case(p, verify::Data::kNormal, 1), DType::kFloat64),
          {.options = {.gather_heads = static_cast<int>(4 / slices)}, .method = &kAllGather}, &cost);
      const Index forward = forward_peak(q, k, l, n, slices).bytes({8, 8});
      for (const Index peak : cost.forward.peak_bytes) CHECK(peak == forward);
      for (const Index peak : cost.backward.peak_bytes)
        CHECK(peak == std::max(forward, backward_peak(q, k, l, n, slices).bytes({8, 8})));
    }
}

TEST_CASE("an all-gather sends the bytes of a ring, in as many messages for each slice") {
  for (const int n : {1, 2, 3, 8})
    for (const Index slices : {1, 2, 4}) {
      const Problem p = equal_shards(8, 4, 6, n);
      const RoleBytes bytes{2, 4};
      for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
        const Theory gather = gather_cost(p, pass, slices, bytes), ring = kRing.theory(p, {}, pass, bytes);
        CHECK(gather.bytes_sent == ring.bytes_sent);
        CHECK(gather.messages_sent[0] == slices * ring.messages_sent[0]);
      }
      CHECK(gather_cost(p, Pass::kForward, slices, bytes).bytes_sent[0] == (n - 1) * 2 * (4 * 6 * 8) * 2);
    }
}

TEST_CASE("a gather of three ranks and two slices, step by step") {
  const std::vector<GatherStep> want = {{{0, 1}, {}},     {{0, 2}, {}}, {{}, {0, 0}}, {{1, 1}, {0, 1}},
                                        {{1, 2}, {0, 2}}, {{}, {1, 0}}, {{}, {1, 1}}, {{}, {1, 2}}};
  CHECK(gather_steps(3, 2) == want);
  CHECK(gather_steps(1, 2) == std::vector<GatherStep>{{{}, {0, 0}}, {{}, {1, 0}}});
}
