// Laws of groups: the axes along which members may differ, where the list begins, how far the next member is,
// and which of them are returned.
#include <algorithm>
#include <set>

#include "verify/diagnose/functions/mesh/mesh_words.hpp"

namespace ringcraft::verify {
namespace {

using AxisPlaces = std::vector<std::size_t>;  // of axes in the mesh
using GroupMembers = std::vector<Index>;

std::optional<std::size_t> axis_place(const Mesh& mesh, Axis axis) {
  for (std::size_t i = 0; i < mesh.axes.size(); ++i)
    if (mesh.axes[i].axis == axis) return i;
  return {};
}

AxisPlaces all_places(const Mesh& mesh) {
  AxisPlaces all;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) all.push_back(i);
  return all;
}

// The axes along which members differ, from those that were named; in the order of their names.
struct FreeWord {
  const char* words;
  AxisPlaces (*free)(const Mesh& mesh, const std::vector<Axis>& axes, const AxisPlaces& named);
};
constexpr FreeWord kFreeWords[] = {
    {nullptr, [](const Mesh&, const std::vector<Axis>&, const AxisPlaces& named) { return named; }},
    {"members differ on all axes but the named ones, and agree on those",
     [](const Mesh& mesh, const std::vector<Axis>&, const AxisPlaces& named) {
       AxisPlaces others = all_places(mesh);
       std::erase_if(others, [&](std::size_t i) { return std::ranges::count(named, i) > 0; });
       return others;
     }},
    {"only the first axis that is named counts",
     [](const Mesh&, const std::vector<Axis>&, const AxisPlaces& named) {
       return named.empty() ? named : AxisPlaces{named.front()};
     }},
    {"only the last axis that is named counts",
     [](const Mesh&, const std::vector<Axis>&, const AxisPlaces& named) {
       return named.empty() ? named : AxisPlaces{named.back()};
     }},
    {"only the fastest of the named axes counts",
     [](const Mesh&, const std::vector<Axis>&, const AxisPlaces& named) {
       return named.empty() ? named : AxisPlaces{std::ranges::min(named)};
     }},
    {"only the slowest of the named axes counts",
     [](const Mesh&, const std::vector<Axis>&, const AxisPlaces& named) {
       return named.empty() ? named : AxisPlaces{std::ranges::max(named)};
     }},
    {"no axis counts: the rank is alone",
     [](const Mesh&, const std::vector<Axis>&, const AxisPlaces&) { return AxisPlaces{}; }},
    {"the named axes are ignored: all ranks are members",
     [](const Mesh& mesh, const std::vector<Axis>&, const AxisPlaces&) { return all_places(mesh); }},
    {"the data axis takes the context axis with it",
     [](const Mesh& mesh, const std::vector<Axis>& axes, const AxisPlaces& named) {
       AxisPlaces free = named;
       if (const auto cp = axis_place(mesh, Axis::kContext);
           cp && std::ranges::count(axes, Axis::kData) > 0 && std::ranges::count(named, *cp) == 0)
         free.push_back(*cp);
       return free;
     }},
    {"the context axis is left out where the data axis is named",
     [](const Mesh& mesh, const std::vector<Axis>& axes, const AxisPlaces& named) {
       AxisPlaces free = named;
       if (const auto cp = axis_place(mesh, Axis::kContext); cp && std::ranges::count(axes, Axis::kData) > 0)
         std::erase(free, *cp);
       return free;
     }},
    {"tp, cp, dp, pp are taken for the axes 0, 1, 2, 3, in whichever order the mesh has them",
     [](const Mesh& mesh, const std::vector<Axis>& axes, const AxisPlaces&) {
       AxisPlaces free;
       for (const Axis axis : axes)
         if (static_cast<std::size_t>(axis) < mesh.axes.size())
           free.push_back(static_cast<std::size_t>(axis));
       return free;
     }},
    {"all axes from the fastest named one on count, the slower ones included",
     [](const Mesh& mesh, const std::vector<Axis>&, const AxisPlaces& named) {
       AxisPlaces free = all_places(mesh);
       std::erase_if(free, [&](std::size_t i) { return named.empty() || i < std::ranges::min(named); });
       return free;
     }},
    {"all axes from the fastest to the slowest named one count, those between them included",
     [](const Mesh&, const std::vector<Axis>&, const AxisPlaces& named) {
       AxisPlaces free;
       for (std::size_t i = named.empty() ? 1 : std::ranges::min(named);
            !named.empty() && i <= std::ranges::max(named); ++i)
         free.push_back(i);
       return free;
     }}};

// The first member, where it is computed.
struct BaseWord {
  const char* words;
  Index (*base)(Index right, Index rank, Index size, Index stride);
};
constexpr BaseWord kBaseWords[] = {
    {nullptr, [](Index right, Index, Index, Index) { return right; }},
    {"the list begins at the rank itself", [](Index, Index rank, Index, Index) { return rank; }},
    {"the list begins at rank 0", [](Index, Index, Index, Index) { return Index{0}; }},
    {"the list begins at the rank rounded down to a multiple of the group's size",
     [](Index, Index rank, Index size, Index) { return rank / size * size; }},
    {"the list begins at rank modulo stride: slower axes are forgotten",
     [](Index, Index rank, Index, Index stride) { return rank % stride; }}};

// What becomes of the list.
struct ListWord {
  const char* words;
  void (*change)(GroupMembers& members, Index rank, Index world);
};
constexpr ListWord kListWords[] = {
    {nullptr, [](GroupMembers&, Index, Index) {}},
    {"the list decreases", [](GroupMembers& members, Index, Index) { std::ranges::reverse(members); }},
    {"the rank itself comes first, the others after it",
     [](GroupMembers& members, Index rank, Index) {
       if (std::erase(members, rank) > 0) members.insert(members.begin(), rank);
     }},
    {"the list begins with the rank itself and wraps around",
     [](GroupMembers& members, Index rank, Index) {
       std::ranges::rotate(members, std::ranges::find(members, rank));
     }},
    {"the rank itself is left out",
     [](GroupMembers& members, Index rank, Index) { std::erase(members, rank); }},
    {"the last rank of the world is never a member",
     [](GroupMembers& members, Index, Index world) { std::erase(members, world - 1); }},
    {"rank 0 is never a member", [](GroupMembers& members, Index, Index) { std::erase(members, 0); }},
    {"the last member is left out",
     [](GroupMembers& members, Index, Index) {
       if (!members.empty()) members.pop_back();
     }},
    {"the first member is left out", [](GroupMembers& members, Index, Index) {
       if (!members.empty()) members.erase(members.begin());
     }}};

// How members follow each other: along the free axes, the first one of the mesh or of the names fastest; or
// all at one distance.
enum class AxisWalk : std::uint8_t { kMesh, kNamed, kNamedBackwards, kEven, kRun, kSize };
constexpr AxisWalk kAxisWalks[] = {AxisWalk::kMesh, AxisWalk::kNamed, AxisWalk::kNamedBackwards,
                                   AxisWalk::kEven, AxisWalk::kRun,   AxisWalk::kSize};
constexpr const char* kAxisWalkWords[] = {
    nullptr,
    "members stand in the order in which the axes are named, the first one fastest",
    "members stand in the order in which the axes are named, the last one fastest",
    "all members stand at one distance, that of the fastest named axis",
    "members are neighbouring ranks",
    "the next member is as many ranks away as the group has members"};

struct GroupLaw {
  const FreeWord* free = kFreeWords;
  const BaseWord* base = kBaseWords;
  const StrideWord* stride = stride_words().data();
  const ListWord* list = kListWords;
  AxisWalk walk = AxisWalk::kMesh;

  int wrong() const {
    return (free->words != nullptr) + (base->words != nullptr) + (stride->words != nullptr) +
           (list->words != nullptr) + (walk != AxisWalk::kMesh);
  }
  std::string told() const {
    const std::string step = stride->words == nullptr
                                 ? ""
                                 : "the next member along an axis is as far as " + std::string(stride->words);
    return joined_words({free->words, step.empty() ? nullptr : step.c_str(), base->words,
                         kAxisWalkWords[static_cast<std::size_t>(walk)], list->words});
  }

  AxisPlaces free_of(const MeshExhibit::GroupOf& asked) const {
    AxisPlaces named;
    for (const Axis axis : asked.axes)
      if (const auto place = axis_place(asked.mesh, axis)) named.push_back(*place);
    AxisPlaces axes = free->free(asked.mesh, asked.axes, named);
    if (walk != AxisWalk::kNamed && walk != AxisWalk::kNamedBackwards) std::ranges::sort(axes);
    if (walk == AxisWalk::kNamedBackwards) std::ranges::reverse(axes);
    return axes;
  }

  // Computed from strides.
  GroupMembers members(const MeshExhibit::GroupOf& asked) const {
    const AxisPlaces axes = free_of(asked);
    const auto at = PlaceLaw{}.at(asked.mesh, asked.rank);
    Index first = asked.rank, size = 1;
    for (const std::size_t i : axes) {
      first -= (*at)[i] * stride_words()[0].stride(asked.mesh, i);
      size *= asked.mesh.axes[i].size;
    }
    Index nearest = 1;
    for (const std::size_t i : axes)
      if (asked.mesh.axes[i].size > 1) {
        nearest = std::max<Index>(1, stride->stride(asked.mesh, i));
        break;
      }
    GroupMembers all{base->base(first, asked.rank, size, nearest)};
    if (walk >= AxisWalk::kEven) {
      const Index distance = walk == AxisWalk::kEven ? nearest : walk == AxisWalk::kRun ? 1 : size;
      for (Index k = 1; k < size; ++k) all.push_back(all.front() + k * distance);
    } else {
      for (const std::size_t i : axes) {
        const GroupMembers before = all;
        for (Index step = 1; step < asked.mesh.axes[i].size; ++step)
          for (const Index member : before) all.push_back(member + step * stride->stride(asked.mesh, i));
      }
    }
    list->change(all, asked.rank, asked.mesh.world_size());
    return all;
  }

  // Found by comparing coordinates.
  std::optional<GroupMembers> compared(const MeshExhibit::GroupOf& asked, const PlaceLaw& place) const {
    const AxisPlaces axes = free_of(asked);
    GroupMembers all;
    const auto own = place.at(asked.mesh, asked.rank);
    for (int other = 0; own && other < asked.mesh.world_size(); ++other) {
      const auto theirs = place.at(asked.mesh, other);
      bool same = theirs.has_value();
      for (std::size_t i = 0; same && i < std::min(own->size(), theirs->size()); ++i)
        same = std::ranges::count(axes, i) > 0 || (*own)[i] == (*theirs)[i];
      if (same) all.push_back(other);
    }
    if (!own) return {};
    list->change(all, asked.rank, asked.mesh.world_size());
    return all;
  }
};

}  // namespace

std::optional<std::string> mesh_words_of(const std::vector<MeshExhibit::GroupOf>& groups,
                                         const PlaceLaw& place) {
  for (int wrong = 0; wrong <= 2; ++wrong)
    for (const ListWord& list : kListWords)
      for (const BaseWord& base : kBaseWords)
        for (const FreeWord& free : kFreeWords)
          for (const StrideWord& stride : stride_words())
            for (const AxisWalk walk : kAxisWalks) {
              const GroupLaw law{&free, &base, &stride, &list, walk};
              if (law.wrong() != wrong) continue;
              const auto all = [&](const auto& members) {
                return std::ranges::all_of(groups, [&](const MeshExhibit::GroupOf& asked) {
                  const std::optional<GroupMembers> want = members(asked);
                  return want && std::ranges::equal(*want, *asked.group);
                });
              };
              if (all([&](const auto& asked) { return std::optional(law.members(asked)); }))
                return law.told();
              if (walk == AxisWalk::kMesh && base.words == nullptr && stride.words == nullptr &&
                  place.wrong() > 0 && all([&](const auto& asked) { return law.compared(asked, place); }))
                return law.told();
            }
  return {};
}

}  // namespace ringcraft::verify
