// Laws of coordinates, and of the way back.
#include <algorithm>

#include "verify/diagnose/functions/mesh/mesh_words.hpp"

namespace ringcraft::verify {
namespace {

std::string stride_told(const StrideWord& stride) {
  return stride.words == nullptr ? "" : "a step along an axis counts for " + std::string(stride.words);
}

bool gives(const PlaceLaw& law, const MeshExhibit::Place& place) {
  const auto want = law.at(place.mesh, place.rank);
  return want && std::ranges::equal(*want, *place.coordinates);
}

// The rank at coordinates, for strides and coordinates that were read in some way.
bool gives(const StrideWord& stride, const PlaceWord& read, const MeshExhibit::RankAt& asked) {
  std::vector<Index> at(asked.coordinates.begin(), asked.coordinates.end());
  read.change(asked.mesh, at);
  Index rank = 0;
  for (std::size_t i = 0; i < at.size(); ++i) rank += at[i] * stride.stride(asked.mesh, i + read.first);
  return rank == *asked.rank;
}

}  // namespace

int PlaceLaw::wrong() const {
  return (stride->words != nullptr) + (remainder->words != nullptr) + (returned->words != nullptr) +
         (swapped ? 1 : 0);
}

std::string PlaceLaw::told() const {
  const std::string first = stride_told(*stride);
  return joined_words(
      {first.empty() ? nullptr : first.c_str(), remainder->words, returned->words,
       swapped ? "each axis returns the quotient by its size and hands the remainder on" : nullptr});
}

std::optional<std::vector<Index>> PlaceLaw::at(const Mesh& mesh, int rank) const {
  std::vector<Index> at;
  Index rest = rank;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    if (swapped) {
      at.push_back(rest / mesh.axes[i].size);
      rest %= mesh.axes[i].size;
      continue;
    }
    const Index step = stride->stride(mesh, i), divisor = remainder->divisor(mesh, i);
    if (step == 0) return {};
    at.push_back(divisor == 0 ? rank / step : rank / step % divisor);
  }
  returned->change(mesh, at);
  return at;
}

std::optional<PlaceLaw> place_law_of(const std::vector<MeshExhibit::Place>& places) {
  for (int wrong = 0; wrong <= 2; ++wrong)
    for (const PlaceWord& returned : place_words())
      for (const RemainderWord& remainder : remainder_words())
        for (const StrideWord& stride : stride_words())
          if (const PlaceLaw law{&stride, &remainder, &returned};
              law.wrong() == wrong &&
              std::ranges::all_of(places, [&](const auto& place) { return gives(law, place); }))
            return law;
  if (const PlaceLaw law{.swapped = true};
      std::ranges::all_of(places, [&](const auto& place) { return gives(law, place); }))
    return law;
  return {};
}

std::optional<std::string> mesh_words_of(const std::vector<MeshExhibit::RankAt>& ranks) {
  for (int wrong = 0; wrong <= 2; ++wrong)
    for (const PlaceWord& read : place_words())
      for (const StrideWord& stride : stride_words())
        if ((read.words != nullptr) + (stride.words != nullptr) == wrong &&
            std::ranges::all_of(ranks, [&](const auto& asked) { return gives(stride, read, asked); })) {
          const std::string first = stride_told(stride);
          return joined_words({first.empty() ? nullptr : first.c_str(), read.words});
        }
  return {};
}

}  // namespace ringcraft::verify
