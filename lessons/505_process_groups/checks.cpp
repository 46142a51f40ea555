// Lesson 505: checks of coordinates and groups. The answers come from dealing the ranks out one by one, as an
// odometer counts: its first wheel turns with every rank, the next one when it is full.
#include <algorithm>
#include <map>
#include <numeric>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "ringcraft/core/random.hpp"
#include "verify/diagnose/exhibit.hpp"

namespace ringcraft::judge {
namespace {

using Ranks = std::vector<int>;
using Axes = std::vector<Axis>;
constexpr Axis kTp = Axis::kTensor, kCp = Axis::kContext, kDp = Axis::kData, kPp = Axis::kPipeline;

// ---- the answers

// The coordinates of all ranks.
std::vector<Ranks> counted_out(const Mesh& mesh) {
  std::vector<Ranks> all;
  Ranks wheels(mesh.axes.size(), 0);
  for (bool full = false; !full;) {
    all.push_back(wheels);
    full = true;
    for (std::size_t i = 0; full && i < wheels.size(); ++i) {
      full = ++wheels[i] == mesh.axes[i].size;
      if (full) wheels[i] = 0;
    }
  }
  return all;
}

// The group of each rank: ranks are put into one bag if all coordinates agree but those on these axes.
std::vector<Ranks> groups_of_all(const Mesh& mesh, const Axes& axes) {
  const std::vector<Ranks> all = counted_out(mesh);
  std::vector<Ranks> keys = all;
  std::map<Ranks, Ranks> bags;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < mesh.axes.size(); ++i)
      if (std::ranges::count(axes, mesh.axes[i].axis) > 0) keys[rank][i] = -1;
    bags[keys[rank]].push_back(static_cast<int>(rank));
  }
  std::vector<Ranks> groups;
  for (const Ranks& key : keys) groups.push_back(bags[key]);
  return groups;
}

// ---- words

std::string listed(const Ranks& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size() && i < 12; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return numbers.size() > 12 ? text + ", ..." : numbers.empty() ? "nothing" : text;
}

std::string listed(const Axes& axes) {
  std::string text;
  for (const Axis axis : axes) text += (text.empty() ? "" : " and ") + std::string(name_of(axis));
  return axes.empty() ? "no axis" : text;
}

std::string label_of(const Mesh& mesh) {
  std::string text;
  for (const MeshAxis& each : mesh.axes)
    text += (text.empty() ? "" : " x ") + std::string(name_of(each.axis)) + " " + std::to_string(each.size);
  return text + ": ";
}

// ---- calls and comparisons

void require_unchanged(const Mesh& mesh, std::uint32_t changed) {
  if (changed != 0)
    throw Wrong(sign::kInput, "argument-changed", "your function changed an argument that it may only read")
        .labelled(label_of(mesh));
}

void require_coordinates(Trial& trial, const Mesh& mesh, int rank, const Ranks& want) {
  const auto answer = trial.call<Coordinates>(mesh, rank);
  if (answer.result.size() != want.size())
    throw Wrong(sign::kValues, "entries", "{} coordinates of rank {}, and there are {} axes",
                answer.result.size(), rank, want.size())
        .labelled(label_of(mesh));
  if (answer.result != want)
    throw Wrong(sign::kValues, "coordinates", "rank {} is put at {}, and it is at {}", rank,
                listed(answer.result), listed(want))
        .labelled(label_of(mesh));
  require_unchanged(mesh, answer.changed);
}

void require_rank(Trial& trial, const Mesh& mesh, const Ranks& at, int want) {
  const auto answer = trial.call<RankAt>(mesh, at);
  if (answer.result != want)
    throw Wrong(sign::kValues, "rank", "at {} you find rank {}, and rank {} is there", listed(at),
                answer.result, want)
        .labelled(label_of(mesh));
  require_unchanged(mesh, answer.changed);
}

void require_group(Trial& trial, const Mesh& mesh, int rank, const Axes& axes, const Ranks& want) {
  const auto answer = trial.call<GroupOf>(mesh, rank, axes);
  Ranks sorted = answer.result;
  std::ranges::sort(sorted);
  if (answer.result != want && sorted == want)
    throw Wrong(sign::kValues, "order", "the group of rank {} along {} is {}, not in increasing order", rank,
                listed(axes), listed(answer.result))
        .labelled(label_of(mesh));
  if (answer.result != want)
    throw Wrong(sign::kValues, "group", "the group of rank {} along {} is {}, and yours is {}", rank,
                listed(axes), listed(want), listed(answer.result))
        .labelled(label_of(mesh));
  require_unchanged(mesh, answer.changed);
}

void require_all_coordinates(Trial& trial, const Mesh& mesh) {
  const std::vector<Ranks> all = counted_out(mesh);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    require_coordinates(trial, mesh, static_cast<int>(rank), all[rank]);
}

void require_all_ranks(Trial& trial, const Mesh& mesh) {
  const std::vector<Ranks> all = counted_out(mesh);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    require_rank(trial, mesh, all[rank], static_cast<int>(rank));
}

void require_all_groups(Trial& trial, const Mesh& mesh, const Axes& axes) {
  const std::vector<Ranks> groups = groups_of_all(mesh, axes);
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    require_group(trial, mesh, static_cast<int>(rank), axes, groups[rank]);
}

// ---- meshes

Mesh mesh_of(std::vector<MeshAxis> axes) { return {std::move(axes)}; }

// Sizes of which no two products are alike.
Mesh uneven() { return mesh_of({{kTp, 2}, {kCp, 3}, {kDp, 5}, {kPp, 2}}); }

// All four axes in a random order, or the first few of them.
Mesh random_mesh(Random& random, std::size_t most_axes, int most_ranks) {
  Axes order{kTp, kCp, kDp, kPp};
  for (std::size_t i = 3; i > 0; --i)
    std::swap(order[i], order[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i)))]);
  Mesh mesh;
  for (std::size_t i = 0; i < most_axes; ++i)
    mesh.axes.push_back({order[i], static_cast<int>(random.integer(1, most_ranks))});
  return mesh;
}

// Meshes that the seed chooses, so that no table of answers passes; the corpus has the fixed ones alone.
template <class Ask>
void ask_others(const Trial& trial, Ask ask) {
  if (trial.inputs_are_known()) return;
  Random random(trial.seed());
  ask(random);
}

// ---- the checks

const Check kOneAxis{
    .claim = "One axis: the coordinate is the rank, and everyone is in the group.",
    .id = "one-axis",
    .weight = 1,
    .hint = "With one axis, how far does the rank stand along it?",
    .run{[](Trial& trial) {
      for (const int size : {1, 2, 5}) {
        const Mesh mesh = mesh_of({{kCp, size}});
        require_all_coordinates(trial, mesh);
        require_all_ranks(trial, mesh);
        require_all_groups(trial, mesh, {kCp});
      }
      ask_others(trial, [&](Random& random) {
        const Mesh mesh = mesh_of({{kTp, static_cast<int>(random.integer(9, 99))}});
        require_all_coordinates(trial, mesh);
        require_group(trial, mesh, 3, {kTp}, groups_of_all(mesh, {kTp})[3]);
      });
    }},
};

const Check kTwoAxes{
    .claim = "Two axes: ranks r and r + 1 are neighbours on the first one.",
    .id = "two-axes",
    .weight = 2,
    .hint = "Count: which coordinate changes from rank 0 to rank 1, and when does the other one change?",
    .run{[](Trial& trial) {
      const Mesh mesh = mesh_of({{kTp, 2}, {kCp, 3}});
      const Ranks literal[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};
      for (int rank = 0; rank < 6; ++rank) require_coordinates(trial, mesh, rank, literal[rank]);
      ask_others(trial, [&](Random& random) { require_all_coordinates(trial, random_mesh(random, 2, 9)); });
    }},
};

const Check kFourAxes{
    .claim = "Four axes of different sizes: an axis moves on when all before it are full.",
    .id = "four-axes",
    .weight = 3,
    .needs = {"two-axes"},
    .hint = "How many ranks pass until the third coordinate changes: its size, or a product of which sizes?",
    .run{[](Trial& trial) {
      require_coordinates(trial, mesh_of({{kTp, 2}, {kCp, 2}, {kDp, 2}, {kPp, 2}}), 13, {1, 0, 1, 1});
      require_coordinates(trial, mesh_of({{kTp, 8}, {kCp, 16}, {kPp, 16}, {kDp, 8}}), 666, {2, 3, 5, 0});
      require_all_coordinates(trial, uneven());
      ask_others(trial, [&](Random& random) { require_all_coordinates(trial, random_mesh(random, 4, 4)); });
    }},
};

const Check kOrders{
    .claim = "Every order of the four axes: coordinates follow the mesh, whatever its axes are called.",
    .id = "any-order",
    .weight = 2,
    .needs = {"two-axes"},
    .hint = "Which axis is the fastest: the one with a certain name, or the first of mesh.axes?",
    .run{[](Trial& trial) {
      std::vector<MeshAxis> axes{{kTp, 2}, {kCp, 3}, {kDp, 2}, {kPp, 1}};
      std::ranges::sort(axes, {}, &MeshAxis::axis);
      do {
        require_all_coordinates(trial, mesh_of(axes));
      } while (std::ranges::next_permutation(axes, {}, &MeshAxis::axis).found);
    }},
};

const Check kRankAt{
    .claim = "rank_at: one step along an axis is as many ranks as all axes before it have together.",
    .id = "rank-at",
    .weight = 2,
    .hint = "Which two ranks differ by one on the second axis and agree on all others?",
    .run{[](Trial& trial) {
      require_rank(trial, mesh_of({{kTp, 2}, {kCp, 2}, {kDp, 2}, {kPp, 2}}), {1, 0, 1, 1}, 13);
      require_rank(trial, mesh_of({{kTp, 8}, {kCp, 16}, {kPp, 16}, {kDp, 8}}), {2, 3, 5, 0}, 666);
      require_all_ranks(trial, mesh_of({{kTp, 2}, {kCp, 3}}));
      require_all_ranks(trial, uneven());
      ask_others(trial, [&](Random& random) { require_all_ranks(trial, random_mesh(random, 4, 4)); });
    }},
};

const Check kThereAndBack{
    .claim = "rank_at undoes coordinates.",
    .id = "there-and-back",
    .weight = 1,
    .needs = {"one-axis"},
    .hint = "Does one of the two functions begin with the first axis and the other one with the last?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int times = 0; times < 20; ++times) {
        const Mesh mesh = random_mesh(random, 4, 4);
        const int rank = static_cast<int>(random.integer(0, mesh.world_size() - 1));
        const Ranks at = trial.call<Coordinates>(mesh, rank).result;
        bool inside = at.size() == mesh.axes.size();
        for (std::size_t i = 0; inside && i < at.size(); ++i)
          inside = at[i] >= 0 && at[i] < mesh.axes[i].size;
        if (!inside)
          throw Wrong(sign::kValues, "no-place", "you put rank {} at {}, where the mesh has no rank", rank,
                      listed(at))
              .labelled(label_of(mesh));
        const int back = trial.call<RankAt>(mesh, at).result;
        if (back != rank)
          throw Wrong(sign::kValues, "round-trip", "you put rank {} at {}, and find rank {} there", rank,
                      listed(at), back)
              .labelled(label_of(mesh));
      }
    }},
};

const Check kFastGroup{
    .claim = "The group of the fastest axis: neighbouring ranks.",
    .id = "fastest-group",
    .weight = 1,
    .hint = "Which ranks differ from this one in their first coordinate alone?",
    .run{[](Trial& trial) {
      const Mesh mesh = mesh_of({{kTp, 4}, {kCp, 2}, {kDp, 2}});
      require_group(trial, mesh, 6, {kTp}, {4, 5, 6, 7});
      require_all_groups(trial, mesh, {kTp});
      require_all_groups(trial, mesh_of({{kCp, 3}, {kTp, 2}}), {kCp});
      ask_others(trial, [&](Random& random) {
        const Mesh other = random_mesh(random, 3, 5);
        require_all_groups(trial, other, {other.axes[0].axis});
      });
    }},
};

const Check kStridedGroup{
    .claim = "The group of any other axis: ranks at equal distances.",
    .id = "strided-group",
    .weight = 3,
    .hint = "How many ranks is the next member away, and does the group begin at this rank?",
    .run{[](Trial& trial) {
      const Mesh mesh = mesh_of({{kTp, 2}, {kCp, 2}, {kDp, 2}, {kPp, 2}});
      require_group(trial, mesh, 13, {kCp}, {13, 15});
      require_group(trial, mesh, 13, {kDp}, {9, 13});
      require_group(trial, mesh, 13, {kPp}, {5, 13});
      for (const Axis axis : {kCp, kDp, kPp}) require_all_groups(trial, uneven(), {axis});
      ask_others(trial, [&](Random& random) {
        const Mesh other = random_mesh(random, 4, 4);
        for (std::size_t i = 1; i < 4; ++i) require_all_groups(trial, other, {other.axes[i].axis});
      });
    }},
};

const Check kGradients{
    .claim = "Several axes at once: the DP x CP group, over which gradients of the weights are added.",
    .id = "gradient-group",
    .weight = 3,
    .hint = "Which ranks hold the same weights and have seen other tokens: those of one axis, or of two?",
    .run{[](Trial& trial) {
      const Mesh mesh = mesh_of({{kTp, 2}, {kCp, 2}, {kDp, 2}, {kPp, 2}});
      require_group(trial, mesh, 13, {kCp, kDp}, {9, 11, 13, 15});
      require_all_groups(trial, uneven(), {kCp, kDp});
      require_all_groups(trial, mesh_of({{kTp, 2}, {kCp, 3}, {kPp, 2}, {kDp, 2}}), {kCp, kDp});
      for (const Axes& axes : {Axes{kTp, kCp}, Axes{kTp, kPp}, Axes{kTp, kCp, kDp}})
        require_all_groups(trial, uneven(), axes);
      ask_others(trial, [&](Random& random) {
        require_all_groups(trial, random_mesh(random, 4, 4), {kDp, kCp});
      });
    }},
};

const Check kNamedInAnyOrder{
    .claim = "Axes named in another order are the same group, in increasing order of ranks.",
    .id = "same-list",
    .weight = 2,
    .needs = {"gradient-group"},
    .hint = "All members must make the same list: may it depend on which rank asks, or on how it asks?",
    .run{[](Trial& trial) {
      for (const Mesh& mesh : {uneven(), mesh_of({{kPp, 2}, {kDp, 3}, {kCp, 2}, {kTp, 2}})})
        for (const Axes& axes : {Axes{kDp, kCp}, Axes{kPp, kTp}, Axes{kDp, kTp, kCp}})
          require_all_groups(trial, mesh, axes);
    }},
};

const Check kAllOrNone{
    .claim = "No axis: the rank alone. All axes: the world.",
    .id = "all-or-none",
    .weight = 1,
    .hint = "A rank that may differ from you nowhere is you.",
    .run{[](Trial& trial) {
      require_all_groups(trial, uneven(), {});
      require_all_groups(trial, uneven(), {kTp, kCp, kDp, kPp});
      require_all_groups(trial, uneven(), {kPp, kDp, kCp, kTp});
    }},
};

const Check kOneRank{
    .claim = "Axes of one rank change nothing.",
    .id = "size-one",
    .weight = 1,
    .hint = "What is a rank modulo 1, and how many ranks are in a group of such an axis?",
    .run{[](Trial& trial) {
      for (const Mesh& mesh : {mesh_of({{kTp, 1}, {kCp, 4}, {kDp, 1}, {kPp, 2}}),
                               mesh_of({{kTp, 1}, {kCp, 1}, {kDp, 1}, {kPp, 1}}),
                               mesh_of({{kDp, 3}, {kTp, 1}, {kPp, 1}, {kCp, 2}})}) {
        require_all_coordinates(trial, mesh);
        require_all_ranks(trial, mesh);
        for (const Axis axis : {kTp, kCp, kDp, kPp}) require_all_groups(trial, mesh, {axis});
        require_all_groups(trial, mesh, {kCp, kDp});
      }
    }},
};

const Check kManyRanks{
    .claim = "16384 ranks: tensor 8, context 16, pipeline 16, data 8.",
    .id = "many-ranks",
    .weight = 1,
    .needs = {"four-axes", "rank-at", "gradient-group"},
    .hint = "Does your function have room for so many ranks, and how often does it look at each of them?",
    .run{[](Trial& trial) {
      const Mesh mesh = mesh_of({{kTp, 8}, {kCp, 16}, {kPp, 16}, {kDp, 8}});
      const std::vector<Ranks> all = counted_out(mesh);
      Random random(trial.seed());
      for (int times = 0; times < 8; ++times) {
        const int rank = static_cast<int>(random.integer(0, mesh.world_size() - 1));
        require_coordinates(trial, mesh, rank, all[static_cast<std::size_t>(rank)]);
        require_rank(trial, mesh, all[static_cast<std::size_t>(rank)], rank);
      }
      const auto rank = static_cast<std::size_t>(random.integer(0, mesh.world_size() - 1));
      for (const Axes& axes : {Axes{kTp}, Axes{kDp}, Axes{kCp, kDp}})
        require_group(trial, mesh, static_cast<int>(rank), axes, groups_of_all(mesh, axes)[rank]);
    }},
};

const Check kAnyMesh{
    .claim = "Thirty random meshes: groups of random axes.",
    .id = "any-mesh",
    .weight = 3,
    .needs = {"strided-group", "gradient-group", "same-list", "size-one"},
    .hint = "Take the smallest mesh that fails: write down the coordinates of all its ranks.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int times = 0; times < 30; ++times) {
        const Mesh mesh = random_mesh(random, static_cast<std::size_t>(random.integer(1, 4)), 7);
        Axes axes;
        for (const MeshAxis& each : mesh.axes)
          if (random.integer(0, 1) == 1) axes.insert(axes.begin(), each.axis);
        const std::vector<Ranks> groups = groups_of_all(mesh, axes), all = counted_out(mesh);
        for (int ranks = 0; ranks < 6; ++ranks) {
          const auto rank = static_cast<std::size_t>(random.integer(0, mesh.world_size() - 1));
          require_group(trial, mesh, static_cast<int>(rank), axes, groups[rank]);
          require_coordinates(trial, mesh, static_cast<int>(rank), all[rank]);
        }
      }
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::MeshExhibit x;
  const Mesh meshes[] = {mesh_of({{kCp, 5}}),
                         mesh_of({{kTp, 2}, {kCp, 3}}),
                         uneven(),
                         mesh_of({{kPp, 3}, {kDp, 1}, {kCp, 4}, {kTp, 2}}),
                         mesh_of({{kDp, 2}, {kTp, 3}, {kPp, 4}}),
                         mesh_of({{kTp, 4}, {kCp, 2}, {kDp, 2}}),
                         mesh_of({{kTp, 3}, {kCp, 4}, {kDp, 5}, {kPp, 5}})};
  const Axes lists[] = {
      {}, {kTp}, {kCp}, {kDp}, {kPp}, {kCp, kDp}, {kDp, kCp}, {kPp, kTp}, {kTp, kCp, kDp, kPp}};
  for (const Mesh& mesh : meshes) {
    const int world = mesh.world_size();
    const std::vector<Ranks> all = counted_out(mesh);
    for (const int rank : {0, 1, world / 2, world - 2, world - 1}) {
      if (!trial.asks()) break;
      x.places.push_back({mesh, rank, trial.ask<Coordinates>(mesh, rank)});
      x.ranks.push_back({mesh, all[static_cast<std::size_t>(rank)],
                         trial.ask<RankAt>(mesh, all[static_cast<std::size_t>(rank)])});
      for (const Axes& axes : lists) {
        const bool there = std::ranges::all_of(
            axes, [&](Axis axis) { return std::ranges::count(mesh.axes, axis, &MeshAxis::axis) == 1; });
        if (there && trial.asks())
          x.groups.push_back({mesh, rank, axes, trial.ask<GroupOf>(mesh, rank, axes)});
      }
    }
  }
  return exhibit_of(std::move(x));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneAxis,      kTwoAxes,   kFourAxes,     kOrders,    kRankAt,
                            kThereAndBack, kFastGroup, kStridedGroup, kGradients, kNamedInAnyOrder,
                            kAllOrNone,    kOneRank,   kManyRanks,    kAnyMesh};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
