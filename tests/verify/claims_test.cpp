// Right and wrong claims of every precision: no right one fails, no wrong one passes, and the smallest margin
// on either side is printed. The table on docs/pages/rounding.md is what this test prints in a long run.
#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>

#include "rounded_attention.hpp"
#include "support.hpp"
#include "support/catch.hpp"
#include "verify/oracle/rounding_rule.hpp"

namespace ringcraft::verify {
namespace {

// The kind of numbers of the inputs.
struct Numbers {
  std::string name;
  double factor_of_q = 1;  // which makes scores peaked or flat
  double drift = 0;        // of a wave over the sequence in v and dout: partial sums are large, all is near 0
  Index words = 0;         // tokens repeat so many, if not 0
};
const Numbers kOrdinary{}, kPeaked{", peaked", 4}, kFlat{", flat", 0.05}, kDrifting{", drifting", 0.05, 4},
    kUniform{", uniform", 0}, kRepeated{", 8 words", 1, 0, 8};

void repeat_words(Inputs& inputs, Index words) {
  for (const auto& [name, tensor] : named(inputs))
    for (Index head = 0; words > 0 && head < tensor.extents().heads; ++head) {
      const Matrix<double> rows = head_of<double>(tensor, 0, head);
      for (Index i = words; i < rows.rows; ++i)
        std::ranges::copy(rows.row(i * i % words), rows.row(i).begin());
    }
}

void add_wave(Buffer& tensor, double size) {
  const Extents& e = tensor.extents();
  for (Index head = 0; head < e.heads; ++head)
    for (Index i = 0; i < e.rows; ++i)
      for (double& x : head_of<double>(tensor, 0, head).row(i))
        x += size * std::sin(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(e.rows));
}

// A problem, its inputs in the precision, and the right answer.
struct Question {
  DType type;
  std::string name;
  Problem problem;
  Inputs inputs;  // rounded to the type, in float64 for float64, else in float32
  Oracle want;

  Question(DType precision, Problem asked, const Numbers& numbers = kOrdinary)
      : type(precision),
        name(std::to_string(asked.shape.seqlen) + " tokens, head_dim " +
             std::to_string(asked.shape.head_dim) + ", " + described(asked.mask) + numbers.name),
        problem(std::move(asked)) {
    inputs = make_inputs(make_case(problem, Data::kNormal, 11), DType::kFloat64);
    for (double& x : inputs.q.values<double>()) x *= numbers.factor_of_q;
    add_wave(inputs.v, numbers.drift);
    add_wave(inputs.dout, numbers.drift);
    repeat_words(inputs, numbers.words);
    inputs = converted(inputs, type);
    if (type != DType::kFloat64) inputs = converted(inputs, DType::kFloat32);
    OracleOptions options{.threads = 2};
    if (type != DType::kFloat64) options.rounding = rounding_of(type);
    want = oracle(problem, inputs, options);
  }

  Answer answer(const RoundedSteps& steps, const Mistake& mistake = {}) const {
    return type == DType::kFloat64 ? rounded_attention<double>(problem, inputs, steps, mistake)
                                   : rounded_attention<float>(problem, inputs, steps, mistake);
  }
  // The largest share of a bound: at most 1 is right.
  double share(const Answer& claim) const {
    if (type == DType::kFloat64) return compare_exact(claim, want, Expect::kPresent).worst_share;
    const Sharding ranks = problem.sharding();
    const Comparison found = RoundingRule(rounding_of(type)).add(claim, want, Expect::kPresent, &ranks);
    REQUIRE(found.good == (found.worst_share <= 1));
    return found.worst_share;
  }
};

// Rounding of other people's code. Code that keeps its scores in a half type has no lse in float32 to show.
std::vector<RoundedSteps> right_steps(DType type) {
  std::vector<RoundedSteps> all{
      {.name = "float32 inside, rounded once"},
      {.name = "P and dS rounded", .weights = true},
      {.name = "ring of 4, rounded partial results", .weights = true, .blocks = 4},
      {.name = "ring of 16, rounded partial results", .weights = true, .blocks = 16}};
  if (is_half(type)) {
    all.push_back({.name = "gradients added up in the type", .weights = true, .sum_rows = 256});
    all.push_back({.name = "everything rounded at every step", .scores = true, .weights = true});
  }
  for (RoundedSteps& steps : all) steps.type = type;
  return all;
}

// Mistakes of the algorithm; q.k / sqrt(d) is of order 1.
std::vector<Mistake> mistakes(const Problem& problem) {
  const Index n = problem.shape.seqlen, block = n / 8;
  Mask other = problem.mask;
  other.left = other.left == kNoLimit ? n / 2 : other.left - 1;
  return {
      {.name = "1/64 of the keys lost", .lost_first = n / 3, .lost_count = std::max<Index>(1, n / 64)},
      {.name = "a block counted twice", .twice_first = 2 * block, .twice_count = block},
      {.name = "no delta", .no_delta = true},
      {.name = "partial outputs averaged", .averaged = 8},
      {.name = "a stale block of values", .stale_first = 2 * block, .stale_count = block},
      {.name = "last rows lost for dk, dv of the first keys", .lost_rows = n / 2, .lost_keys = n / 2 + block},
      {.name = "another window", .mask = other}};
}

template <class T>
void edit(Buffer& tensor, const std::string& how) {
  const auto all = tensor.values<T>();
  Matrix<T> head = head_of<T>(tensor, 0, tensor.extents().heads - 1);
  const Index i = head.rows / 2;
  if (how == "times 1.02")
    for (T& x : all) x *= T(1.02);
  else if (how == "half of it zero")
    std::fill(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end(), T(0));
  else if (how == "a row its neighbour's")
    std::ranges::copy(head.row(i - 1), head.row(i).begin());
  else
    std::swap_ranges(head.data.begin(), head.data.end(), head_of<T>(tensor, 0, 0).data.begin());
}

// Mistakes of single tensors; each gives the claim of one tensor.
std::vector<std::pair<std::string, Answer>> edited_claims(const Question& q, const Answer& right) {
  std::vector<std::pair<std::string, Answer>> claims;
  for (const std::size_t t : {0u, 2u, 3u, 4u})
    for (const std::string how :
         {"times 1.02", "half of it zero", "a row its neighbour's", "two heads swapped"}) {
      const Buffer& tensor = named(right)[t].tensor;
      if (how == "two heads swapped" && tensor.extents().heads == 1) continue;
      Answer claim;
      Buffer& wrong = named(claim)[t].tensor = tensor.clone();
      q.type == DType::kFloat64 ? edit<double>(wrong, how) : edit<float>(wrong, how);
      if (is_half(q.type))  // as such code would write it
        wrong = ringcraft::converted(ringcraft::converted(wrong, q.type), DType::kFloat32);
      claims.emplace_back(std::string(kAnswerNames[t]) + " " + how, std::move(claim));
    }
  return claims;
}

// The claims of one kind, and the one that is nearest to the other side.
struct Margin {
  Index claims = 0;
  double share = 0;
  std::string where;

  void add(double s, const std::string& name, bool right) {
    if (claims++ == 0 || (right ? s > share : s < share)) {
      share = s;
      where = name;
    }
  }
};

struct Margins {
  Margin right, wrong;
  std::map<std::string, Margin> kinds;  // of both
};

void judge_right(const Question& q, const std::vector<RoundedSteps>& all, Margins& margins) {
  for (const RoundedSteps& steps : all) {
    Answer claim = q.answer(steps);
    if (steps.scores) claim.lse = Buffer();
    const double share = q.share(claim);
    INFO(steps.name << ", " << q.name);
    CHECK(share <= 1);
    margins.right.add(share, steps.name + ", " + q.name, true);
    margins.kinds["right: " + steps.name].add(share, q.name, true);
  }
}

void judge_wrong(const Question& q, const std::vector<Mistake>& all, Margins& margins) {
  const RoundedSteps steps = right_steps(q.type)[1];
  const Answer right = q.answer(steps);
  const auto add = [&](const std::string& name, const Answer& claim) {
    const double share = q.share(claim);
    INFO(name << ", " << q.name);
    CHECK(share > 1);
    margins.wrong.add(share, name + ", " + q.name, false);
    margins.kinds["wrong: " + name].add(share, q.name, false);
  };
  for (const auto& [name, claim] : edited_claims(q, right)) add(name, claim);
  for (const Mistake& mistake : all) {
    Answer claim = q.answer(steps, mistake);
    claim.lse = Buffer();  // which in float32 reveals most of them at once
    add(mistake.name, claim);
  }
}

Problem problem_of(Index tokens, Index head_dim, Mask mask, Index heads = 2, Index kv_heads = 2) {
  return make_problem({1, heads, kv_heads, tokens, head_dim}, std::move(mask), Layout::kZigzag, 4);
}

void print(DType type, const Margins& m) {
  const bool all = testing::long_run();
  std::printf("\n%s: largest error in parts of its bound, %s\n", std::string(name_of(type)).c_str(),
              all                      ? "64 to 16384 tokens"
              : testing::tries_fewer() ? "64 to 250 tokens (to 16384 with RINGCRAFT_LONG=1)"
                                       : "64 to 1024 tokens (to 16384 with RINGCRAFT_LONG=1)");
  std::printf("  %lld right claims, the largest  %.2f  (%s)\n", static_cast<long long>(m.right.claims),
              m.right.share, m.right.where.c_str());
  std::printf("  %lld wrong claims, the smallest %.3g  (%s)\n", static_cast<long long>(m.wrong.claims),
              m.wrong.share, m.wrong.where.c_str());
  for (const auto& [kind, margin] : m.kinds) std::printf("    %-56s %.3g\n", kind.c_str(), margin.share);
}

// The sizes at which a claim takes no second.
void judge_small(DType type, Margins& m) {
  const bool all = testing::long_run();
  const bool fewer = testing::tries_fewer();
  const std::vector<RoundedSteps> steps = right_steps(type);
  for (const Mask& mask : {full_mask(), causal_mask(), window_mask(40)}) {
    for (const Numbers& numbers : {kOrdinary, kPeaked, kFlat, kDrifting, kUniform, kRepeated}) {
      judge_right({type, problem_of(64, 32, mask), numbers}, steps, m);
      if (!fewer) judge_right({type, problem_of(250, 128, mask), numbers}, steps, m);
      if (all) judge_right({type, problem_of(130, 256, mask, 4, 2), numbers}, steps, m);
      if (all) judge_right({type, problem_of(1024, 64, mask, 2, 1), numbers}, steps, m);
    }
    std::vector<Problem> problems{problem_of(64, 32, mask, 4, 2), problem_of(64, 128, mask)};
    if (all || (!fewer && mask == causal_mask())) problems.push_back(problem_of(1024, 64, mask));
    for (const Problem& problem : problems) judge_wrong({type, problem}, mistakes(problem), m);
  }
  // Sums in float32 err by more than their terms do.
  const Index longest = all ? 2000 : fewer ? 250 : 1000;
  for (const Numbers& numbers : {kPeaked, kDrifting, kRepeated})
    judge_right({type, problem_of(longest, 32, full_mask(), 1, 1), numbers}, steps, m);
}

// One head of 16384 tokens: the rounding of CPU kernels, and the smallest mistakes that are detectable among
// so many keys.
void judge_large(DType type, Margins& m) {
  const Problem problem = problem_of(16384, 64, causal_mask(), 1, 1);
  const Question q{type, problem};
  std::vector<RoundedSteps> steps = right_steps(type);
  std::erase_if(steps, [](const RoundedSteps& s) { return s.blocks > 1 || s.scores; });
  judge_right(q, steps, m);
  std::vector<Mistake> some = mistakes(problem);
  some.resize(3);  // keys lost, a block twice, no delta
  judge_wrong(q, some, m);
}

void judge(DType type) {
  Margins m;
  judge_small(type, m);
  if (testing::long_run()) judge_large(type, m);
  CHECK(m.right.claims >= 60);
  CHECK(m.wrong.claims >= (testing::tries_fewer() ? 80 : 120));
  print(type, m);
}

TEST_CASE("no right claim in float64 fails, and no wrong one passes", "[claims]") { judge(DType::kFloat64); }
TEST_CASE("no right claim in float32 fails, and no wrong one passes", "[claims]") { judge(DType::kFloat32); }
TEST_CASE("no right claim in bfloat16 fails, and no wrong one passes", "[claims]") {
  judge(DType::kBFloat16);
}
TEST_CASE("no right claim in float16 fails, and no wrong one passes", "[claims]") { judge(DType::kFloat16); }

TEST_CASE("no right claim fails where the rounding of scores chooses the key, and no plain mistake passes",
          "[claims]") {
  for (const DType type : {DType::kBFloat16, DType::kFloat16})
    for (const double factor : {30, 100, 400, 2000}) {  // of scores of order 1
      const Question q{type, problem_of(64, 32, causal_mask(), 4, 2), {", chosen", factor}};
      for (const RoundedSteps& steps : right_steps(type)) {
        Answer claim = q.answer(steps);
        if (steps.scores) claim.lse = Buffer();
        INFO(steps.name << ", " << name_of(type) << ", q times " << factor);
        CHECK(q.share(claim) <= 1);
      }
      const Answer right = q.answer(right_steps(type)[1]);
      for (const auto& [name, claim] : edited_claims(q, right)) {
        // Gradients are 0 but where rounding chooses, and "times 1.02" is what it can do.
        if (!name.starts_with("out") && !name.ends_with("swapped")) continue;
        if (name.ends_with("1.02")) continue;
        INFO(name << ", " << name_of(type) << ", q times " << factor);
        CHECK(q.share(claim) > 1);
      }
    }
}

TEST_CASE("no right claim fails where many keys have the same weights, and their gradients share errors",
          "[claims]") {
  const Problem problem = make_problem({2, 8, 2, 80, 5}, causal_mask(), Layout::kContiguous, 1);
  for (const DType type : {DType::kBFloat16, DType::kFloat16})
    for (std::uint64_t seed = 1; seed <= (testing::long_run() ? 200u : 30u); ++seed) {
      const Inputs in =
          converted(make_inputs(make_case(problem, Data::kPeaked, seed), type), DType::kFloat32);
      const Oracle want = oracle(problem, in, {.rounding = rounding_of(type)});
      for (const RoundedSteps& steps : right_steps(type)) {
        INFO(steps.name << ", " << name_of(type) << ", seed " << seed);
        Answer claim = rounded_attention<float>(problem, in, steps);
        if (steps.scores) claim.lse = Buffer();
        CHECK(RoundingRule(rounding_of(type)).add(claim, want, Expect::kPresent).good);
      }
    }
}

TEST_CASE("no right claim of code that rounds wide inputs first fails", "[claims]") {
  for (const DType type : {DType::kBFloat16, DType::kFloat16})
    for (const Mask& mask : {full_mask(), causal_mask()}) {
      const Problem problem = problem_of(1024, 64, mask, 2, 1);
      const Inputs wide = make_inputs(make_case(problem, Data::kNormal, 11), DType::kFloat32);
      const Inputs narrow = converted(converted(wide, type), DType::kFloat32);
      const Oracle want = oracle(problem, wide, {.threads = 2, .rounding = rounding_of(type, true)});
      const Sharding ranks = problem.sharding();
      const auto good = [&](const Answer& claim) {
        return RoundingRule(rounding_of(type, true)).add(claim, want, Expect::kPresent, &ranks).good;
      };
      for (const RoundedSteps& steps : right_steps(type)) {
        if (steps.scores) continue;
        INFO(steps.name << ", " << name_of(type) << ", " << described(mask));
        Answer claim = rounded_attention<float>(problem, narrow, steps);
        CHECK(good(claim));
        for (float& x : claim.lse.values<float>()) x *= 1.01f;
        CHECK_FALSE(good(claim));
      }
    }
}

}  // namespace
}  // namespace ringcraft::verify
