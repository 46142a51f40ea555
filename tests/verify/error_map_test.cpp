// Pictures of wrong rows.
#include "verify/report/error_map.hpp"

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kRows = 12;

// The maps of an answer to one case whose rows are `wrong` in out and `missing` (not a number) in lse.
std::vector<ErrorMap> maps_of(Layout layout, std::vector<Index> wrong, std::vector<Index> missing) {
  const Case c = make_case(make_problem({2, 2, 1, kRows, 3}, causal_mask(), layout, 3), Data::kNormal, 5);
  const Oracle want = oracle(c.problem, make_inputs(c, DType::kFloat64));
  Answer got = clone(want.value);
  for (const Index row : wrong)
    got.out.values<double>()[static_cast<std::size_t>((kRows + row) * 3 + 1)] += 1;
  for (const Index row : missing)
    got.lse.values<double>()[static_cast<std::size_t>(3 * kRows + row)] = std::nan("");
  return error_maps(compare_exact(got, want, Expect::kForward), c.problem.sharding());
}

}  // namespace

TEST_CASE("an error map shows each rank's rows in its own order") {
  CHECK(maps_of(Layout::kContiguous, {}, {}).empty());
  const auto contiguous = maps_of(Layout::kContiguous, {0, 5, 11}, {4});
  REQUIRE(contiguous.size() == 2);
  CHECK(contiguous[0].tensor == "out");
  CHECK(contiguous[0].ranks == std::vector<std::string>{"x...", ".x..", "...x"});
  CHECK(contiguous[1].ranks == std::vector<std::string>{"....", "n...", "...."});
  CHECK(picture_of(contiguous[0]) == "out  x... .x.. ...x");
  // Zig-zag deals 6 chunks of 2 rows: rank 0 has rows 0 1 10 11, rank 1 has 2 3 8 9, rank 2 has 4 5 6 7.
  CHECK(maps_of(Layout::kZigzag, {0, 5, 11}, {})[0].ranks ==
        std::vector<std::string>{"x..x", "....", ".x.."});
}

TEST_CASE("long shards are drawn with 24 signs, each the worst of its rows, many ranks fill several lines") {
  ErrorMap map{"dk", {std::string(240, '.'), std::string(25, 'x'), ""}};
  map.ranks[0][239] = 'n';
  map.ranks[0][238] = 'x';
  map.ranks[0][10] = 'x';
  CHECK(picture_of(map) == "dk   .x" + std::string(21, '.') + "n " + std::string(24, 'x') + " ");
  CHECK(is_shortened(map));
  CHECK_FALSE(is_shortened({"dk", {std::string(24, '.'), "x"}}));
  const std::string many = picture_of({"out", std::vector<std::string>(8, std::string(24, '.'))});
  CHECK(std::count(many.begin(), many.end(), '\n') == 1);
}

}  // namespace ringcraft::verify
