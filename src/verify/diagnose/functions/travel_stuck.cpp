// Explains ranks that deadlock, or whose messages do not match, by the messages that each of them has
// started.
#include <algorithm>
#include <map>
#include <optional>

#include "verify/diagnose/functions/travel.hpp"

namespace ringcraft::verify {
namespace {

// A message with only one end posted.
struct Pending {
  int rank;
  TravelExhibit::Message message;
};

// Two ends with different lengths.
struct Torn {
  int from, to;
  Index sent, expected;
};

struct Ends {
  std::vector<Pending> pending;
  std::vector<Torn> torn;
};

// Matches the messages in the order of each link.
Ends ends_of(const TravelExhibit& x) {
  std::map<std::pair<int, int>, std::pair<std::vector<Index>, std::vector<Index>>> links;  // sent, expected
  for (int rank = 0; rank < x.world_size; ++rank)
    for (const TravelExhibit::Message& m : x.parties[static_cast<std::size_t>(rank)].started) {
      auto& link = links[m.sends ? std::pair{rank, m.peer} : std::pair{m.peer, rank}];
      (m.sends ? link.first : link.second).push_back(m.bytes);
    }
  Ends ends;
  for (const auto& [link, both] : links) {
    const auto& [sent, expected] = both;
    const std::size_t met = std::min(sent.size(), expected.size());
    for (std::size_t i = 0; i < met; ++i)
      if (sent[i] != expected[i]) ends.torn.push_back({link.first, link.second, sent[i], expected[i]});
    for (std::size_t i = met; i < sent.size(); ++i)
      ends.pending.push_back({link.first, {true, link.second, sent[i]}});
    for (std::size_t i = met; i < expected.size(); ++i)
      ends.pending.push_back({link.second, {false, link.first, expected[i]}});
  }
  return ends;
}

std::optional<Cause> cause_of_refusal(Refusal refused) {
  constexpr const char* kBuffers =
      "How many blocks are on their way between start and wait, and in how many buffers?";
  switch (refused) {
    case Refusal::kNoSuchRank:
      return Cause{
          "travel-modulo",
          "a neighbour is not taken modulo the number of ranks: a rank addresses one that does not exist",
          "Who is the next rank of the last one, and the previous one of rank 0?"};
    case Refusal::kItself:
      return Cause{"travel-itself", "a rank sends a message to itself",
                   "Who are the neighbours of a rank that is alone, and who owns the block in hand?"};
    case Refusal::kStillSending:
      return Cause{
          "travel-one-buffer",
          "one buffer is sent from and received into at the same time: what arrives has no place of its own",
          kBuffers};
    case Refusal::kAlreadyReceiving:
      return Cause{"travel-received-twice", "two messages are received into one buffer at the same time",
                   kBuffers};
    case Refusal::kNone:
      break;
  }
  return {};
}

// The distance to the peer, if all messages of one kind share it; empty otherwise.
std::optional<int> distance(const TravelExhibit& x, bool sends) {
  std::optional<int> found;
  for (int rank = 0; rank < x.world_size; ++rank)
    for (const TravelExhibit::Message& m : x.parties[static_cast<std::size_t>(rank)].started) {
      if (m.sends != sends) continue;
      const int apart = (m.peer - rank + x.world_size) % x.world_size;
      if (found && *found != apart) return {};
      found = apart;
    }
  return found;
}

std::string neighbour(int apart, int n) {
  return apart == 1 ? "rank + 1" : apart == n - 1 ? "rank - 1" : "rank + " + std::to_string(apart);
}

std::optional<Cause> cause_of_directions(const TravelExhibit& x) {
  const auto to = distance(x, true), from = distance(x, false);
  if (!to || !from || x.world_size < 3 || (*to + *from) % x.world_size == 0) return {};
  return Cause{"travel-directions",
               "every rank sends to " + neighbour(*to, x.world_size) + " and receives from " +
                   neighbour(*from, x.world_size) + (*to == *from ? ", the same one" : "") +
                   ": nobody receives what is sent",
               "Draw the ring with its arrows, one in and one out of each rank: who sends to you?"};
}

std::optional<Cause> cause_of_order(const std::vector<Pending>& pending) {
  if (pending.empty()) return {};
  const auto all = [&](bool sends) {
    return std::ranges::all_of(pending, [=](const Pending& p) { return p.message.sends == sends; });
  };
  std::vector<int> ranks;
  for (const Pending& p : pending)
    if (std::ranges::find(ranks, p.rank) == ranks.end()) ranks.push_back(p.rank);
  if (ranks.size() < 2) return {};
  if (all(true))
    return Cause{"travel-all-send",
                 "every rank waits until its message is taken before it receives one: all send, and nobody "
                 "receives",
                 "Who is listening while everyone talks?"};
  if (all(false))
    return Cause{"travel-all-receive",
                 "every rank waits for a message before it sends its own: all receive, and nobody sends",
                 "Who talks first, if everyone listens first?"};
  return {};
}

// ---- lengths

std::optional<Cause> cause_of_lengths(const TravelExhibit& x, const std::vector<Torn>& torn) {
  constexpr const char* kQuestion =
      "Whose rows, and whose heads, does the block have that arrives: how long is it?";
  if (torn.empty()) return {};
  const auto all = [&](auto holds) { return std::ranges::all_of(torn, holds); };
  const Torn& first = torn.front();
  const auto ratio = static_cast<double>(first.expected) / static_cast<double>(first.sent);
  const bool constant =
      all([&](const Torn& t) { return t.expected * first.sent == t.sent * first.expected; });
  const auto bytes = [](const Torn& t) {
    return "rank " + std::to_string(t.from) + " sends " + std::to_string(t.sent) + " bytes, and rank " +
           std::to_string(t.to) + " expects " + std::to_string(t.expected);
  };
  if (x.block.empty())
    return Cause{"travel-lengths", "both ends of a message differ: " + bytes(first), kQuestion};
  if (x.hops == 0 && all([&](const Torn& t) { return t.sent == x.block[static_cast<std::size_t>(t.from)]; }))
    return Cause{"travel-columns",
                 "a rank sends all of its columns instead of a state of two numbers for each row (" +
                     bytes(first) + ")",
                 "What does another rank need to know of your scores, apart from two numbers for each row?"};
  const auto half = [&](int rank) { return x.block[static_cast<std::size_t>(rank)] / 2; };
  const auto is_block = [&](Index length) {
    for (int rank = 0; rank < x.world_size; ++rank)
      if (half(rank) == length) return true;
    return false;
  };
  const bool same_shards = std::ranges::adjacent_find(x.block, std::not_equal_to<>()) == x.block.end();
  if (!same_shards && all([&](const Torn& t) { return t.expected == half(t.to); }))
    return Cause{"travel-own-length",
                 "a rank expects as many rows as it has itself, not as many as the block has that arrives (" +
                     bytes(first) + ")",
                 kQuestion};
  if (!same_shards && all([&](const Torn& t) { return t.sent == half(t.from) && is_block(t.expected); }))
    return Cause{
        "travel-other-length",
        "a rank expects the number of rows of another block than the one that arrives (" + bytes(first) + ")",
        kQuestion};
  if (constant && is_block(first.sent) && ratio == 2)
    return Cause{"travel-double",
                 "a receive buffer is twice as long as what arrives (" + bytes(first) +
                     "): it has the heads of q, or k and v together",
                 kQuestion};
  if (constant && is_block(first.sent))
    return Cause{"travel-factor-in",
                 "receive buffers are " + std::string(ratio > 1 ? "longer" : "shorter") +
                     " than what arrives, always by the same factor (" + bytes(first) +
                     "): they have the heads of q, or another number of columns",
                 kQuestion};
  return Cause{"travel-lengths", "both ends of a message differ: " + bytes(first), kQuestion};
}

// ---- ranks that leave early

std::optional<Cause> cause_of_leaving(const TravelExhibit& x) {
  constexpr const char* kQuestion =
      "Your neighbour does not know why you have nothing to do: may you skip your turn?";
  std::vector<int> early;
  for (int rank = 0; rank < x.world_size; ++rank)
    if (x.parties[static_cast<std::size_t>(rank)].ended) early.push_back(rank);
  if (early.empty()) return {};
  const auto party = [&](int rank) { return x.parties[static_cast<std::size_t>(rank)]; };
  const auto all = [&](auto holds) { return std::ranges::all_of(early, holds); };
  const bool empty = !x.block.empty() && all([&](int rank) {
    return x.block[static_cast<std::size_t>(rank)] == 0 && party(rank).started.empty();
  });
  if (empty)
    return Cause{"travel-leaves-empty",
                 "a rank that owns nothing returns at once, and its neighbours wait for it", kQuestion};
  if (std::ranges::count(x.block, 0) > 0) return {};  // empty messages are dropped: their number says nothing
  // With nothing hidden the same ring finished.
  const bool blind = all([&](int rank) {
    const auto begin = x.sees.begin() + static_cast<std::ptrdiff_t>(rank) * x.world_size;
    return !x.sees.empty() && std::count(begin, begin + x.world_size, false) > 0;
  });
  if (blind)
    return Cause{"travel-skips",
                 "a rank takes no part in exchanges where it sees nothing of the block in hand, and its "
                 "neighbours wait for it",
                 kQuestion};
  const int rank = early.front();
  return Cause{"travel-leaves",
               "rank " + std::to_string(rank) + " returns after " +
                   std::to_string(party(rank).started.size()) +
                   " messages, while others still wait for theirs",
               kQuestion};
}

}  // namespace

std::optional<Cause> cause_of_stuck(const TravelExhibit& x) {
  if (const auto cause = cause_of_refusal(x.refused)) return cause;
  if (x.parties.empty()) return {};
  const Ends ends = ends_of(x);
  if (const auto cause = cause_of_directions(x)) return cause;
  if (const auto cause = cause_of_lengths(x, ends.torn)) return cause;
  if (const auto cause = cause_of_leaving(x)) return cause;
  return cause_of_order(ends.pending);
}

}  // namespace ringcraft::verify
