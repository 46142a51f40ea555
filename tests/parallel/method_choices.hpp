#pragma once
/// @file
/// Every method with every choice of its options that a problem admits.

#include <string>
#include <vector>

#include "ringcraft/parallel/method.hpp"

namespace ringcraft::testing {

/// A method and its options.
struct Choice {
  const Method* method;
  MethodOptions options;

  /// For INFO: "hybrid, ulysses 2".
  std::string name() const {
    std::string name(method->name);
    if (options.schedule == Schedule::kForward) name += ", forward";
    if (options.ulysses > 0) name += ", ulysses " + std::to_string(options.ulysses);
    if (options.gather_heads > 0) name += ", heads " + std::to_string(options.gather_heads);
    if (options.node > 0) name += ", node " + std::to_string(options.node);
    return name;
  }
};

/// Whether query heads and KV heads can be dealt to so many ranks; told independently of the library.
inline bool can_deal(const Shape& shape, int ranks) {
  return shape.heads % ranks == 0 && (shape.kv_heads % ranks == 0 || ranks % shape.kv_heads == 0);
}

/// Those that the methods admit by their contracts.
inline std::vector<Choice> choices(const Problem& problem) {
  std::vector<Choice> all;
  const int n = problem.world_size;
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
    all.push_back({&kRing, {.schedule = schedule}});
    if (can_deal(problem.shape, n)) all.push_back({&kUlysses, {.schedule = schedule}});
    for (int ranks = 1; ranks <= n; ++ranks)
      if (n % ranks == 0 && can_deal(problem.shape, ranks))
        all.push_back({&kHybrid, {.schedule = schedule, .ulysses = ranks}});
  }
  for (int heads = 0; heads <= problem.shape.kv_heads; ++heads)
    if (heads == 0 || problem.shape.kv_heads % heads == 0)
      all.push_back({&kAllGather, {.gather_heads = heads}});
  for (int node = 1; node <= n; ++node)
    if (n % node == 0) all.push_back({&kDoubleRing, {.node = node}});
  return all;
}

}  // namespace ringcraft::testing
