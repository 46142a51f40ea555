// Delivery under a seed: late, out of order, poisoned, but without influence on the results of correct code.
#include <algorithm>
#include <set>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

TEST_CASE("without a seed bytes move as soon as both sides have posted") {
  Switchboard board(2);
  const Bytes out = message_of(0, 4);
  Bytes in(4);
  const Op send = send_to(1, out), recv = recv_from(0, in);
  board.post(1, {&recv, 1});
  CHECK(in == Bytes(4));  // not poisoned
  board.post(0, {&send, 1});
  CHECK(in == out);
}

TEST_CASE("under a seed a receive buffer is poison until the message lands") {
  int late = 0, early = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Switchboard board(2, {.delivery_seed = seed});
    const Bytes out = message_of(0, 4);
    Bytes in(4);
    const Op send = send_to(1, out), recv = recv_from(0, in);
    const auto receiving = board.post(1, {&recv, 1});
    CHECK(in == poison(4));
    const auto sending = board.post(0, {&send, 1});
    const bool landed = in == out;
    CHECK((landed || in == poison(4)));
    ++(landed ? early : late);
    const bool done = board.begin_wait(1, receiving);
    CHECK(done == (in == out));
    board.begin_wait(0, sending);  // now all wait: every message in flight lands
    CHECK(in == out);
    CHECK_FALSE(board.is_waiting(0));
    CHECK_FALSE(board.is_waiting(1));
  }
  CHECK(early > 5);
  CHECK(late > 5);
}

TEST_CASE("a send buffer that is overwritten before wait is detected") {
  // The planted fault goes unnoticed without a seed, because the bytes have moved by then.
  const auto faulty_send_arrives_intact = [](std::uint64_t seed) {
    Switchboard board(2, {.delivery_seed = seed});
    const Bytes original = message_of(0, 4);
    Bytes out = original, in(4);
    const Op send = send_to(1, out), recv = recv_from(0, in);
    const auto receiving = board.post(1, {&recv, 1});
    const auto sending = board.post(0, {&send, 1});
    std::ranges::copy(message_of(7, 4), out.begin());  // the fault
    board.begin_wait(0, sending);
    board.begin_wait(1, receiving);
    return in == original;
  };
  CHECK(faulty_send_arrives_intact(0));
  int intact = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) intact += faulty_send_arrives_intact(seed);
  CHECK(intact < 35);
}

TEST_CASE("a seed decides the order of delivery, and messages do land out of order") {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto order_of = [](std::uint64_t s) {
      Switchboard board(4, {.delivery_seed = s});
      std::vector<Bytes> in(3, Bytes(1));
      const Bytes out{std::byte{1}};
      std::vector<int> order;
      std::vector<Switchboard::Ticket> tickets;
      const auto look = [&] {
        for (int i = 0; i < 3; ++i)
          if (in[static_cast<std::size_t>(i)] == out && std::ranges::find(order, i) == order.end())
            order.push_back(i);
      };
      for (int rank = 1; rank < 4; ++rank) {
        const Op recv = recv_from(rank, in[static_cast<std::size_t>(rank - 1)]), send = send_to(0, out);
        board.post(0, {&recv, 1});
        tickets.push_back(board.post(rank, {&send, 1}));
        look();
      }
      for (int rank = 1; rank < 4; ++rank) {
        board.begin_wait(rank, tickets[static_cast<std::size_t>(rank - 1)]);
        look();
      }
      return order;
    };
    CHECK(order_of(seed) == order_of(seed));
    orders.insert(order_of(seed));
  }
  CHECK(orders.size() >= 4);
}

TEST_CASE("results do not depend on the delivery seed") {
  // Three turns of a ring in which every rank passes on the sum of what it got; several messages of a pair in
  // flight.
  constexpr int kRanks = 5;
  const auto results = [](std::uint64_t seed) {
    std::vector<std::vector<double>> sums(kRanks);
    run_ranks(
        kRanks,
        [&](ThreadCommunicator& comm) {
          const int right = (comm.rank() + 1) % kRanks, left = (comm.rank() + kRanks - 1) % kRanks;
          std::vector<double> mine(6, 1.0 / (comm.rank() + 1)), other(6);
          for (int turn = 0; turn < 3; ++turn) {
            const auto out = std::as_bytes(std::span(mine));
            const auto in = std::as_writable_bytes(std::span(other));
            Pending first = comm.start({send_to(right, out.first(16)), recv_from(left, in.first(16))});
            Pending second = comm.start({recv_from(left, in.subspan(16)), send_to(right, out.subspan(16))});
            second.wait();
            first.wait();
            for (std::size_t i = 0; i < 6; ++i) mine[i] += other[i] * static_cast<double>(i + 1);
          }
          sums[static_cast<std::size_t>(comm.rank())] = mine;
        },
        {.delivery_seed = seed});
    return sums;
  };
  const auto expected = results(0);
  CHECK(expected[0][0] != expected[1][0]);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) CHECK(results(seed) == expected);
}
