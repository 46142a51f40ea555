// Causes of wrong groups and walks: each sentence says how the answers came about, and right answers have
// none.
#include <functional>

#include "support/catch.hpp"
#include "support/errors.hpp"
#include "verify/diagnose/diagnose.hpp"

using namespace ringcraft;
using namespace ringcraft::verify;
using ringcraft::testing::contains;

namespace {

constexpr std::pair<int, int> kGrids[] = {{1, 1}, {3, 1}, {3, 3}, {6, 2}, {6, 3}, {8, 4}, {12, 3}, {20, 4}};

std::string cause_of_groups(const std::function<void(GridGroups&, int ranks, int degree, int rank)>& change) {
  GridExhibit x;
  for (const auto& [ranks, degree] : kGrids)
    for (int rank = 0; rank < ranks; ++rank) {
      GridGroups groups = grid_groups(ranks, degree, rank);
      change(groups, ranks, degree, rank);
      x.grouped.push_back({ranks, degree, rank, groups});
    }
  const std::vector<Cause> causes = causes_of(x);
  return causes.empty() ? "none" : causes[0].sentence;
}

std::string cause_of_walk(const std::function<void(std::vector<WalkStep>&, int ranks, int node)>& change) {
  GridExhibit x;
  for (const auto& [ranks, node] : kGrids)
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<WalkStep> steps = two_level_walk(ranks, node, rank);
      change(steps, ranks, node);
      x.walked.push_back({ranks, node, rank, steps});
    }
  const std::vector<Cause> causes = causes_of(x);
  return causes.empty() ? "none" : causes[0].sentence;
}

}  // namespace

TEST_CASE("right groups and walks have no cause") {
  CHECK(causes_of(GridExhibit{}).empty());
  CHECK(cause_of_groups([](GridGroups&, int, int, int) {}) == "none");
  CHECK(cause_of_walk([](std::vector<WalkStep>&, int, int) {}) == "none");
}

TEST_CASE("groups that no formula gives have no cause") {
  CHECK(cause_of_groups([](GridGroups& groups, int, int, int rank) {
          if (rank == 2) groups.row = {1, 17};
        }) == "none");
}

TEST_CASE("wrong groups are told as formulas") {
  CHECK(contains(cause_of_groups([](GridGroups& g, int, int, int) { std::swap(g.row, g.column); }),
                 "row and column are exchanged"));
  CHECK(contains(cause_of_groups([](GridGroups& g, int, int, int) { g.column = g.row; }),
                 "the column is r / D * D + i for i below D, instead of r mod D + D * i for i below R"));
  CHECK(contains(cause_of_groups([](GridGroups& g, int, int degree, int) {
                   for (int& member : g.row) member %= degree;
                 }),
                 "the row is i for i below D"));
  CHECK(contains(cause_of_groups([](GridGroups& g, int, int, int rank) { std::erase(g.row, rank); }),
                 "without r itself"));
}

TEST_CASE("wrong walks are told as sums and steps") {
  CHECK(contains(cause_of_walk([](std::vector<WalkStep>& steps, int, int) {
                   for (WalkStep& s : steps) std::swap(s.inner_to, s.inner_from);
                 }),
                 "inner_to and inner_from are exchanged"));
  CHECK(contains(cause_of_walk([](std::vector<WalkStep>& steps, int, int node) {
                   steps.resize(static_cast<std::size_t>(node));
                 }),
                 "a walk has M steps instead of N"));
  CHECK(contains(
      cause_of_walk([](std::vector<WalkStep>& steps, int, int) {
        for (WalkStep& s : steps) s.outer_to = s.outer_from = -1;
      }),
      "outer_to and outer_from are set in no step instead of in the first step of every turn but the "
      "last"));
  CHECK(contains(cause_of_walk([](std::vector<WalkStep>& steps, int, int node) {
                   for (std::size_t t = 0; t < steps.size(); ++t)
                     steps[t].source = steps[t % static_cast<std::size_t>(node)].source;
                 }),
                 "source is node k, place (p - inner) mod M instead of node (k - turn) mod G"));
  CHECK(contains(cause_of_walk([](std::vector<WalkStep>& steps, int, int node) {
                   for (WalkStep& s : steps)
                     if (s.inner_to >= 0) s.inner_to %= node;
                 }),
                 "inner_to is node 0, place (p + 1) mod M instead of node k"));
}
