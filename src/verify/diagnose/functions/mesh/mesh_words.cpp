// The words themselves.
#include "verify/diagnose/functions/mesh/mesh_words.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

Index ranks_on(const Mesh& mesh, std::size_t i) { return mesh.axes[i].size; }

// The product of the sizes of the axes from `first` up to, not including, `end`.
Index sizes_product(const Mesh& mesh, std::size_t first, std::size_t end) {
  Index product = 1;
  for (std::size_t i = first; i < end; ++i) product *= ranks_on(mesh, i);
  return product;
}

// The product of the sizes of the axes that come before axis i in another order.
template <class Before>
Index product_before(const Mesh& mesh, std::size_t i, Before before) {
  Index product = 1;
  for (std::size_t other = 0; other < mesh.axes.size(); ++other)
    if (before(other, i)) product *= ranks_on(mesh, other);
  return product;
}

constexpr StrideWord kStrideWords[] = {
    {nullptr, [](const Mesh& mesh, std::size_t i) { return sizes_product(mesh, 0, i); }},
    {"all axes after it together: the last axis is taken for the fastest",
     [](const Mesh& mesh, std::size_t i) { return sizes_product(mesh, i + 1, mesh.axes.size()); }},
    {"1 rank, whatever the axis", [](const Mesh&, std::size_t) { return Index{1}; }},
    {"the size of the axis before it, instead of the product of all before it",
     [](const Mesh& mesh, std::size_t i) { return i == 0 ? 1 : ranks_on(mesh, i - 1); }},
    {"the size of the axis itself", [](const Mesh& mesh, std::size_t i) { return ranks_on(mesh, i); }},
    {"all axes up to it together, itself included",
     [](const Mesh& mesh, std::size_t i) { return sizes_product(mesh, 0, i + 1); }},
    {"the size of the first axis, for all axes after it",
     [](const Mesh& mesh, std::size_t i) { return i == 0 ? 1 : ranks_on(mesh, 0); }},
    {"1 and all sizes before it added up, instead of their product",
     [](const Mesh& mesh, std::size_t i) {
       Index sum = 1;
       for (std::size_t other = 0; other < i; ++other) sum += ranks_on(mesh, other);
       return sum;
     }},
    {"all sizes before it added up, instead of their product",
     [](const Mesh& mesh, std::size_t i) {
       Index sum = i == 0 ? 1 : 0;
       for (std::size_t other = 0; other < i; ++other) sum += ranks_on(mesh, other);
       return sum;
     }},
    {"the world size divided by the size of the axis",
     [](const Mesh& mesh, std::size_t i) { return Index{mesh.world_size()} / ranks_on(mesh, i); }},
    {"a power of the size of the axis, instead of the product of those before it",
     [](const Mesh& mesh, std::size_t i) {
       Index power = 1;
       for (std::size_t times = 0; times < i; ++times) power *= ranks_on(mesh, i);
       return power;
     }},
    {"all axes before it but the first",
     [](const Mesh& mesh, std::size_t i) { return i == 0 ? 1 : sizes_product(mesh, 1, i); }},
    {"the axes that come before it in tp, cp, dp, pp, in whichever order the mesh has them",
     [](const Mesh& mesh, std::size_t i) {
       return product_before(mesh, i, [&](std::size_t other, std::size_t here) {
         return mesh.axes[other].axis < mesh.axes[here].axis;
       });
     }},
    {"the axes before it with cp in front of all: cp is taken for the fastest",
     [](const Mesh& mesh, std::size_t i) {
       const auto place = [&](std::size_t axis) {
         return mesh.axes[axis].axis == Axis::kContext ? 0 : axis + 1;
       };
       return product_before(mesh, i,
                             [&](std::size_t other, std::size_t here) { return place(other) < place(here); });
     }}};

constexpr RemainderWord kRemainderWords[] = {
    {nullptr, [](const Mesh& mesh, std::size_t i) { return ranks_on(mesh, i); }},
    {"no remainder is taken", [](const Mesh&, std::size_t) { return Index{0}; }},
    {"the remainder is that of the world size",
     [](const Mesh& mesh, std::size_t) { return Index{mesh.world_size()}; }},
    {"the remainder is that of the next axis's size",
     [](const Mesh& mesh, std::size_t i) { return ranks_on(mesh, std::min(i + 1, mesh.axes.size() - 1)); }},
    {"the remainder is that of the size of the axis before",
     [](const Mesh& mesh, std::size_t i) { return ranks_on(mesh, i == 0 ? 0 : i - 1); }},
    {"the remainder is that of the first axis's size",
     [](const Mesh& mesh, std::size_t) { return ranks_on(mesh, 0); }},
    {"the remainder is that of the last axis's size",
     [](const Mesh& mesh, std::size_t) { return ranks_on(mesh, mesh.axes.size() - 1); }},
    {"on the last axis the remainder is that of one less than its size",
     [](const Mesh& mesh, std::size_t i) {
       return i + 1 == mesh.axes.size() ? std::max<Index>(1, ranks_on(mesh, i) - 1) : ranks_on(mesh, i);
     }},
    {"the remainder is that of one rank more than the size",
     [](const Mesh& mesh, std::size_t i) { return ranks_on(mesh, i) + 1; }}};

constexpr PlaceWord kPlaceWords[] = {
    {nullptr, [](const Mesh&, std::vector<Index>&) {}},
    {"coordinates stand in reverse order, the last axis first",
     [](const Mesh&, std::vector<Index>& at) { std::ranges::reverse(at); }},
    {"coordinates count from 1",
     [](const Mesh&, std::vector<Index>& at) {
       for (Index& coordinate : at) ++coordinate;
     }},
    {"the last axis is left out", [](const Mesh&, std::vector<Index>& at) { at.pop_back(); }},
    {"the first axis is left out", [](const Mesh&, std::vector<Index>& at) { at.erase(at.begin()); }, 1},
    {"the last coordinate is 0", [](const Mesh&, std::vector<Index>& at) { at.back() = 0; }},
    {"the first coordinate is 0", [](const Mesh&, std::vector<Index>& at) { at.front() = 0; }},
    {"coordinates count from the far end", [](const Mesh& mesh, std::vector<Index>& at) {
       for (std::size_t i = 0; i < at.size(); ++i) at[i] = ranks_on(mesh, i) - 1 - at[i];
     }}};

}  // namespace

std::span<const StrideWord> stride_words() { return kStrideWords; }
std::span<const RemainderWord> remainder_words() { return kRemainderWords; }
std::span<const PlaceWord> place_words() { return kPlaceWords; }

std::string joined_words(std::initializer_list<const char*> words) {
  std::string text;
  for (const char* each : words)
    if (each != nullptr) text += (text.empty() ? "" : ", and ") + std::string(each);
  return text;
}

}  // namespace ringcraft::verify
