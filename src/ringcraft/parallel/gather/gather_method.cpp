// All-gather attention as a method. Its backward pass gathers again, so it saves no block but the own one.
#include <string>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/gather/gather_passes.hpp"
#include "ringcraft/parallel/method.hpp"
#include "ringcraft/parallel/recording.hpp"

namespace ringcraft {
namespace {

struct Saved {
  Buffer q;
  KvBlock kv;
};

void refuse(const Problem& problem, const MethodOptions& options) {
  const Index heads = problem.shape.kv_heads;
  if (options.gather_heads < 0 || (options.gather_heads > 0 && heads % options.gather_heads != 0))
    throw Error("gather_heads", "a number that divides the " + std::to_string(heads) + " KV heads",
                std::to_string(options.gather_heads), "take 1, the least memory, or 0 for all at once");
}

Forward forward(RankPlace& place, const Problem& problem, const MethodOptions& options, Buffer q,
                KvBlock kv) {
  const HeadSlices slices(problem.shape, options.gather_heads);
  Output output = gather_forward(place.comm(), place.engine(), problem, slices, q, kv);
  return {std::move(output), std::make_shared<Saved>(Saved{std::move(q), std::move(kv)})};
}

Gradients backward(RankPlace& place, const Problem& problem, const MethodOptions& options,
                   const Forward& forward, const Buffer& dout) {
  const Saved& saved = *static_cast<const Saved*>(forward.saved.get());
  hold(place.trace(), "q", place.comm().rank(), saved.q);
  hold(place.trace(), place.comm().rank(), saved.kv);
  return gather_backward(place.comm(), place.engine(), problem,
                         HeadSlices(problem.shape, options.gather_heads), saved.q, saved.kv, forward.output,
                         dout);
}

Theory theory(const Problem& problem, const MethodOptions& options, Pass pass, RoleBytes bytes) {
  return gather_theory(problem, HeadSlices(problem.shape, options.gather_heads), pass, bytes);
}

}  // namespace

constinit const Method kAllGather{"all-gather", kTakesGatherHeads, refuse, forward, backward, theory};

}  // namespace ringcraft
