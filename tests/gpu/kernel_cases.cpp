// Makes the cases of several tiles. The axes have coprime lengths and are walked in step, so
// that each value meets many values of every other axis.
#include "kernel_cases.hpp"

#include <array>
#include <iterator>

namespace ringcraft::kernels {
namespace {

struct Heads {
  Index batch, heads, kv_heads;
};
constexpr std::array<Heads, 3> kHeads{{{1, 8, 2}, {1, 6, 3}, {2, 4, 1}}};
constexpr std::array<Index, 11> kHeadDims{64, 128, 1, 63, 65, 100, 32, 127, 66, 96, 5};
constexpr std::array<Index, 7> kShardRows{65, 64, 63, 129, 100, 128, 40};

// Borders inside tiles and on them; seqlen is at least 120.
std::vector<Position> packed(Position seqlen) { return {0, 1, 64, 65, 2 * seqlen / 3, seqlen}; }

std::vector<Mask> masks(Position seqlen) {
  return {full_mask(),
          causal_mask(),
          window_mask(0),
          window_mask(63),
          window_mask(64),
          window_mask(150),
          {.left = 20, .right = 70},
          {.cu_seqlens = packed(seqlen)},
          {.right = 0, .cu_seqlens = packed(seqlen)},
          {.left = 33, .right = 0, .cu_seqlens = packed(seqlen)}};
}

template <class List>
auto turn(const List& list, std::size_t i) {
  return std::data(list)[i % std::size(list)];
}

}  // namespace

std::vector<verify::Case> kernel_cases(verify::CaseSet set) {
  std::vector<verify::Case> cases;
  std::size_t i = 0;
  for (const Layout layout : kLayouts)
    for (std::size_t mask = 0; mask < masks(0).size(); ++mask, ++i) {
      if (set == verify::CaseSet::kBrief && i % 13 != 0) continue;
      const int ranks = 3 + static_cast<int>(i / 3 % 3);
      const Position seqlen = ranks * turn(kShardRows, i + i / 7) + static_cast<Position>(i / 6 % 2);
      const auto [batch, heads, kv_heads] = turn(kHeads, i);
      const Shape shape{batch, heads, kv_heads, seqlen, turn(kHeadDims, i)};
      cases.push_back(verify::make_case(make_problem(shape, masks(seqlen)[mask], layout, ranks),
                                        turn(verify::kAllData, i + i / 10), 7000 + i));
    }
  return cases;
}

std::vector<verify::Case> ring_cases(verify::CaseSet set) {
  std::vector<verify::Case> cases = verify::case_table(set);
  std::size_t i = 0;
  if (set == verify::CaseSet::kBrief) std::erase_if(cases, [&](const verify::Case&) { return i++ % 7 != 0; });
  return cases;
}

std::vector<verify::Case> window_cases(verify::Data data, Index heads) {
  constexpr Position kTokens = 330;
  std::vector<verify::Case> cases;
  for (const Position keys : {126, 127, 128, 129, 130})
    for (const Mask& mask : {window_mask(keys), Mask{.right = keys}, Mask{.left = keys, .right = keys}})
      cases.push_back(
          verify::make_case(make_problem({1, heads, heads, kTokens, 8}, mask, Layout::kContiguous, 1), data,
                            9000 + cases.size()));
  return cases;
}

std::vector<verify::Case> tile_cases() {
  constexpr Position kTokens = 201;
  std::vector<verify::Case> cases;
  for (const Index head_dim : {64, 33, 128})
    for (const Mask& mask : {causal_mask(), window_mask(70), Mask{.right = 0, .cu_seqlens = packed(kTokens)}})
      cases.push_back(
          verify::make_case(make_problem({1, 4, 2, kTokens, head_dim}, mask, Layout::kContiguous, 1),
                            verify::Data::kNormal, 8000 + cases.size()));
  return cases;
}

}  // namespace ringcraft::kernels
