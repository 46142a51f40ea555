#pragma once
/// @file
/// Recipe: a random attention problem as a few small numbers, so that it can be drawn, made simpler step by
/// step while it still fails, shown, and given to the command line. RapidCheck's properties and the run over
/// random problems draw from here.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ringcraft/core/random.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::testing {

/// Which masks are drawn.
enum class Masks : std::uint8_t {
  kAny,          ///< two-sided ones and those that look ahead, too
  kCommandLine,  ///< those that `attend` has flags for
};

struct Recipe {
  int ranks = 1;
  Layout layout = Layout::kContiguous;
  Position left = kNoLimit, right = kNoLimit;  ///< as in Mask
  std::vector<Position> borders;               ///< of packed sequences, without 0 and seqlen
  bool per_sequence = false;                   ///< where there are borders: each sequence is dealt by itself
  Index batch = 1, kv_heads = 1, group = 1, head_dim = 1;
  Position seqlen = 1;
  std::optional<double> softmax_scale;
  verify::Data data = verify::Data::kNormal;
  std::uint64_t seed = 1;  ///< of the numbers, and of the delivery of messages

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

inline Problem problem_of(const Recipe& r) {
  Mask mask{.left = r.left, .right = r.right, .cu_seqlens = {}};
  if (!r.borders.empty()) {
    mask.cu_seqlens = {0};
    mask.cu_seqlens.insert(mask.cu_seqlens.end(), r.borders.begin(), r.borders.end());
    mask.cu_seqlens.push_back(r.seqlen);
  }
  Problem problem = make_problem({r.batch, r.kv_heads * r.group, r.kv_heads, r.seqlen, r.head_dim}, mask,
                                 r.layout, r.ranks, r.softmax_scale);
  problem.per_sequence = r.per_sequence && !r.borders.empty();
  return problem;
}

inline verify::Case case_of(const Recipe& r) { return verify::make_case(problem_of(r), r.data, r.seed); }

/// 1 to 8 ranks, every layout, lengths up to 40 (ragged, and shorter than the ranks are many), grouped heads,
/// every kind of data.
inline Recipe random_recipe(Random& random, Masks masks) {
  Recipe r;
  r.ranks = static_cast<int>(random.integer(1, 8));
  r.layout = kLayouts[random.integer(0, 3)];
  r.seqlen = random.integer(1, random.integer(0, 3) == 0 ? 9 : 40);
  switch (random.integer(0, masks == Masks::kAny ? 4 : 2)) {
    case 0:
      break;
    case 1:
      r.right = 0;
      break;
    case 2:
      r.left = random.integer(0, r.seqlen);
      r.right = 0;
      break;
    case 3:
      r.left = random.integer(0, 6);
      r.right = random.integer(0, 6);
      break;
    default:
      r.left = random.integer(0, 4);
      break;
  }
  if (random.integer(0, 2) == 0)
    for (Position p = random.integer(1, r.seqlen); p < r.seqlen; p += random.integer(1, 1 + r.seqlen / 2))
      r.borders.push_back(p);
  r.batch = random.integer(0, 3) == 0 ? 2 : 1;
  r.kv_heads = random.integer(1, 3);
  r.group = random.integer(1, 3);
  r.head_dim = random.integer(1, 9);
  if (random.integer(0, 5) == 0) r.softmax_scale = 0.7;
  r.data = verify::kAllData[random.integer(0, static_cast<Index>(std::size(verify::kAllData)) - 1)];
  r.seed = static_cast<std::uint64_t>(random.integer(1, 1'000'000));
  r.per_sequence = !r.borders.empty() && random.integer(0, 1) == 0;
  return r;
}

/// Recipes that are simpler by one step, the boldest first. Every step leads towards one rank, one token and
/// full attention, so a walk of steps ends.
inline std::vector<Recipe> simpler(const Recipe& r) {
  std::vector<Recipe> all;
  const auto offer = [&](auto change) {
    Recipe next = r;
    change(next);
    std::erase_if(next.borders, [&](Position p) { return p >= next.seqlen; });
    if (next != r) all.push_back(std::move(next));
  };
  for (const int ranks : {1, 2, 3, r.ranks - 1})
    if (ranks >= 1 && ranks < r.ranks) offer([&](Recipe& n) { n.ranks = ranks; });
  for (const Position seqlen : {Position{1}, r.seqlen / 2, r.seqlen - 1})
    if (seqlen >= 1 && seqlen < r.seqlen) offer([&](Recipe& n) { n.seqlen = seqlen; });
  offer([](Recipe& n) { n.layout = Layout::kContiguous; });
  offer([](Recipe& n) { n.left = n.right = kNoLimit; });
  if (r.left != kNoLimit) offer([](Recipe& n) { n.left = kNoLimit; });
  offer([](Recipe& n) { n.per_sequence = false; });
  offer([](Recipe& n) { n.borders.clear(); });
  if (r.borders.size() > 1)
    for (std::size_t i = 0; i < r.borders.size(); ++i)
      offer([&](Recipe& n) { n.borders.erase(n.borders.begin() + static_cast<std::ptrdiff_t>(i)); });
  offer([](Recipe& n) { n.batch = 1; });
  offer([](Recipe& n) { n.kv_heads = 1; });
  offer([](Recipe& n) { n.group = 1; });
  offer([](Recipe& n) { n.head_dim = 1; });
  if (r.head_dim > 1) offer([](Recipe& n) { --n.head_dim; });
  offer([](Recipe& n) { n.softmax_scale.reset(); });
  offer([](Recipe& n) { n.data = verify::Data::kNormal; });
  return all;
}

/// The flags of `attend` and `verify` for this problem. The mask must be one of theirs.
inline std::string flags_of(const Recipe& r) {
  std::string flags = "--ranks " + std::to_string(r.ranks) + " --layout " + std::string(name_of(r.layout));
  if (r.left != kNoLimit) {
    flags += " --window " + std::to_string(r.left);
  } else if (r.right == 0) {
    flags += " --causal";
  }
  if (!r.borders.empty()) {
    flags += " --cu-seqlens 0";
    for (const Position border : r.borders) flags += "," + std::to_string(border);
    flags += "," + std::to_string(r.seqlen);
    if (r.per_sequence) flags += " --per-sequence";
  }
  if (r.softmax_scale) {
    char number[40];
    std::snprintf(number, sizeof number, "%.17g", *r.softmax_scale);
    flags += std::string(" --softmax-scale ") + number;
  }
  return flags;
}

/// For RapidCheck and INFO.
inline void showValue(const Recipe& r, std::ostream& stream) {
  stream << case_of(r).name << ", seed " << r.seed;
}

}  // namespace ringcraft::testing
