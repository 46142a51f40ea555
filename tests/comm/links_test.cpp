// Costs by pair of ranks, and ports that the messages of one post share.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// Rank 0 sends 8 bytes to every other rank in one post.
std::vector<double> clocks_of_a_fan(int n, const std::function<LinkCost(int, int)>& link_of) {
  return run_ranks(n,
                   [n](ThreadCommunicator& comm) {
                     const Bytes out(8);
                     Bytes in(8);
                     if (comm.rank() != 0) return recv(comm, 0, in);
                     std::vector<Op> ops;
                     for (int rank = 1; rank < n; ++rank) ops.push_back(send_to(rank, out));
                     comm.start(ops).wait();
                   },
                   {.link = {.alpha = 1000}, .link_of = link_of})
      .clock;
}

}  // namespace

TEST_CASE("a link costs what its pair of ranks says") {
  const auto by_pair = [](int from, int to) { return LinkCost{.alpha = 10.0 * from + to, .beta = 4}; };
  CHECK(clocks_of_a_fan(4, by_pair) == std::vector<double>{5, 3, 4, 5});
}

TEST_CASE("messages of one post share a port") {
  const auto shared = [](int, int) { return LinkCost{.alpha = 1, .beta = 8, .port = 0}; };
  CHECK(clocks_of_a_fan(4, shared) == std::vector<double>{4, 4, 4, 4});  // 3 x 8 bytes leave through it
  const auto two = [](int, int to) { return LinkCost{.alpha = 1, .beta = 8, .port = to == 1 ? 0 : 1}; };
  CHECK(clocks_of_a_fan(4, two) == std::vector<double>{3, 2, 3, 3});
}

TEST_CASE("messages that arrive in one post share a port") {
  const RanksReport report = run_ranks(3,
                                       [](ThreadCommunicator& comm) {
                                         const Bytes out(8);
                                         Bytes first(8), second(8);
                                         if (comm.rank() != 0) return send(comm, 0, out);
                                         comm.start({recv_from(1, first), recv_from(2, second)}).wait();
                                       },
                                       {.link_of = [](int, int) { return LinkCost{.beta = 8, .port = 3}; }});
  CHECK(report.clock == std::vector<double>{2, 2, 2});
}
