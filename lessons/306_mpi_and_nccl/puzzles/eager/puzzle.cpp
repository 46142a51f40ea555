// Predict 306: for which messages a ring that sends first ends, on a transport that copies small ones aside.
// Thread ranks under a transport with that limit give every answer; the seed chooses the sizes.
#include <algorithm>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

// A transport, and a ring on it.
struct EagerSizes {
  int ranks;
  Index limit, header;       // bytes; a message counts with its header
  Index kv_heads, head_dim;  // of K, in float32
  std::vector<Index> bytes;  // of messages to ask about
};

EagerSizes eager_sizes(std::uint64_t seed) {
  Random random(seed);
  EagerSizes s{static_cast<int>(random.integer(3, 6)), Index{1024} << random.integer(1, 3),
               Index{8} * random.integer(2, 6),        random.integer(1, 3),
               Index{16} << random.integer(0, 1),      {}};
  const Index most = s.limit - s.header;
  s.bytes = {most - random.integer(1, 9), most, most + 1, s.limit, s.limit + random.integer(1, 99)};
  return s;
}

// Whether the ring ends if so many of its ranks receive first and all others send first.
bool ends(const EagerSizes& s, Index bytes, int receive_first) try {
  run_ranks(s.ranks, [&](ThreadCommunicator& comm) {
    std::vector<std::byte> out(static_cast<std::size_t>(bytes)), in(out.size());
    const int next = (comm.rank() + 1) % s.ranks, previous = (comm.rank() + s.ranks - 1) % s.ranks;
    if (comm.rank() < receive_first) recv(comm, previous, in);
    Pending sent = comm.start({send_to(next, out)});
    if (bytes + s.header > s.limit) sent.wait();
    if (comm.rank() >= receive_first) recv(comm, previous, in);
  });
  return true;
} catch (const Error&) {
  return false;
}

// The largest number up to `most` for which the ring ends with so many bytes each: the larger ones do not.
Index largest(const EagerSizes& s, Index bytes_each) {
  Index good = 0, bad = s.limit / bytes_each + 2;
  while (bad - good > 1) {
    const Index middle = (good + bad) / 2;
    (ends(s, middle * bytes_each, 0) ? good : bad) = middle;
  }
  return good;
}

int fewest_that_receive_first(const EagerSizes& s) {
  int count = 0;
  while (!ends(s, s.limit + 1, count)) ++count;
  return count;
}

void ask_about_sizes(Sheet& sheet, const EagerSizes& s) {
  sheet.say("Every rank sends first and receives afterwards. 1 if the ring ends, 0 if it hangs.");
  for (const Index bytes : s.bytes)
    sheet.ask("sizes", "messages of " + std::to_string(bytes) + " bytes:",
              std::vector{static_cast<int>(ends(s, bytes, 0))});
  sheet.gap();
  sheet.say("The longest message with which it ends.");
  sheet.ask("limit", "bytes:", std::vector{largest(s, 1)});
}

void ask_about_tokens(Sheet& sheet, const EagerSizes& s) {
  sheet.say("K and V are two messages, each of " + std::to_string(s.kv_heads) + " KV heads x rows x " +
            std::to_string(s.head_dim) + " numbers in float32.");
  sheet.say("The most tokens that a rank's shard may have so that it ends.");
  sheet.ask("tokens", "tokens:", std::vector{largest(s, 4 * s.kv_heads * s.head_dim)});
}

void ask_about_cures(Sheet& sheet, const EagerSizes& s) {
  sheet.say("Sends that wait for their receive at every size (MPI_Ssend). How many of the sizes above end?");
  EagerSizes strict = s;
  strict.limit = 0;
  sheet.ask("strict",
            "sizes that end:", std::vector{static_cast<int>(std::ranges::count_if(s.bytes, [&](Index bytes) {
              return ends(strict, bytes, 0);
            }))});
  sheet.gap();
  sheet.say("At the fewest, how many ranks must receive first so that it ends at every size?");
  sheet.ask("cure", "ranks:", std::vector{fewest_that_receive_first(s)});
}

std::vector<PuzzleRow> eager_rows() {
  return {{"sizes",
           3,
           {},
           "Which messages pass.",
           "What does the transport compare with its limit: your bytes alone?",
           {}},
          {"limit",
           2,
           {},
           "The longest message that passes.",
           "The last size that is copied aside: is the limit itself still one?",
           {}},
          {"tokens",
           2,
           {},
           "The longest shard that passes.",
           "One message holds K alone: how many bytes has one of its tokens?",
           {}},
          {"strict",
           1,
           {},
           "The sizes that pass with strict sends.",
           "Which rank reaches its receive if no send returns before?",
           {}},
          {"cure",
           1,
           {},
           "The fewest ranks that receive first.",
           "A cycle of waits is broken at how many places?",
           {}}};
}

Form eager_form(std::uint64_t seed) {
  const EagerSizes s = eager_sizes(seed);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("A ring of " + std::to_string(s.ranks) +
            " ranks with blocking sends and receives. The transport copies a message");
  sheet.say("aside if it has at most " + std::to_string(s.limit) + " bytes, with its header of " +
            std::to_string(s.header) + "; a longer one waits for its receive.");
  sheet.gap();
  ask_about_sizes(sheet, s);
  sheet.gap();
  ask_about_tokens(sheet, s);
  sheet.gap();
  ask_about_cures(sheet, s);
  return {sheet.lines(), eager_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Passes small, hangs large",
                    "say for which sizes a ring that sends first ends", eager_form);
}

}  // namespace ringcraft::judge
