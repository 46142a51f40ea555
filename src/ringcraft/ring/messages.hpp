#pragma once
/// @file
/// All messages of a ring before it runs: which block, or sum of gradients, goes from which rank to which,
/// and when. The closed forms (theory.hpp), the schedule checker and the judge count these; nothing else
/// knows how many bytes a ring sends.

#include <cstdint>
#include <memory>
#include <vector>

#include "ringcraft/engine/theory.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

/// One block, or the sum of its gradients, on its way from a rank to another: two messages, of k and of v.
struct RingTransfer {
  /// The things that travel.
  enum What : std::uint8_t {
    kBlock,  ///< k and v
    kSum,    ///< the sum of dk and dv so far
  };

  int step;        ///< it leaves in the exchange of this step: a block while the step is computed, a sum then
  int from;        ///< the rank that sends
  int to;          ///< the rank that receives
  int source;      ///< the rank whose block it is
  What what;       ///< block or sum
  Index elements;  ///< of k and v together

  friend bool operator==(const RingTransfer&, const RingTransfer&) = default;
};

/// The messages of a pass that are not empty, step by step. `schedule` is that of the backward pass; a
/// forward pass has no sums and goes the way of kForward.
std::vector<RingTransfer> ring_messages(const Problem& problem, Pass pass, Schedule schedule);

/// The same for blocks that go other ways than the problem needs: [world_size], as reaches() has them.
std::vector<RingTransfer> ring_messages(const Problem& problem, Pass pass, Schedule schedule,
                                        std::shared_ptr<const std::vector<int>> reaches);

/// The bytes of a transfer.
Index bytes_of(const RingTransfer& transfer, RoleBytes bytes);

}  // namespace ringcraft
