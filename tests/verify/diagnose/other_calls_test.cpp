// Several answers of one program: a known mistake that explains one of them is no cause where another one,
// right or wrong in its own way, rules it out.
#include <algorithm>
#include <cmath>
#include <functional>

#include "ringcraft/core/matrix.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kRows = 6;  // of a rank

Case ring(int ranks, Mask mask = full_mask()) {
  return make_case(make_problem({1, 2, 1, kRows * ranks, 5}, std::move(mask), Layout::kContiguous, ranks),
                   Data::kNormal, 3);
}

// How often a rank uses a key at one step, and whether it hides keys of others by the wrong half of the mask.
using Uses = std::function<int(int rank, int step)>;
using Sees = std::function<bool(const Problem&, Index row, Index key)>;

bool sees_right(const Problem& problem, Index row, Index key) { return visible(problem.mask, row, key); }

// The queries for those of the block's owner, and the keys for the own ones; blocks of later ranks never
// come.
bool sees_exchanged(const Problem& problem, Index row, Index key) {
  const Index rank = row / kRows, owner = key / kRows;
  return owner <= rank && visible(problem.mask, owner * kRows + row % kRows, rank * kRows + key % kRows);
}

Exhibit exhibit_of(const Case& c, Inputs in, Answer claim, const Comparison& comparison) {
  REQUIRE_FALSE(comparison.good);
  return std::make_shared<const Exhibit::element_type>(AttentionExhibit{
      whole(c.problem), ring_arrangement(c.problem), c.problem, std::move(in), std::move(claim), comparison});
}

// The answer of a ring whose ranks use their blocks so.
Exhibit answer(const Case& c, const Uses& uses, const Sees& sees = sees_right) {
  Inputs in = make_inputs(c, DType::kFloat64);
  in.dout = Buffer();
  const Oracle right = oracle(c.problem, in);
  Answer claim = clone(right.value);
  const int n = c.problem.world_size;
  for (Index head = 0; head < 2; ++head)
    for (Index i = 0; i < kRows * n; ++i) {
      const auto q = head_of<double>(in.q, 0, head).row(i), out = head_of<double>(claim.out, 0, head).row(i);
      std::ranges::fill(out, 0.0);
      double sum = 0;
      for (Index j = 0; j < kRows * n; ++j) {
        const int rank = static_cast<int>(i / kRows), owner = static_cast<int>(j / kRows);
        if (!sees(c.problem, i, j)) continue;
        const double weight =
            uses(rank, (rank - owner + n) % n) *
            std::exp(c.problem.softmax_scale * product(q, head_of<double>(in.k, 0, 0).row(j)));
        sum += weight;
        for (std::size_t x = 0; x < out.size(); ++x) out[x] += weight * head_of<double>(in.v, 0, 0).row(j)[x];
      }
      if (sum > 0)
        for (double& x : out) x /= sum;
      claim.lse.values<double>()[static_cast<std::size_t>(head * kRows * n + i)] = std::log(sum);
    }
  const Comparison comparison = compare_exact(claim, right, Expect::kForward);
  return exhibit_of(c, std::move(in), std::move(claim), comparison);
}

// The answer of a ring whose dv is so many times what it should be.
Exhibit answer_with_dv(const Case& c, double factor) {
  Inputs in = make_inputs(c, DType::kFloat64);
  const Oracle right = oracle(c.problem, in);
  Answer claim = clone(right.value);
  for (double& x : claim.dv.values<double>()) x *= factor;
  const Comparison comparison = compare_exact(claim, right);
  return exhibit_of(c, std::move(in), std::move(claim), comparison);
}

std::string ids_of(const std::vector<Cause>& causes) {
  std::string ids;
  for (const Cause& cause : causes) ids += (ids.empty() ? "" : " ") + cause.id;
  return ids;
}

int each_once(int, int) { return 1; }
int own_block_alone(int, int step) { return step == 0; }
int without_the_second(int, int step) { return step != 2; }
int own_block_twice(int, int step) { return step == 0 ? 2 : 1; }

}  // namespace

TEST_CASE("a mistake that would show in a right answer is no cause") {
  const std::vector<Exhibit> wrong{answer(ring(3, causal_mask()), each_once, sees_exchanged)};
  CHECK(ids_of(causes_of(wrong)).find("RF-own-only") != std::string::npos);  // it has the same numbers
  CHECK(ids_of(causes_of(wrong, {ring(2), ring(3)})) == "mask-exchanged");
}

TEST_CASE("queries and keys of the mask that are exchanged are told, whether or not later blocks come") {
  const auto sees_later = [](const Problem& problem, Index row, Index key) {
    return row / kRows < key / kRows || sees_exchanged(problem, row, key);
  };
  CHECK(ids_of(causes_of(std::vector{answer(ring(4, causal_mask()), each_once, sees_later)})) ==
        "mask-exchanged");
}

TEST_CASE("a mistake that would show in an answer with another mistake is no cause") {
  const std::vector<Exhibit> wrong{answer(ring(3), without_the_second), answer(ring(4), without_the_second)};
  const std::string small = ids_of(causes_of(std::vector{wrong[0]}));
  CHECK(small.find("RF1") != std::string::npos);  // of three ranks step 2 is the last one
  CHECK(ids_of(causes_of(wrong)) == "solved-missing");
  std::vector<Exhibit> reversed{wrong[1], wrong[0], wrong[0]};
  CHECK(ids_of(causes_of(reversed)) == "solved-missing");
}

TEST_CASE("if other calls rule out every cause, all of them say so") {
  const std::vector<Exhibit> wrong{answer(ring(3), own_block_alone)};
  const std::vector<Cause> alone = causes_of(wrong), causes = causes_of(wrong, {ring(4)});
  REQUIRE(ids_of(alone).starts_with("RF-own-only"));
  REQUIRE(ids_of(causes) == ids_of(alone));
  const auto is_limited = [](const Cause& cause) {
    return cause.sentence.find("in these calls alone") != std::string::npos;
  };
  CHECK(std::ranges::none_of(alone, is_limited));
  CHECK(std::ranges::all_of(causes, is_limited));
}

TEST_CASE("a mistake of one rank is not ruled out by calls without that rank") {
  const auto rank_two = [](int rank, int step) { return rank == 2 ? own_block_twice(rank, step) : 1; };
  const std::vector<Exhibit> wrong{answer(ring(3), rank_two)};
  const std::vector<Cause> causes = causes_of(wrong, {ring(2)});
  REQUIRE_FALSE(causes.empty());
  INFO(causes[0].sentence);
  CHECK(ids_of(causes) == ids_of(causes_of(wrong)));
  CHECK(causes[0].sentence.find("rank 2") != std::string::npos);
  CHECK(causes[0].sentence.find("in these calls alone") == std::string::npos);
}

TEST_CASE("a mistake that does not show in the answer with another one is told beside it") {
  const auto sees_fewer = [](const Problem& problem, Index row, Index key) {
    return row - key < problem.mask.left && visible(problem.mask, row, key);
  };
  const Exhibit window = answer(ring(2, window_mask(3)), each_once, sees_fewer);
  const Exhibit full = answer(ring(3), own_block_twice);
  const std::string ids = ids_of(causes_of(std::vector{window, full}));
  INFO(ids);
  CHECK(ids.find("SW1") != std::string::npos);
  CHECK(ids.find("RF2") != std::string::npos);
}

TEST_CASE("gradients of rows with one key each say nothing beside those of others") {
  const Exhibit causal = answer_with_dv(ring(3, causal_mask()), 1.7),
                one_key = answer_with_dv(ring(3, window_mask(0)), 0.5);
  REQUIRE(ids_of(causes_of(std::vector{causal})) == "solved-factor");
  CHECK(ids_of(causes_of(std::vector{one_key})) == "GQ4-average");
  CHECK(ids_of(causes_of(std::vector{causal, one_key})) == "solved-factor");
}

}  // namespace ringcraft::verify
