// The words themselves.
#include "verify/diagnose/functions/mesh/mesh_group_words.hpp"

#include <algorithm>

namespace ringcraft::verify {

std::optional<std::size_t> axis_place(const Mesh& mesh, Axis axis) {
  for (std::size_t i = 0; i < mesh.axes.size(); ++i)
    if (mesh.axes[i].axis == axis) return i;
  return {};
}

namespace {

AxisPlaces all_places(const Mesh& mesh) {
  AxisPlaces all;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) all.push_back(i);
  return all;
}

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

constexpr BaseWord kBaseWords[] = {
    {nullptr, [](Index right, Index, Index, Index) { return right; }},
    {"the list begins at the rank itself", [](Index, Index rank, Index, Index) { return rank; }},
    {"the list begins at rank 0", [](Index, Index, Index, Index) { return Index{0}; }},
    {"the list begins at the rank rounded down to a multiple of the group's size",
     [](Index, Index rank, Index size, Index) { return rank / size * size; }},
    {"the list begins at rank modulo stride: slower axes are forgotten",
     [](Index, Index rank, Index, Index stride) { return rank % stride; }}};

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

}  // namespace

std::span<const FreeWord> free_words() { return kFreeWords; }
std::span<const BaseWord> base_words() { return kBaseWords; }
std::span<const ListWord> list_words() { return kListWords; }

}  // namespace ringcraft::verify
