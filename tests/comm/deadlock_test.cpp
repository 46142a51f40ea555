// A deadlock is reported at the very call that closes the cycle, in any order of calls and under any delivery
// seed.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

// The ranks in an order that the seed decides.
std::vector<int> shuffled(int n, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i) - 1))]);
  return order;
}

// The sentence contains the whole cycle: each rank once, waiting for its neighbour.
void check_cycle(const std::string& sentence, int n, const std::string& what) {
  CAPTURE(n, sentence);
  CHECK(sentence.rfind("deadlock: rank ", 0) == 0);
  for (int rank = 0; rank < n; ++rank) {
    const int peer = what.find("send") != std::string::npos ? (rank + 1) % n : (rank + n - 1) % n;
    const std::string end = rank_name(peer);
    const std::string link = rank_name(rank) + what + end;
    CHECK(count_of(sentence + ",", link + ",") == 1);
  }
  CHECK(count_of(sentence, " waits to ") == n);
}

}  // namespace

TEST_CASE("all send first: the call that closes the cycle reports it") {
  for (int n = 2; n <= 8; ++n)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Switchboard board(n, {.delivery_seed = seed});
      const std::vector<int> order = shuffled(n, seed);
      std::vector<Bytes> out;
      for (int rank = 0; rank < n; ++rank) out.push_back(message_of(rank, 1));
      for (const int rank : order) {
        const Op op = send_to((rank + 1) % n, out[static_cast<std::size_t>(rank)]);
        const auto ticket = board.post(rank, {&op, 1});
        if (rank != order.back()) {
          REQUIRE_FALSE(board.begin_wait(rank, ticket));
          REQUIRE_FALSE(board.failure());
        } else {
          const Outcome outcome = outcome_of([&] { board.begin_wait(rank, ticket); });
          CHECK(outcome.code == Code::kWrongAnswer);
          check_cycle(outcome.sentence, n, " waits to send 1 bytes to ");
          REQUIRE(board.failure());
          CHECK(board.failure()->sentence == outcome.sentence);
        }
      }
    }
}

TEST_CASE("all send first deadlocks on thread ranks, all of them end") {
  for (int n = 2; n <= 8; ++n)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Outcome outcome = outcome_of([&] {
        run_ranks(
            n,
            [n](ThreadCommunicator& comm) {
              const Bytes out = message_of(comm.rank(), 3);
              Bytes in(3);
              exchange_all_send_first(comm, {(comm.rank() + 1) % n, out, (comm.rank() + n - 1) % n, in});
            },
            {.delivery_seed = seed});
      });
      CHECK(outcome.code == Code::kWrongAnswer);
      check_cycle(outcome.sentence, n, " waits to send 3 bytes to ");
    }
}

TEST_CASE("all receive first deadlocks as well") {
  for (int n = 2; n <= 5; ++n) {
    const Outcome outcome = outcome_of([&] {
      run_ranks(n, [n](ThreadCommunicator& comm) {
        Bytes in(2);
        recv(comm, (comm.rank() + n - 1) % n, in);
      });
    });
    check_cycle(outcome.sentence, n, " waits to receive 2 bytes from ");
  }
}

TEST_CASE("all send first does nothing with one rank") {
  run_ranks(1, [](ThreadCommunicator& comm) { exchange_all_send_first(comm, {0, {}, 0, {}}); });
}

TEST_CASE("a cycle is found among waits that lead elsewhere") {
  // Rank 0 waits for 1 and 2; 1 only waits for 3, which computes; 2 closes a cycle with 0.
  Switchboard board(4);
  Bytes a(1), b(1), c(1), d(1);
  const Op both[] = {recv_from(1, a), recv_from(2, b)};
  CHECK_FALSE(board.begin_wait(0, board.post(0, both)));
  const Op from_computing = recv_from(3, c);
  CHECK_FALSE(board.begin_wait(1, board.post(1, {&from_computing, 1})));
  const Op from_waiting = recv_from(0, d);
  const auto last = board.post(2, {&from_waiting, 1});
  const Outcome outcome = outcome_of([&] { board.begin_wait(2, last); });
  CHECK(outcome.sentence ==
        "deadlock: rank 2 waits to receive 1 bytes from rank 0, rank 0 waits to receive 1 bytes from rank 2");
}

TEST_CASE("waits without a cycle are no deadlock") {
  // A chain: 0 waits for 1, 1 for 2, 2 for 3, and 3 still computes; then it sends, and all continue.
  Switchboard board(4);
  std::vector<Bytes> in(4, Bytes(1));
  for (int rank = 0; rank < 3; ++rank) {
    const Op op = recv_from(rank + 1, in[static_cast<std::size_t>(rank)]);
    CHECK_FALSE(board.begin_wait(rank, board.post(rank, {&op, 1})));
  }
  const Bytes out = message_of(3, 1);
  for (int rank = 3; rank > 0; --rank) {
    const Op op = send_to(rank - 1, out);
    CHECK(board.begin_wait(rank, board.post(rank, {&op, 1})));
    CHECK_FALSE(board.is_waiting(rank - 1));
  }
  CHECK(in[0] == out);
  CHECK_FALSE(board.failure());
}
