// Explains wrong coordinates, ranks and groups of a mesh: each by the law that gives all answers. Groups that
// follow from wrong coordinates need no cause of their own.
#include <algorithm>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/mesh/mesh_words.hpp"

namespace ringcraft::verify {
namespace {

// Meshes, and axes of groups, for which no answer comes, if one comes for all others.
struct NoAnswer {
  const char* words;
  bool (*holds)(const Mesh& mesh, const std::vector<Axis>* axes);
};
constexpr NoAnswer kNoAnswers[] = {
    {"an axis has one rank",
     [](const Mesh& mesh, const std::vector<Axis>*) {
       return std::ranges::count(mesh.axes, 1, &MeshAxis::size) > 0;
     }},
    {"the mesh has fewer than four axes",
     [](const Mesh& mesh, const std::vector<Axis>*) { return mesh.axes.size() < 4; }},
    {"the mesh has more than one axis",
     [](const Mesh& mesh, const std::vector<Axis>*) { return mesh.axes.size() > 1; }},
    {"there are more than 8 ranks",
     [](const Mesh& mesh, const std::vector<Axis>*) { return mesh.world_size() > 8; }},
    {"there are more than 16 ranks",
     [](const Mesh& mesh, const std::vector<Axis>*) { return mesh.world_size() > 16; }},
    {"no axis is named",
     [](const Mesh&, const std::vector<Axis>* axes) { return axes != nullptr && axes->empty(); }},
    {"more than one axis is named",
     [](const Mesh&, const std::vector<Axis>* axes) { return axes != nullptr && axes->size() > 1; }}};

constexpr const char* kMeshPlaceQuestion =
    "Take 2 x 3 ranks: which coordinate changes from rank 0 to rank 1, and after how many ranks does the "
    "other "
    "one?";
constexpr const char* kMeshRankQuestion =
    "Which two ranks differ by one on the second axis alone, and how many ranks lie between them?";
constexpr const char* kMeshGroupQuestion =
    "Write down the coordinates of all ranks of the mesh: which ones agree with yours on every axis that is "
    "not "
    "named?";

template <class Asked, class Answered>
void add_silence(std::vector<Cause>& causes, const char* function, const std::vector<Asked>& all,
                 Answered answered, const char* question) {
  const auto axes_of = [](const Asked& asked) -> const std::vector<Axis>* {
    if constexpr (requires { asked.axes; }) return &asked.axes;
    return nullptr;
  };
  if (std::ranges::all_of(all, answered)) return;
  for (const NoAnswer& silence : kNoAnswers)
    if (std::ranges::all_of(all, [&](const Asked& asked) {
          return answered(asked) != silence.holds(asked.mesh, axes_of(asked));
        })) {
      causes.push_back(
          {"solved-mesh-none", std::string(function) + " does not return if " + silence.words, question});
      return;
    }
}

}  // namespace

std::vector<Cause> causes_of(const MeshExhibit& x) {
  std::vector<Cause> causes;
  const auto placed = [](const MeshExhibit::Place& asked) { return asked.coordinates.has_value(); };
  const auto found = [](const MeshExhibit::RankAt& asked) { return asked.rank.has_value(); };
  const auto grouped = [](const MeshExhibit::GroupOf& asked) { return asked.group.has_value(); };
  add_silence(causes, "coordinates", x.places, placed, kMeshPlaceQuestion);
  add_silence(causes, "rank_at", x.ranks, found, kMeshRankQuestion);
  if (causes.empty()) add_silence(causes, "group_of", x.groups, grouped, kMeshGroupQuestion);

  PlaceLaw place;
  if (!x.places.empty() && std::ranges::all_of(x.places, placed)) {
    const auto law = place_law_of(x.places);
    if (law && law->wrong() > 0)
      causes.push_back({"solved-mesh-coordinates", law->told(), kMeshPlaceQuestion});
    if (law) place = *law;
  }
  if (!x.ranks.empty() && std::ranges::all_of(x.ranks, found))
    if (const auto words = mesh_words_of(x.ranks); words && !words->empty())
      causes.push_back({"solved-mesh-rank", "in rank_at " + *words, kMeshRankQuestion});
  if (!x.groups.empty() && std::ranges::all_of(x.groups, grouped))
    if (const auto words = mesh_words_of(x.groups, place); words && !words->empty())
      causes.push_back({"solved-mesh-group", *words, kMeshGroupQuestion});
  return causes;
}

}  // namespace ringcraft::verify
