// Switchboard, driven by hand: matching, order, lengths, ends, counters. No threads.
#include "ringcraft/comm/switchboard.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

Switchboard::Ticket post(Switchboard& board, int rank, std::initializer_list<Op> ops) {
  return board.post(rank, std::span(ops.begin(), ops.size()));
}

}  // namespace

TEST_CASE("a message arrives in either order of its two sides") {
  for (const bool send_first : {true, false}) {
    Switchboard board(2);
    const Bytes out = message_of(0, 5);
    Bytes in(5);
    Switchboard::Ticket send = 0, recv = 0;
    if (send_first) send = post(board, 0, {send_to(1, out)});
    recv = post(board, 1, {recv_from(0, in)});
    if (!send_first) send = post(board, 0, {send_to(1, out)});
    CHECK(in == out);
    CHECK(board.begin_wait(0, send));
    CHECK(board.begin_wait(1, recv));
    CHECK(board.begin_wait(1, recv));  // a second wait returns at once
    CHECK_FALSE(board.failure());
  }
}

TEST_CASE("sends are rendezvous: a send waits for its receive") {
  Switchboard board(2);
  const Bytes out = message_of(0, 1);
  Bytes in(1);
  const auto send = post(board, 0, {send_to(1, out)});
  CHECK_FALSE(board.begin_wait(0, send));
  CHECK(board.is_waiting(0));
  CHECK_FALSE(board.is_waiting(1));
  const auto recv = post(board, 1, {recv_from(0, in)});
  CHECK_FALSE(board.is_waiting(0));
  CHECK(board.begin_wait(1, recv));
}

TEST_CASE("first in, first out for every pair of ranks, in both directions") {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    Switchboard board(3, {.delivery_seed = seed});
    std::vector<Bytes> out, in;
    std::vector<Switchboard::Ticket> tickets[3];
    for (int n = 0; n < 4; ++n)
      for (int rank = 0; rank < 3; ++rank) {
        out.push_back(message_of(rank, static_cast<std::size_t>(n + 1), n));
        in.emplace_back(static_cast<std::size_t>(n + 1));
      }
    // Rank 0 posts its sends to 1 and 2 in separate posts, 1 and 2 their receives in one post each; and back.
    for (std::size_t n = 0; n < 4; ++n)
      tickets[0].push_back(post(board, 0, {send_to(1, out[3 * n]), send_to(2, out[3 * n])}));
    tickets[1].push_back(
        post(board, 1, {recv_from(0, in[0]), recv_from(0, in[3]), recv_from(0, in[6]), recv_from(0, in[9])}));
    tickets[2].push_back(post(board, 2, {recv_from(0, in[1]), recv_from(0, in[4])}));
    tickets[2].push_back(post(board, 2, {recv_from(0, in[7]), recv_from(0, in[10])}));
    std::size_t next[3] = {};
    for (int turn = 0; turn < 8; ++turn)  // each rank waits for its posts one after the other, and ends
      for (int rank = 0; rank < 3; ++rank) {
        if (board.is_waiting(rank)) continue;
        if (next[rank] < tickets[rank].size()) {
          board.begin_wait(rank, tickets[rank][next[rank]++]);
        } else {
          board.finish(rank);
        }
      }
    for (int rank = 0; rank < 3; ++rank) {
      CHECK_FALSE(board.is_waiting(rank));
      CHECK(next[rank] == tickets[rank].size());
    }
    for (std::size_t n = 0; n < 4; ++n) {
      CHECK(in[3 * n] == out[3 * n]);
      CHECK(in[3 * n + 1] == out[3 * n]);
    }
    CHECK(board.delivered(0, 1) == 1 + 2 + 3 + 4);
    CHECK(board.delivered(0, 2) == 1 + 2 + 3 + 4);
    CHECK(board.delivered(1, 0) == 0);
    CHECK(board.delivered(1, 2) == 0);
  }
}

TEST_CASE("a post is complete when all of its operations are") {
  Switchboard board(3);
  const Bytes a = message_of(0, 2), b = message_of(2, 3);
  Bytes in_a(2), in_b(3);
  const auto both = post(board, 1, {recv_from(0, in_a), recv_from(2, in_b)});
  CHECK_FALSE(board.begin_wait(1, both));
  const auto first = post(board, 0, {send_to(1, a)});
  CHECK(board.begin_wait(0, first));
  CHECK(board.is_waiting(1));
  const auto second = post(board, 2, {send_to(1, b)});
  CHECK_FALSE(board.is_waiting(1));
  CHECK(board.begin_wait(2, second));
  CHECK(in_b == b);
}

TEST_CASE("sides that disagree about a length fail the board for all") {
  const std::string report = "rank 0 sends 8 bytes to rank 1, which expects 12";
  for (const bool send_first : {true, false}) {
    Switchboard board(3);
    Bytes out(8), in(12), other(1);
    const auto waiting = post(board, 2, {recv_from(0, other)});
    CHECK_FALSE(board.begin_wait(2, waiting));
    if (send_first) {
      post(board, 0, {send_to(1, out)});
      check_refused([&] { post(board, 1, {recv_from(0, in)}); }, report, Code::kWrongAnswer);
    } else {
      post(board, 1, {recv_from(0, in)});
      check_refused([&] { post(board, 0, {send_to(1, out)}); }, report, Code::kWrongAnswer);
    }
    REQUIRE(board.failure());
    CHECK(board.failure()->sentence == report);
    check_refused([&] { post(board, 2, {send_to(1, other)}); }, report, Code::kWrongAnswer);
    check_refused([&] { board.begin_wait(2, waiting); }, report, Code::kWrongAnswer);
  }
}

TEST_CASE("a rank that has ended is reported to the ranks that wait for it, before or after") {
  for (const bool end_first : {true, false}) {
    Switchboard board(2);
    Bytes in(4);
    const auto recv = post(board, 1, {recv_from(0, in)});
    const std::string report = "rank 1 waits to receive 4 bytes from rank 0, which has already ended";
    if (end_first) {
      board.finish(0);
      CHECK_FALSE(board.failure());  // no rank waits yet
      check_refused([&] { board.begin_wait(1, recv); }, report, Code::kWrongAnswer);
    } else {
      CHECK_FALSE(board.begin_wait(1, recv));
      board.finish(0);
    }
    REQUIRE(board.failure());
    CHECK(board.failure()->sentence == report);
  }
}

TEST_CASE("the first reason of a failure stays") {
  Switchboard board(2);
  board.fail("first");
  board.fail("second");
  CHECK(board.failure()->sentence == "first");
  Bytes in(1);
  check_refused([&] { post(board, 0, {recv_from(1, in)}); }, "first", Code::kWrongAnswer);
}

TEST_CASE("ranks that end after their messages leave no failure") {
  Switchboard board(2, {.delivery_seed = 9});
  const Bytes out = message_of(0, 6);
  Bytes in(6);
  const auto send = post(board, 0, {send_to(1, out)});
  const auto recv = post(board, 1, {recv_from(0, in)});
  board.begin_wait(0, send);
  if (!board.begin_wait(1, recv)) CHECK_FALSE(board.is_waiting(1));  // all wait: everything lands
  board.finish(0);
  board.finish(1);
  CHECK_FALSE(board.failure());
  CHECK(in == out);
}

TEST_CASE("another carrier of bytes is called once for each message, and may touch any memory") {
  for (const std::uint64_t seed : {0, 5}) {
    std::vector<std::string> asked;
    const auto carry = [&](const Delivery& message) {
      asked.push_back(std::to_string(message.from) + " to " + std::to_string(message.to) + ": " +
                      std::to_string(message.source.size()));
      message.target[0] = message.source[1];
    };
    Switchboard board(3, {.delivery_seed = seed, .carry = carry});
    const Bytes a = message_of(0, 2), b = message_of(2, 3);
    Bytes in_a(2, std::byte{7}), in_b(3, std::byte{8});
    const auto both = post(board, 1, {recv_from(0, in_a), recv_from(2, in_b)});
    CHECK_FALSE(board.begin_wait(1, both));
    board.begin_wait(0, post(board, 0, {send_to(1, a)}));
    board.begin_wait(2, post(board, 2, {send_to(1, b)}));
    CHECK_FALSE(board.is_waiting(1));
    std::sort(asked.begin(), asked.end());
    CHECK(asked == std::vector<std::string>{"0 to 1: 2", "2 to 1: 3"});
    CHECK(in_a == Bytes{a[1], std::byte{7}});  // nothing else has written there
    CHECK(in_b == Bytes{b[1], std::byte{8}, std::byte{8}});
    CHECK(board.delivered(2, 1) == 3);
  }
}

TEST_CASE("bytes that cannot be carried fail the board for all") {
  for (const std::uint64_t seed : {0, 5}) {
    Switchboard board(2, {.delivery_seed = seed, .carry = [](const Delivery&) { throw Error("no way"); }});
    const Bytes out = message_of(0, 2);
    Bytes in(2);
    const auto recv = post(board, 1, {recv_from(0, in)});
    CHECK_FALSE(board.begin_wait(1, recv));
    const std::string said =
        outcome_of([&] { board.begin_wait(0, post(board, 0, {send_to(1, out)})); }).sentence;
    REQUIRE(board.failure());
    CHECK(board.failure()->sentence == "no way");
    if (seed == 0) CHECK(said == "no way");
    check_refused([&] { board.begin_wait(1, recv); }, "no way", Code::kWrongAnswer);
  }
}
