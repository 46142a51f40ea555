// Implements the ring as a method.
#include <utility>

#include "ringcraft/parallel/method.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "ringcraft/parallel/saved_ring.hpp"
#include "ringcraft/ring/theory.hpp"

namespace ringcraft {
namespace {

struct Saved {
  Buffer q;
  int owner;
  KvBlock first, own;
};

Forward forward(RankPlace& place, const Problem& problem, const MethodOptions& options, Buffer q,
                KvBlock kv) {
  auto [output, owner, first, own] =
      ring_forward_saving(place.comm(), place.engine(), problem, options.schedule, q, std::move(kv));
  return {std::move(output),
          std::make_shared<Saved>(Saved{std::move(q), owner, std::move(first), std::move(own)})};
}

Gradients backward(RankPlace& place, const Problem& problem, const MethodOptions& options,
                   const Forward& forward, const Buffer& dout) {
  const Saved& saved = *static_cast<const Saved*>(forward.saved.get());
  hold(place.trace(), "q", place.comm().rank(), saved.q);
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

constinit const Method kRing{"ring", kTakesSchedule, nullptr, forward, backward, theory};

}  // namespace ringcraft
