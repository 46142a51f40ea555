// The diagnosis of claims that no simulator made: right ones, known mistakes, and unknown ones.
#include "verify/diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/plain_dense.hpp"
#include "verify/support.hpp"
#include "verify/suspects_support.hpp"

namespace ringcraft::verify {
namespace {

using Pairs = std::function<bool(Position q, Position k)>;

// Dense attention over the pairs that `sees` admits, written for these tests alone; `weight` may change a
// score.
Answer dense_over(const Problem& p, const Inputs& in, const Pairs& sees, double softmax_scale) {
  const Shape& s = p.shape;
  Answer a{Buffer({s.batch, s.heads, s.seqlen, s.head_dim}, DType::kFloat64),
           Buffer({s.batch, s.heads, s.seqlen, 1}, DType::kFloat64),
           {},
           {},
           {}};
  for (Index b = 0; b < s.batch; ++b)
    for (Index h = 0; h < s.heads; ++h) {
      const auto q = head_of<double>(in.q, b, h), k = head_of<double>(in.k, b, h / s.group()),
                 v = head_of<double>(in.v, b, h / s.group());
      for (Position i = 0; i < s.seqlen; ++i) {
        double sum = 0;
        std::vector<double> out(static_cast<std::size_t>(s.head_dim), 0);
        for (Position j = 0; j < s.seqlen; ++j) {
          if (!sees(i, j)) continue;
          double score = 0;
          for (Index c = 0; c < s.head_dim; ++c) score += q(i, c) * k(j, c);
          const double weight = std::exp(softmax_scale * score);
          sum += weight;
          for (Index c = 0; c < s.head_dim; ++c) out[static_cast<std::size_t>(c)] += weight * v(j, c);
        }
        for (Index c = 0; c < s.head_dim; ++c)
          head_of<double>(a.out, b, h)(i, c) = out[static_cast<std::size_t>(c)] / sum;
        head_of<double>(a.lse, b, h)(i, 0) = std::log(sum);
      }
    }
  return a;
}

Problem small(Mask mask, Layout layout = Layout::kContiguous, int ranks = 4) {
  return make_problem({1, 4, 2, 32, 8}, std::move(mask), layout, ranks);
}

std::string first_id(const std::vector<Cause>& causes) { return causes.empty() ? "" : causes[0].id; }

std::string all_words(const Diagnosis& d) {
  std::string text = d.place;
  for (const Cause& cause : d.causes()) text += "\n" + cause.id + ": " + cause.sentence;
  return text;
}

}  // namespace

TEST_CASE("right claims are never accused: 200 random problems, three ways to compute them") {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const Problem p = testing::random_problem(random, 5, 30);
    const Case c = make_case(p, Data::kNormal, static_cast<std::uint64_t>(i));
    const Inputs inputs = make_inputs(c, DType::kFloat64);
    const Oracle right = oracle(p, inputs);
    const Answer claim = i % 2 == 0 ? plain_dense<double>(p, inputs) : run_over_ranks(p, inputs);
    const Diagnosis d = diagnose(p, inputs, claim, right, compare_exact(claim, right));
    INFO(testing::described(p));
    CHECK(d.causes().empty());
    CHECK(d.place.empty());
  }
}

TEST_CASE("an unknown error is called unknown") {
  Scene scene(small(causal_mask(), Layout::kZigzag));
  Random random(3);
  Answer one = clone(scene.right.value);
  one.out.values<double>()[100] += 0.25;
  CHECK(scene.of(one, Ranks::kUnknown).causes().empty());
  CHECK(scene.of(one).place.find("out") != std::string::npos);
  Answer all = clone(scene.right.value);
  for (const auto& [name, tensor] : named(all))
    for (double& x : tensor.values<double>()) x += 0.3 * random.normal();
  const Diagnosis d = scene.of(all, Ranks::kUnknown, Expect::kForward);
  INFO(all_words(d));
  CHECK(d.causes().empty());
  Answer few = clone(scene.right.value);
  for (Index i = 0; i < 40; ++i)
    few.dk.values<double>()[static_cast<std::size_t>(random.integer(0, 500))] += 1;
  CHECK(scene.of(few, Ranks::kKnown, Expect::kAll).causes().empty());
}

TEST_CASE("masks written by hand are recognised: local rows, future blocks, the own block, a label") {
  Scene scene(small(causal_mask()));
  const double scale = scene.c.problem.softmax_scale;
  const auto judged = [&](const Pairs& sees) {
    return scene.of(dense_over(scene.c.problem, scene.inputs, sees, scale));
  };
  CHECK(first_id(judged([](Position q, Position k) { return k % 8 <= q % 8; }).forward) == "CM1");
  CHECK(first_id(judged([](Position q, Position k) { return k <= q || k / 8 > q / 8; }).forward) == "CM4");
  CHECK(first_id(judged([](Position q, Position k) { return k / 8 <= q / 8; }).forward) == "CM11");
  CHECK(first_id(judged([](Position, Position) { return true; }).forward) == "CM0");
  CHECK(first_id(judged([](Position q, Position k) { return k / 8 == q / 8 && k <= q; }).forward) ==
        "RF-own-only");
  // Rank r takes the block of r - t for that of r + t.
  const Pairs mislabelled = [](Position q, Position k) {
    const Position r = q / 8, t = (r - k / 8 + 4) % 4, label = (r + t) % 4;
    return label * 8 + k % 8 <= q;
  };
  const Diagnosis d = judged(mislabelled);
  INFO(all_words(d));
  CHECK(first_id(d.forward) == "RF4");
  CHECK(d.place.find("step 1") != std::string::npos);
}

TEST_CASE("a missing block is named by rank and step, even if no known mistake leaves it out") {
  Scene scene(small(full_mask()));
  const Answer claim = dense_over(
      scene.c.problem, scene.inputs, [](Position q, Position k) { return !(q / 8 == 2 && k / 8 == 0); },
      scene.c.problem.softmax_scale);
  const Diagnosis d = scene.of(claim);
  INFO(all_words(d));
  CHECK(d.place.find("rank 2") != std::string::npos);
  CHECK(d.place.find("step 2, when the block of rank 0 is due: its part is missing") != std::string::npos);
}

TEST_CASE("a mistake that one rank alone makes is said to be that rank's") {
  Scene scene(small(causal_mask()));
  const Answer claim = dense_over(
      scene.c.problem, scene.inputs,
      [](Position q, Position k) { return k <= q || (q / 8 == 1 && k / 8 == 1); },
      scene.c.problem.softmax_scale);
  const Diagnosis d = scene.of(claim);
  INFO(all_words(d));
  REQUIRE(first_id(d.forward) == "CM11");
  CHECK(d.forward[0].sentence.find("on rank 1 only") != std::string::npos);
}

TEST_CASE("flags that do not fit the claim are found: --causal, another scale") {
  Scene scene(small(full_mask()));
  const double scale = scene.c.problem.softmax_scale;
  const auto causal = [](Position q, Position k) { return k <= q; };
  CHECK(first_id(scene.of(dense_over(scene.c.problem, scene.inputs, causal, scale)).forward) ==
        "flags-causal");
  const auto all = [](Position, Position) { return true; };
  CHECK(first_id(scene.of(dense_over(scene.c.problem, scene.inputs, all, 1)).forward) == "BL5");
}

TEST_CASE("the ring of a claim is found where no flag names it") {
  Scene scene(small(causal_mask(), Layout::kZigzag));
  // One step short in a contiguous ring of 3 ranks: 32 tokens as 11, 11, 10.
  const auto rank = [](Position p) { return p < 11 ? 0 : p < 22 ? 1 : 2; };
  const Answer claim = dense_over(
      scene.c.problem, scene.inputs, [&](Position q, Position k) { return k <= q && rank(q) - rank(k) < 2; },
      scene.c.problem.softmax_scale);
  CHECK(first_id(scene.of(claim).forward) != "RF1");
  const Diagnosis d = scene.of(claim, Ranks::kUnknown);
  INFO(all_words(d));
  REQUIRE(first_id(d.forward) == "RF1");
  CHECK(d.forward[0].sentence.find("fits a contiguous ring of 3 ranks") != std::string::npos);
}

TEST_CASE("gradients are judged apart from a right forward pass") {
  Scene scene(small(causal_mask(), Layout::kZigzag));
  const auto judged = [&](auto change) {
    Answer claim = clone(scene.right.value);
    change(claim);
    return scene.of(claim, Ranks::kKnown, Expect::kAll);
  };
  const auto times = [](Buffer& tensor, double x) {
    for (double& value : tensor.values<double>()) value *= x;
  };
  CHECK(first_id(judged([](Answer& a) { std::swap(a.dk, a.dv); }).backward) == "RB6");
  CHECK(first_id(judged([&](Answer& a) { times(a.dk, 0.25), times(a.dv, 0.25); }).backward) == "RB11");
  CHECK(first_id(judged([&](Answer& a) { times(a.dq, scene.c.problem.softmax_scale); }).backward) ==
        "BW7-twice");
  const Diagnosis two = judged([&](Answer& a) {
    times(a.dq, 1 / scene.c.problem.softmax_scale);
    times(a.dk, 4), times(a.dv, 4);
  });
  INFO(all_words(two));
  REQUIRE(two.backward.size() >= 2);
  CHECK(
      std::any_of(two.backward.begin(), two.backward.end(), [](const Cause& c) { return c.id == "BW7-dq"; }));
  CHECK(std::any_of(two.backward.begin(), two.backward.end(), [](const Cause& c) { return c.id == "GR2"; }));
}

TEST_CASE(
    "gradients that follow from a wrong out accuse nothing in backward, whether its cause is known or not") {
  const Scene scene(small(causal_mask()));
  const Shape& s = scene.c.problem.shape;
  const double scale = scene.c.problem.softmax_scale;
  Answer claim = clone(scene.right.value);
  // Row 20 of every head is wrong in an unknown way, and D = rowsum(dout out) with it: so are dq of
  // this row and dk of the keys that it sees, by P (D - D') scale.
  const Position row = 20;
  for (Index h = 0; h < s.heads; ++h) {
    const auto q = head_of<double>(scene.inputs.q, 0, h),
               k = head_of<double>(scene.inputs.k, 0, h / s.group()),
               dout = head_of<double>(scene.inputs.dout, 0, h),
               lse = head_of<double>(scene.right.value.lse, 0, h);
    double less = 0;  // D - D'
    for (Index c = 0; c < s.head_dim; ++c) {
      const double change = 0.3 + 0.1 * static_cast<double>(c);
      head_of<double>(claim.out, 0, h)(row, c) += change;
      less -= change * dout(row, c);
    }
    for (Position j = 0; j <= row; ++j) {
      double score = 0;
      for (Index c = 0; c < s.head_dim; ++c) score += q(row, c) * k(j, c);
      const double change = std::exp(scale * score - lse(row, 0)) * less * scale;
      for (Index c = 0; c < s.head_dim; ++c) {
        head_of<double>(claim.dq, 0, h)(row, c) += change * k(j, c);
        head_of<double>(claim.dk, 0, h / s.group())(j, c) += change * q(row, c);
      }
    }
  }
  const Diagnosis found = scene.of(claim, Ranks::kKnown, Expect::kAll);
  CHECK(found.backward.empty());
  REQUIRE(found.remarks.size() == 1);
  CHECK(testing::contains(found.remarks[0], "nothing more is wrong in backward"));
  CHECK(testing::contains(found.place, "rank 2, out"));
}

TEST_CASE("a float32 claim is recognised by its numbers, and a low precision by its errors") {
  Scene scene(small(causal_mask()));
  Answer claim = dense_over(
      scene.c.problem, scene.inputs, [](Position q, Position k) { return k / 8 <= q / 8; },
      scene.c.problem.softmax_scale);
  claim.out = converted(claim.out, DType::kFloat32);
  claim.lse = converted(claim.lse, DType::kFloat32);
  CHECK(first_id(scene.of(claim).forward) == "CM11");
  Answer rounded = clone(scene.right.value);
  rounded.out = converted(converted(rounded.out, DType::kFloat32), DType::kFloat64);
  const Diagnosis d = scene.of(rounded);
  INFO(all_words(d));
  REQUIRE(first_id(d.forward) == "RF12");
  CHECK(d.forward[0].sentence.find("float32") != std::string::npos);
}

TEST_CASE("errors of a stale block are no rounding, however small they are on the whole") {
  const Scene scene(small(causal_mask()));
  for (const bool stale : {false, true}) {
    Answer claim = clone(scene.right.value);
    std::uint64_t bits = 1;
    for (std::size_t t = 2; t < kAnswerNames.size(); ++t) {  // the gradients
      const auto values = named(claim)[t].tensor.values<double>();
      const auto scales = named(scene.right.scale)[t].tensor.values<double>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        values[i] *= 1 + 0x1p-8 * (static_cast<double>(bits >> 40) / (1 << 24) - 0.5);
        if (stale && i % 50 == 0) values[i] += 0.1 * scales[i];
      }
    }
    const Diagnosis found = scene.of(claim, Ranks::kKnown, Expect::kAll);
    INFO(all_words(found));
    CHECK((first_id(found.backward) == "BW13") == !stale);
  }
}

TEST_CASE("NaN and infinity are named by position and rank") {
  Scene scene(small(causal_mask()));
  Answer claim = clone(scene.right.value);
  for (Index i = 20 * 8; i < 32 * 8; ++i)
    claim.out.values<double>()[static_cast<std::size_t>(i)] = std::nan("");
  const Diagnosis d = scene.of(claim);
  INFO(all_words(d));
  REQUIRE(first_id(d.forward) == "NaN");
  CHECK(d.forward[0].sentence.find("position 20 (rank 2, local row 4)") != std::string::npos);
  // A merge that makes NaN of every block without a visible key: all but the last rank.
  Answer merged = clone(scene.right.value);
  for (const auto& [name, tensor] : named(merged))
    if (name == "out" || name == "lse")
      for (Index head = 0; head < 4; ++head)
        for (Position p = 0; p < 24; ++p)
          for (double& x : head_of<double>(tensor, 0, head).row(p)) x = std::nan("");
  CHECK(first_id(scene.of(merged).forward) == "MG14");
}

TEST_CASE("a claim without a single number accuses no particular mistake") {
  const Scene scene(small(causal_mask()));
  Answer claim = clone(scene.right.value);
  for (Buffer* tensor : {&claim.out, &claim.lse})
    for (double& x : tensor->values<double>()) x = std::nan("");
  const Diagnosis found = scene.of(claim);
  REQUIRE(found.forward.size() == 1);
  CHECK(found.forward[0].id == "NaN");
}

TEST_CASE("striped triangles that are a row off in the blocks of earlier or later ranks are told") {
  struct Shift {
    Position own, earlier, later;
    std::string_view words;
  };
  for (const Shift& shift :
       {Shift{0, -1, 0, "an earlier rank's where j <= i - 1, of a later rank's where j <= i:"},
        {0, 0, -2, "a later rank's where j <= i - 2:"},
        {0, 1, -1, "an earlier rank's where j <= i + 1, of a later rank's where j <= i - 1:"},
        {1, 1, 0, "its own block where j <= i + 1, of an earlier rank's where j <= i + 1,"}})
    for (const Position length : {32, 43}) {
      const Scene scene(make_problem({1, 4, 2, length, 8}, causal_mask(), Layout::kStriped, 4));
      const Answer claim = dense_over(
          scene.c.problem, scene.inputs,
          [&](Position q, Position k) {
            const Position rank = q % 4, source = k % 4;
            return k / 4 <= q / 4 + (source == rank  ? shift.own
                                     : source < rank ? shift.earlier
                                                     : shift.later);
          },
          scene.c.problem.softmax_scale);
      const Diagnosis diagnosis = scene.of(claim);
      INFO(all_words(diagnosis));
      REQUIRE(first_id(diagnosis.forward) == "mask-positions");
      CHECK(diagnosis.forward[0].sentence.find(shift.words) != std::string::npos);
    }
}

TEST_CASE("blocks, keys and values that are a step late are told of any scores") {
  for (const Data data : {Data::kNormal, Data::kHot, Data::kGap, Data::kHuge})
    for (const auto& [walk, id] : {std::pair{WalkTwist::kStepLate, "solved-holds"},
                                   {WalkTwist::kValuesLate, "solved-values-of"},
                                   {WalkTwist::kKeysLate, "solved-keys-of"}}) {
      const Scene scene(
          make_case(make_problem({1, 4, 2, 43, 8}, causal_mask(), Layout::kZigzag, 4), data, 21));
      const Diagnosis diagnosis =
          scene.of(twisted_forward(scene.c.problem, scene.inputs, scene.right.value, {.walk = walk}));
      INFO(scene.c.name << all_words(diagnosis));
      CHECK(first_id(diagnosis.forward) == id);
    }
}

TEST_CASE("lse alone may be wrong, or not there at all") {
  Scene scene(small(causal_mask()));
  Answer claim = clone(scene.right.value);
  for (double& x : claim.lse.values<double>()) x /= std::log(2.0);
  CHECK(first_id(scene.of(claim).forward) == "LSE-base2");
  Answer without = dense_over(
      scene.c.problem, scene.inputs, [](Position q, Position k) { return k / 8 <= q / 8; },
      scene.c.problem.softmax_scale);
  Answer compared = clone(without);
  compared.lse = scene.right.value.lse.clone();
  without.lse = Buffer();
  const Diagnosis d = diagnose(scene.c.problem, scene.inputs, without, scene.right,
                               compare_exact(compared, scene.right, Expect::kForward));
  CHECK(first_id(d.forward) == "CM11");
}

TEST_CASE("a claim of some tensors is diagnosed by them") {
  Scene scene(small(causal_mask()));
  const auto of = [&](const Answer& claim) {
    return diagnose(scene.c.problem, scene.inputs, claim, scene.right,
                    compare_exact(claim, scene.right, Expect::kPresent));
  };
  Answer base2;
  base2.lse = scene.right.value.lse.clone();
  for (double& x : base2.lse.values<double>()) x /= std::log(2.0);
  CHECK(first_id(of(base2).forward) == "LSE-base2");
  Answer swapped;
  swapped.dk = scene.right.value.dv.clone();
  swapped.dv = scene.right.value.dk.clone();
  CHECK(first_id(of(swapped).backward) == "RB6");
  Answer unscaled;
  unscaled.dq = scene.right.value.dq.clone();
  for (double& x : unscaled.dq.values<double>()) x /= scene.c.problem.softmax_scale;
  CHECK(first_id(of(unscaled).backward) == "BW7-dq");
}

}  // namespace ringcraft::verify
