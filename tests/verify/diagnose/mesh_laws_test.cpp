// Tests the laws of meshes: groups that follow from wrong coordinates have no cause of their own; two
// mistakes at once are told together; a function that does not answer is told by what it does not answer;
// right answers have no cause.
#include <algorithm>
#include <functional>

#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<int>;
using Place = std::function<Numbers(const Mesh&, int)>;
using Group = std::function<Numbers(const Mesh&, int, const std::vector<Axis>&)>;
using RankOf = std::function<int(const Mesh&, const Numbers&)>;

constexpr Axis kTp = Axis::kTensor, kCp = Axis::kContext, kDp = Axis::kData, kPp = Axis::kPipeline;

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh> all{{{{kTp, 2}, {kCp, 3}, {kDp, 5}, {kPp, 2}}},
                                     {{{kPp, 3}, {kDp, 1}, {kCp, 4}, {kTp, 2}}},
                                     {{{kTp, 4}, {kCp, 2}, {kDp, 2}, {kPp, 1}}}};
  return all;
}

// The last axis is the fastest.
Numbers backwards(const Mesh& mesh, int rank) {
  Numbers at(mesh.axes.size());
  for (std::size_t i = at.size(); i-- > 0;) {
    at[i] = rank % mesh.axes[i].size;
    rank /= mesh.axes[i].size;
  }
  return at;
}

Numbers alike(const Mesh& mesh, int rank, const std::vector<Axis>& axes, const Place& place) {
  Numbers group;
  for (int other = 0; other < mesh.world_size(); ++other) {
    const Numbers own = place(mesh, rank), theirs = place(mesh, other);
    bool same = true;
    for (std::size_t i = 0; i < own.size(); ++i)
      same = same && (own[i] == theirs[i] || std::ranges::count(axes, mesh.axes[i].axis) > 0);
    if (same) group.push_back(other);
  }
  return group;
}

MeshExhibit exhibit(const Place& place, const RankOf& rank_of, const Group& group) {
  MeshExhibit x;
  for (const Mesh& mesh : meshes())
    for (int rank = 0; rank < mesh.world_size(); rank += 3) {
      x.places.push_back({mesh, rank, place(mesh, rank)});
      x.ranks.push_back({mesh, coordinates(mesh, rank), rank_of(mesh, coordinates(mesh, rank))});
      for (const std::vector<Axis>& axes :
           std::vector<std::vector<Axis>>{{}, {kTp}, {kCp}, {kDp}, {kPp}, {kCp, kDp}, {kPp, kTp}})
        x.groups.push_back({mesh, rank, axes, group(mesh, rank, axes)});
    }
  return x;
}

}  // namespace

TEST_CASE("right coordinates, ranks and groups have no cause") {
  CHECK(causes_of(exhibit(coordinates, rank_at, group_of)).empty());
}

TEST_CASE("groups that follow from wrong coordinates have no cause of their own") {
  const auto following = [](const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
    return alike(mesh, rank, axes, backwards);
  };
  const std::vector<Cause> causes = causes_of(exhibit(backwards, rank_at, following));
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].id == "solved-mesh-coordinates");
  CHECK(causes[0].sentence ==
        "a step along an axis counts for all axes after it together: the last axis is taken for the fastest");
  // right groups beside them
  CHECK(causes_of(exhibit(backwards, rank_at, group_of)).size() == 1);
}

TEST_CASE("two mistakes of a group are told together, and one of rank_at beside them") {
  const auto wrong = [](const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
    Numbers group = group_of(mesh, rank, axes.empty() ? axes : std::vector{axes.front()});
    std::ranges::reverse(group);
    return group;
  };
  const auto own_size = [](const Mesh& mesh, const Numbers& at) {
    int rank = 0;
    for (std::size_t i = 0; i < at.size(); ++i) rank += at[i] * mesh.axes[i].size;
    return rank;
  };
  const std::vector<Cause> causes = causes_of(exhibit(coordinates, own_size, wrong));
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].sentence == "in rank_at a step along an axis counts for the size of the axis itself");
  CHECK(causes[1].sentence == "only the first axis that is named counts, and the list decreases");
}

TEST_CASE("groups that count axes, and groups that end too early, are told") {
  const auto near = [](const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
    Numbers group;
    for (int other = 0; other < mesh.world_size(); ++other) {
      const Numbers own = coordinates(mesh, rank), theirs = coordinates(mesh, other);
      std::size_t differ = 0;
      for (std::size_t i = 0; i < own.size(); ++i) differ += own[i] != theirs[i] ? 1 : 0;
      if (differ <= axes.size()) group.push_back(other);
    }
    return group;
  };
  CHECK(causes_of(exhibit(coordinates, rank_at, near)).at(0).sentence ==
        "members differ on as many axes as are named or on fewer, whichever axes these are");
  const auto cut = [](const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
    Numbers group = group_of(mesh, rank, axes);
    if (mesh.world_size() > 30 && group.size() > 4) group.resize(4);
    return group;
  };
  CHECK(causes_of(exhibit(coordinates, rank_at, cut)).at(0).sentence ==
        "a group of a world of 60 ranks ends after 4 members, and one of 24 does not");
}

TEST_CASE("a mistake that no law gives has no cause, and silence is told by its meshes") {
  const auto odd = [](const Mesh& mesh, int rank) {
    Numbers at = coordinates(mesh, rank);
    if (rank % 7 == 6) at[0] = (at[0] + 1) % mesh.axes[0].size;
    return at;
  };
  CHECK(causes_of(exhibit(odd, rank_at, group_of)).empty());
  MeshExhibit x = exhibit(coordinates, rank_at, group_of);
  for (auto& asked : x.groups)
    if (asked.axes.size() > 1) asked.group.reset();
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].sentence == "group_of does not return if more than one axis is named");
}

}  // namespace ringcraft::verify
