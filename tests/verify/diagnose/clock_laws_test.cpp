// The grammar of a ring's clocks: the right law gives the right clocks, and each wrong word is told by what
// it gives.
#include <cmath>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/clocks/clock_law.hpp"

using namespace ringcraft;
using namespace ringcraft::verify;

namespace {

// Rings with two messages in a step and more, out of order; some of no time, some of the last step.
std::vector<TimedRing> timed_rings() {
  Random random(305);
  std::vector<TimedRing> rings(30);
  for (TimedRing& ring : rings) {
    const int ranks = static_cast<int>(random.integer(2, 6)), steps = static_cast<int>(random.integer(1, 6));
    ring.computing.assign(static_cast<std::size_t>(steps),
                          std::vector<double>(static_cast<std::size_t>(ranks)));
    for (auto& step : ring.computing)
      for (double& seconds : step) seconds = random.integer(0, 3) == 0 ? 0 : 3 * random.uniform();
    for (int i = 0; i < 2 * steps * ranks; ++i) {
      const int from = static_cast<int>(random.integer(0, ranks - 1));
      const int to = (from + static_cast<int>(random.integer(1, ranks - 1))) % ranks;
      ring.transfers.push_back({static_cast<int>(random.integer(0, steps - 1)), from, to,
                                random.integer(0, 1) == 0 ? RingTransfer::kBlock : RingTransfer::kSum,
                                random.integer(0, 5) == 0 ? 0 : 4 * random.uniform()});
    }
  }
  return rings;
}

std::vector<Cause> causes_of_law(const ClockLaw& law) {
  ClockExhibit clocks;
  for (const TimedRing& ring : timed_rings()) clocks.asked.push_back({ring, played(law, {}, ring)});
  return causes_of(clocks);
}

void require_told(const char* sentence, const ClockLaw& law) {
  INFO(sentence);
  const std::vector<Cause> causes = causes_of_law(law);
  REQUIRE(causes.size() == 1);
  CHECK(causes.front().sentence == sentence);
}

}  // namespace

TEST_CASE("the right law gives the clocks of a ring in every style") {
  using Order = ClockStyle::Order;
  for (const TimedRing& ring : timed_rings())
    for (const Order order : {Order::kSumsFirst, Order::kBlocksFirst, Order::kByList})
      for (const bool one_wait : {false, true})
        for (const bool by_difference : {false, true}) {
          const RingClocks got = played({}, {order, one_wait, by_difference}, ring), want = ring_clocks(ring);
          CHECK(got.steps == want.steps);
          CHECK(got.ends == want.ends);
          for (std::size_t rank = 0; rank < want.exposed.size(); ++rank)
            CHECK(std::fabs(got.exposed[rank] - want.exposed[rank]) < 1e-12 * (1 + want.ends[rank]));
        }
  CHECK(causes_of_law({}).empty());
}

TEST_CASE("each wrong word of a ring's clocks is told by the clocks that it gives") {
  for (const ReadingWord& word : reading_words()) {
    ClockLaw law;
    law.readings.push_back(word.change);
    require_told(word.sentence, law);
  }
  for (const MessageWord& word : message_words()) {
    ClockLaw law;
    word.change(law.blocks);
    word.change(law.sums);
    require_told(word.sentence, law);
  }
  for (const auto& words : {clock_words(), exposed_words()})
    for (const ClockWord& word : words) {
      ClockLaw law;
      word.change(law);
      require_told(word.sentence, law);
    }
}

TEST_CASE("two wrong words of a ring's clocks are told together") {
  ClockLaw law;
  law.sums.waits = MessageLaw::Waits::kReceiver;
  law.barrier = true;
  law.counts = ClockLaw::Counts::kReceives;
  std::vector<std::string> told;
  for (const Cause& cause : causes_of_law(law)) told.push_back(cause.sentence);
  CHECK(told == std::vector<std::string>{"all ranks end a step together", "only the receiver waits for a sum",
                                         "exposed leaves out what a rank waits for as a sender"});
}
