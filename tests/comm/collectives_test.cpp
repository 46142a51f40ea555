// Collectives: every rank has the bytes of all ranks, by rank, in as few phases as doubling allows.
#include "ringcraft/comm/collectives.hpp"

#include <algorithm>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

struct Gathered {
  std::vector<Bytes> all;  // per rank
  RanksReport report;
};

Gathered gather_on(int n, std::size_t length, SwitchboardOptions options = {}) {
  const auto ranks = static_cast<std::size_t>(n);
  Gathered result{std::vector<Bytes>(ranks, Bytes(ranks * length)), {}};
  result.report = run_ranks(
      n,
      [&](ThreadCommunicator& comm) {
        const Bytes own = message_of(comm.rank(), length);
        all_gather(comm, own, result.all[static_cast<std::size_t>(comm.rank())]);
      },
      options);
  return result;
}

Bytes concatenated(int n, std::size_t length) {
  Bytes bytes;
  for (int rank = 0; rank < n; ++rank) {
    const Bytes own = message_of(rank, length);
    bytes.insert(bytes.end(), own.begin(), own.end());
  }
  return bytes;
}

}  // namespace

TEST_CASE("every rank has the bytes of all ranks, by rank") {
  for (int n = 1; n <= 9; ++n)
    for (const std::size_t length : {0u, 1u, 7u})
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        CAPTURE(n, length, seed);
        const Gathered gathered = gather_on(n, length, {.delivery_seed = seed});
        for (const Bytes& all : gathered.all) CHECK(all == concatenated(n, length));
        const auto bytes = static_cast<Index>(length) * (n - 1);
        for (const Traffic& traffic : gathered.report.traffic)
          CHECK(traffic == Traffic{bytes, bytes, length == 0 ? 0 : gather_phases(n)});
      }
}

TEST_CASE("phases of an all-gather grow with the logarithm of the ranks") {
  const int golden[] = {0, 1, 2, 2, 3, 3, 3, 3, 4, 4};  // for 1 to 10 ranks
  for (int n = 1; n <= 10; ++n) {
    CAPTURE(n);
    CHECK(gather_phases(n) == golden[n - 1]);
    for (const double clock : gather_on(n, 3, {.link = {.alpha = 1}}).report.clock)
      CHECK(clock == golden[n - 1]);
  }
  CHECK(gather_phases(1024) == 10);
  CHECK(gather_phases(1025) == 11);
}

TEST_CASE("an all-gather into too little or too much room is refused on every rank") {
  for (const int room : {0, 8, 10})
    check_refused(
        [&] {
          run_ranks(3, [&](ThreadCommunicator& comm) {
            Bytes all(static_cast<std::size_t>(room));
            all_gather(comm, message_of(comm.rank(), 3), all);
          });
        },
        "all_gather: expected 3 times 3 bytes, got " + std::to_string(room));
}
