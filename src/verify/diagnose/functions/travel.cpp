// Explains wrong traffic in a ring, and wrong blocks that ranks return, by laws over all ranks: who sends,
// how far, how often, and how many bytes.
#include "verify/diagnose/functions/travel.hpp"

#include <algorithm>
#include <optional>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kHandOn = "Which block does a rank send at step t, and to whom?";

// The bytes that each rank sends to the rank `ahead` places on.
std::vector<Index> sent_ahead(const TravelExhibit& x, const std::vector<Index>& bytes, int ahead) {
  std::vector<Index> all;
  for (int rank = 0; rank < x.world_size; ++rank)
    all.push_back(
        bytes[static_cast<std::size_t>(rank * x.world_size + on_the_ring(rank + ahead, x.world_size))]);
  return all;
}

// The distances over which any bytes are sent.
std::vector<int> distances(const TravelExhibit& x, const std::vector<Index>& bytes) {
  std::vector<int> all;
  for (int ahead = 1; ahead < x.world_size; ++ahead)
    if (std::ranges::any_of(sent_ahead(x, bytes, ahead), [](Index sent) { return sent > 0; }))
      all.push_back(ahead);
  return all;
}

// Whether every rank sends its own block directly to the ranks that need it, over several distances.
bool is_sent_by_owners(const TravelExhibit& x, const std::vector<int>& apart) {
  return apart.size() > 1 &&
         std::ranges::all_of(apart, [&](int ahead) { return sent_ahead(x, x.sent, ahead) == x.block; });
}

// Bytes of each rank if it forwards so many blocks to the next rank (or the previous one), its own first.
std::vector<Index> handed_on(const TravelExhibit& x, int exchanges, int direction) {
  std::vector<Index> all;
  for (int rank = 0; rank < x.world_size; ++rank) {
    Index sum = 0;
    for (int t = 0; t < exchanges; ++t)
      sum += x.block[static_cast<std::size_t>(on_the_ring(rank - direction * t, x.world_size))];
    all.push_back(sum);
  }
  return all;
}

// Twice the common factor of all entries of `theory`, so that halves are whole numbers.
std::optional<Index> twice_the_factor(const TravelExhibit& x) {
  for (const Index factor : {1, 3, 4, 6, 8})
    if (std::ranges::equal(x.sent, x.theory,
                           [=](Index sent, Index want) { return 2 * sent == factor * want; }))
      return factor;
  return {};
}

std::optional<Cause> cause_of_factor(const TravelExhibit& x) {
  if (const auto factor = twice_the_factor(x))
    return Cause{"travel-factor",
                 *factor == 1 ? "only half of what must travel does: one tensor of two, or one half of each"
                              : "everything travels " +
                                    std::string(*factor == 3   ? "one and a half times"
                                                : *factor == 4 ? "twice"
                                                               : std::to_string(*factor / 2) + " times"),
                 "Which tensors does an exchange carry, and how often is each of them sent?"};
  return {};
}

// Explains traffic of blocks alone: which ranks send them, and how many.
std::optional<Cause> cause_of_blocks(const TravelExhibit& x) {
  if (x.block.empty()) return {};
  const std::vector<int> apart = distances(x, x.sent);
  if (is_sent_by_owners(x, apart))
    return Cause{"travel-owner",
                 "each rank sends its own block straight to the ranks that want it, over " +
                     std::to_string(apart.size()) +
                     " distances, instead of handing the block in hand to the next one",
                 kHandOn};
  if (apart.size() != 1) return {};
  const int direction = apart.front() == 1 ? 1 : -1;
  if (apart.front() != on_the_ring(direction, x.world_size)) return {};
  for (int exchanges = x.hops + 1; exchanges <= 2 * x.world_size; ++exchanges)
    if (sent_ahead(x, x.sent, apart.front()) == handed_on(x, exchanges, direction))
      return Cause{"travel-count",
                   "the ring makes " + std::to_string(exchanges) +
                       (exchanges == 1 ? " exchange" : " exchanges") + " where " + std::to_string(x.hops) +
                       " are needed" +
                       (exchanges == x.world_size       ? ": the last one brings the own block back"
                        : exchanges == x.world_size - 1 ? ": it goes all the way round"
                                                        : ""),
                   "After how many hops has every rank had all blocks that it needs?"};
  return {};
}

// Recognises blocks that are padded, or sent together with other data.
std::optional<Cause> cause_of_lengths(const TravelExhibit& x) {
  constexpr const char* kQuestion = "How many bytes has the block in hand, and what else goes with it?";
  if (x.block.empty() || x.hops == 0) return {};
  const std::vector<int> apart = distances(x, x.sent);
  if (apart.size() != 1 || apart != distances(x, x.theory)) return {};
  const std::vector<Index> sent = sent_ahead(x, x.sent, apart.front()),
                           theory = sent_ahead(x, x.theory, apart.front());
  const Index largest = *std::ranges::max_element(x.block), more = sent.front() - theory.front();
  if (std::ranges::all_of(sent, [&](Index bytes) { return bytes == x.hops * largest; }))
    return Cause{"travel-largest",
                 "every block is sent with as many rows as the largest one has, however many it has itself",
                 kQuestion};
  const auto differs = [&](Index bytes, Index right) { return bytes - right == more; };
  if (more > 0 && more % x.hops == 0 && std::ranges::equal(sent, theory, differs))
    return Cause{"travel-extra",
                 std::to_string(more / x.hops) +
                     " bytes more than the block travel with each exchange, whatever its length",
                 kQuestion};
  return {};
}

std::optional<Cause> cause_of_bytes(const TravelExhibit& x) {
  if (std::ranges::all_of(x.sent, [](Index sent) { return sent == 0; }))
    return Cause{"travel-nothing", "no rank sends anything", kHandOn};
  if (const auto cause = cause_of_blocks(x)) return cause;
  if (const auto cause = cause_of_lengths(x)) return cause;
  return cause_of_factor(x);
}

// Explains a backward pass of which only the bytes are known.
std::optional<Cause> cause_of_backward_bytes(const TravelExhibit& x) {
  if (std::ranges::all_of(x.sent, [](Index sent) { return sent == 0; }))
    return Cause{"travel-nothing", "no rank sends anything", kHandOn};
  if (const auto cause = cause_of_luggage(x)) return cause;
  return cause_of_factor(x);
}

// Explains the variants of the same call.
std::optional<Cause> cause_of_turn(const TravelExhibit& x) {
  using Turn = TravelExhibit::Turn;
  switch (x.turn) {
    case Turn::kNone:
      break;
    case Turn::kLate:
      return Cause{"travel-overwritten",
                   "a buffer is written while it is still being sent: right if bytes leave at once, wrong if "
                   "they leave while the rank waits",
                   "Between start and wait the network owns the buffer: who writes into it?"};
    case Turn::kShuffled:
      return Cause{
          "travel-order",
          "something is used before its own wait has ended: right if messages arrive in their order, "
          "wrong if they do not",
          "Which wait tells you that this very buffer is complete?"};
    case Turn::kAgain:
      return Cause{
          "travel-remembers",
          "a second call with the same arguments gives other numbers: something of the call before is "
          "kept",
          "Which of your variables or buffers outlives the call?"};
  }
  return {};
}

std::optional<Cause> cause_of_handed(const TravelExhibit& x) {
  constexpr const char* kQuestion =
      "After the last exchange, in which buffer does the block lie that a rank has in hand?";
  const auto all = [&](auto holds) {
    for (int rank = 0; rank < x.world_size; ++rank)
      if (!holds(rank, x.handed[static_cast<std::size_t>(rank)])) return false;
    return true;
  };
  if (all([](int, int whose) { return whose == -1; }))
    return Cause{"travel-handed-none", "no block is handed out in the end", kQuestion};
  if (2 * x.hops != x.world_size &&
      all([&](int rank, int whose) { return whose == on_the_ring(rank + x.hops, x.world_size); }))
    return Cause{"travel-reversed",
                 "blocks walk the other way, to the previous rank: in the end each rank has that of rank + " +
                     std::to_string(x.hops) + " in hand",
                 "Whose block does a rank hold at step t: that of rank - t or of rank + t?"};
  for (int steps = 0; steps < x.world_size; ++steps) {
    if (steps == x.hops ||
        !all([&](int rank, int whose) { return whose == on_the_ring(rank - steps, x.world_size); }))
      continue;
    return Cause{"travel-handed",
                 steps == 0 ? "each rank hands out its own block instead of the one that it held last"
                 : steps == x.hops - 1 ? "each rank hands out the block before the last one"
                                       : "each rank hands out the block of step " + std::to_string(steps) +
                                             " instead of step " + std::to_string(x.hops),
                 kQuestion};
  }
  if (all([](int, int whose) { return whose < 0; }))
    return Cause{"travel-handed-other", "what is handed out in the end is no rank's block", kQuestion};
  return {};
}

}  // namespace

std::vector<Cause> causes_of(const TravelExhibit& x) {
  std::vector<Cause> causes;
  if (const auto cause = cause_of_turn(x)) causes.push_back(*cause);
  if (const auto cause = cause_of_stuck(x)) causes.push_back(*cause);
  if (!x.sent.empty() && x.sent != x.theory)
    if (const auto cause = x.direction != 0 ? cause_of_backward_bytes(x) : cause_of_bytes(x))
      causes.push_back(*cause);
  if (!x.handed.empty())
    if (const auto cause = cause_of_handed(x)) causes.push_back(*cause);
  return causes;
}

}  // namespace ringcraft::verify
