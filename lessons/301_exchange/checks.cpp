// Lesson 301: checks of an exchange of blocking messages. The messages are random bytes; the judge measures
// bytes on each link, deadlocks and phases.
#include <algorithm>
#include <functional>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

enum Direction : int { kToNext = 1, kToPrevious = -1 };

// One rank's side of an exchange, with its memory.
struct Side {
  int send_rank, recv_rank;
  Bytes out, in;

  RingMessage message() { return {send_rank, out, recv_rank, in}; }
};

constexpr std::byte kUntouched{0xEE};

Bytes some_bytes(Random& random, std::size_t length) {
  Bytes bytes(length);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.integer(0, 229));  // never kUntouched
  return bytes;
}

// A ring whose rank r sends length(r) bytes.
using Ring = std::vector<Side>;
Ring make_ring(const Trial& trial, int n, Direction direction,
               const std::function<std::size_t(int)>& length) {
  Random random(trial.seed());
  Ring ring;
  for (int rank = 0; rank < n; ++rank) {
    const int to = (rank + direction + n) % n, from = (rank - direction + n) % n;
    ring.push_back({to, from, some_bytes(random, length(rank)), Bytes(length(from), kUntouched)});
  }
  return ring;
}

std::size_t nine(int) { return 9; }

std::string described(const Ring& ring, Direction direction) {
  return std::to_string(ring.size()) + (ring.size() == 1 ? " rank" : " ranks") +
         (direction == kToNext ? ", to the next one: " : ", to the previous one: ");
}

// Effects of a call, apart from the bytes in ring[..].in.
struct Run {
  CallRecord record;
  std::vector<std::uint32_t> changed;  // per rank
};

// The student's exchange, once on every rank; an error carries the label in front.
Run run(Trial& trial, const std::string& label, Ring& ring, DeliveryOptions delivery = {}) {
  std::vector<Bytes> requests;
  for (Side& side : ring) requests.push_back(ExchangeOddEven::request(side.message()));
  Run run;
  with_label(label, [&] {
    run.record = trial.call_ranks<ExchangeOddEven>(requests, delivery);
    for (std::size_t rank = 0; rank < ring.size(); ++rank)
      run.changed.push_back(Trial::read(
          [&] { return ExchangeOddEven::answer(run.record.replies[rank], ring[rank].message()).changed; }));
  });
  return run;
}

std::string place(int rank) { return "rank " + std::to_string(rank); }

// Throws Wrong for the bytes that this rank holds instead of its message.
Wrong instead(const Ring& ring, int rank, const Bytes& want) {
  const Side& side = ring[static_cast<std::size_t>(rank)];
  const Bytes& in = side.in;
  for (std::size_t other = 0; other < ring.size(); ++other)
    if (!in.empty() && in == ring[other].out)
      return {sign::kValues,
              "other-message",
              "rank {} holds the message of rank {}, and must hold the message of rank {}",
              rank,
              other,
              side.recv_rank};
  const auto differs = std::ranges::mismatch(in, want).in1;
  const auto at = static_cast<std::size_t>(differs - in.begin());
  return {sign::kValues,
          "wrong-byte",
          "rank {} has a wrong byte {} of {}{}, and must hold the message of rank {}",
          rank,
          at,
          in.size(),
          *differs == kUntouched ? " (it was never written)" : "",
          side.recv_rank,
          *differs == kUntouched};
}

void require_received(const std::string& label, const Ring& ring) {
  for (int rank = 0; rank < static_cast<int>(ring.size()); ++rank) {
    const Side& side = ring[static_cast<std::size_t>(rank)];
    const Bytes& want = ring[static_cast<std::size_t>(side.recv_rank)].out;
    if (side.in != want) throw instead(ring, rank, want).labelled(label);
  }
}

void require_exchange(Trial& trial, int n, Direction direction, const std::function<std::size_t(int)>& length,
                      DeliveryOptions delivery = {}, const std::string& remark = "") {
  Ring ring = make_ring(trial, n, direction, length);
  const std::string label = described(ring, direction) + remark;
  run(trial, label, ring, delivery);
  require_received(label, ring);
}

// ---- the checks

const Check kNoDeadlock{
    .claim = "The exchange ends on 2 to 5 ranks, with messages of one byte.",
    .id = "no-deadlock",
    .weight = 0,
    .hint = "Follow the sentence around the ring: which of these ranks should have received first?",
    .run{[](Trial& trial) {
      for (const int n : {2, 3, 4, 5}) {
        Ring ring = make_ring(trial, n, kToNext, [](int) { return std::size_t{1}; });
        run(trial, described(ring, kToNext), ring);
      }
    }},
};

const Check kReceived{
    .claim = "On 2 to 7 ranks every rank gets the message of its neighbour.",
    .id = "received",
    .weight = 7,
    .needs = {"no-deadlock"},
    .hint = "The received message belongs into in, and comes from recv_rank.",
    .run{[](Trial& trial) {
      for (int n = 2; n <= 7; ++n) require_exchange(trial, n, kToNext, nine);
    }},
};

const Check kOtherDirection{
    .claim = "The same holds in the other direction around the ring.",
    .id = "other-direction",
    .weight = 1,
    .needs = {"no-deadlock"},
    .hint = "The message names the neighbours: take send_rank and recv_rank, do not compute them.",
    .run{[](Trial& trial) {
      for (int n = 2; n <= 7; ++n) require_exchange(trial, n, kToPrevious, nine);
    }},
};

const Check kOneRank{
    .claim = "One rank sends nothing and receives nothing.",
    .id = "one-rank",
    .weight = 1,
    .needs = {"received"},
    .hint = "With one rank both neighbours are the rank itself, and a rank does not message itself.",
    .run{[](Trial& trial) {
      Ring ring = make_ring(trial, 1, kToNext, nine);
      run(trial, "1 rank: ", ring);
      if (ring[0].in != Bytes(9, kUntouched))
        throw Wrong(sign::kValues, "written-alone",
                    "1 rank: in was written, and with one rank nothing arrives");
    }},
};

const Check kUnevenLengths{
    .claim = "Ranks may send different numbers of bytes, up to hundreds of thousands.",
    .id = "uneven-lengths",
    .weight = 1,
    .needs = {"received"},
    .hint = "The sent message has the length of out, the received one that of in; they need not be equal.",
    .run{[](Trial& trial) {
      const auto length = [](int rank) { return static_cast<std::size_t>(1 + rank * 5 % 7); };
      for (const int n : {2, 3, 4, 5})
        for (const Direction direction : {kToNext, kToPrevious})
          require_exchange(trial, n, direction, length);
      require_exchange(trial, 3, kToNext, [](int rank) { return rank == 1 ? std::size_t{300'000} : 8; });
    }},
};

const Check kEmptyMessages{
    .claim = "Some of the messages, or all of them, may be empty.",
    .id = "empty-messages",
    .weight = 1,
    .needs = {"received"},
    .hint =
        "An empty message needs no case of its own; the order must not depend on what only this rank knows.",
    .run{[](Trial& trial) {
      for (const int n : {2, 3, 4, 5, 6}) {
        require_exchange(trial, n, kToNext, [](int) { return std::size_t{0}; });
        for (const int empty : {0, 1, n - 1})
          require_exchange(trial, n, kToNext, [=](int rank) { return rank == empty ? std::size_t{0} : 5; });
      }
    }},
};

const Check kAnyDelivery{
    .claim = "The result is right at every timing of messages.",
    .id = "any-delivery",
    .weight = 2,
    .hint = "A blocking message is complete when send or recv returns, and not before.",
    .run{[](Trial& trial) {
      for (const Sending sending : {Sending::kAtStart, Sending::kAtWait})
        for (const std::uint64_t seed : {1, 2, 3})
          for (const int n : {3, 4})
            require_exchange(
                trial, n, kToNext, nine, {.seed = seed, .sending = sending},
                sending == Sending::kAtWait ? "bytes leave at wait: " : "bytes leave at start: ");
    }},
};

const Check kExactBytes{
    .claim = "Every link carries exactly one message and nothing else.",
    .id = "exact-bytes",
    .weight = 1,
    .needs = {"received"},
    .hint = "One send and one receive for each rank: which of yours is one too many?",
    .run{[](Trial& trial) {
      for (int n = 2; n <= 7; ++n) {
        Ring ring = make_ring(trial, n, kToNext, [](int rank) { return static_cast<std::size_t>(3 + rank); });
        const std::string label = described(ring, kToNext);
        const CallRecord record = run(trial, label, ring).record;
        for (int from = 0; from < n; ++from)
          for (int to = 0; to < n; ++to) {
            const Index want = to == (from + 1) % n ? 3 + from : 0;
            if (record.moved(from, to) != want)
              throw Wrong(sign::kCounts, "bytes", "{}{} sends {} bytes to {}, and its message there has {}",
                          label, place(from), record.moved(from, to), place(to), want);
          }
      }
    }},
};

const Check kOnlyInIsWritten{
    .claim = "The message that is sent is only read.",
    .id = "only-in-is-written",
    .weight = 1,
    .needs = {"received"},
    .hint = "The caller still computes with out: receive into in.",
    .run{[](Trial& trial) {
      for (const int n : {2, 3}) {
        Ring ring = make_ring(trial, n, kToNext, nine);
        const std::string label = described(ring, kToNext);
        const Run done = run(trial, label, ring);
        for (int rank = 0; rank < n; ++rank)
          if (done.changed[static_cast<std::size_t>(rank)] != 0)
            throw Wrong(sign::kInput, "argument-changed",
                        "{}{} changed the message that it sends, which it may only read", label, place(rank));
      }
    }},
};

// After n exchanges every message has visited every rank, and is back at its owner.
const Check kAllTheWayRound{
    .claim = "As many exchanges as ranks, one after another, bring every message home.",
    .id = "all-the-way-round",
    .weight = 0,
    .hint = "Calls are independent: does yours keep state from the call before?",
    .run{[](Trial& trial) {
      for (const int n : {3, 4}) {
        Ring ring = make_ring(trial, n, kToNext, nine);
        const Ring first = ring;
        for (int turn = 0; turn < n; ++turn) {
          run(trial, described(ring, kToNext), ring);
          for (Side& side : ring) side.out = side.in;
        }
        for (int rank = 0; rank < n; ++rank)
          if (ring[static_cast<std::size_t>(rank)].out != first[static_cast<std::size_t>(rank)].out)
            throw Wrong(sign::kValues, "not-back",
                        "{}after {} exchanges in a row {} does not have its own message back",
                        described(ring, kToNext), n, place(rank));
      }
    }},
};

// Every message takes one second, however long it is, and computing is free: the latest clock counts the
// messages that had to wait for each other.
int phases_of(Trial& trial, int n) {
  Ring ring = make_ring(trial, n, kToNext, nine);
  const CallRecord record = run(trial, described(ring, kToNext), ring, {.link = {.alpha = 1}}).record;
  return static_cast<int>(std::ranges::max(record.clocks));
}

const Check kPhases{
    .claim = "2 phases for an even number of ranks, 3 for an odd one.",
    .id = "phases",
    .weight = 2,
    .needs = {"received"},
    .hint =
        "If only one rank begins with a receive, the messages start one after another, like dominoes: how "
        "many ranks can begin with a receive?",
    .run{[](Trial& trial) {
      for (int n = 2; n <= 7; ++n) {
        const int got = phases_of(trial, n), want = n % 2 == 0 ? 2 : 3;
        trial.note({"phases, " + std::to_string(n) + " ranks", static_cast<double>(got),
                    static_cast<double>(want), ""});
        if (got > want)
          throw Wrong(sign::kCounts, "phases", "{} ranks take {} phases, and {} are enough", n, got, want);
      }
    }},
};

const Check kOneAtATime{
    .claim = "No rank has more than one message in flight.",
    .id = "one-at-a-time",
    .weight = 1,
    .needs = {"received"},
    .hint = "Only send and recv here; the form that starts both at once is exchange_send_recv.",
    .run{[](Trial& trial) {
      for (int n = 2; n <= 7; ++n) {
        Ring ring = make_ring(trial, n, kToNext, nine);
        const std::string label = described(ring, kToNext);
        const std::vector<int> under_way = run(trial, label, ring).record.under_way;
        for (int rank = 0; rank < n; ++rank)
          if (const int most = under_way[static_cast<std::size_t>(rank)]; most > 1)
            throw Wrong(
                sign::kCounts, "at-once",
                "{}{} has {} messages under way at once: it must wait for one before it starts another",
                label, place(rank), most);
      }
    }},
};

// ---- for a diagnosis

verify::ExchangeExhibit::Side side_of(const Side& side, const RankLog& log) {
  verify::ExchangeExhibit::Side seen{side.send_rank, side.recv_rank, static_cast<Index>(side.out.size()),
                                     static_cast<Index>(side.in.size())};
  for (const Started& message : log.started)
    seen.messages.push_back({message.op == Op::kSend, message.peer, message.bytes, message.alone});
  seen.ended = log.answered;
  return seen;
}

// One exchange, and each rank's messages in it; nothing once the function is no longer called.
void ask_exchange(Trial& trial, verify::ExchangeExhibit& exchanges, int n, Direction direction,
                  const std::function<std::size_t(int)>& length) {
  Ring ring = make_ring(trial, n, direction, length);
  std::vector<Bytes> requests;
  for (Side& side : ring) requests.push_back(ExchangeOddEven::request(side.message()));
  const CallRecord record = trial.ask_ranks<ExchangeOddEven>(requests);
  if (record.logs.empty()) return;
  auto& round = exchanges.rounds.emplace_back();
  for (std::size_t rank = 0; rank < ring.size(); ++rank) {
    Side& side = ring[rank];
    auto& seen = round.emplace_back(side_of(side, record.logs[rank]));
    if (record.replies.empty()) continue;
    seen.changed = Trial::read([&] {
                     return ExchangeOddEven::answer(record.replies[rank], side.message());
                   }).changed != 0;
    seen.unwritten = std::ranges::all_of(side.in, [](std::byte b) { return b == kUntouched; });
    seen.blank =
        side.in.size() > 4 && std::ranges::adjacent_find(side.in, std::not_equal_to()) == side.in.end();
    seen.arrived = side.in == ring[static_cast<std::size_t>(side.recv_rank)].out;
    for (int other = 0; other < n && seen.whose < 0; ++other)
      if (side.in == ring[static_cast<std::size_t>(other)].out) seen.whose = other;
  }
}

verify::Exhibit interview(Trial& trial) {
  verify::ExchangeExhibit exchanges;
  for (const int n : {1, 2, 3, 4, 5})
    for (const Direction direction : {kToNext, kToPrevious})
      ask_exchange(trial, exchanges, n, direction, nine);
  for (const Direction direction : {kToNext, kToPrevious})
    ask_exchange(trial, exchanges, 4, direction,
                 [](int rank) { return static_cast<std::size_t>(1 + rank * 5 % 7); });
  for (const int empty : {0, 1, 3})
    ask_exchange(trial, exchanges, 4, kToNext, [=](int rank) { return rank == empty ? std::size_t{0} : 5; });
  return exhibit_of(std::move(exchanges));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kNoDeadlock,      kReceived,       kOtherDirection, kOneRank,
                            kUnevenLengths,   kEmptyMessages,  kAnyDelivery,    kExactBytes,
                            kOnlyInIsWritten, kAllTheWayRound, kPhases,         kOneAtATime};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
