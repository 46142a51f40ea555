// Recognises ranks that see nothing of a block and do not forward its sum of dk and dv correctly: simulates
// the ring, which must give every number.
#include <algorithm>
#include <map>

#include "verify/diagnose/solve/gradient/share_law.hpp"
#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

// The message of a rank that sees nothing.
enum class Sends : std::uint8_t {
  kOldSum,   // what it sent in the previous step
  kNothing,  // nothing: the next rank keeps its sum
};

using Pair = std::pair<int, int>;           // the shard that gives, and the block that it is for
using Travelling = std::map<Pair, double>;  // multiplicity of each part in a sum

class Walk {
 public:
  Walk(const Evidence& e, const std::vector<ShareSum>& sums) : ranks_(e.place.count()), sums_(sums) {
    for (const ShareSum& sum : sums)
      for (const ShareSum::Part& part : sum.parts)
        if (part.share.seen) seen_[{part.share.shard, part.share.block}] = true;
  }

  // The sum that each rank holds at the end.
  std::vector<Travelling> walked(Sends sends) const {
    const auto count = static_cast<std::size_t>(ranks_);
    std::vector<Travelling> hand(count), sent(count);
    for (int step = 0; step < ranks_; ++step) {
      std::vector<Travelling> next = hand;
      for (int rank = 0; rank < ranks_; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const Pair pair{rank, (rank - step + ranks_) % ranks_};
        const bool sees = seen_.contains(pair);
        if (sees) sent[r] = hand[r], ++sent[r][pair];
        if (sees || sends == Sends::kOldSum) next[(r + 1) % count] = sent[r];
      }
      hand = std::move(next);
    }
    return hand;
  }

  // Whether the claim is these sums.
  bool gives(const std::vector<Travelling>& hands, double threshold) const {
    const auto count = static_cast<std::size_t>(ranks_);
    for (std::size_t at = 0; at < sums_.size(); ++at) {
      const ShareSum& target = sums_[at];
      std::vector<double> left = target.claimed;
      for (const auto& [pair, times] : hands[at % count])
        for (const ShareSum::Part& part :
             sums_[at - at % count + static_cast<std::size_t>(pair.second)].parts)
          if (part.share.shard == pair.first)
            for (std::size_t i = 0; i < std::min(part.values.size(), left.size()); ++i)
              left[i] -= times * part.values[i];
      for (std::size_t i = 0; i < left.size(); ++i) left[i] /= target.tolerance[i];
      if (!(residual_of(left, 0) <= threshold)) return false;
    }
    return true;
  }

  bool skips() const {
    return seen_.size() < static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(ranks_);
  }

 private:
  int ranks_;
  const std::vector<ShareSum>& sums_;
  std::map<Pair, bool> seen_;
};

}  // namespace

std::optional<Cause> cause_of_skipped_sums(const Evidence& e, GradientName name, const Setting& forward) {
  const bool empty_shards =
      std::ranges::any_of(e.place.blocks, [](const auto& block) { return block.empty(); });
  if (name == GradientName::kDq || has_halves(e) || empty_shards) return {};
  const std::vector<ShareSum> sums = share_sums(e, name, {.setting = forward});
  const Walk walk(e, sums);
  if (sums.empty() || !walk.skips()) return {};
  const std::pair<Sends, const char*> all[] = {
      {Sends::kOldSum,
       "sends the sum of the step before once more, instead of handing on the one that has arrived"},
      {Sends::kNothing, "sends nothing, so that the next rank goes on with the sum that it has in hand"}};
  for (const auto& [sends, words] : all)
    if (walk.gives(walk.walked(sends), yardsticks_of(e).threshold))
      return Cause{
          "solved-sum-skipped",
          std::string("a rank that sees nothing of a block skips the exchange of its sum, too: it ") + words,
          "Skipping work is fine; what of the sum that passes through meanwhile?"};
  return {};
}

}  // namespace ringcraft::verify
