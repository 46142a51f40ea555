// Random programs of sends and receives against a simple model of rendezvous: both must agree on whether the
// program ends, and on every byte.
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// One operation of a program: the n-th message of a pair of ranks.
struct Message {
  Op::Kind kind;
  int from, to, n;

  std::size_t length() const { return static_cast<std::size_t>(1 + (from * 5 + to * 3 + n * 7) % 11); }
};

// A step of a rank: post these, then perhaps wait for everything posted so far.
struct Step {
  std::vector<Message> messages;
  bool wait;
};

using Program = std::vector<std::vector<Step>>;  // per rank

// Messages in a random order, which both sides follow; some pairs of neighbours in a list are then swapped if
// they belong to different pairs of ranks, so that cycles arise, and some receivers leave before their last
// operation.
Program random_program(Random& random) {
  const int n = static_cast<int>(random.integer(2, 5));
  std::vector<std::vector<Message>> lists(static_cast<std::size_t>(n));
  std::map<std::pair<int, int>, int> sent;
  for (Index i = random.integer(1, 12); i > 0; --i) {
    const int from = static_cast<int>(random.integer(0, n - 1));
    const int to = (from + static_cast<int>(random.integer(1, n - 1))) % n;
    const int number = sent[{from, to}]++;
    lists[static_cast<std::size_t>(from)].push_back({Op::kSend, from, to, number});
    lists[static_cast<std::size_t>(to)].push_back({Op::kRecv, from, to, number});
  }
  const Index swaps = random.integer(0, 6);
  for (Index s = 0; s < swaps; ++s) {
    auto& list = lists[static_cast<std::size_t>(random.integer(0, n - 1))];
    if (list.size() < 2) continue;
    const auto i = static_cast<std::size_t>(random.integer(0, static_cast<Index>(list.size()) - 2));
    const bool same_link = list[i].from == list[i + 1].from && list[i].to == list[i + 1].to;
    if (!same_link) std::swap(list[i], list[i + 1]);
  }
  if (random.integer(0, 4) == 0) {
    auto& list = lists[static_cast<std::size_t>(random.integer(0, n - 1))];
    if (!list.empty()) list.pop_back();
  }
  Program program(lists.size());
  for (std::size_t rank = 0; rank < lists.size(); ++rank)
    for (std::size_t i = 0; i < lists[rank].size();) {
      const auto together = static_cast<std::size_t>(random.integer(1, 3));
      Step step{{}, random.integer(0, 2) > 0};
      for (std::size_t k = 0; k < together && i < lists[rank].size(); ++k)
        step.messages.push_back(lists[rank][i++]);
      program[rank].push_back(step);
    }
  return program;
}

// The model: a rank posts step by step until it must wait; a message is done when both sides have posted it;
// go round until nothing moves.
bool model_ends(const Program& program) {
  std::map<std::tuple<int, int, int>, int> posted;  // (from, to, n) -> number of sides
  std::vector<std::size_t> next(program.size(), 0);
  std::vector<std::vector<Message>> open(program.size());
  std::vector<bool> waiting(program.size(), false);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < program.size(); ++rank) {
      if (waiting[rank]) {
        std::erase_if(open[rank], [&](const Message& m) { return posted[{m.from, m.to, m.n}] == 2; });
        if (!open[rank].empty()) continue;
        waiting[rank] = false;
        moved = true;
      }
      if (next[rank] > program[rank].size()) continue;  // has ended
      if (next[rank] < program[rank].size()) {
        const Step& step = program[rank][next[rank]];
        for (const Message& m : step.messages) ++posted[{m.from, m.to, m.n}];
        open[rank].insert(open[rank].end(), step.messages.begin(), step.messages.end());
        waiting[rank] = step.wait;
      } else {
        waiting[rank] = true;  // at its end a rank waits for its open operations
      }
      ++next[rank];
      moved = true;
    }
  }
  for (std::size_t rank = 0; rank < program.size(); ++rank)
    if (next[rank] <= program[rank].size() || waiting[rank]) return false;
  return true;
}

// Runs a program; returns its outcome and counts wrong messages.
Outcome run_program(const Program& program, std::uint64_t seed, int& wrong) {
  std::vector<int> wrong_of(program.size(), 0);
  const Outcome outcome = outcome_of([&] {
    run_ranks(static_cast<int>(program.size()),
              [&](ThreadCommunicator& comm) {
                const auto self = static_cast<std::size_t>(comm.rank());
                std::deque<Bytes> memory;  // references stay valid
                std::vector<std::pair<Message, const Bytes*>> received;
                std::vector<Pending> pending;
                const auto wait_all = [&] {
                  for (Pending& p : pending) p.wait();
                  pending.clear();
                  for (const auto& [m, bytes] : received)
                    wrong_of[self] += *bytes != message_of(m.from * 10 + m.to, m.length(), m.n);
                  received.clear();
                };
                for (const Step& step : program[self]) {
                  std::vector<Op> ops;
                  for (const Message& m : step.messages) {
                    if (m.kind == Op::kSend) {
                      memory.push_back(message_of(m.from * 10 + m.to, m.length(), m.n));
                      ops.push_back(send_to(m.to, memory.back()));
                    } else {
                      memory.emplace_back(m.length());
                      ops.push_back(recv_from(m.from, memory.back()));
                      received.emplace_back(m, &memory.back());
                    }
                  }
                  pending.push_back(comm.start(ops));
                  if (step.wait) wait_all();
                }
                wait_all();
              },
              {.delivery_seed = seed});
  });
  for (const int w : wrong_of) wrong += w;
  return outcome;
}

}  // namespace

TEST_CASE("random programs end, or are reported, exactly as the model says") {
  Random random(61);
  int ended = 0, stuck = 0;
  for (int i = 0; i < 200; ++i) {
    const Program program = random_program(random);
    const bool expected = model_ends(program);
    ++(expected ? ended : stuck);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(i, seed, expected);
      int wrong = 0;
      const Outcome outcome = run_program(program, seed, wrong);
      CHECK((outcome.sentence == "nothing thrown") == expected);
      if (!expected)
        CHECK((contains(outcome.sentence, "deadlock: ") || contains(outcome.sentence, "has already ended")));
      CHECK(wrong == 0);
    }
  }
  CHECK(ended > 60);
  CHECK(stuck > 40);
}
