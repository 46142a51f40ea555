// Explains a wrong exchange: each rank's peers, the ranks that send first, the number of bytes, and ranks
// that leave too early, each as a law over all ranks of all exchanges.
#include <algorithm>
#include <optional>
#include <utility>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

using Side = ExchangeExhibit::Side;
using Message = ExchangeExhibit::Message;

// A rank of an exchange.
struct Party {
  int rank, n;
  const Side* side;
};

// ---- peers

struct PeerWord {
  const char* words;
  int (*peer)(const Party&);
};
constexpr PeerWord kPeers[] = {
    {"send_rank", [](const Party& p) { return p.side->send_rank; }},
    {"recv_rank", [](const Party& p) { return p.side->recv_rank; }},
    {"rank + 1, whatever the message says", [](const Party& p) { return (p.rank + 1) % p.n; }},
    {"rank - 1, whatever the message says", [](const Party& p) { return (p.rank + p.n - 1) % p.n; }},
    {"rank xor 1", [](const Party& p) { return p.rank ^ 1; }},
    {"rank 0", [](const Party&) { return 0; }},
    {"the last rank", [](const Party& p) { return p.n - 1; }},
    {"send_rank on even ranks and recv_rank on odd ones",
     [](const Party& p) { return p.rank % 2 == 0 ? p.side->send_rank : p.side->recv_rank; }},
    {"recv_rank on even ranks and send_rank on odd ones",
     [](const Party& p) { return p.rank % 2 == 0 ? p.side->recv_rank : p.side->send_rank; }}};

std::vector<Message> messages_of(const Party& party, bool sends) {
  std::vector<Message> all;
  for (const Message& message : party.side->messages)
    if (message.sends == sends) all.push_back(message);
  return all;
}

// Whether all first messages in one direction follow this word.
template <class Holds>
bool first_messages(const std::vector<Party>& parties, bool sends, Holds holds) {
  return std::ranges::all_of(parties, [&](const Party& p) {
    const std::vector<Message> messages = messages_of(p, sends);
    return messages.empty() || holds(p, messages.front());
  });
}

std::optional<Cause> cause_of_peers(const std::vector<Party>& parties, bool sends) {
  const PeerWord& right = kPeers[sends ? 0 : 1];
  const auto fits = [&](const PeerWord& word) {
    return first_messages(parties, sends,
                          [&](const Party& p, const Message& m) { return m.peer == word.peer(p); });
  };
  if (fits(right)) return {};
  for (const PeerWord& word : kPeers)
    if (fits(word))
      return Cause{
          sends ? "solved-exchange-to" : "solved-exchange-from",
          std::string(sends ? "a rank sends to " : "a rank receives from ") + word.words + " instead of " +
              right.words,
          "Draw the ring with its arrows, one in and one out of each rank: which field of the message names "
          "which end?"};
  return {};
}

// ---- order of sends and receives

struct FirstWord {
  const char* words;  // nullptr: right
  bool (*sends_first)(const Party&);
};
constexpr FirstWord kFirst[] = {
    {nullptr, [](const Party& p) { return p.rank % 2 == 0; }},
    {nullptr, [](const Party& p) { return p.rank % 2 == 1; }},
    {"every rank sends first, and nobody receives", [](const Party&) { return true; }},
    {"every rank receives first, and nobody sends", [](const Party&) { return false; }},
    {"only rank 0 receives first", [](const Party& p) { return p.rank != 0; }},
    {"only rank 0 sends first", [](const Party& p) { return p.rank == 0; }},
    {"only the last rank receives first", [](const Party& p) { return p.rank != p.n - 1; }},
    {"only the last rank sends first", [](const Party& p) { return p.rank == p.n - 1; }},
    {"only rank 1 receives first", [](const Party& p) { return p.rank != 1; }},
    {"only rank 1 sends first", [](const Party& p) { return p.rank == 1; }},
    {"a rank sends first if it is smaller than send_rank",
     [](const Party& p) { return p.rank < p.side->send_rank; }},
    {"a rank sends first if it is larger than send_rank",
     [](const Party& p) { return p.rank > p.side->send_rank; }},
    {"a rank sends first if it is smaller than recv_rank",
     [](const Party& p) { return p.rank < p.side->recv_rank; }},
    {"a rank sends first if it is larger than recv_rank",
     [](const Party& p) { return p.rank > p.side->recv_rank; }},
    {"a rank sends first if send_rank is smaller than recv_rank",
     [](const Party& p) { return p.side->send_rank < p.side->recv_rank; }},
    {"a rank sends first if send_rank is larger than recv_rank",
     [](const Party& p) { return p.side->send_rank > p.side->recv_rank; }},
    {"a rank sends first if send_rank is even", [](const Party& p) { return p.side->send_rank % 2 == 0; }},
    {"a rank sends first if send_rank is odd", [](const Party& p) { return p.side->send_rank % 2 == 1; }},
    {"a rank sends first if recv_rank is even", [](const Party& p) { return p.side->recv_rank % 2 == 0; }},
    {"a rank sends first if recv_rank is odd", [](const Party& p) { return p.side->recv_rank % 2 == 1; }},
    {"the first half of the ranks sends first", [](const Party& p) { return 2 * p.rank < p.n; }},
    {"the first half of the ranks, rounded down, sends first",
     [](const Party& p) { return p.rank < p.n / 2; }},
    {"the second half of the ranks sends first", [](const Party& p) { return p.rank >= p.n / 2; }},
    {"the second half of the ranks, rounded down, sends first",
     [](const Party& p) { return 2 * p.rank >= p.n; }},
    {"all ranks send first if their number is even, and all receive first if it is odd",
     [](const Party& p) { return p.n % 2 == 0; }},
    {"all ranks send first if their number is odd, and all receive first if it is even",
     [](const Party& p) { return p.n % 2 == 1; }},
    {"even ranks send first, and so does the last one",
     [](const Party& p) { return p.rank % 2 == 0 || p.rank == p.n - 1; }},
    {"even ranks send first, but for the last one",
     [](const Party& p) { return p.rank % 2 == 0 && p.rank != p.n - 1; }},
    {"even ranks send first, but for rank 0", [](const Party& p) { return p.rank % 2 == 0 && p.rank != 0; }},
    {"odd ranks send first, and so does the last one",
     [](const Party& p) { return p.rank % 2 == 1 || p.rank == p.n - 1; }},
    {"even ranks send first if the number of ranks is even, and every rank if it is odd",
     [](const Party& p) { return p.rank % 2 == 0 || p.n % 2 == 1; }},
    {"every third rank receives first", [](const Party& p) { return p.rank % 3 != 0; }},
    {"every third rank sends first", [](const Party& p) { return p.rank % 3 == 0; }},
    {"ranks send first in pairs, two of four", [](const Party& p) { return p.rank / 2 % 2 == 0; }}};

// Ranks that have something to send and to receive, and have begun.
std::vector<Party> in_order(const std::vector<Party>& parties) {
  std::vector<Party> all;
  for (const Party& p : parties)
    if (p.side->out > 0 && p.side->in > 0 && !p.side->messages.empty()) all.push_back(p);
  return all;
}

bool is_alone(const Party& p) {
  return std::ranges::all_of(p.side->messages, [](const Message& m) { return m.alone; });
}

std::optional<Cause> cause_of_order(const std::vector<Party>& all) {
  const std::vector<Party> parties = in_order(all);
  if (!std::ranges::all_of(parties, is_alone))
    return Cause{
        "solved-exchange-together",
        "a rank has its send and its receive under way at the same time: it does not wait for the first "
        "before it starts the second",
        "How many messages may a rank have under way at a time?"};
  for (const FirstWord& word : kFirst) {
    if (!std::ranges::all_of(
            parties, [&](const Party& p) { return p.side->messages.front().sends == word.sends_first(p); }))
      continue;
    if (word.words == nullptr) return {};
    return Cause{"solved-exchange-order", word.words,
                 "Which ranks talk while which listen, in the first phase: has every talker a listener?"};
  }
  return {};
}

// ---- lengths

struct LengthWord {
  const char* words;
  Index (*bytes)(const Side&);
};
constexpr LengthWord kLengths[] = {
    {"out.size()", [](const Side& s) { return s.out; }},
    {"in.size()", [](const Side& s) { return s.in; }},
    {"the smaller of out.size() and in.size()", [](const Side& s) { return std::min(s.out, s.in); }},
    {"the larger of out.size() and in.size()", [](const Side& s) { return std::max(s.out, s.in); }},
    {"out.size() + in.size()", [](const Side& s) { return s.out + s.in; }},
    {"one byte", [](const Side&) { return Index{1}; }},
    {"a header of 4 bytes", [](const Side&) { return Index{4}; }},
    {"a header of 8 bytes", [](const Side&) { return Index{8}; }},
    {"out.size() - 1", [](const Side& s) { return s.out - 1; }},
    {"out.size() + 1", [](const Side& s) { return s.out + 1; }},
    {"in.size() - 1", [](const Side& s) { return s.in - 1; }},
    {"in.size() + 1", [](const Side& s) { return s.in + 1; }}};

std::optional<Cause> cause_of_length(const std::vector<Party>& parties, bool sends) {
  const LengthWord& right = kLengths[sends ? 0 : 1];
  const auto fits = [&](const LengthWord& word) {
    return first_messages(parties, sends,
                          [&](const Party& p, const Message& m) { return m.bytes == word.bytes(*p.side); });
  };
  if (fits(right)) return {};
  for (const LengthWord& word : kLengths)
    if (fits(word))
      return Cause{sends ? "solved-exchange-out" : "solved-exchange-in",
                   std::string("a rank ") + (sends ? "sends " : "expects ") + word.words + " instead of " +
                       right.words,
                   "Which of the two spans says how long a message is, for each of its ends?"};
  return {};
}

std::optional<Cause> cause_of_number(const std::vector<Party>& parties, bool sends) {
  std::size_t most = 0;
  for (const Party& p : parties) most = std::max(most, messages_of(p, sends).size());
  if (most < 2) return {};
  return Cause{"solved-exchange-number",
               std::string("a rank ") + (sends ? "sends " : "receives ") + std::to_string(most) +
                   " messages in one exchange instead of one",
               "One send and one receive for each rank: which of yours is one too many?"};
}

// ---- ranks that leave early

struct LeavesWord {
  const char* words;
  bool (*leaves)(const Party&);
};
constexpr LeavesWord kLeaves[] = {
    {"if its out is empty", [](const Party& p) { return p.side->out == 0; }},
    {"if its in is empty", [](const Party& p) { return p.side->in == 0; }},
    {"if its out or its in is empty", [](const Party& p) { return p.side->out == 0 || p.side->in == 0; }},
    {"if out and in differ in length", [](const Party& p) { return p.side->out != p.side->in; }},
    {"whatever it is", [](const Party&) { return true; }},
    {"if there are two ranks", [](const Party& p) { return p.n == 2; }},
    {"if the number of ranks is odd and it is the last one",
     [](const Party& p) { return p.n % 2 == 1 && p.rank == p.n - 1; }},
    {"if it is rank 0", [](const Party& p) { return p.rank == 0; }},
    {"if it is the last rank", [](const Party& p) { return p.rank == p.n - 1; }},
    {"if its rank is even", [](const Party& p) { return p.rank % 2 == 0; }},
    {"if its rank is odd", [](const Party& p) { return p.rank % 2 == 1; }}};

std::optional<Cause> cause_of_leaving(const std::vector<Party>& all, bool sends) {
  std::vector<Party> parties;  // that have ended, and had this task
  for (const Party& p : all)
    if (p.side->ended && (sends ? p.side->out : p.side->in) > 0) parties.push_back(p);
  const auto left_out = [&](const Party& p) { return messages_of(p, sends).empty(); };
  if (std::ranges::none_of(parties, left_out)) return {};
  for (const LeavesWord& word : kLeaves)
    if (std::ranges::all_of(parties, [&](const Party& p) { return left_out(p) == word.leaves(p); }))
      return Cause{
          sends ? "solved-exchange-silent" : "solved-exchange-deaf",
          std::string("a rank returns without ") + (sends ? "sending" : "receiving") + " " + word.words,
          "Its neighbour does not know why a rank has nothing to do: may it skip its turn?"};
  return {};
}

// ---- contents of memory

// The cause if the received bytes are not the sender's out, but those that the sender has received, or the
// rank's own.
std::optional<Cause> cause_of_forwarding(const std::vector<Party>& parties) {
  constexpr const char* kQuestion = "Two buffers and two messages: which buffer belongs to which message?";
  std::vector<Party> wrong;
  for (const Party& p : parties)
    if (!p.side->arrived) wrong.push_back(p);
  const auto all = [&](auto holds) { return std::ranges::all_of(wrong, holds); };
  if (all([](const Party& p) { return p.side->whose == p.rank; }))
    return Cause{"solved-exchange-own", "in holds the rank's own out in the end", kQuestion};
  const bool forwarded = all([](const Party& p) {
    const int before_sender = ((2 * p.side->recv_rank - p.rank) % p.n + p.n) % p.n;
    return p.n > 2 ? p.side->whose == before_sender : p.side->whose == p.rank;
  });
  if (!forwarded) return {};
  const bool odd = all([](const Party&p) { return p.side->recv_rank % 2 == 1; }),
             even = all([](const Party&p) { return p.side->recv_rank % 2 == 0; });
  return Cause{"solved-exchange-forward",
               std::string(odd    ? "odd ranks send"
                           : even ? "even ranks send"
                                  : "a rank sends") +
                   " in, with the bytes that have just arrived, instead of out",
               kQuestion};
}

std::optional<Cause> cause_of_memory(const std::vector<Party>& all) {
  std::vector<Party> parties;
  for (const Party& p : all)
    if (p.side->ended && p.side->in > 0 && !messages_of(p, false).empty()) parties.push_back(p);
  constexpr const char* kQuestion =
      "Into which buffer does a message arrive, and from when on may it be read?";
  if (std::ranges::any_of(parties, [](const Party& p) { return p.side->changed; }))
    return Cause{"solved-exchange-over", "what arrives is received into out", kQuestion};
  if (std::ranges::all_of(parties, [](const Party& p) { return p.side->arrived; })) return {};
  if (const auto cause = cause_of_forwarding(parties)) return cause;
  if (std::ranges::all_of(
          parties, [](const Party& p) { return p.side->arrived || p.side->unwritten || p.side->blank; }))
    return Cause{"solved-exchange-memory",
                 "a message is received, but in does not hold it: it lands in a buffer of the function's "
                 "own, which is "
                 "read before the wait for the message has ended, or never",
                 kQuestion};
  return {};
}

}  // namespace

std::vector<Cause> causes_of(const ExchangeExhibit& x) {
  std::vector<Party> parties;
  std::vector<Cause> causes;
  for (const auto& round : x.rounds)
    for (std::size_t rank = 0; rank < round.size(); ++rank)
      if (round.size() > 1)
        parties.push_back({static_cast<int>(rank), static_cast<int>(round.size()), &round[rank]});
  // If all messages have one length, forwarded bytes arrive complete.
  std::vector<Party> of_one_length;
  for (const auto& round : x.rounds) {
    const bool uneven = std::ranges::any_of(round, [&](const Side& side) {
      return side.out != round.front().out || side.in != round.front().out;
    });
    for (std::size_t rank = 0; rank < round.size() && !uneven; ++rank)
      if (round.size() > 1)
        of_one_length.push_back({static_cast<int>(rank), static_cast<int>(round.size()), &round[rank]});
  }
  const auto add = [&](const std::optional<Cause>& cause) {
    if (cause) causes.push_back(*cause);
  };
  const auto peers_to = cause_of_peers(parties, true), peers_from = cause_of_peers(parties, false);
  add(peers_to), add(peers_from), add(cause_of_order(parties));
  const auto length_out = cause_of_length(parties, true), length_in = cause_of_length(parties, false);
  add(length_out), add(length_in), add(cause_of_number(parties, true)), add(cause_of_number(parties, false));
  if (!length_out && !length_in) add(cause_of_leaving(parties, true)), add(cause_of_leaving(parties, false));
  if (causes.empty()) add(cause_of_memory(of_one_length));
  const bool alone_fails = std::ranges::any_of(
      x.rounds, [](const auto& round) { return round.size() == 1 && !round.front().ended; });
  const bool alone_writes = std::ranges::any_of(x.rounds, [](const auto& round) {
    return round.size() == 1 && round.front().ended && !round.front().unwritten;
  });
  if (alone_writes)
    causes.push_back({"solved-exchange-one",
                      "with one rank in is written (out is copied into it, say), though nothing arrives",
                      "Who are the neighbours of a rank that is alone?"});
  if (alone_fails)
    causes.push_back({"solved-exchange-one",
                      "with one rank the function does not return at once: it messages itself",
                      "Who are the neighbours of a rank that is alone?"});
  return together(std::move(causes));
}

}  // namespace ringcraft::verify
