// Lesson 502: which heads go where, which row becomes which, the cost beside a ring, and two refusals.
#include <cstdio>

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"
#include "ringcraft/parallel/method.hpp"

using namespace ringcraft;

Problem make(Index heads, Index kv_heads, int ranks, Position rows, Layout layout = Layout::kContiguous) {
  return make_problem({1, heads, kv_heads, ranks * rows, 16}, full_mask(), layout, ranks);
}

void print_heads(Index kv_heads, int ranks) {
  std::printf("8 query heads, %d KV heads, %d ranks: first and last of each\n", int(kv_heads), ranks);
  for (int member = 0; member < ranks; ++member) {
    const auto [q, kv] = dealt_heads(make(8, kv_heads, ranks, 1).shape, ranks, member);
    std::printf("%d %d %d %d\n", int(q.first), int(q.first + q.count - 1), int(kv.first),
                int(kv.first + kv.count - 1));
  }
  std::printf("\n");
}
// Elements and messages that a rank sends, and elements that it holds at the most.
void print_cost(Index kv_heads, int ranks) {
  std::printf("%d %d", int(kv_heads), ranks);
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    for (const Method* method : {&kRing, &kUlysses}) {
      const Theory theory = method->theory(make(8, kv_heads, ranks, 64), {}, pass, {1, 1});
      std::printf(" %d %d %d", int(theory.bytes_sent[0]), int(theory.messages_sent[0]),
                  int(theory.peak_bytes[0]));
    }
  std::printf("\n");
}

int main() {
  for (const auto& [kv_heads, ranks] : {std::pair{8, 4}, {4, 4}, {2, 4}, {2, 8}})
    print_heads(kv_heads, ranks);
  std::printf("layout, rank: its tokens of 16, and the rows that they become\n");
  for (const Layout layout : kLayouts)
    for (int rank = 0; rank < 4; ++rank) {
      const Sharding sharding = make(8, 8, 4, 4, layout).sharding();
      std::printf("%s %d", name_of(layout).data(), rank);
      for (const Position p : sharding.positions(rank)) std::printf(" %d", int(p));
      for (const Index row : joined_rows(sharding, 2, rank)) std::printf(" %d", int(row));
      std::printf("\n");
    }
  std::printf("\nKV heads, ranks; sent, messages, peak: forward ring, Ulysses; backward ring, Ulysses\n");
  for (const auto& [kv_heads, ranks] : {std::pair{8, 2}, {8, 4}, {8, 8}, {4, 4}, {2, 4}, {1, 4}})
    print_cost(kv_heads, ranks);
  for (const auto& [heads, kv_heads, ranks] : {std::tuple{8, 8, 3}, {12, 6, 4}}) try {
      refuse(kUlysses, make(heads, kv_heads, ranks, 4), {});
    } catch (const Error& error) {
      std::printf("\n%s\n", error.what());
    }
}
