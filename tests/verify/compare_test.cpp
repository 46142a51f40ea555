// The comparison must detect every planted fault, and name its place.
#include "verify/oracle/compare.hpp"

#include <algorithm>
#include <limits>

#include "support.hpp"
#include "support/catch.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

// A right answer to break, with its oracle.
struct Planted {
  Case c = small_case({2, 4, 2, 11, 3}, causal_mask(), Layout::kStriped, 3);
  Oracle want = oracle(c.problem, make_inputs(c, DType::kFloat64));
  Answer got = clone(want.value);
};

TEST_CASE("a right answer is right") {
  const Planted p;
  const Comparison result = compare_exact(p.got, p.want);
  CHECK(result.good);
  CHECK(result.wrong == 0);
  CHECK(result.worst == 0);
  CHECK(result.total == 2 * 11 * (2 * 4 * 3 + 4 + 2 * 2 * 3));
  CHECK(!result.first);
  CHECK(!first_wrong(result, p.c.problem.sharding()));
  CHECK(described(result, p.c.problem.sharding()).find("right") == 0);
}

TEST_CASE("one wrong element of any tensor is found, at any place") {
  for (const double fault : {kNaN, kInf, -kInf, 1e-9})
    for (std::size_t t = 0; t < kAnswerNames.size(); ++t) {
      Planted p;
      const auto values = named(p.got)[t].tensor.values<double>();
      for (const std::size_t i : {std::size_t{0}, values.size() / 2, values.size() - 1}) {
        const double right = values[i];
        values[i] = fault == 1e-9 ? right + 1e-9 : fault;
        const Comparison result = compare_exact(p.got, p.want);
        INFO(kAnswerNames[t] << "[" << i << "] with fault " << fault);
        CHECK_FALSE(result.good);
        CHECK(result.wrong == 1);
        CHECK(result.worst > 1e-12);
        CHECK(result.worst_share > 1);
        REQUIRE(result.first);
        CHECK(result.first->tensor == kAnswerNames[t]);
        values[i] = right;
      }
    }
}

TEST_CASE("an error passes up to 1e-12 of its element's scale, and no further") {
  for (const double share : {0.9, 1.1}) {
    Planted p;
    p.got.dk.values<double>()[5] += share * 1e-12 * p.want.scale.dk.values<double>()[5];
    const Comparison result = compare_exact(p.got, p.want);
    CHECK(result.good == (share < 1));
    CHECK(result.worst_share == Approx(share).epsilon(0.01));
  }
}

TEST_CASE("NaN is told without a sign") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double got : {nan, -nan}) {
    const std::string text = described(Difference{.tensor = "out", .got = got, .want = 1, .error = got});
    INFO(text);
    CHECK(text.find("got nan, expected 1 (error nan,") != text.npos);
  }
}

TEST_CASE("lse = -inf is met by equality alone") {
  const BlockCase c{"", {1, 1, 1, 4, causal_mask(), {0, 1, 2, 4}, {3, 4, 5}, 0.5}, {}, Data::kNormal, 5};
  const Oracle want = oracle(c.problem, make_inputs(c, DType::kFloat64));
  Answer got = clone(want.value);
  CHECK(compare_exact(got, want).good);
  for (const double wrong : {-1e308, 0.0, kInf, kNaN}) {
    got.lse.values<double>()[1] = wrong;
    const Comparison result = compare_exact(got, want);
    CHECK_FALSE(result.good);
    CHECK(result.wrong == 1);
  }
  got = clone(want.value);
  got.lse.values<double>()[3] = -kInf;  // and a finite one is not met by -inf
  CHECK_FALSE(compare_exact(got, want).good);
}

TEST_CASE("a swapped pair of rows is named on both ranks") {
  Planted
      p;  // striped over 3 ranks: position 4 is local row 1 of rank 1, position 8 is local row 2 of rank 2
  const auto head = head_of<double>(p.got.dv, 1, 0);
  std::swap_ranges(head.row(4).begin(), head.row(4).end(), head.row(8).begin());
  const Comparison result = compare_exact(p.got, p.want);
  CHECK_FALSE(result.good);
  CHECK(result.wrong == 6);
  REQUIRE(result.tensors.size() == 5);
  CHECK(result.tensors[4].wrong_rows.size() == 2);
  CHECK(result.tensors[4].wrong_rows.count(4) == 1);
  CHECK(result.tensors[4].wrong_rows.count(8) == 1);
  const auto first = first_wrong(result, p.c.problem.sharding());
  REQUIRE(first);
  CHECK(first->rank == 1);
  CHECK(first->row == 1);
  CHECK(first->difference.tensor == "dv");
  CHECK(first->difference.batch == 1);
  CHECK(first->difference.head == 0);
  CHECK(first->difference.position == 4);
  CHECK(described(result, p.c.problem.sharding()).find("rank 1, local row 1") != std::string::npos);
}

TEST_CASE("the first wrong place is that of the lowest rank, the largest that of the largest error") {
  Planted p;
  head_of<double>(p.got.out, 0, 0)(1, 0) += 1.0;    // rank 1
  head_of<double>(p.got.dk, 0, 1)(9, 2) += 1000.0;  // rank 0, local row 3
  const Comparison result = compare_exact(p.got, p.want);
  const auto first = first_wrong(result, p.c.problem.sharding());
  REQUIRE(first);
  CHECK(first->rank == 0);
  CHECK(first->row == 3);
  CHECK(first->difference.tensor == "dk");
  CHECK(result.first->tensor == "out");
  CHECK(result.largest->tensor == "dk");
}

TEST_CASE("an answer without an element is not right") {
  const Problem problem = make_problem({1, 1, 1, 3, 4}, full_mask(), Layout::kContiguous, 1);
  Answer none;
  Oracle want;
  none.out = Buffer({1, 1, 0, 4}, DType::kFloat64);
  none.lse = Buffer({1, 1, 0, 1}, DType::kFloat64);
  want.value = clone(none);
  want.scale = clone(none);
  const Comparison result = compare_exact(none, want, Expect::kForward);
  CHECK(result.total == 0);
  CHECK_FALSE(result.good);
  CHECK(described(result, problem.sharding()).find("nothing to compare") != std::string::npos);
}

TEST_CASE("missing, misshapen and unasked tensors are complaints") {
  Planted p;
  p.got.dq = Buffer();
  Comparison result = compare_exact(p.got, p.want);
  CHECK_FALSE(result.good);
  CHECK(result.complaint.find("dq is missing") == 0);
  CHECK(compare_exact(p.got, p.want, Expect::kForward).good);

  p.got.out = Buffer({2, 4, 3, 11}, DType::kFloat64);
  result = compare_exact(p.got, p.want, Expect::kForward);
  CHECK_FALSE(result.good);
  CHECK(result.complaint == "out has the wrong shape: expected [2, 4, 11, 3], got [2, 4, 3, 11]");

  const Planted whole;
  Inputs forward = make_inputs(whole.c, DType::kFloat64);
  forward.dout = Buffer();
  const Oracle no_gradients = oracle(whole.c.problem, forward);
  CHECK(compare_exact(whole.got, no_gradients).complaint.find("dq was not asked for") == 0);
  CHECK(compare_exact(whole.got, no_gradients, Expect::kForward).good);
}

TEST_CASE("float32 numbers do not pass for double") {
  const Planted p;
  CHECK_FALSE(compare_exact(converted(p.got, DType::kFloat32), p.want).good);
}

}  // namespace
}  // namespace ringcraft::verify
