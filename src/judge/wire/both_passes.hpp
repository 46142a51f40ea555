#pragma once
/// @file
/// Both passes of a method on one rank, for lessons whose exercise is a part of a method.

#include <tuple>
#include <utility>

#include "ringcraft/parallel/method.hpp"

namespace ringcraft::judge {

/// The results of a rank after both passes.
struct BothPasses {
  Output output;
  Gradients gradients;
  static auto fields(auto& self) { return std::tie(self.output, self.gradients); }
};

/// Runs them on copies of the tensors: a method takes its arguments away.
inline BothPasses both_passes(const Method& method, Communicator& comm, BlockEngine& engine,
                              const Problem& problem, const MethodOptions& options, const Buffer& q,
                              const KvBlock& kv, const Buffer& dout) {
  HostPlace place(comm, engine);
  Forward forward = method.forward(place, problem, options, q.clone(), {kv.k.clone(), kv.v.clone()});
  Gradients gradients = method.backward(place, problem, options, forward, dout);
  return {std::move(forward.output), std::move(gradients)};
}

}  // namespace ringcraft::judge
