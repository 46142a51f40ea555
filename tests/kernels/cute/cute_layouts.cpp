// Converts CuTe's layouts to lane maps. This file uses nothing of this project's reading of the PTX manual.
#include "cute_layouts.hpp"

#include <cute/atom/copy_traits_sm75.hpp>
#include <cute/atom/copy_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/layout.hpp>
#include <cute/swizzle.hpp>
#include <map>
#include <utility>

namespace ringcraft::layouts::cutes {
namespace {

// A layout from (lane, value) to the index of a matrix of so many rows, column by column.
template <class Layout>
LaneMap matrix_map(Layout layout, int rows) {
  LaneMap map{"", cute::size<0>(layout), cute::size<1>(layout)};
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const int index = layout(lane, value);
      map.places.push_back({index % rows, index / rows});
    }
  return map;
}

template <class Operation>
LaneMap fragment_of(Operand operand) {
  using Traits = cute::MMA_Traits<Operation>;
  typename Traits::Shape_MNK shape;
  const int m = cute::get<0>(shape), n = cute::get<1>(shape);
  if (operand == Operand::kA) return matrix_map(typename Traits::ALayout{}, m);
  if (operand == Operand::kC) return matrix_map(typename Traits::CLayout{}, m);
  LaneMap map = matrix_map(typename Traits::BLayout{}, n);  // of the transpose of B: (n, k)
  for (Place& place : map.places) std::swap(place.row, place.column);
  return map;
}

// Two layouts from (lane, bit) to the bits that a copy moves: where each piece of kBits bits of a destination
// comes from.
template <class Traits, int kBits>
LaneMap copy_map() {
  const typename Traits::SrcLayout source;
  const typename Traits::DstLayout destination;
  std::map<int, Place> from;  // bit -> lane, bit of the lane; of lanes that bring the same bits the first
  for (int lane = 0; lane < cute::size<0>(source); ++lane)
    for (int bit = 0; bit < cute::size<1>(source); ++bit)
      from.try_emplace(source(lane, bit), Place{lane, bit});
  LaneMap map{"", cute::size<0>(destination), cute::size<1>(destination) / kBits};
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Place first = from.at(destination(lane, value * kBits));
      bool whole = first.column % kBits == 0;
      for (int bit = 1; bit < kBits; ++bit)
        whole =
            whole && from.at(destination(lane, value * kBits + bit)) == Place{first.row, first.column + bit};
      map.places.push_back(whole ? Place{first.row, first.column / kBits} : kNowhere);
    }
  return map;
}

constexpr int kBits = 4, kBases = 6, kShifts = 6;

template <int kNumber>
void try_swizzle(const std::vector<int>& moved, std::vector<SwizzleBits>& found) {
  constexpr int bits = kNumber % kBits + 1, base = kNumber / kBits % kBases,
                shift = kNumber / kBits / kBases + 1;
  if constexpr (shift >= bits) {  // else the two groups of bits overlap
    const cute::Swizzle<bits, base, shift> swizzle;
    for (int i = 0; i < static_cast<int>(moved.size()); i += 8)
      if (swizzle(i) != moved[static_cast<std::size_t>(i)]) return;
    found.push_back({bits, base, shift});
  }
}

template <int... kNumbers>
std::vector<SwizzleBits> try_swizzles(const std::vector<int>& moved,
                                      std::integer_sequence<int, kNumbers...>) {
  std::vector<SwizzleBits> found;
  (try_swizzle<kNumbers>(moved, found), ...);
  return found;
}

}  // namespace

LaneMap fragment(Format format, Operand operand) {
  return format == Format::kBf16 ? fragment_of<cute::SM80_16x8x16_F32BF16BF16F32_TN>(operand)
                                 : fragment_of<cute::SM80_16x8x16_F32F16F16F32_TN>(operand);
}

LaneMap matrix_load(Load load) {
  switch (load) {
    case Load::kX4:
      return copy_map<cute::Copy_Traits<cute::SM75_U32x4_LDSM_N>, 16>();
    case Load::kX4Trans:
      return copy_map<cute::Copy_Traits<cute::SM75_U16x8_LDSM_T>, 16>();
    case Load::kX2:
      return copy_map<cute::Copy_Traits<cute::SM75_U32x2_LDSM_N>, 16>();
    default:
      return copy_map<cute::Copy_Traits<cute::SM75_U16x4_LDSM_T>, 16>();
  }
}

LaneMap async_copy() {
  using Plain = cute::Copy_Traits<cute::SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>>;
  const LaneMap one = copy_map<Plain, 8>();
  LaneMap map{"", 32, one.values};
  for (int lane = 0; lane < 32; ++lane)
    for (int byte = 0; byte < one.values; ++byte) map.places.push_back({lane, one.at(0, byte).column});
  return map;
}

std::vector<SwizzleBits> swizzles_that_give(const std::vector<int>& moved) {
  return try_swizzles(moved, std::make_integer_sequence<int, kBits * kBases * kShifts>{});
}

int swizzles_tried() {
  int count = 0;
  for (int bits = 1; bits <= kBits; ++bits) count += kBases * (kShifts - bits + 1);
  return count;
}

}  // namespace ringcraft::layouts::cutes
