// Explains the traffic of a backward pass: tries all hops of blocks, of sums and of dq, and all ways home,
// against the bytes of every link.
#include <algorithm>
#include <optional>

#include "verify/diagnose/functions/travel.hpp"

namespace ringcraft::verify {
namespace {

// How the sums reach their owner at the end.
enum class Home : std::uint8_t { kNot, kStraight, kStepByStep, kNextRank };

struct Journey {
  int blocks, sums;  // hops
  Home home;
  int queries = 0;  // hops of tensors as large as q
};

// Bytes of each link.
std::vector<Index> bytes_of(const TravelExhibit& x, const Journey& j) {
  const int n = x.world_size, d = x.direction;
  std::vector<Index> bytes(x.sent.size(), 0);
  const auto add = [&](int from, int to, const std::vector<Index>& of, int owner) {
    bytes[static_cast<std::size_t>(from * n + on_the_ring(to, n))] +=
        of[static_cast<std::size_t>(on_the_ring(owner, n))];
  };
  // With the own block first the block at hop t is that of rank - t; the other schedule ends with the own
  // block.
  const bool own_first = d > 0;
  const auto owner_at = [&](int rank, int t) { return own_first ? rank - t : rank - x.hops + t; };
  for (int rank = 0; rank < n; ++rank) {
    for (int t = 0; t < j.blocks; ++t) add(rank, rank + d, x.block, owner_at(rank, t));
    for (int t = 0; t < j.sums; ++t) add(rank, rank + d, x.block, owner_at(rank, t));
    for (int t = 0; t < j.queries; ++t) add(rank, rank + d, x.query, rank);
    const int held = own_first ? rank - j.sums : rank;
    if (j.home == Home::kStraight && held % n != rank) add(rank, held, x.block, held);
    if (j.home == Home::kNextRank) add(rank, rank + d, x.block, held);
    if (j.home == Home::kStepByStep)
      for (int t = j.sums; t < n; ++t) add(rank, rank + d, x.block, rank - t);
  }
  return bytes;
}

std::string hops_words(int hops) { return std::to_string(hops) + (hops == 1 ? " hop" : " hops"); }

std::string words_of(const TravelExhibit& x, const Journey& j) {
  std::string words;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : "; ") + more; };
  const auto round = [&](int hops) {
    return hops == x.world_size - 1 && hops > x.hops ? ": all the way round"
           : hops == x.world_size                    ? ": the last one brings them back to where they began"
                                                     : "";
  };
  if (j.blocks != x.hops && j.blocks == j.sums)
    add("blocks and the sums of their gradients make " + hops_words(j.blocks) + " where " +
        std::to_string(x.hops) + " are needed" + round(j.blocks));
  else if (j.blocks != x.hops)
    add("blocks make " + hops_words(j.blocks) + " where " + std::to_string(x.hops) + " are needed" +
        round(j.blocks));
  if (j.sums != x.hops && j.sums != j.blocks)
    add("the sums of gradients make " + hops_words(j.sums) + " where " + std::to_string(x.hops) +
        " are needed" + round(j.sums));
  if (j.queries > 0)
    add("something as large as q, dq or out travels " + hops_words(j.queries) +
        ", though it is needed on its own rank alone");
  if (j.home == Home::kStepByStep)
    add("the sums walk home from rank to rank instead of in one message to their owner");
  if (j.home == Home::kNextRank && x.hops != x.world_size - 1)
    add("the last message goes to the next rank, not to the owner");
  if (j.home == Home::kNot && x.direction > 0 && j.sums > 0) add("no message brings the sums to their owner");
  if (j.home != Home::kNot && x.direction < 0)
    add("the sums are sent home once more, though in this schedule they end there");
  return words;
}

}  // namespace

std::optional<Cause> cause_of_luggage(const TravelExhibit& x) {
  if (x.block.empty() || x.query.empty()) return {};
  const int n = x.world_size;
  std::vector<std::pair<int, Journey>> all;  // by number of mistakes
  for (int blocks = 0; blocks <= n; ++blocks)
    for (int sums = 0; sums <= n; ++sums)
      for (const Home home : {Home::kStraight, Home::kStepByStep, Home::kNextRank, Home::kNot})
        for (const int queries : {0, x.hops, n - 1, n, 1}) {
          const bool right_home =
              x.direction > 0 && x.hops > 0 ? home == Home::kStraight : home == Home::kNot;
          const int hops = blocks == sums ? blocks != x.hops : (blocks != x.hops) + (sums != x.hops);
          const int wrong = hops + !right_home + (queries > 0);
          if (wrong > 0) all.push_back({wrong, {blocks, sums, home, queries}});
        }
  std::ranges::stable_sort(all, {}, &std::pair<int, Journey>::first);
  for (const auto& [wrong, journey] : all)
    if (bytes_of(x, journey) == x.sent) {
      const std::string words = words_of(x, journey);
      if (words.empty()) continue;
      return Cause{"travel-luggage", words,
                   "Which tensors does another rank need, and after how many hops does no rank need them?"};
    }
  return {};
}

}  // namespace ringcraft::verify
