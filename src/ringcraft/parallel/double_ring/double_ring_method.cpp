// The double ring as a method. The own block is where both passes begin.
#include <string>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/double_ring/double_ring.hpp"
#include "ringcraft/parallel/method.hpp"
#include "ringcraft/parallel/recording.hpp"

namespace ringcraft {
namespace {

struct Saved {
  Buffer q;
  KvBlock kv;
};

int node_of(const Problem& problem, const MethodOptions& options) {
  return options.node == 0 ? problem.world_size : options.node;
}

void refuse(const Problem& problem, const MethodOptions& options) {
  if (options.node < 0 || (options.node > 0 && problem.world_size % options.node != 0))
    throw Error("node", "a number that divides the " + std::to_string(problem.world_size) + " ranks",
                std::to_string(options.node), "say how many neighbours have fast links between them");
}

Forward forward(RankPlace& place, const Problem& problem, const MethodOptions& options, Buffer q,
                KvBlock kv) {
  Output output =
      double_ring_forward(place.comm(), place.engine(), problem, node_of(problem, options), q, kv);
  return {std::move(output), std::make_shared<Saved>(Saved{std::move(q), std::move(kv)})};
}

Gradients backward(RankPlace& place, const Problem& problem, const MethodOptions& options,
                   const Forward& forward, const Buffer& dout) {
  const Saved& saved = *static_cast<const Saved*>(forward.saved.get());
  hold(place.trace(), "q", place.comm().rank(), saved.q);
  hold(place.trace(), place.comm().rank(), saved.kv);
  return double_ring_backward(place.comm(), place.engine(), problem, node_of(problem, options), saved.q,
                              saved.kv, forward.output, dout);
}

Theory theory(const Problem& problem, const MethodOptions& options, Pass pass, RoleBytes bytes) {
  return double_ring_theory(problem, node_of(problem, options), pass, bytes);
}

}  // namespace

constinit const Method kDoubleRing{"double-ring", kTakesNode, refuse, forward, backward, theory};

}  // namespace ringcraft
