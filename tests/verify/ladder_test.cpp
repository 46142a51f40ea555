// Tests the ladder: every stage computes the same problem, and is compared with one before it.
#include "verify/ladder/ladder.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "ringcraft/core/error.hpp"
#include "support.hpp"
#include "support/catch.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/oracle/rounding_rule.hpp"

namespace ringcraft::verify {
namespace {

TEST_CASE("stages have distinct names, and predecessors that come first") {
  std::set<std::string> seen;
  int lesson = 0;
  for (const Stage& stage : ladder()) {
    INFO(stage.name);
    CHECK((seen.empty() ? stage.predecessor.empty() : seen.count(stage.predecessor) == 1));
    CHECK(seen.insert(stage.name).second);
    CHECK(stage.lesson >= lesson);
    lesson = stage.lesson;
    CHECK(&stage_named(stage.name) == &stage);
    // A stage with gradients has something to compare them with.
    if (stage.expect == Expect::kAll && !stage.predecessor.empty())
      CHECK(stage_named(stage.predecessor).expect == Expect::kAll);
  }
  for (const int wanted :
       {101, 102, 103, 104, 105, 106, 108, 302, 303, 304, 402, 403, 404, 405, 501, 502, 503})
    CHECK(std::any_of(ladder().begin(), ladder().end(), [=](const Stage& s) { return s.lesson == wanted; }));
  CHECK_THROWS_AS(stage_named("no such stage"), Error);
}

TEST_CASE("the README shows the stages that there are") {
  std::ifstream readme(RINGCRAFT_SOURCE_DIR "/README.md");
  const std::string page{std::istreambuf_iterator<char>(readme), {}};
  const auto begin = page.find("<!-- output: run -->"), end = page.find("<!-- /output -->", begin);
  REQUIRE(end != page.npos);
  std::istringstream block(page.substr(begin, end - begin));
  std::vector<std::string> shown, want;
  for (std::string line; std::getline(block, line);)
    if (line.ends_with("  right") && !line.starts_with('2'))  // the kernels': tests/tool
      shown.push_back(line.substr(0, line.find("  ")));
  for (const Stage& stage : ladder()) want.push_back(std::to_string(stage.lesson) + " " + stage.name);
  CHECK(shown == want);
}

TEST_CASE("every stage is right on the shared problem") {
  const std::vector<Mask> masks{
      causal_mask(), full_mask(), window_mask(7), {.right = 0, .cu_seqlens = {0, 5, 24, 25, 41}}};
  for (const Mask& mask : masks)
    for (const Data data : {Data::kNormal, Data::kHot, Data::kGap}) {
      const Case c = make_case(make_problem({1, 4, 2, 41, 8}, mask, Layout::kZigzag, 4), data, 9);
      const Inputs exact = make_inputs(c, DType::kFloat64), rounded = make_inputs(c, DType::kFloat32);
      const Rounding rounding = rounding_of(DType::kFloat32);
      const Oracle shared = oracle(c.problem, exact),
                   shared_rounded = oracle(c.problem, rounded, {.rounding = rounding});
      for (const Stage& stage : ladder()) {
        Problem own = c.problem;
        if (stage.mask != nullptr) own.mask = stage.mask(c.problem);
        const bool changed = own.mask != c.problem.mask;
        const Oracle own_want = changed ? oracle(own, exact) : Oracle{},
                     own_rounded = changed ? oracle(own, rounded, {.rounding = rounding}) : Oracle{};
        const Oracle& want = changed ? own_want : shared;
        const Oracle& want_rounded = changed ? own_rounded : shared_rounded;
        const StageResult result = climb(stage, c.problem, exact);
        const Comparison comparison = compare_exact(result.answer, want, stage.expect);
        INFO(stage.name << ", " << c.name << ": "
                        << described(comparison, problem_of(stage, c.problem).sharding()));
        CHECK(comparison.good);
        const Comparison single =
            RoundingRule(rounding).add(climb(stage, c.problem, rounded).answer, want_rounded, stage.expect);
        INFO("float32: " << described(single, problem_of(stage, c.problem).sharding()));
        CHECK(single.good);
        CHECK(result.answer.dq.empty() == (stage.expect == Expect::kForward));
        CHECK(result.measurement.forward.work.size() == (stage.over_ranks ? 4u : 1u));
        CHECK(result.measurement.backward.work.empty() == (stage.expect == Expect::kForward));
        CHECK(result.measurement.forward.peak() > 0);
      }
    }
}

TEST_CASE("a distributed softmax costs what theory says") {
  const std::vector<Mask> masks{
      causal_mask(), full_mask(), window_mask(7), {.right = 0, .cu_seqlens = {0, 5, 24, 25, 150}}};
  const Stage& stage = stage_named("distributed softmax");
  for (const Mask& mask : masks)
    for (const int n : {1, 2, 3, 5})
      for (const DType type : {DType::kFloat32, DType::kFloat64}) {
        const Case c = small_case({2, 4, 2, 150, 3}, mask, Layout::kContiguous, n);
        const Problem problem = problem_of(stage, c.problem);
        const StageResult result = climb(stage, c.problem, make_inputs(c, type));
        const Theory theory =
            stage.over_ranks->method->theory(problem, {}, Pass::kForward, {size_of(type), size_of(type)});
        INFO(c.name);
        const PassCost& cost = result.measurement.forward;
        for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r) {
          CHECK(cost.traffic[r].bytes_sent == theory.bytes_sent[r]);
          CHECK(cost.traffic[r].messages_sent == theory.messages_sent[r]);
          CHECK(cost.peak_bytes[r] == theory.peak_bytes[r]);
          CHECK(cost.work[r].pairs == theory.pairs[r]);
        }
        CHECK(cost.imbalance() == theory.imbalance());
      }
  // Each rank has one turn of 50 rows for each of 8 heads, and takes part in two of the others. In a turn of
  // its own it sends q to two ranks, in all turns (m, l) in two phases, in the others' a share of out.
  const Case c = small_case({2, 4, 2, 150, 3}, full_mask(), Layout::kContiguous, 3);
  const Theory golden = stage.over_ranks->method->theory(c.problem, {}, Pass::kForward, {4, 4});
  CHECK(golden.messages_sent == std::vector<Index>(3, 8 * (2 + 3 * 2 + 2)));
  CHECK(golden.bytes_sent == std::vector<Index>(3, 8 * (2 * 50 * 3 + 2 * 150 * 2 + 100 * 3) * 4));
}

TEST_CASE("the windowed ring needs fewer hops, and has its window already when it gets it again") {
  const Stage& stage = stage_named("windowed ring");
  const Case c = small_case({1, 2, 1, 64, 4}, causal_mask(), Layout::kContiguous, 4);
  const Problem problem = problem_of(stage, c.problem);
  CHECK(problem.mask == window_mask(24));
  CHECK(hops(problem) == 2);
  CHECK(stage.mask(problem) == problem.mask);
  CHECK(climb(stage, c.problem, make_inputs(c, DType::kFloat64)).measurement.forward.traffic.size() == 4);
}

TEST_CASE(
    "the packed ring deals each sequence by itself, keeps sequences that there are, and packs any length") {
  const Stage& stage = stage_named("packed ring");
  const Case c = small_case({1, 2, 1, 64, 4}, causal_mask(), Layout::kContiguous, 4);
  const Problem problem = problem_of(stage, c.problem);
  CHECK(problem.per_sequence);
  CHECK(problem.mask.cu_seqlens == std::vector<Position>{0, 5, 6, 18, 45, 64});
  CHECK(stage.mask(problem) == problem.mask);
  for (Position seqlen = 1; seqlen < 30; ++seqlen)
    CHECK_NOTHROW(
        validate(problem_of(stage, make_problem({1, 2, 1, seqlen, 4}, causal_mask(), Layout::kZigzag, 4))));
}

TEST_CASE("only the zig-zag ring is balanced under a causal mask") {
  const Case c = small_case({1, 2, 1, 64, 4}, causal_mask(), Layout::kContiguous, 4);
  const Inputs inputs = make_inputs(c, DType::kFloat32);
  const auto imbalance = [&](const char* name) {
    return climb(stage_named(name), c.problem, inputs).measurement.forward.imbalance();
  };
  CHECK(imbalance("ring forward") > 0.4);
  CHECK(imbalance("striped ring") > 0.01);
  CHECK(imbalance("token zig-zag ring") == 0);
  CHECK(imbalance("zig-zag ring") == 0);
}

}  // namespace
}  // namespace ringcraft::verify
