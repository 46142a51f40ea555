// Meshes: coordinates and groups against loops that deal ranks out, known meshes of Megatron, and refusals.
#include "ringcraft/parallel/mesh/mesh.hpp"

#include <algorithm>
#include <set>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Ranks = std::vector<int>;
constexpr Axis kTp = Axis::kTensor, kCp = Axis::kContext, kDp = Axis::kData, kPp = Axis::kPipeline;

constexpr const char* kOrders[] = {"tp-cp-dp-pp", "tp-cp-pp-dp", "cp-tp-dp-pp",
                                   "pp-dp-cp-tp", "dp-pp-tp-cp", "pp-tp-cp-dp"};

Mesh random_mesh(Random& random) {
  const auto size = [&] { return static_cast<int>(random.integer(1, 4)); };
  const MeshSizes sizes{size(), size(), size(), size()};
  return make_mesh(sizes.tensor * sizes.context * sizes.data * sizes.pipeline, sizes,
                   kOrders[random.integer(0, 5)]);
}

// An odometer, whose first wheel turns with every rank.
std::vector<Ranks> counted_out(const Mesh& mesh) {
  std::vector<Ranks> all;
  Ranks wheels(mesh.axes.size(), 0);
  for (int rank = 0; rank < mesh.world_size(); ++rank) {
    all.push_back(wheels);
    for (std::size_t i = 0; i < wheels.size(); ++i) {
      if (++wheels[i] < mesh.axes[i].size) break;
      wheels[i] = 0;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("coordinates count as an odometer does, and rank_at undoes them") {
  Random random(505);
  for (int times = 0; times < 60; ++times) {
    const Mesh mesh = random_mesh(random);
    const std::vector<Ranks> want = counted_out(mesh);
    for (int rank = 0; rank < mesh.world_size(); ++rank) {
      CHECK(coordinates(mesh, rank) == want[static_cast<std::size_t>(rank)]);
      CHECK(rank_at(mesh, want[static_cast<std::size_t>(rank)]) == rank);
    }
  }
}

TEST_CASE("a group has the ranks that differ on its axes alone, and all groups divide the world") {
  Random random(506);
  for (int times = 0; times < 40; ++times) {
    const Mesh mesh = random_mesh(random);
    const std::vector<Ranks> at = counted_out(mesh);
    for (unsigned chosen = 0; chosen < 16; ++chosen) {
      std::vector<Axis> axes;
      std::size_t size = 1;
      for (std::size_t i = 0; i < 4; ++i)
        if ((chosen >> i & 1u) != 0) {
          axes.insert(axes.begin(), mesh.axes[i].axis);  // not in the order of the mesh
          size *= static_cast<std::size_t>(mesh.axes[i].size);
        }
      std::set<Ranks> groups;
      for (int rank = 0; rank < mesh.world_size(); ++rank) {
        const Ranks group = group_of(mesh, rank, axes);
        groups.insert(group);
        CHECK(group.size() == size);
        CHECK(std::ranges::is_sorted(group));
        CHECK(std::ranges::count(group, rank) == 1);
        for (const int member : group)
          for (std::size_t i = 0; i < 4; ++i)
            if ((chosen >> i & 1u) == 0) CHECK(at[member][i] == at[rank][i]);
      }
      CHECK(groups.size() * size == at.size());
    }
  }
}

TEST_CASE("groups of a mesh that is worked out by hand") {
  const Mesh mesh = make_mesh(16, {.tensor = 2, .context = 2, .data = 2, .pipeline = 2});
  CHECK(coordinates(mesh, 13) == Ranks{1, 0, 1, 1});
  CHECK(group_of(mesh, 13, {kTp}) == Ranks{12, 13});
  CHECK(group_of(mesh, 13, {kCp}) == Ranks{13, 15});
  CHECK(group_of(mesh, 13, {kDp}) == Ranks{9, 13});
  CHECK(group_of(mesh, 13, {kPp}) == Ranks{5, 13});
  CHECK(group_of(mesh, 13, {kDp, kCp}) == Ranks{9, 11, 13, 15});
  CHECK(group_of(mesh, 13, {}) == Ranks{13});
  // --use-tp-pp-dp-mapping: pipeline stages are nearer than replicas
  const Mesh mapped = make_mesh(16, {2, 2, 2, 2}, "tp-cp-pp-dp");
  CHECK(group_of(mapped, 13, {kPp}) == Ranks{9, 13});
  CHECK(group_of(mapped, 13, {kDp, kCp}) == Ranks{5, 7, 13, 15});
  // the last configuration of Llama 3 405B
  const Mesh llama = make_mesh(16384, {.tensor = 8, .context = 16, .data = 8, .pipeline = 16}, "tp-cp-pp-dp");
  CHECK(coordinates(llama, 8 * 16 * 5 + 8 * 3 + 2) == Ranks{2, 3, 5, 0});
  CHECK(group_of(llama, 2, {kCp})[15] == 2 + 8 * 15);
  CHECK(group_of(llama, 2, {kDp})[7] == 2 + 2048 * 7);
}

TEST_CASE("the order says which axis is fastest, axes of one rank may be left out") {
  const Mesh mesh = make_mesh(6, {.tensor = 2, .context = 3}, "cp-tp");
  CHECK(mesh.axes == std::vector<MeshAxis>{{kCp, 3}, {kTp, 2}, {kDp, 1}, {kPp, 1}});
  CHECK(coordinates(mesh, 4) == Ranks{1, 1, 0, 0});
  CHECK(group_of(mesh, 4, {kCp}) == Ranks{3, 4, 5});
}

TEST_CASE("sizes, orders, ranks and axes that make no mesh are refused") {
  const auto refused = [](const auto& action, const std::string& words) {
    const Outcome outcome = outcome_of(action);
    CAPTURE(outcome.sentence, words);
    CHECK(outcome.code == Code::kWrongCall);
    CHECK(contains(outcome.sentence, words));
  };
  const MeshSizes sizes{.tensor = 2, .context = 2};
  const Mesh mesh = make_mesh(4, sizes);
  refused([&] { make_mesh(8, sizes); }, "a product of 8, the world size, got tp 2 x cp 2 x dp 1 x pp 1");
  refused([&] { make_mesh(2, sizes); }, "a product of 2");
  refused([&] { make_mesh(0, {.tensor = 0}); }, "size of tp: expected 1 or more ranks, got 0");
  refused([&] { make_mesh(-4, {.tensor = 4, .context = -1}); }, "size of cp");
  refused([&] { make_mesh(1, {1 << 30, 1 << 30, 1 << 30, 4}); }, "a product of 1");
  refused([&] { make_mesh(4, sizes, "tp-cp-tp"); }, "got tp twice");
  refused([&] { make_mesh(4, sizes, "tp-cp-ep-dp"); }, "got 'ep'");
  refused([&] { make_mesh(4, sizes, ""); }, "got ''");
  refused([&] { make_mesh(4, sizes, "tp-cp-"); }, "got ''");
  refused([&] { make_mesh(4, sizes, "tp-dp-pp"); }, "a place for cp, which has 2 ranks");
  refused([&] { coordinates(mesh, 4); }, "rank of a mesh: expected 0 to 3, got 4");
  refused([&] { coordinates(mesh, -1); }, "got -1");
  refused([&] { group_of(mesh, 4, {kTp}); }, "expected 0 to 3");
  refused([&] { group_of(mesh, 0, {kTp, kCp, kTp}); }, "got tp twice");
  refused([&] { group_of(mesh, 0, {static_cast<Axis>(9)}); }, "got no axis");
  refused([&] { group_of({{{kTp, 2}}}, 0, {kCp}); }, "expected axes of the mesh, got cp");
  refused([&] { rank_at(mesh, {0, 0}); }, "4 numbers, one for each axis, got 2");
  refused([&] { rank_at(mesh, {0, 2, 0, 0}); }, "coordinate on cp: expected 0 to 1, got 2");
  refused([&] { rank_at(mesh, {-1, 0, 0, 0}); }, "coordinate on tp");
  // Data that make_mesh would refuse.
  refused([&] { coordinates({{{kTp, 0}}}, 0); }, "mesh: expected each axis once, with 1 or more ranks");
  refused([&] { coordinates({{{kTp, -2}, {kCp, -2}}}, 0); }, "got an axis of -2");
  refused([&] { rank_at({{{kTp, 1 << 20}, {kCp, 1 << 20}}}, {0, 0}); }, "at most 2147483647 together");
  refused([&] { group_of({{{kTp, 2}, {kTp, 2}}}, 0, {}); }, "got an axis twice");
}
