// Virtual time: max of both post times + alpha + bytes / beta, waiting takes the later of both, bundles count
// once.
#include <vector>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Body = std::function<void(ThreadCommunicator&)>;

// The clocks at the end, which must be the same for every delivery seed.
std::vector<double> clocks(int n, LinkCost link, const Body& body) {
  const std::vector<double> expected = run_ranks(n, body, {.link = link}).clock;
  for (std::uint64_t seed = 1; seed <= 15; ++seed)
    CHECK(run_ranks(n, body, {.delivery_seed = seed, .link = link}).clock == expected);
  return expected;
}

using Clocks = std::vector<double>;
constexpr LinkCost kLink{.alpha = 1, .beta = 4};

}  // namespace

TEST_CASE("computing advances a rank's own clock only") {
  CHECK(clocks(3, kLink, [](ThreadCommunicator& comm) {
          comm.advance(comm.rank() * 2.5);
          comm.advance(1);
        }) == Clocks{1, 3.5, 6});
}

TEST_CASE("a message completes after the later of both posts") {
  for (const double sender : {0.0, 3.0, 7.0})
    for (const double receiver : {0.0, 5.0}) {
      CAPTURE(sender, receiver);
      const double done = std::max(sender, receiver) + 1 + 8 / 4.0;
      CHECK(clocks(2, kLink, [&](ThreadCommunicator& comm) {
              Bytes bytes(8);
              comm.advance(comm.rank() == 0 ? sender : receiver);
              comm.rank() == 0 ? send(comm, 1, bytes) : recv(comm, 0, bytes);
            }) == Clocks{done, done});
    }
}

TEST_CASE("computing between start and wait hides the transfer") {
  for (const double compute : {0.0, 2.0, 3.0, 10.0}) {
    CAPTURE(compute);
    const Clocks expected{std::max(compute, 3.0), std::max(compute, 3.0)};
    CHECK(clocks(2, kLink, [&](ThreadCommunicator& comm) {
            Bytes out(8), in(8);
            Pending pending = comm.start({send_to(1 - comm.rank(), out), recv_from(1 - comm.rank(), in)});
            comm.advance(compute);
            pending.wait();
          }) == expected);
  }
}

TEST_CASE("a post gets its time when it is made, not at its wait") {
  // Rank 0 posts at 0 and computes 10; rank 1 posts at 4: the message is complete at 4 + 3.
  CHECK(clocks(2, kLink, [](ThreadCommunicator& comm) {
          Bytes bytes(8);
          if (comm.rank() == 0) {
            Pending pending = comm.start({send_to(1, bytes)});
            comm.advance(10);
            pending.wait();
          } else {
            comm.advance(4);
            recv(comm, 0, bytes);
          }
        }) == Clocks{10, 7});
}

TEST_CASE("bytes posted together to one peer count as one message") {
  const auto split = [](std::vector<std::size_t> parts) {
    return clocks(2, kLink, [parts](ThreadCommunicator& comm) {
      Bytes bytes(12);
      std::vector<Op> ops;
      std::size_t at = 0;
      for (const std::size_t part : parts) {
        const auto span = std::span(bytes).subspan(at, part);
        ops.push_back(comm.rank() == 0 ? send_to(1, span) : recv_from(0, span));
        at += part;
      }
      comm.start(ops).wait();
    });
  };
  CHECK(split({12}) == Clocks{4, 4});
  CHECK(split({6, 6}) == Clocks{4, 4});
  CHECK(split({1, 4, 7}) == Clocks{4, 4});
}

TEST_CASE("separate posts and separate peers do not wait for each other") {
  // Two posts of 8 bytes each: 1 + 2 both, not 1 + 4 and not one after another.
  CHECK(clocks(2, kLink, [](ThreadCommunicator& comm) {
          Bytes a(8), b(8);
          const bool sends = comm.rank() == 0;
          Pending first = sends ? comm.start({send_to(1, a)}) : comm.start({recv_from(0, a)});
          Pending second = sends ? comm.start({send_to(1, b)}) : comm.start({recv_from(0, b)});
          first.wait();
          second.wait();
        }) == Clocks{3, 3});
  // One post to two peers: each link has its own bytes; the sender waits for the longer.
  CHECK(clocks(3, kLink, [](ThreadCommunicator& comm) {
          Bytes small(4), large(40);
          if (comm.rank() == 0) comm.start({send_to(1, small), send_to(2, large)}).wait();
          if (comm.rank() == 1) recv(comm, 0, small);
          if (comm.rank() == 2) recv(comm, 0, large);
        }) == Clocks{11, 2, 11});
}

TEST_CASE("both directions of an exchange run at once") {
  CHECK(clocks(2, kLink, [](ThreadCommunicator& comm) {
          Bytes out(8), in(8);
          exchange_send_recv(comm, {1 - comm.rank(), out, 1 - comm.rank(), in});
        }) == Clocks{3, 3});
}

TEST_CASE("without a cost messages are free but still order the clocks") {
  CHECK(clocks(2, {}, [](ThreadCommunicator& comm) {
          Bytes bytes(1000);
          comm.advance(comm.rank() * 5.0);
          comm.rank() == 0 ? recv(comm, 1, bytes) : send(comm, 0, bytes);
        }) == Clocks{5, 5});
}
