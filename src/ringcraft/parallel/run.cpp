// Runs a method once: takes the shards, computes, gathers the results.
#include "ringcraft/parallel/run.hpp"

#include <string>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "ringcraft/ring/refuse.hpp"

namespace ringcraft {
namespace {

Buffer shard(RankPlace& place, const Buffer& whole, const Problem& problem) {
  return place.taken(scatter(whole, problem.sharding(), place.comm().rank()));
}

}  // namespace

void RankRun::forward(RankPlace& place, const WholeInputs& whole) {
  refuse(*method_, *problem_, options_, whole.last_pass(), place.comm(), place.engine());
  Buffer q = shard(place, whole.q, *problem_);
  KvBlock kv{shard(place, whole.k, *problem_), shard(place, whole.v, *problem_)};
  run_forward(place, std::move(q), std::move(kv));
}

void RankRun::forward(RankPlace& place, Buffer q, KvBlock kv, Pass last_pass) {
  refuse(*method_, *problem_, options_, last_pass, place.comm(), place.engine());
  run_forward(place, std::move(q), std::move(kv));
}

void RankRun::run_forward(RankPlace& place, Buffer q, KvBlock kv) {
  require_shard(*problem_, place.comm().rank(), place.engine(), q, kv);
  hold(place.trace(), "q", place.comm().rank(), q);
  hold(place.trace(), place.comm().rank(), kv);
  const Recording recording(place);
  forward_ = method_->forward(place, *problem_, options_, std::move(q), std::move(kv));
  give(place.trace(), "out", forward_.output.out);
  give(place.trace(), "lse", forward_.output.lse);
}

void RankRun::backward(RankPlace& place, const WholeInputs& whole) {
  backward(place, shard(place, whole.dout, *problem_));
}

void RankRun::backward(RankPlace& place, const Buffer& dout) {
  require_forward("backward pass");
  if (method_->backward == nullptr)
    throw Error("backward pass", "a method that has one", std::string(method_->name), "use the ring");
  require_dout(*problem_, place.comm().rank(), place.engine(), dout);
  const Recording recording(place);
  hold(place.trace(), "dout", place.comm().rank(), dout);
  gradients_ = method_->backward(place, *problem_, options_, forward_, dout);
  give(place.trace(), "dq", gradients_.dq);
  give(place.trace(), "dk", gradients_.dkv.k);
  give(place.trace(), "dv", gradients_.dkv.v);
}

void RankRun::require_forward(const char* what) const {
  if (forward_.output.lse.extents() == Extents{})
    throw Error(what, "a run whose forward pass is done", "one without", "call forward first, on every rank");
}

WholeResult RankRun::gathered(RankPlace& place) {
  require_forward("results of a run");
  const auto together = [&](Buffer& part) {
    return part.extents() == Extents{} ? Buffer()
                                       : gather_to_first(place, std::move(part), problem_->sharding());
  };
  forward_.saved.reset();
  Output output{together(forward_.output.out), together(forward_.output.lse)};
  Buffer dq = together(gradients_.dq), dk = together(gradients_.dkv.k), dv = together(gradients_.dkv.v);
  return {std::move(output), {std::move(dq), {std::move(dk), std::move(dv)}}};
}

WholeResult run_method(const Method& method, RankPlace& place, const Problem& problem,
                       const MethodOptions& options, const WholeInputs& whole) {
  RankRun run(method, problem, options);
  run.forward(place, whole);
  if (whole.last_pass() == Pass::kBackward) run.backward(place, whole);
  return run.gathered(place);
}

}  // namespace ringcraft
