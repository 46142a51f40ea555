// Cursors that live for more than one pair of shards: they never move back, and so they may stand in a later
// sequence than the query. Then the order of the questions counts, and where each of them ends.
#include <algorithm>
#include <functional>
#include <map>

#include "verify/diagnose/functions/reach/reach_words.hpp"

namespace ringcraft::verify {
namespace {

// The pairs that share a cursor: those with the same number.
struct CursorLife {
  const char* words;
  int (*number)(int query_rank, int block);
};
constexpr CursorLife kCursorLives[] = {
    {"one MaskCursor is used for all pairs of ranks", [](int, int) { return 0; }},
    {"one MaskCursor is used for a block and all ranks", [](int, int block) { return block; }},
    {"one MaskCursor is used for the queries of a rank and all blocks", [](int rank, int) { return rank; }}};

bool has_one(const KeyInterval& interval, const std::vector<Position>& keys) {
  return std::ranges::any_of(keys, [&](Position key) { return interval.lo <= key && key < interval.hi; });
}

// Whether these queries see one of the keys, as the cursor answers; where a question ends makes no difference
// to right answers.
using CursorWalk = bool (*)(MaskCursor&, const std::vector<Position>& queries,
                            const std::vector<Position>& keys);
constexpr CursorWalk kCursorWalks[] = {
    // up to the first query that sees a key, or for which all keys lie too far back
    [](MaskCursor& cursor, const std::vector<Position>& queries, const std::vector<Position>& keys) {
      for (const Position asked : queries) {
        const KeyInterval answer = cursor.at(asked);
        if (has_one(answer, keys)) return true;
        if (keys.empty() || keys.back() < answer.lo) break;
      }
      return false;
    },
    // up to the first query that sees a key
    [](MaskCursor& cursor, const std::vector<Position>& queries, const std::vector<Position>& keys) {
      return std::ranges::any_of(queries, [&](Position asked) { return has_one(cursor.at(asked), keys); });
    },
    // all queries
    [](MaskCursor& cursor, const std::vector<Position>& queries, const std::vector<Position>& keys) {
      return std::ranges::count_if(queries, [&](Position asked) { return has_one(cursor.at(asked), keys); }) >
             0;
    }};

// The reaches, from questions in some order; none of the orders is wrong.
using Asks = std::function<bool(int query_rank, int block)>;
using AskOrder = std::vector<int> (*)(int n, const Asks&);

// Asks about one rank and one block, and keeps the farthest rank that sees it.
void ask_pair(std::vector<int>& reach, int rank, int s, const Asks& asks) {
  const int n = static_cast<int>(reach.size());
  if (rank != s && asks(rank, s)) reach[s] = std::max(reach[s], (rank - s + n) % n);
}

constexpr AskOrder kAskOrders[] = {
    // block by block from the farthest rank on, up to the first that sees a key
    [](int n, const Asks& asks) {
      std::vector<int> reach(n, 0);
      for (int s = 0; s < n; ++s)
        for (int t = n - 1; t > 0 && reach[s] == 0; --t)
          if (asks((s + t) % n, s)) reach[s] = t;
      return reach;
    },
    // block by block, all distances
    [](int n, const Asks& asks) {
      std::vector<int> reach(n, 0);
      for (int s = 0; s < n; ++s)
        for (int t = 1; t < n; ++t)
          if (asks((s + t) % n, s)) reach[s] = t;
      return reach;
    },
    // block by block, rank by rank
    [](int n, const Asks& asks) {
      std::vector<int> reach(n, 0);
      for (int s = 0; s < n; ++s)
        for (int rank = 0; rank < n; ++rank) ask_pair(reach, rank, s, asks);
      return reach;
    },
    // rank by rank, block by block
    [](int n, const Asks& asks) {
      std::vector<int> reach(n, 0);
      for (int rank = 0; rank < n; ++rank)
        for (int s = 0; s < n; ++s) ask_pair(reach, rank, s, asks);
      return reach;
    }};

bool gives(const ReachView& view, const CursorLife& life, CursorWalk walk, AskOrder order) {
  const Problem& problem = view.problem();
  std::vector<std::vector<Position>> positions;
  for (int rank = 0; rank < view.ranks(); ++rank) positions.push_back(problem.sharding().positions(rank));
  std::map<int, MaskCursor> cursors;
  const auto asks = [&](int rank, int block) {
    MaskCursor& cursor =
        cursors.try_emplace(life.number(rank, block), problem.mask, problem.shape.seqlen).first->second;
    return walk(cursor, positions[rank], positions[block]);
  };
  return order(view.ranks(), asks) == view.got();
}

}  // namespace

const char* reused_cursor_of(const std::vector<ReachView>& views) {
  for (const CursorLife& life : kCursorLives)
    for (const CursorWalk walk : kCursorWalks)
      for (const AskOrder order : kAskOrders)
        if (std::ranges::all_of(views, [&](const ReachView& view) { return gives(view, life, walk, order); }))
          return life.words;
  return nullptr;
}

}  // namespace ringcraft::verify
