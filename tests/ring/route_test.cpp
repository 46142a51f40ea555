// Routes: over random problems of all masks and layouts every block is on every rank that needs it, no
// message goes to a rank beyond the block's reach, and every sum of gradients has each share once and ends at
// home.
#include "ringcraft/ring/route.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "ringcraft/ring/messages.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Shares = std::vector<int>;  // the ranks whose shares are in a sum

// Walks through the messages of a pass with sets of names, and checks them against the pairs of the problem.
class Walk {
 public:
  Walk(const Problem& p, Pass pass, Schedule schedule)
      : p_(p), reversed_(schedule == Schedule::kReversed), messages_(ring_messages(p, pass, schedule)) {
    for (int block = 0; block < n(); ++block)
      for (int d = 0; d < n(); ++d)
        if (sees(block + d, block)) reach_[block] = d;
    for (int block = 0; block < n(); ++block) c_ = std::max(c_, reach_[block]);
  }

  void check() {
    CHECK(c_ == hops(p_));
    for (int block = 0; block < n(); ++block) {  // where blocks begin
      held_[reversed_ && reach_[block] == c_ ? modulo(block + c_) : block].insert(block);
      if (reversed_ && reach_[block] < c_) kept_.insert(block);
    }
    for (int step = 0; step <= c_; ++step) {
      for (int rank = 0; rank < n(); ++rank) compute(rank, modulo(rank - (reversed_ ? c_ - step : step)));
      move(step);
    }
    for (int block = 0; block < n(); ++block) check_home(block);
  }

 private:
  int n() const { return p_.world_size; }
  int modulo(int r) const { return (r + 2 * n()) % n(); }
  bool sees(int rank, int block) const { return key_ranges(p_, modulo(rank), modulo(block)).pairs() > 0; }

  void compute(int rank, int block) {
    const bool here = held_[rank].contains(block);
    if (sees(rank, block)) CHECK(here);
    if (!here) return;
    ++met_[{rank, block}];
    Shares& sum = sums_[{rank, block}];  // what has arrived, or nothing
    sum.push_back(rank);
  }

  void move(int step) {
    std::map<int, std::set<int>> arrived;
    for (const int block : kept_) arrived[block].insert(block);
    std::map<std::pair<int, int>, Shares> sums;
    for (const RingTransfer& m : messages_) {
      if (m.step != step) continue;
      CAPTURE(step, m.from, m.to, m.source);
      CHECK(m.elements == 2 * p_.kv_extents(m.source).elements());
      CHECK(m.elements > 0);
      if (m.what == RingTransfer::kBlock) {
        CHECK(held_[m.from].contains(m.source));
        CHECK(arrived[m.to].insert(m.source).second);
        check_needed(m);
      } else {
        const auto sum = sums_.find({m.from, m.source});
        REQUIRE(sum != sums_.end());
        (!reversed_ && m.to == m.source ? home_[m.source] : sums[{m.to, m.source}]) = sum->second;
        sums_.erase(sum);
      }
    }
    for (auto& [key, sum] : sums_)  // a sum that no message takes away is at home
      if (key.first == key.second) home_[key.second] = sum;
    held_ = std::move(arrived);
    if (step < c_) sums_ = std::move(sums);
  }

  // A rank as far along as the receiver, or further, sees the block; or it comes home to its owner.
  void check_needed(const RingTransfer& m) const {
    bool needed = false;
    const int distance = modulo(m.to - m.source);
    if (reversed_)
      for (int d = 0; d <= distance; ++d) needed = needed || sees(m.source + d, m.source);
    else
      for (int d = distance; d < n(); ++d) needed = needed || sees(m.source + d, m.source);
    CHECK(needed);
    CHECK(distance <= reach_.at(m.source));
    CHECK_FALSE((kept_.contains(m.source) && m.to == m.source));
  }

  void check_home(int block) {
    CAPTURE(block);
    for (int rank = 0; rank < n(); ++rank) {
      const Index shares = std::ranges::count(home_[block], rank);
      CHECK(shares <= 1);
      if (sees(rank, block)) CHECK(shares == 1);
      if (sees(rank, block)) CHECK(met_[{rank, block}] == 1);
    }
  }

  const Problem& p_;
  bool reversed_;
  std::vector<RingTransfer> messages_;
  std::map<int, int> reach_;
  int c_ = 0;
  std::set<int> kept_;
  std::map<int, std::set<int>> held_;           // blocks by rank
  std::map<std::pair<int, int>, int> met_;      // by rank and block
  std::map<std::pair<int, int>, Shares> sums_;  // by rank and block
  std::map<int, Shares> home_;                  // by block
};

Problem window_of(Position w, Position seqlen, int n) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, window_mask(w), Layout::kContiguous, n);
}

Index sent(const Problem& p, Pass pass, Schedule schedule, RingTransfer::What what) {
  const auto all = ring_messages(p, pass, schedule);
  return std::ranges::count(all, what, &RingTransfer::what);
}

}  // namespace

TEST_CASE("every block comes to every rank that needs it and no further, and every sum comes home") {
  Random random(181);
  constexpr int trials = 1000;
  int early = 0, windows = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Problem p = random_problem(random, 8, 40);
    INFO(described(p));
    const std::vector<int> reach = reaches(p);
    Index all = 0, others = 0;
    for (const int r : reach) all += r, others += r > 0;
    early += all < hops(p) * p.world_size;
    windows += p.mask.left < p.shape.seqlen;
    CHECK(sent(p, Pass::kForward, Schedule::kForward, RingTransfer::kBlock) == all);
    CHECK(sent(p, Pass::kForward, Schedule::kForward, RingTransfer::kSum) == 0);
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      const bool home = schedule == Schedule::kForward;
      CHECK(sent(p, Pass::kBackward, schedule, RingTransfer::kBlock) == all);
      CHECK(sent(p, Pass::kBackward, schedule, RingTransfer::kSum) == all + (home ? others : 0));
      CAPTURE(home);
      Walk(p, Pass::kBackward, schedule).check();
    }
  }
  CHECK(early > trials / 4);
  CHECK(windows > trials / 8);
}

TEST_CASE("every message is expected at its other end, and nothing else is") {
  Random random(182);
  for (int trial = 0; trial < 300; ++trial) {
    const Problem p = random_problem(random, 8, 40);
    INFO(described(p));
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      Index expected = 0;
      for (int rank = 0; rank < p.world_size; ++rank) {
        const Route route(p, rank, schedule);
        for (int step = 0; step <= route.exchanges(); ++step)
          expected += (route.rows_arriving(step + 1) > 0) + (route.sum_rows_arriving(step + 1) > 0) +
                      route.returns(step);
      }
      const auto messages = ring_messages(p, Pass::kBackward, schedule);
      CHECK(static_cast<Index>(messages.size()) == expected);
      for (const RingTransfer& m : messages) {
        CAPTURE(m.step, m.from, m.to, m.source);
        const Route route(p, m.to, schedule);
        const Index rows = p.sharding().rows(m.source);
        if (m.what == RingTransfer::kBlock) {
          CHECK(route.comes_from(m.step + 1) == m.from);
          CHECK(route.rows_arriving(m.step + 1) == rows);
        } else if (schedule == Schedule::kForward && m.to == m.source) {
          CHECK(route.returns(m.step));
          CHECK(route.last_rank() == m.from);
        } else {
          CHECK(route.previous() == m.from);
          CHECK(route.sum_rows_arriving(m.step + 1) == rows);
        }
      }
    }
  }
}

TEST_CASE("sends of a window and of a causal mask") {
  const Problem window = window_of(8, 20, 5);  // C = 2: 7 of 10 blocks
  CHECK(hops(window) == 2);
  CHECK(sent(window, Pass::kForward, Schedule::kForward, RingTransfer::kBlock) == 7);
  CHECK(sent(window, Pass::kBackward, Schedule::kReversed, RingTransfer::kSum) == 7);
  CHECK(sent(window, Pass::kBackward, Schedule::kForward, RingTransfer::kSum) == 7 + 4);
  const Problem causal =
      make_problem({.seqlen = 16, .head_dim = 1}, causal_mask(), Layout::kContiguous, 4);  // 6 of 12
  CHECK(sent(causal, Pass::kForward, Schedule::kForward, RingTransfer::kBlock) == 6);
  const std::vector<RingTransfer> first{
      {0, 0, 1, 0, RingTransfer::kBlock, 8}, {0, 1, 2, 1, RingTransfer::kBlock, 8},
      {0, 2, 3, 2, RingTransfer::kBlock, 8}, {1, 1, 2, 0, RingTransfer::kBlock, 8},
      {1, 2, 3, 1, RingTransfer::kBlock, 8}, {2, 2, 3, 0, RingTransfer::kBlock, 8}};
  CHECK(ring_messages(causal, Pass::kForward, Schedule::kForward) == first);
}

TEST_CASE(
    "with the largest reach for every block all of them make every hop, and each is passed on to the end") {
  const Problem p = window_of(8, 20, 5);
  const auto all = std::make_shared<const std::vector<int>>(5, 2);
  CHECK(ring_messages(p, Pass::kForward, Schedule::kForward, all).size() == 10);
  CHECK(ring_messages(p, Pass::kBackward, Schedule::kForward, all).size() == 10 + 15);
  CHECK(ring_messages(p, Pass::kBackward, Schedule::kReversed, all).size() == 20);
}
