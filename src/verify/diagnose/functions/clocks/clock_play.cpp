// Plays the clocks of a ring by any law of the grammar.
#include <algorithm>
#include <cmath>
#include <functional>

#include "verify/diagnose/functions/clocks/clock_message.hpp"

namespace ringcraft::verify {
namespace {

using Law = ClockLaw;
using Clocks = std::vector<double>;
using What = RingTransfer::What;

class ClockPlay {
 public:
  ClockPlay(const Law& law, const ClockStyle& style, const TimedRing& costs, std::size_t ranks)
      : law_(law),
        style_(style),
        costs_(costs),
        steps_(static_cast<int>(costs.computing.size())),
        clock_(ranks, 0.0),
        exposed_(ranks, 0.0) {}

  RingClocks result() {
    RingClocks result;
    for (step_ = 0; step_ < steps_; ++step_) result.steps.push_back(step());
    const Clocks ended = clock_;
    wait(awaited());
    if (style_.by_difference)
      exposed_ = without_computing(law_.until == Law::Until::kLastStep ? ended : clock_);
    result.ends = clock_;
    result.exposed = exposed_;
    return told(law_, std::move(result), costs_);
  }

 private:
  // The messages of one kind and step.
  struct Group {
    int step;
    What what;
    bool holds(const TimedTransfer& transfer) const { return transfer.step == step && transfer.what == what; }
  };
  // When each rank has posted its messages of one kind and step.
  struct Posts {
    Clocks sends, receives;
  };

  // Returns the clocks that `steps` holds.
  Clocks step() {
    const Clocks begun = clock_;
    if (law_.sums_waited == Law::SumsWaited::kBeforeComputing) wait({{step_ - 1, What::kSum}});
    if (law_.waits_first) wait_in_step(begun, begun);
    std::ranges::transform(clock_, costs_.computing[static_cast<std::size_t>(step_)], clock_.begin(),
                           std::plus<>());
    const Clocks computed = clock_;
    if (law_.sums_posted == Law::SumsPosted::kNextComputed && step_ > 0) sums_.back() = {computed, computed};
    if (!law_.waits_first) wait_in_step(begun, computed);
    if (law_.barrier) clock_.assign(clock_.size(), std::ranges::max(clock_));
    if (law_.whole)
      std::ranges::transform(clock_, clock_.begin(), [](double clock) { return std::floor(clock); });
    const Clocks& posted = law_.sums_posted == Law::SumsPosted::kStepBegins ? begun
                           : law_.sums_posted == Law::SumsPosted::kComputed ? computed
                                                                            : clock_;
    sums_.push_back({posted, posted});
    if (law_.sums_waited == Law::SumsWaited::kOwnStep) wait({{step_, What::kSum}});
    return law_.kept == Law::Kept::kStepsComputed       ? computed
           : law_.kept == Law::Kept::kStepsBegin        ? begun
           : law_.kept == Law::Kept::kStepsBeforeSums   ? before_sums_
           : law_.kept == Law::Kept::kStepsBeforeBlocks ? before_blocks_
                                                        : clock_;
  }

  void wait_in_step(const Clocks& begun, const Clocks& computed) {
    using Posted = Law::BlocksPosted;
    const Clocks start(clock_.size(), 0.0), before = blocks_.empty() ? start : begun_;
    const Clocks& usual = law_.blocks_posted == Posted::kStart        ? start
                          : law_.blocks_posted == Posted::kStepBefore ? before
                          : law_.blocks_posted == Posted::kComputed   ? computed
                                                                      : begun;
    blocks_.push_back({law_.blocks_posted == Posted::kSendsComputed ? computed : usual,
                       law_.blocks_posted == Posted::kReceivesComputed ? computed : usual});
    begun_ = begun;
    wait(awaited());
  }

  // The steps [first, second) whose sums are waited for in this step, or after the last one.
  std::pair<int, int> awaited_sums() const {
    const bool after = step_ == steps_;
    switch (law_.sums_waited) {
      case Law::SumsWaited::kBeforeComputing:
        return {after ? step_ - 1 : step_, step_};
      case Law::SumsWaited::kOwnStep:
        return {step_, step_};
      case Law::SumsWaited::kStepAfterNext:
        return {step_ - 2, after ? step_ : step_ - 1};
      case Law::SumsWaited::kAtEnd:
        return {0, after ? step_ : 0};
      default:
        return {step_ - 1, step_};
    }
  }

  // All messages that are waited for then, in this order.
  std::vector<Group> awaited() const {
    std::vector<Group> groups;
    for (auto [step, end] = awaited_sums(); step < end; ++step) groups.push_back({step, What::kSum});
    const Group blocks{step_ - (law_.blocks_waited == Law::BlocksWaited::kNextStep ? 1 : 0), What::kBlock};
    if (blocks.step == steps_) return groups;
    const bool blocks_first =
        law_.kept == Law::Kept::kStepsBeforeSums ||
        (style_.order == ClockStyle::Order::kBlocksFirst && law_.kept != Law::Kept::kStepsBeforeBlocks);
    groups.insert(blocks_first ? groups.begin() : groups.end(), blocks);
    return groups;
  }

  void wait(const std::vector<Group>& groups) {
    begin_wait();
    if (style_.order == ClockStyle::Order::kByList) {
      for (const TimedTransfer& transfer : costs_.transfers)
        if (std::ranges::any_of(groups, [&](const Group& group) { return group.holds(transfer); }))
          pass(transfer);
      return;
    }
    for (const Group& group : groups) {
      (group.what == What::kSum ? before_sums_ : before_blocks_) = clock_;
      if (!style_.one_wait) begin_wait();
      for (const TimedTransfer& transfer : costs_.transfers)
        if (group.holds(transfer)) pass(transfer);
    }
  }

  void begin_wait() {
    waiting_ = clock_;
    met_.assign(clock_.size(), false);
    free_.assign(clock_.size(), 0.0);
  }

  void pass(const TimedTransfer& transfer) {
    const bool block = transfer.what == What::kBlock;
    const MessageLaw& law = block ? law_.blocks : law_.sums;
    const bool at_wait = law.begins == MessageLaw::Begins::kWait ||
                         (step_ == steps_ && law_.sums_posted == Law::SumsPosted::kLastAtWait);
    const Posts& posts = (block ? blocks_ : sums_)[static_cast<std::size_t>(transfer.step)];
    const Clocks &sends = at_wait ? clock_ : posts.sends, &receives = at_wait ? clock_ : posts.receives;
    const auto from = static_cast<std::size_t>(transfer.from), to = static_cast<std::size_t>(transfer.to);
    double begin = law.begins == MessageLaw::Begins::kLastPostOfAll
                       ? std::max(std::ranges::max(sends), std::ranges::max(receives))
                       : begin_of(law.begins, sends[from], receives[to]);
    if (law.in_turn) begin = std::max({begin, free_[from], free_[to]});
    free_[from] = free_[to] = begin + transfer.seconds;
    for (const std::size_t rank : {from, to}) {
      if (!waits(law, transfer, rank)) continue;
      const double own_post = rank == from ? sends[rank] : receives[rank];
      const bool from_own = law.begins == MessageLaw::Begins::kOwnPost;
      const AwaitedMessage message{.what = transfer.what,
                                   .sends = rank == from,
                                   .first = !met_[rank],
                                   .waiting = waiting_[rank],
                                   .clock = clock_[rank],
                                   .own_post = own_post,
                                   .complete = (from_own ? own_post : begin) + transfer.seconds,
                                   .seconds = transfer.seconds};
      met_[rank] = true;
      clock_[rank] = clock_after(law.sets, message);
      if (counts_now()) exposed_[rank] = exposed_after(law_, exposed_[rank], message);
    }
  }

  bool waits(const MessageLaw& law, const TimedTransfer& transfer, std::size_t rank) const {
    const int step = law_.idle == Law::Idle::kSkipTheStep ? step_ : transfer.step;
    const bool may_skip = law_.idle != Law::Idle::kWait && step < steps_;
    if (may_skip && costs_.computing[static_cast<std::size_t>(step)][rank] == 0) return false;
    const bool sends = rank == static_cast<std::size_t>(transfer.from);
    return law.waits == MessageLaw::Waits::kBoth || (law.waits == MessageLaw::Waits::kSender) == sends;
  }

  // Whether `exposed` counts the waits of this step; step steps_ is that of the last sums.
  bool counts_now() const {
    return law_.until == Law::Until::kEnd || step_ + (law_.until == Law::Until::kLastStep ? 0 : 1) < steps_;
  }

  Clocks without_computing(Clocks ends) const {
    for (const Clocks& seconds : costs_.computing)
      std::ranges::transform(ends, seconds, ends.begin(), std::minus<>());
    return ends;
  }

  const Law& law_;
  const ClockStyle& style_;
  const TimedRing& costs_;
  int steps_, step_ = 0;
  Clocks clock_, exposed_;
  std::vector<Posts> blocks_, sums_;    // of each step so far
  Clocks begun_;                        // the clocks when the last step began
  Clocks before_sums_, before_blocks_;  // the clocks before the last waits for either
  Clocks waiting_, free_;  // since the wait began: the clocks then; until when the ranks' messages last
  std::vector<char> met_;  // and whether they have waited for any
};

}  // namespace

RingClocks played(const ClockLaw& law, const ClockStyle& style, TimedRing costs) {
  const std::size_t ranks = costs.computing.front().size();
  for (const auto& read : law.readings) read(costs);
  return ClockPlay(law, style, costs, ranks).result();
}

}  // namespace ringcraft::verify
