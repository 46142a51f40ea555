// Collectives: every rank has the bytes of all ranks, by rank, in as few phases as doubling allows.
#include "ringcraft/comm/collectives.hpp"

#include <algorithm>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/random.hpp"
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

namespace {

// Numbers whose sum depends on the order of adding, by rank.
template <class T>
std::vector<T> numbers_of(int rank, std::size_t count) {
  Random random(static_cast<std::uint64_t>(rank) + 1);
  std::vector<T> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<T>(random.normal() * (rank % 2 == 0 ? 1 : 1e6)));
  return numbers;
}

// The numbers of ranks 0, 1, ..., n - 1, added in this order.
template <class T>
std::vector<T> sum_of(int n, std::size_t count) {
  std::vector<T> sum = numbers_of<T>(0, count);
  for (int rank = 1; rank < n; ++rank) {
    const std::vector<T> more = numbers_of<T>(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
  }
  return sum;
}

template <class T>
void check_sums(int n, std::size_t length, std::uint64_t seed) {
  CAPTURE(n, length, seed);
  const auto ranks = static_cast<std::size_t>(n);
  const std::vector<T> want = sum_of<T>(n, ranks * length), whole = sum_of<T>(n, length);
  std::vector<std::vector<T>> parts(ranks, std::vector<T>(length)), sums(ranks);
  const auto scattered = run_ranks(n,
                                   [&](ThreadCommunicator& comm) {
                                     reduce_scatter<T>(comm, numbers_of<T>(comm.rank(), ranks * length),
                                                       parts[static_cast<std::size_t>(comm.rank())]);
                                   },
                                   {.delivery_seed = seed});
  const auto reduced = run_ranks(n,
                                 [&](ThreadCommunicator& comm) {
                                   std::vector<T> values = numbers_of<T>(comm.rank(), length);
                                   all_reduce<T>(comm, values);
                                   sums[static_cast<std::size_t>(comm.rank())] = values;
                                 },
                                 {.delivery_seed = seed});
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    CHECK(std::ranges::equal(parts[rank], std::span(want).subspan(rank * length, length)));
    CHECK(sums[rank] == whole);
    CHECK(scattered.traffic[rank].bytes_sent == static_cast<Index>(sizeof(T) * length * (ranks - 1)));
    CHECK(reduced.traffic[rank].bytes_sent ==
          static_cast<Index>(2 * (ranks - 1) * ((length + ranks - 1) / ranks) * sizeof(T)));
  }
}

}  // namespace

TEST_CASE("sums over ranks are added in the order of the ranks, to the bit, in any order of arrival") {
  for (int n = 1; n <= 6; ++n)
    for (const std::size_t length : {0u, 1u, 5u, 12u})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        check_sums<double>(n, length, seed);
        check_sums<float>(n, length, seed);
      }
}

TEST_CASE("pieces of a reduce-scatter that do not fit are refused") {
  for (const std::size_t count : {0u, 5u, 7u})
    check_refused(
        [&] {
          run_ranks(3, [&](ThreadCommunicator& comm) {
            std::vector<double> own(2);
            reduce_scatter<double>(comm, std::vector<double>(count), own);
          });
        },
        "reduce_scatter: expected 3 times 2 numbers, got " + std::to_string(count));
}
