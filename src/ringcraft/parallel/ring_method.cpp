// Implements the ring as a method. Its backward pass starts from the KV block that the schedule begins with:
// the rank's own, or for kReversed the one that the forward pass held last. The own one is freed then, unless
// the ring does not bring it home.
#include <utility>

#include "ringcraft/parallel/method.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "ringcraft/ring/route.hpp"
#include "ringcraft/ring/theory.hpp"

namespace ringcraft {
namespace {

struct Saved {
  Buffer q;
  KvBlock first;
  int owner;  // owner of the block `first`
  KvBlock own;
};

Forward forward(RankPlace& place, const Problem& problem, const MethodOptions& options, Buffer q,
                KvBlock kv) {
  const Route route(problem, place.comm().rank(), options.schedule);
  auto [output, last] = ring_forward(place.comm(), place.engine(), problem, q, kv);
  const int owner = route.source(0);
  const bool from_last = options.schedule == Schedule::kReversed && route.exchanges() > 0;
  Saved saved{std::move(q), std::move(from_last ? last : kv), owner, {}};
  if (route.keeps_own()) saved.own = std::move(kv);
  return {std::move(output), std::make_shared<Saved>(std::move(saved))};
}

Gradients backward(RankPlace& place, const Problem& problem, const MethodOptions& options,
                   const Forward& forward, const Buffer& dout) {
  const Saved& saved = *static_cast<const Saved*>(forward.saved.get());
  hold(place.trace(), saved.owner, saved.first);
  hold(place.trace(), place.comm().rank(), saved.own);
  return ring_backward(place.comm(), place.engine(), problem, options.schedule, saved.q, saved.first,
                       saved.own, forward.output, dout);
}

Theory theory(const Problem& problem, const MethodOptions& options, Pass pass, RoleBytes bytes) {
  return pass == Pass::kForward ? forward_theory(problem, bytes)
                                : backward_theory(problem, options.schedule, bytes);
}

}  // namespace

constinit const Method kRing{"ring", nullptr, forward, backward, theory};

}  // namespace ringcraft
