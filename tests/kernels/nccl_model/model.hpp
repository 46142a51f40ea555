#pragma once
/// @file
/// A model of NCCL in one process: ranks are threads, a group is done as a whole when all of its other sides
/// have arrived, and a call outside a group is a group of its own. Bytes leave when the stream has reached
/// the group, and arrive on the stream.

#include "nccl/nccl_calls.hpp"
#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::testing {

/// The calls of the model.
const kernels::NcclCalls& nccl_model();

/// While it lives, communicators that this thread joins exchange over `host`.
class NcclModelRank {
 public:
  explicit NcclModelRank(Communicator& host);
  ~NcclModelRank();
};

/// The failure to simulate from here on, in all communicators.
struct NcclModelFaults {
  bool remote_error = false;  ///< as if another rank had ended
  bool never_ends = false;    ///< a group does not end until it is aborted
};
NcclModelFaults& nccl_model_faults();

/// Ranks that were joined and neither destroyed nor aborted; and those aborted so far.
int nccl_model_open();
int nccl_model_aborted();

}  // namespace ringcraft::testing
