// Plays the clocks of a ring by any law of the grammar.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/functions/clocks/clock_law.hpp"

namespace ringcraft::verify {
namespace {

using Law = ClockLaw;
using Clocks = std::vector<double>;

class ClockPlay {
 public:
  ClockPlay(const ClockLaw& law, const TimedRing& costs)
      : law_(law),
        costs_(costs),
        ranks_(costs.computing.front().size()),
        clock_(ranks_, 0.0),
        exposed_(ranks_, 0.0) {}

  RingClocks result() {
    RingClocks result;
    Clocks sums_posted(ranks_, 0.0);
    const int steps = static_cast<int>(costs_.computing.size());
    const bool own_step = law_.sums == Law::Sums::kOwnStep;
    const bool later = law_.sums != Law::Sums::kLikeBlocks && law_.sums != Law::Sums::kNone && !own_step;
    for (int step = 0; step < steps; ++step) {
      Clocks blocks_posted = clock_;
      const auto wait_for_all = [&] {
        if (later) wait(step - 1, RingTransfer::kSum, sums_posted);
        const bool extra = law_.exchange_at_end && step == steps - 1;
        wait(extra ? 0 : step, RingTransfer::kBlock, blocks_posted);
      };
      if (law_.sums == Law::Sums::kBeforeComputing) wait(step - 1, RingTransfer::kSum, sums_posted);
      if (law_.computes == Law::Computes::kAfterWaiting) wait_for_all();
      compute(step);
      const Clocks computed = clock_;
      if (law_.blocks == Law::BlocksPosted::kComputed) blocks_posted = clock_;
      if (law_.computes != Law::Computes::kAfterWaiting) wait_for_all();
      if (law_.barrier) clock_.assign(ranks_, std::ranges::max(clock_));
      sums_posted = law_.sums_posted == Law::SumsPosted::kStepEnds     ? clock_
                    : law_.sums_posted == Law::SumsPosted::kStepBegins ? blocks_posted
                                                                       : computed;
      if (own_step) wait(step, RingTransfer::kSum, sums_posted);
      result.steps.push_back(law_.steps_computed ? computed : clock_);
    }
    result.ends = clock_;
    if (law_.sums == Law::Sums::kOnceMore && steps > 1) wait(steps - 2, RingTransfer::kSum, sums_posted);
    if (later && law_.sums != Law::Sums::kNotTheLast) wait(steps - 1, RingTransfer::kSum, sums_posted);
    if (!law_.ends_of_last_step) result.ends = clock_;
    result.exposed = exposed_;
    return result;
  }

 private:
  void compute(int step) {
    const bool first = law_.computes == Law::Computes::kLikeTheFirstStep;
    const auto& seconds = costs_.computing[first ? 0 : static_cast<std::size_t>(step)];
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      clock_[rank] +=
          law_.computes == Law::Computes::kWholeSeconds ? std::floor(seconds[rank]) : seconds[rank];
  }

  bool belongs(const TimedTransfer& transfer, int step, RingTransfer::What what) const {
    const bool either = law_.sums == Law::Sums::kLikeBlocks && what == RingTransfer::kBlock;
    return transfer.step == step && (either || transfer.what == what);
  }

  void wait(int step, RingTransfer::What what, const Clocks& posted) {
    const Clocks began = clock_;
    Clocks free = posted;  // until when messages that go one after the other keep a rank
    double slowest = 0;
    for (const TimedTransfer& transfer : costs_.transfers)
      if (belongs(transfer, step, what)) slowest = std::max(slowest, transfer.seconds);
    for (const TimedTransfer& transfer : costs_.transfers) {
      if (law_.sorted && transfer.step > step) break;
      if (!belongs(transfer, step, what)) continue;
      const auto from = static_cast<std::size_t>(transfer.from);
      const std::size_t to = law_.peers == Law::Peers::kListed ? static_cast<std::size_t>(transfer.to)
                             : law_.peers == Law::Peers::kNext ? (from + 1) % ranks_
                                                               : (from + ranks_ - 1) % ranks_;
      const bool serial = law_.lasts == Law::Lasts::kOneAfterTheOther;
      const Clocks& posts = law_.blocks == Law::BlocksPosted::kWaited ? clock_ : serial ? free : posted;
      const double seconds = law_.lasts == Law::Lasts::kSlowest ? slowest : transfer.seconds;
      const double complete = begin(posts, from, to) + seconds;
      if (serial) free[from] = free[to] = complete;
      for (const std::size_t rank : {from, to}) {
        if (!waits(step, rank, rank == from)) continue;
        const double own = posts[rank] + seconds;
        pass(rank, law_.begins == Law::Begins::kOwnPost ? own : complete, own, seconds, began[rank], what);
      }
    }
  }

  double begin(const Clocks& posted, std::size_t from, std::size_t to) const {
    switch (law_.begins) {
      case Law::Begins::kSender:
        return posted[from];
      case Law::Begins::kReceiver:
        return posted[to];
      case Law::Begins::kEarlierPost:
        return std::min(posted[from], posted[to]);
      case Law::Begins::kLastPostOfAll:
        return std::ranges::max(posted);
      default:
        return std::max(posted[from], posted[to]);
    }
  }

  bool waits(int step, std::size_t rank, bool sends) const {
    const std::size_t at = static_cast<std::size_t>(std::max(step, 0));
    if (law_.waits == Law::Waits::kThoseThatCompute) return costs_.computing[at][rank] != 0;
    return law_.waits == Law::Waits::kBoth || (law_.waits == Law::Waits::kSender) == sends;
  }

  // The rank passes the end of a message.
  void pass(std::size_t rank, double complete, double own, double seconds, double began,
            RingTransfer::What what) {
    double& exposed = exposed_[rank];
    const double waited = std::max(0.0, complete - clock_[rank]);
    switch (law_.exposed) {
      case Law::Exposed::kWaited:
        exposed += law_.sets == Law::Sets::kAdds ? seconds : waited;
        break;
      case Law::Exposed::kSigned:
        exposed += complete - clock_[rank];
        break;
      case Law::Exposed::kLastWait:
        exposed = waited;
        break;
      case Law::Exposed::kEachMessage:
        exposed += std::max(0.0, complete - began);
        break;
      case Law::Exposed::kWholeMessage:
        exposed += seconds;
        break;
      case Law::Exposed::kBlocks:
        exposed += what == RingTransfer::kBlock ? waited : 0;
        break;
      case Law::Exposed::kOwnPost:
        exposed += std::max(0.0, own - clock_[rank]);
        break;
    }
    if (law_.sets == Law::Sets::kAdds)
      clock_[rank] += seconds;
    else
      clock_[rank] = law_.sets == Law::Sets::kOverwrites ? complete : std::max(clock_[rank], complete);
  }

  const ClockLaw& law_;
  const TimedRing& costs_;
  std::size_t ranks_;
  Clocks clock_, exposed_;
};

}  // namespace

RingClocks played(const ClockLaw& law, const TimedRing& costs) { return ClockPlay(law, costs).result(); }

}  // namespace ringcraft::verify
