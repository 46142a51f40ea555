// Shows why a ring starts its messages as one group: the order "isend K, isend V, irecv K, irecv V" on a
// model of streams. A stream does one call after the other, and a call ends when its messages have met the
// other side, as transfers between GPUs may do. Un-grouped, with one stream per rank, no rank ever comes to
// its receives; with one stream per pair of ranks that happens to two ranks alone, whose neighbours are the
// same one. Here a stream is what the switchboard calls a rank.
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/comm/switchboard.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

enum class Streams { kOnePerRank, kOnePerPair };
enum class Calls { kOneByOne, kGrouped };

class Model {
 public:
  Model(int n, Streams streams, Calls calls) : n_(n), streams_(streams) {
    for (int rank = 0; rank < n; ++rank) {
      const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
      for (const std::size_t length : {kLengthOfK, kLengthOfV}) {
        out_[rank].push_back(message_of(rank, length));
        in_[rank].emplace_back(length);
      }
      std::vector<std::pair<int, Op>> ops;  // with the stream that each is enqueued on
      for (const Bytes& bytes : out_[rank])
        ops.emplace_back(stream(rank, next), send_to(stream(next, rank), bytes));
      for (Bytes& bytes : in_[rank])
        ops.emplace_back(stream(rank, previous), recv_from(stream(previous, rank), bytes));
      for (const auto& [at, op] : ops) {
        auto& work = work_[at];
        if (calls == Calls::kOneByOne || work.empty()) work.emplace_back();
        work.back().push_back(op);
      }
    }
  }

  // Lets the streams work, in an order that the seed decides, until all are done or stuck. Returns the
  // report.
  std::string run(std::uint64_t seed) {
    Switchboard board(static_cast<int>(work_.size()), {.delivery_seed = seed});
    Random random(seed);
    std::map<int, std::size_t> next;
    return outcome_of([&] {
             for (;;) {
               std::vector<int> able;
               for (const auto& [at, work] : work_)
                 if (!board.is_waiting(at) && next[at] <= work.size()) able.push_back(at);
               if (able.empty()) return;
               const int at =
                   able[static_cast<std::size_t>(random.integer(0, static_cast<Index>(able.size()) - 1))];
               const std::size_t call = next[at]++;
               if (call == work_[at].size())
                 board.finish(at);
               else
                 board.begin_wait(at, board.post(at, work_[at][call]));
             }
           })
        .sentence;
  }

  bool arrived() const {
    for (int rank = 0; rank < n_; ++rank)
      if (in_.at(rank) != out_.at((rank + n_ - 1) % n_)) return false;
    return true;
  }

 private:
  static constexpr std::size_t kLengthOfK = 3, kLengthOfV = 5;

  // The stream on which a rank enqueues its exchanges with a peer, numbered in the order of first use.
  int stream(int rank, int peer) {
    const std::pair key{rank, streams_ == Streams::kOnePerPair ? peer : 0};
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

  int n_;
  Streams streams_;
  std::map<std::pair<int, int>, int> numbers_;
  std::map<int, std::vector<Bytes>> out_, in_;
  std::map<int, std::vector<std::vector<Op>>> work_;  // by stream: its calls
};

constexpr std::uint64_t kSeeds = 50;

void check_deadlock(int n, Streams streams, Calls calls) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string sentence = Model(n, streams, calls).run(seed);
    CAPTURE(n, seed, sentence);
    CHECK(sentence.starts_with("deadlock: "));
    CHECK(count_of(sentence, " waits to send 3 bytes to ") == n);  // K, at every rank
  }
}

void check_arrival(int n, Streams streams, Calls calls) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Model model(n, streams, calls);
    CAPTURE(n, seed);
    CHECK(model.run(seed) == "nothing thrown");
    CHECK(model.arrived());
  }
}

}  // namespace

TEST_CASE("isend K, isend V, irecv K, irecv V on one stream per rank deadlocks for every N") {
  for (int n = 2; n <= 5; ++n) check_deadlock(n, Streams::kOnePerRank, Calls::kOneByOne);
}

TEST_CASE("on one stream per pair of ranks it deadlocks for two ranks alone") {
  check_deadlock(2, Streams::kOnePerPair, Calls::kOneByOne);
  for (int n = 3; n <= 5; ++n) check_arrival(n, Streams::kOnePerPair, Calls::kOneByOne);
}

TEST_CASE("as one group it arrives for every N") {
  for (int n = 2; n <= 5; ++n) check_arrival(n, Streams::kOnePerRank, Calls::kGrouped);
}
