// Laws of groups: the axes along which members may differ, where the list begins, how far the next member is,
// and which of them are returned.
#include <algorithm>

#include "verify/diagnose/functions/mesh/mesh_group_words.hpp"
#include "verify/diagnose/functions/mesh/mesh_words.hpp"

namespace ringcraft::verify {
namespace {

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
  const FreeWord* free = free_words().data();
  const BaseWord* base = base_words().data();
  const StrideWord* stride = stride_words().data();
  const ListWord* list = list_words().data();
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

// Ranks that differ from this one on so many axes, whichever these are.
GroupMembers differing_on(const MeshExhibit::GroupOf& asked,
                          bool (*enough)(std::size_t axes, std::size_t named)) {
  const auto own = PlaceLaw{}.at(asked.mesh, asked.rank);
  GroupMembers all;
  for (int other = 0; other < asked.mesh.world_size(); ++other) {
    const auto theirs = PlaceLaw{}.at(asked.mesh, other);
    std::size_t axes = 0;
    for (std::size_t i = 0; i < own->size(); ++i) axes += (*own)[i] != (*theirs)[i] ? 1 : 0;
    if (enough(axes, asked.axes.size())) all.push_back(other);
  }
  return all;
}

// Groups that count the axes on which a rank differs, instead of asking which ones.
std::optional<std::string> counted_words_of(const std::vector<MeshExhibit::GroupOf>& groups) {
  constexpr std::pair<const char*, bool (*)(std::size_t, std::size_t)> kCounts[] = {
      {"members differ on as many axes as are named or on fewer, whichever axes these are",
       [](std::size_t axes, std::size_t named) { return axes <= named; }},
      {"members differ on as many axes as are named, whichever axes these are",
       [](std::size_t axes, std::size_t named) { return axes == named; }}};
  for (const auto& [words, enough] : kCounts)
    if (std::ranges::all_of(groups, [&, &enough = enough](const auto& asked) {
          return std::ranges::equal(differing_on(asked, enough), *asked.group);
        }))
      return words;
  return {};
}

// Right groups but for their ends, which are missing in large worlds: all that are longer there have the same
// number of members.
std::optional<std::string> cut_words_of(const std::vector<MeshExhibit::GroupOf>& groups) {
  std::optional<std::size_t> room;
  int largest_whole = 0, smallest_cut = 0;
  for (const MeshExhibit::GroupOf& asked : groups) {
    const GroupMembers want = GroupLaw{}.members(asked);
    const int world = asked.mesh.world_size();
    const std::size_t size = asked.group->size();
    if (size > want.size() || !std::equal(asked.group->begin(), asked.group->end(), want.begin())) return {};
    if (size == want.size()) continue;
    if (room && *room != size) return {};
    room = size;
    smallest_cut = smallest_cut == 0 ? world : std::min(smallest_cut, world);
  }
  if (!room) return {};
  for (const MeshExhibit::GroupOf& asked : groups) {
    const int world = asked.mesh.world_size();
    if (asked.group->size() <= *room) continue;
    if (world >= smallest_cut) return {};
    largest_whole = std::max(largest_whole, world);
  }
  return "a group of a world of " + std::to_string(smallest_cut) + " ranks ends after " +
         std::to_string(*room) + (*room == 1 ? " member" : " members") +
         (largest_whole == 0 ? "" : ", and one of " + std::to_string(largest_whole) + " does not");
}

}  // namespace

std::optional<std::string> mesh_words_of(const std::vector<MeshExhibit::GroupOf>& groups,
                                         const PlaceLaw& place) {
  for (int wrong = 0; wrong <= 2; ++wrong)
    for (const ListWord& list : list_words())
      for (const BaseWord& base : base_words())
        for (const FreeWord& free : free_words())
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
  if (auto words = counted_words_of(groups)) return words;
  return cut_words_of(groups);
}

}  // namespace ringcraft::verify
