#pragma once
/// @file
/// The vocabulary of wrong meshes: how many ranks one step along an axis is, what is left of a quotient, and
/// which numbers are returned. The first word of each list is the right one.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"

namespace ringcraft::verify {

/// Ranks that a step along axis i counts.
struct StrideWord {
  const char* words;  ///< "a step along an axis counts ..."
  Index (*stride)(const Mesh& mesh, std::size_t i);
};
/// The divisor whose remainder is a coordinate; 0: none, the quotient itself.
struct RemainderWord {
  const char* words;
  Index (*divisor)(const Mesh& mesh, std::size_t i);
};
/// The coordinates that are returned, or read.
struct PlaceWord {
  const char* words;
  void (*change)(const Mesh& mesh, std::vector<Index>& at);
  std::size_t first = 0;  ///< the axis of the first one
};

std::span<const StrideWord> stride_words();
std::span<const RemainderWord> remainder_words();
std::span<const PlaceWord> place_words();

/// One way to compute the coordinates of a rank.
struct PlaceLaw {
  const StrideWord* stride = stride_words().data();
  const RemainderWord* remainder = remainder_words().data();
  const PlaceWord* returned = place_words().data();
  bool swapped = false;  ///< each axis returns the quotient by its size, and hands the remainder on

  int wrong() const;
  std::string told() const;
  /// Empty if it divides by 0.
  std::optional<std::vector<Index>> at(const Mesh& mesh, int rank) const;
};

/// The law of at most two wrong words that gives all coordinates that were returned, the likeliest; a right
/// one if they are right. Empty if there is none.
std::optional<PlaceLaw> place_law_of(const std::vector<MeshExhibit::Place>& places);
/// The same for ranks at coordinates, in words; "" if they are right.
std::optional<std::string> mesh_words_of(const std::vector<MeshExhibit::RankAt>& ranks);
/// The same for groups. A function that compares coordinates takes those of `place`.
std::optional<std::string> mesh_words_of(const std::vector<MeshExhibit::GroupOf>& groups,
                                         const PlaceLaw& place);

/// Joins words that are not null by ", and ".
std::string joined_words(std::initializer_list<const char*> words);

}  // namespace ringcraft::verify
