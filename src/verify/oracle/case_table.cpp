// Builds the table of cases (see cases.hpp): every world size with every layout and every kind of mask, five
// variants each, with lengths, heads and data drawn from a fixed seed; then a list of corner cases that must
// not depend on a draw.
#include <array>

#include "ringcraft/core/random.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

constexpr int kWorldSizes[] = {1, 2, 3, 4, 5, 7, 8};

struct Heads {
  Index heads, kv_heads;
};
constexpr std::array<Heads, 6> kHeads{{{8, 2}, {6, 3}, {4, 1}, {1, 1}, {2, 2}, {3, 1}}};
constexpr std::array<Index, 6> kHeadDims{1, 4, 5, 8, 16, 64};
constexpr std::array<Position, 8> kLengths{7, 13, 23, 31, 50, 64, 80, 97};

// Borders of packed sequences of uneven lengths, one of them 1, cut off at seqlen; by design none falls on a
// rank's border.
std::vector<Position> packed(Position seqlen) {
  const std::vector<Position> lengths =
      seqlen < 30 ? std::vector<Position>{2, 1, 5, 3} : std::vector<Position>{5, 1, 19, 11, 13};
  std::vector<Position> borders{0};
  for (std::size_t i = 0; borders.back() < seqlen; ++i)
    borders.push_back(std::min(seqlen, borders.back() + lengths[i % lengths.size()]));
  return borders;
}

enum class MaskKind {
  kFull,
  kCausal,
  kWindow0,
  kWindow1,
  kWindowOdd,    // not a multiple of the shard
  kWindowShard,  // exactly one shard
  kWindowAll,    // beyond the sequence
  kTwoSided,
  kFuture,  // a query sees itself and later keys
  kPackedFull,
  kPackedCausal,
  kPackedWindow,
  kCount
};

Mask make_mask(MaskKind kind, Position seqlen, int world_size) {
  const Position shard = (seqlen + world_size - 1) / world_size;
  switch (kind) {
    case MaskKind::kFull:
      return full_mask();
    case MaskKind::kCausal:
      return causal_mask();
    case MaskKind::kWindow0:
      return window_mask(0);
    case MaskKind::kWindow1:
      return window_mask(1);
    case MaskKind::kWindowOdd:
      return window_mask(shard + shard / 2 + (shard % 4 < 2 ? 1 : 0));
    case MaskKind::kWindowShard:
      return window_mask(shard);
    case MaskKind::kWindowAll:
      return window_mask(seqlen + 3);
    case MaskKind::kTwoSided:
      return {.left = shard / 2 + 1, .right = 2};
    case MaskKind::kFuture:
      return {.left = 0};
    case MaskKind::kPackedFull:
      return {.cu_seqlens = packed(seqlen)};
    case MaskKind::kPackedCausal:
      return {.right = 0, .cu_seqlens = packed(seqlen)};
    case MaskKind::kPackedWindow:
      return {.left = 4, .right = 0, .cu_seqlens = packed(seqlen)};
    case MaskKind::kCount:
      break;
  }
  return {};
}

template <class List>
auto pick(Random& random, const List& list) {
  return list[static_cast<std::size_t>(random.integer(0, static_cast<Index>(std::size(list)) - 1))];
}

// Half of the cases have ordinary scores: precision faults show there, but not where a score carries its own
// rounding.
Data pick_data(Random& random) { return random.integer(0, 1) == 0 ? Data::kNormal : pick(random, kAllData); }

// Variant 0: about as many tokens as ranks, some ranks with none. 1: shards and chunks of equal length.
// Others: ragged.
Position pick_length(Random& random, int variant, int world_size) {
  if (variant == 0) return random.integer(1, 2 * world_size + 1);
  if (variant == 1) return 2 * world_size * random.integer(1, 5);
  return pick(random, kLengths);
}

void add_grid(std::vector<Case>& cases) {
  Random random(20240229);
  for (const int n : kWorldSizes)
    for (const Layout layout : kLayouts)
      for (int kind = 0; kind < static_cast<int>(MaskKind::kCount); ++kind)
        for (int variant = 0; variant < 5; ++variant) {
          const Position seqlen = pick_length(random, variant, n);
          const auto [heads, kv_heads] = pick(random, kHeads);
          const Shape shape{random.integer(1, 4) == 1 ? 2 : 1, heads, kv_heads, seqlen,
                            pick(random, kHeadDims)};
          const Mask mask = make_mask(static_cast<MaskKind>(kind), seqlen, n);
          cases.push_back(
              make_case(make_problem(shape, mask, layout, n), pick_data(random), 1000 + cases.size()));
        }
}

// Packed sequences that are dealt each by itself.
void add_sequences(std::vector<Case>& cases) {
  Random random(20261125);
  for (const int n : kWorldSizes)
    for (const Layout layout : kLayouts)
      for (const MaskKind kind : {MaskKind::kPackedFull, MaskKind::kPackedCausal, MaskKind::kPackedWindow})
        for (int variant = 0; variant < 2; ++variant) {
          const Position seqlen = pick_length(random, 2 * variant, n);
          const auto [heads, kv_heads] = pick(random, kHeads);
          Problem problem = make_problem({1, heads, kv_heads, seqlen, pick(random, kHeadDims)},
                                         make_mask(kind, seqlen, n), layout, n);
          problem.per_sequence = true;
          validate(problem);
          cases.push_back(make_case(std::move(problem), pick_data(random), 1000 + cases.size()));
        }
}

// Adds cases that must not depend on a draw: each kind of data on each layout, the packed lengths that
// textbooks forget, softmax scales other than 1 / sqrt(head_dim).
void add_corners(std::vector<Case>& cases) {
  const auto add = [&](Shape shape, Mask mask, Layout layout, int n, Data data,
                       std::optional<double> scale = {}) {
    cases.push_back(
        make_case(make_problem(shape, std::move(mask), layout, n, scale), data, 1000 + cases.size()));
  };
  for (const Layout layout : kLayouts) {
    for (const Data data : kAllData) add({1, 8, 2, 53, 16}, causal_mask(), layout, 3, data);
    for (const Data data : kAllData) add({1, 6, 3, 44, 8}, full_mask(), layout, 4, data);
    add({2, 8, 2, 48, 8}, {.right = 0, .cu_seqlens = {0, 5, 24, 35, 48}}, layout, 4, Data::kNormal);
    add({1, 4, 1, 49, 4}, {.cu_seqlens = {0, 5, 24, 25, 36, 49}}, layout, 5, Data::kNormal);
    add({1, 4, 1, 49, 4}, {.left = 7, .right = 0, .cu_seqlens = {0, 5, 24, 25, 36, 49}}, layout, 8,
        Data::kHot);
    add({1, 2, 1, 40, 4}, causal_mask(), layout, 4, Data::kNormal, 0.0);
    add({1, 2, 1, 40, 4}, causal_mask(), layout, 4, Data::kNormal, -0.7);
    add({1, 2, 1, 40, 4}, causal_mask(), layout, 4, Data::kHot, 1.0);
  }
}

// Whether entry i belongs to the brief table: one in ten, chosen by a hash, so that no axis of the grid
// correlates with it.
bool in_brief(std::size_t i) {
  std::uint64_t x = i * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9u;
  return (x >> 33) % 10 == 0;
}

template <class T>
std::vector<T> chosen(std::vector<T> all, CaseSet set) {
  if (set == CaseSet::kFull) return all;
  std::vector<T> brief;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (in_brief(i)) brief.push_back(std::move(all[i]));
  return brief;
}

}  // namespace

std::vector<Case> case_table(CaseSet set) {
  std::vector<Case> cases;
  add_grid(cases);
  add_sequences(cases);
  add_corners(cases);
  return chosen(std::move(cases), set);
}

namespace {

// "8 of 23 queries from 3 on": code that computes one block on one device knows no ranks.
std::string named(const std::vector<Position>& positions, Position seqlen, const char* what) {
  std::string text = std::to_string(positions.size()) + " of " + std::to_string(seqlen) + " " + what;
  if (!positions.empty()) text += " from " + std::to_string(positions.front()) + " on";
  return text;
}

std::string name_of(const BlockProblem& p, Position seqlen, Data data) {
  return named(p.queries, seqlen, "queries") + ", " + named(p.keys, seqlen, "keys") + ", " +
         described(p.mask) + (p.batch > 1 ? ", batch " + std::to_string(p.batch) : "") + ", heads " +
         std::to_string(p.heads) + "/" + std::to_string(p.kv_heads) + ", head_dim " +
         std::to_string(p.head_dim) + ", " + std::string(name_of(data));
}

}  // namespace

std::vector<BlockCase> block_case_table(CaseSet set) {
  std::vector<BlockCase> cases;
  Random random(20240301);
  for (const Layout layout : kLayouts)
    for (const MaskKind kind : {MaskKind::kFull, MaskKind::kCausal, MaskKind::kWindow1, MaskKind::kWindowOdd,
                                MaskKind::kTwoSided, MaskKind::kPackedCausal, MaskKind::kPackedWindow})
      for (const Data data : {Data::kNormal, Data::kHot, Data::kNegative, Data::kHuge}) {
        const int n = static_cast<int>(random.integer(2, 4));
        const Position seqlen = pick(random, kLengths);
        const auto [heads, kv_heads] = pick(random, kHeads);
        const Shape shape{random.integer(1, 4) == 1 ? 2 : 1, heads, kv_heads, seqlen,
                          pick(random, kHeadDims)};
        const Case whole_case =
            make_case(make_problem(shape, make_mask(kind, seqlen, n), layout, n), data, 0);
        const Problem& p = whole_case.problem;
        for (int rank = 0; rank < n; ++rank)
          for (int source = 0; source < n; ++source) {
            BlockProblem block{shape.batch,
                               shape.heads,
                               shape.kv_heads,
                               shape.head_dim,
                               p.mask,
                               p.sharding().positions(rank),
                               p.sharding().positions(source),
                               p.softmax_scale};
            std::string name = name_of(block, seqlen, data);
            cases.push_back(
                {std::move(name), std::move(block), key_ranges(p, rank, source), data, 5000 + cases.size()});
          }
      }
  return chosen(std::move(cases), set);
}

}  // namespace ringcraft::verify
