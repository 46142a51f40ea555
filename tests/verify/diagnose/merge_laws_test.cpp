// Merges with wrong factors, an lse that backward saved too early or rounded, and exchanges that are skipped.
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "support/catch.hpp"
#include "verify/claims/claim.hpp"
#include "verify/diagnose/first_cause.hpp"
#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/suspects_support.hpp"

namespace ringcraft::verify {
namespace {

bool says(const std::vector<Cause>& causes, std::string_view words) {
  UNSCOPED_INFO((causes.empty() ? "nothing is said" : causes[0].sentence));
  return !causes.empty() && causes[0].sentence.find(words) != std::string::npos;
}

// The factors of the old sum, the block's sum, the old out and the block's out; those of the row are given.
struct Factors {
  double old_sum, new_sum, old_out, new_out;
};
using Wrong = std::function<Factors(double old_right, double new_right, double old_of_head_zero)>;

double factor(double from, double to) { return std::isinf(from) ? 0 : std::exp(from - to); }

// A ring whose running state is merged with these factors: between nodes of `node` ranks, or (0) everywhere.
Answer merged_by(const Scene& scene, const Wrong& wrong, int node, int only_rank = -1) {
  const Problem& problem = scene.c.problem;
  const TwistedRing ring(whole(problem), scene.inputs, scene.right.value, ring_arrangement(problem));
  Answer answer = clone(scene.right.value);
  const auto join = [&](BlockPartial& state, const BlockPartial& block, BlockPartial& zero,
                        const BlockPartial& block_zero, bool is_wrong) {
    const double larger = std::max(state.max, block.max), a = factor(state.max, larger),
                 b = factor(block.max, larger);
    const double larger_zero = std::max(zero.max, block_zero.max);
    const Factors f = is_wrong ? wrong(a, b, factor(zero.max, larger_zero)) : Factors{a, b, a, b};
    for (std::size_t c = 0; c < state.out.size(); ++c)
      state.out[c] = f.old_out * state.out[c] + f.new_out * block.out[c];
    state.sum = f.old_sum * state.sum + f.new_sum * block.sum;
    state.max = larger, zero.max = larger_zero;
  };
  for_each_row(answer.out.extents(), [&](const RowPlace& row) {
    const auto own = ring.partials({}, row), zeros = ring.partials({}, {row.batch, 0, row.row});
    BlockPartial nothing;
    nothing.out.assign(own[0].out.size(), 0.0);
    BlockPartial whole_state = nothing, whole_zero = nothing;
    const auto n = own.size(), size = node == 0 ? n : static_cast<std::size_t>(node);
    const int rank = own[0].source;
    const bool here = only_rank < 0 || rank == only_rank;
    for (std::size_t first = 0; first < n; first += size) {
      BlockPartial state = nothing, zero = nothing;
      for (std::size_t i = 0; i < size; ++i) {
        const auto step = node == 0 ? i : (static_cast<std::size_t>(rank) + n - first - i) % n;
        join(state, own[step], zero, zeros[step], node == 0 && here);
      }
      join(whole_state, state, whole_zero, zero, node != 0 && here);
    }
    for (double& x : whole_state.out) x /= whole_state.sum;
    put(answer.out, row, whole_state.out);
    put(answer.lse, row, {whole_state.max + std::log(whole_state.sum)});
  });
  return answer;
}

Scene ring_of(int ranks, Layout layout = Layout::kZigzag) {
  return Scene(make_problem({1, 4, 2, 48, 8}, causal_mask(), layout, ranks));
}

}  // namespace

TEST_CASE("sums that are rescaled with a wrong factor are told by that factor") {
  const Scene scene = ring_of(4);
  const auto of = [&](const Wrong& wrong, int only_rank = -1) {
    return scene.of(merged_by(scene, wrong, 0, only_rank)).forward;
  };
  CHECK(of([](double a, double b, double) { return Factors{a, b, a, b}; }).empty());
  CHECK(says(of([](double a, double b, double zero) {
               return Factors{zero, b, a, b};
             }),
             "the old sums are multiplied by the factor of head 0"));
  CHECK(says(of([](double a, double b, double zero) {
               return Factors{a, b, zero, b};
             }),
             "the numerator O is"));
  const auto here = of([](double a, double b, double zero) { return Factors{zero, b, a, b}; }, 2);
  CHECK(says(here, "the factor of head 0"));
  CHECK(says(here, "on rank 2 only"));
}

TEST_CASE("a mistake only between the nodes of a double ring is named") {
  const Scene scene = ring_of(6);
  const auto causes = scene
                          .of(merged_by(
                              scene,
                              [](double a, double b, double) {
                                return Factors{1, 1, a, b};
                              },
                              3))
                          .forward;
  CHECK(first_of(causes) == "solved-rescale");
  CHECK(says(causes, "between nodes of 3 ranks"));
}

TEST_CASE("exchanges that ranks without a visible pair leave out are told") {
  Mask packed = causal_mask();
  packed.cu_seqlens = {0, 16, 45, 55};
  const auto told = [](const Problem& problem, WalkTwist walk) {
    const Scene scene(problem);
    return first_of(
        scene.of(twisted_forward(problem, scene.inputs, scene.right.value, {.walk = walk})).forward);
  };
  CHECK((told(make_problem({1, 2, 2, 55, 8}, packed, Layout::kContiguous, 5), WalkTwist::kNotPassedOn) ==
         "RF-not-passed"));
  const Problem zigzag = make_problem({1, 2, 2, 50, 8}, window_mask(6), Layout::kZigzag, 5);
  for (const WalkTwist walk :
       {WalkTwist::kNotPassedOn, WalkTwist::kNotPassedOnBlind, WalkTwist::kNotTakenBlind}) {
    CAPTURE(static_cast<int>(walk));
    CHECK((told(zigzag, walk) == "RF-not-passed"));
  }
}

TEST_CASE("backward from an lse that was saved too early is told") {
  const Problem problem = make_problem({1, 4, 2, 42, 8}, causal_mask(), Layout::kStriped, 3);
  const Scene scene(problem);
  for (const Twist& twist : {Twist{.weights = WeightTwist::kBeforeLast},
                             {.weights = WeightTwist::kBeforeLastSeen},
                             {.weights = WeightTwist::kFirstStep},
                             {.weights = WeightTwist::kBeforeLast, .delta = DeltaTwist::kBeforeLast},
                             {.weights = WeightTwist::kFirstStep, .delta = DeltaTwist::kFirstStep}}) {
    const Answer claim = twisted_backward(problem, scene.inputs, scene.right.value, twist);
    const auto causes = scene.of(claim, Ranks::kKnown, Expect::kAll).backward;
    CHECK(first_of(causes) == (twist.delta == DeltaTwist::kRight ? "BW-lse-early" : "BW-state-early"));
  }
}

TEST_CASE("backward from an lse in bfloat16 is told of 16-bit gradients by all rows together") {
  const Problem problem = make_problem({2, 2, 2, 210, 16}, full_mask(), Layout::kContiguous, 3);
  const Inputs inputs =
      converted(make_inputs(make_case(problem, Data::kNormal, 3), DType::kBFloat16), DType::kFloat64);
  const Oracle right = oracle(problem, inputs, {.rounding = rounding_of(DType::kBFloat16)});
  const BlockProblem block = whole(problem);
  const Arrangement place = ring_arrangement(problem);
  const auto told = [&](const Twist& twist) {
    const Answer claim = converted(
        converted(twisted_backward(problem, inputs, right.value, twist), DType::kBFloat16), DType::kFloat64);
    const Comparison comparison = compare_exact(claim, oracle(problem, inputs), Expect::kAll);
    const Evidence e{block, place, &problem, inputs, claim, right, comparison, DType::kBFloat16};
    const auto cause = cause_of_rounded_lse(e);
    return cause ? cause->id : "";
  };
  CHECK(told({.weights = WeightTwist::kLseInBFloat16}) == "BW-lse-rounded");
  CHECK(told({}).empty());
}

// The claim of a ring in float32 whose merges take differences: out - w (out - block_out), with gradients by
// the weights 1 - w of autograd.
ClaimVerdict judged_by_differences(const Problem& problem, Inputs inputs, bool of_out, bool of_weights) {
  const StoredInputs stored = stored_inputs(converted(inputs, DType::kFloat32), {});
  const Inputs exact = converted(stored.inputs, DType::kFloat64);
  Answer claim = oracle(problem, exact).value;
  const Answer right = clone(claim);
  const TwistedRing ring(whole(problem), exact, right, ring_arrangement(problem));
  if (of_weights)
    for (Buffer* sum : {&claim.dk, &claim.dv}) std::ranges::fill(sum->values<double>(), 0);
  for_each_row(claim.out.extents(), [&](const RowPlace& row) {
    std::vector<BlockPartial> blocks = ring.partials({}, row);
    std::erase_if(blocks, [](const BlockPartial& block) { return block.keys == 0; });
    std::vector<float> out(static_cast<std::size_t>(problem.shape.head_dim)), left;
    double lse = kNoKey;
    for (const BlockPartial& block : blocks) {
      const auto w = static_cast<float>(1 / (1 + std::exp(lse - block.lse())));
      for (std::size_t c = 0; c < out.size(); ++c)
        out[c] -= w * (out[c] - static_cast<float>(block.out[c] / block.sum));
      for (float& weight : left) weight *= 1 - w;
      left.push_back(w);
      lse = lse == kNoKey ? block.lse()
                          : std::max(lse, block.lse()) + std::log1p(std::exp(-std::fabs(lse - block.lse())));
    }
    if (of_out) put(claim.out, row, {out.begin(), out.end()});
    if (!of_weights) return;
    const auto of = [&](const Buffer& tensor, Index head, Index at) {
      return head_of<double>(tensor, row.batch, head).row(at);
    };
    const Index kv = row.head / problem.shape.group();
    const auto q = of(exact.q, row.head, row.row), dout = of(exact.dout, row.head, row.row);
    const double delta = product(dout, of(right.out, row.head, row.row));
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (const Index key : ring.arrangement().blocks[static_cast<std::size_t>(blocks[b].source)]) {
        if (!visible(problem.mask, row.row, key)) continue;
        const double p =
            left[b] * std::exp(problem.softmax_scale * product(q, of(exact.k, kv, key)) - blocks[b].lse());
        const double ds = p * (product(dout, of(exact.v, kv, key)) - delta) * problem.softmax_scale;
        const auto dk = head_of<double>(claim.dk, row.batch, kv).row(key),
                   dv = head_of<double>(claim.dv, row.batch, kv).row(key);
        for (std::size_t c = 0; c < q.size(); ++c) dk[c] += ds * q[c], dv[c] += p * dout[c];
      }
  });
  Answer stored_claim = converted(claim, DType::kFloat32);
  return judge_claim({.problem = problem,
                      .stored = stored,
                      .answer = std::move(stored_claim),
                      .unjudged = {},
                      .key_width = problem.shape.head_dim,
                      .value_width = problem.shape.head_dim,
                      .diagnose = {.ranks = Ranks::kKnown}});
}

TEST_CASE("digits that merges by a difference lose are told, where they show") {
  const Problem problem = make_problem({2, 8, 2, 80, 5}, causal_mask(), Layout::kContiguous, 3);
  const auto causes = [](const ClaimVerdict& verdict) {
    std::vector<std::string> ids;
    for (const ReportRow& row : verdict.report.rows)
      for (const Cause& cause : row.causes) ids.push_back(cause.id);
    return ids;
  };
  Inputs inputs = make_inputs(make_case(problem, Data::kPeaked, 3), DType::kFloat64);
  CHECK(judged_by_differences(problem, clone(inputs), true, false).good);
  CHECK(causes(judged_by_differences(problem, clone(inputs), true, true)) ==
        std::vector<std::string>{"solved-cancelled-weights"});
  std::set<std::string> found;
  for (int rank = 0; rank < 3; ++rank) {  // the keys of one of them are far above all others
    inputs = make_inputs(make_case(problem, Data::kGap, 3), DType::kFloat64);
    for_each_row(inputs.v.extents(), [&](const RowPlace& row) {
      if (problem.sharding().owner_of(row.row) != rank) return;
      for (double& x : head_of<double>(inputs.v, row.batch, row.head).row(row.row)) x *= 1e-6;
    });
    const ClaimVerdict verdict = judged_by_differences(problem, clone(inputs), true, false);
    for (const std::string& id : causes(verdict)) found.insert(id);
  }
  CHECK(found == std::set<std::string>{"solved-cancelled-out"});
}

}  // namespace ringcraft::verify
