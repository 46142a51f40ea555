// Evaluates laws of parts, the coefficient of each part of a sum under a law, and lists the laws to try.
#include "verify/diagnose/solve/gradient/share_law.hpp"

#include <algorithm>

#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

using Deed = ShareLaw::Deed;
using Order = ShareLaw::Order;
using Kind = ShareWhich::Kind;
using Scope = ShareScope::Kind;

bool in_scope(const ShareScope& scope, const Evidence& e, const Share& share) {
  const Index group = e.problem.group(), in_group = share.head % group, kv_head = share.head / group;
  switch (scope.kind) {
    case Scope::kAll:
      return true;
    case Scope::kFirstEntry:
      return share.batch == 0;
    case Scope::kLaterEntries:
      return share.batch > 0;
    case Scope::kLastEntry:
      return share.batch + 1 == e.problem.batch;
    case Scope::kFromInGroup:
      return in_group >= scope.number;
    case Scope::kUpToInGroup:
      return in_group < scope.number;
    case Scope::kFirstKvHead:
      return kv_head == 0;
    case Scope::kLaterKvHeads:
      return kv_head > 0;
    case Scope::kEarlyRows:
      return share.row_half == 0;
    case Scope::kLateRows:
      return share.row_half == 1;
    case Scope::kEarlyKeys:
      return share.key_half == 0;
    case Scope::kLateKeys:
      return share.key_half == 1;
  }
  return false;
}

bool is_of_halves(const ShareScope& scope) { return scope.kind >= Scope::kEarlyRows; }

// The steps in the order in which their parts arrive.
std::vector<int> steps_in(Order order, int ranks) {
  std::vector<int> steps;
  for (int t = 0; t < ranks; ++t)
    steps.push_back(order == Order::kForward   ? t
                    : order == Order::kOwnLast ? (t + 1) % ranks
                                               : (ranks - t) % ranks);
  return steps;
}

// The factor of the sum when a step begins; `first`: no part has arrived yet.
double kept_by(const ShareLaw& law, bool concerned, bool any_seen, bool first) {
  switch (law.deed) {
    case Deed::kAssigned:
      return concerned && any_seen ? 0 : 1;
    case Deed::kReset:
      return concerned ? 0 : 1;
    case Deed::kFadesBefore:
      return law.factor.value;
    case Deed::kMeans:
      return first ? 1 : law.factor.value;
    default:
      return 1;
  }
}

// The factor of each part of a step as it arrives.
double taken_by(const ShareLaw& law, bool concerned, bool first, double seen_steps) {
  if (law.deed == Deed::kCounted) return 1 / std::max(seen_steps, 1.0);
  if (law.deed == Deed::kFactor) return concerned ? law.factor.value : 1;
  if (law.deed == Deed::kFadesAfter || (law.deed == Deed::kMeans && !first)) return law.factor.value;
  return 1;
}

// ---- laws to try

std::vector<ShareWhich> patterns(int ranks) {
  std::vector<ShareWhich> all;
  for (const Kind kind : {Kind::kMiddle, Kind::kEnds, Kind::kOdd, Kind::kFarther, Kind::kNeighbours})
    all.push_back({kind});
  for (int node = 2; node < ranks; ++node) {
    if (ranks % node != 0) continue;
    for (const Kind kind :
         {Kind::kOtherNodes, Kind::kNodeMates, Kind::kCrossSeats, Kind::kCounterparts, Kind::kOtherSeats})
      all.push_back({kind, 0, node});
    for (int t = 1; t < ranks / node; ++t) all.push_back({Kind::kNodeStep, t, node});
    for (int t = 0; t + 1 < ranks / node; ++t) all.push_back({Kind::kNodesUpTo, t, node});
    for (int t = 0; t + 1 < node; ++t) all.push_back({Kind::kSeatsUpTo, t, node});
    for (int t = 0; t < node; ++t) all.push_back({Kind::kSeatStep, t, node});
  }
  for (const Kind kind : {Kind::kEvenReceived, Kind::kEven}) all.push_back({kind});
  for (int r = 0; r < ranks; ++r) {
    all.push_back({Kind::kOfShard, r});
    all.push_back({Kind::kForBlock, r});
  }
  return all;
}

std::vector<ShareScope> scopes_of(const Evidence& e, GradientName name) {
  std::vector<ShareScope> all;
  const auto add = [&](std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) all.push_back({scope});
  };
  add({Scope::kAll});
  if (e.problem.batch > 1) add({Scope::kLaterEntries, Scope::kFirstEntry});
  if (e.problem.batch > 2) add({Scope::kLastEntry});
  const Index group = e.problem.group();
  for (Index k = 1; k < group && name != GradientName::kDq; ++k) {
    all.push_back({Scope::kUpToInGroup, group - k});
    all.push_back({Scope::kFromInGroup, k});
  }
  if (e.problem.kv_heads > 1) add({Scope::kLaterKvHeads, Scope::kFirstKvHead});
  if (has_halves(e)) add({Scope::kEarlyRows, Scope::kLateRows, Scope::kEarlyKeys, Scope::kLateKeys});
  return all;
}

}  // namespace

std::vector<ShareWhich> plain_parts(int ranks) {
  std::vector<ShareWhich> all{
      {Kind::kAll}, {Kind::kOwn}, {Kind::kReceived}, {Kind::kEarlier}, {Kind::kLater}};
  for (int t = 1; t < ranks; ++t) all.push_back({Kind::kStep, t});
  for (int t = 2; t < ranks; ++t) all.push_back({Kind::kFromStep, t});
  for (int t = 1; t + 1 < ranks; ++t) all.push_back({Kind::kUpToStep, t});
  for (int r = 0; r < ranks; ++r) all.push_back({Kind::kShard, r});
  for (int r = 0; r < ranks; ++r) all.push_back({Kind::kBlock, r});
  return all;
}

bool holds(const ShareWhich& which, int ranks, const Share& s) {
  const int t = s.step, nodes = ranks / which.node, node_step = s.shard / which.node - s.block / which.node,
            seat_step = s.shard % which.node - s.block % which.node;
  switch (which.kind) {
    case Kind::kAll:
      return true;
    case Kind::kOwn:
      return t == 0;
    case Kind::kReceived:
      return t > 0;
    case Kind::kEarlier:
      return s.block < s.shard;
    case Kind::kLater:
      return s.block > s.shard;
    case Kind::kStep:
      return t == which.number;
    case Kind::kFromStep:
      return t >= which.number;
    case Kind::kUpToStep:
      return t <= which.number;
    case Kind::kShard:
      return s.shard == which.number;
    case Kind::kBlock:
      return s.block == which.number;
    case Kind::kHidden:
      return !s.seen;
    case Kind::kMiddle:
      return t > 0 && t + 1 < ranks;
    case Kind::kEnds:
      return t == 0 || t + 1 == ranks;
    case Kind::kOdd:
      return t % 2 == 1;
    case Kind::kEven:
      return t % 2 == 0;
    case Kind::kEvenReceived:
      return t > 0 && t % 2 == 0;
    case Kind::kNeighbours:
      return t == 1 || t + 1 == ranks;
    case Kind::kFarther:
      return t > 1 && t + 1 < ranks;
    case Kind::kOfShard:
      return t > 0 && s.shard == which.number;
    case Kind::kForBlock:
      return t > 0 && s.block == which.number;
    case Kind::kNodeMates:
      return node_step == 0 && t > 0;
    case Kind::kOtherNodes:
      return node_step != 0;
    case Kind::kNodeStep:
      return (node_step + nodes) % nodes == which.number;
    case Kind::kSeatStep:
      return (seat_step + which.node) % which.node == which.number;
    case Kind::kNodesUpTo:
      return (node_step + nodes) % nodes <= which.number;
    case Kind::kSeatsUpTo:
      return (seat_step + which.node) % which.node <= which.number;
    case Kind::kOtherSeats:
      return seat_step != 0;
    case Kind::kCrossSeats:
      return node_step != 0 && seat_step != 0;
    case Kind::kCounterparts:
      return node_step != 0 && seat_step == 0;
  }
  return false;
}

std::vector<double> coefficients(const ShareLaw& law, const Evidence& e, const ShareSum& sum) {
  const int ranks = e.place.count();
  const std::size_t of_step = sum.parts.size() / static_cast<std::size_t>(ranks);
  std::vector<double> result(sum.parts.size(), 0.0);
  double seen_steps = 0, steps = 0;
  for (std::size_t i = 0; i < sum.parts.size(); i += of_step)
    seen_steps += std::any_of(sum.parts.begin() + static_cast<std::ptrdiff_t>(i),
                              sum.parts.begin() + static_cast<std::ptrdiff_t>(i + of_step),
                              [](const ShareSum::Part& part) { return part.share.seen; });
  bool first = true;
  for (const int step : steps_in(law.order, ranks)) {
    const std::size_t begin = static_cast<std::size_t>(step) * of_step, end = begin + of_step;
    bool seen = false, concerned = false;
    for (std::size_t i = begin; i < end; ++i) {
      const Share& share = sum.parts[i].share;
      seen = seen || share.seen;
      concerned = concerned || (holds(law.which, ranks, share) && in_scope(law.scope, e, share));
    }
    if (law.which.kind == Kind::kHidden) concerned = !seen;
    if (law.skips && !seen) continue;
    if (const double kept = kept_by(law, concerned, seen, first); kept != 1)
      for (double& x : result) x *= kept;
    for (std::size_t i = begin; i < end; ++i) {
      const Share& share = sum.parts[i].share;
      const bool new_head = i == begin || share.head != sum.parts[i - 1].share.head;
      if (law.deed == Deed::kHeadsStored && new_head && share.seen && concerned)
        std::ranges::fill(result, 0.0);
      const bool mine = holds(law.which, ranks, share) && in_scope(law.scope, e, share);
      if (share.seen) result[i] = taken_by(law, mine, first, seen_steps);
    }
    if (law.deed == Deed::kFadesAfter)
      for (std::size_t i = 0; i < result.size(); ++i)
        if (i < begin || i >= end) result[i] *= law.factor.value;
    if (law.deed == Deed::kRepeated)
      for (std::size_t i = begin; i < end; ++i)
        result[i] *= (law.skips ? seen_steps : static_cast<double>(ranks)) - steps;
    first = false, ++steps;
  }
  return result;
}

std::vector<ShareLaw::Factor> share_factors(const Evidence& e, GradientName name) {
  std::vector<ShareLaw::Factor> all;
  const auto group = static_cast<double>(e.problem.group());
  const double scale = e.problem.softmax_scale;
  if (group > 1) all.push_back({1 / group, "divided by the number of query heads of a group", "1 / group"});
  all.push_back({1.0 / e.place.count(), "divided by the number of ranks", "1 / ranks"});
  all.push_back({static_cast<double>(e.place.count()), "multiplied by the number of ranks", "ranks"});
  all.push_back({0.5, "halved", "1/2"});
  if (name != GradientName::kDv)
    all.push_back({1 / scale, "added without the softmax scale", "1 / softmax scale"});
  all.push_back({scale, name == GradientName::kDv ? "multiplied by the softmax scale" : "scaled twice",
                 "the softmax scale"});
  all.push_back({-1, "subtracted", "-1"});
  return all;
}

std::vector<ShareLaw> share_laws(const Evidence& e, GradientName name) {
  const int ranks = e.place.count();
  std::vector<ShareLaw> all;
  const std::vector<ShareWhich> plain = plain_parts(ranks), others = patterns(ranks);
  const ShareLaw::Factor lost{0, "lost", "0"}, twice{2, "added twice", "2"};
  for (const ShareWhich& which : others) all.push_back({.which = which, .factor = lost});
  for (const Order order : {Order::kForward, Order::kOwnLast, Order::kBackward})
    for (const Deed deed : {Deed::kAssigned, Deed::kReset})
      for (const ShareWhich& which : plain) all.push_back({.deed = deed, .which = which, .order = order});
  for (const Order order : {Order::kForward, Order::kOwnLast})
    all.push_back({.deed = Deed::kReset, .which = {Kind::kHidden}, .order = order});
  all.push_back({.deed = Deed::kCounted});
  for (const bool skips : {false, true}) all.push_back({.deed = Deed::kRepeated, .skips = skips});
  const std::vector<ShareLaw::Factor> factors = share_factors(e, name);
  for (const ShareLaw::Factor& factor : factors)
    for (const Deed deed : {Deed::kFadesBefore, Deed::kFadesAfter, Deed::kMeans})
      for (const Order order : {Order::kForward, Order::kOwnLast, Order::kBackward})
        for (const bool skips : {false, true})
          all.push_back({.deed = deed, .factor = factor, .order = order, .skips = skips});
  for (const ShareScope& scope : scopes_of(e, name))
    for (const bool pattern : {false, true})
      for (const ShareWhich& which : pattern ? others : plain) {
        if (is_of_halves(scope) && !pattern) continue;  // masks of halves are tried elsewhere
        all.push_back({.which = which, .scope = scope, .factor = lost});
        all.push_back({.which = which, .scope = scope, .factor = twice});
        if (which.kind == Kind::kAll && scope.kind == Scope::kAll) continue;  // a factor of the whole
        for (const ShareLaw::Factor& factor : factors)
          all.push_back({.which = which, .scope = scope, .factor = factor});
      }
  if (e.problem.group() > 1 && name != GradientName::kDq)
    for (const ShareWhich& which : plain) all.push_back({.deed = Deed::kHeadsStored, .which = which});
  return all;
}

}  // namespace ringcraft::verify
