#pragma once
/// @file
/// The calls of NCCL that the communicator makes, as a table. The shared library is loaded when the table is
/// first requested: a program that can use NCCL starts, and does everything else, without it.

#include <nccl.h>

#include <string>
#include <string_view>

#include "ringcraft/core/error.hpp"

namespace ringcraft::kernels {

/// One pointer for each; see NCCL's manual.
struct NcclCalls {
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRank) init_rank;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
};

/// Those of libnccl.so.2. Throws Error (Code::kMissing) if that cannot be loaded.
const NcclCalls& nccl_library();

/// Throws Error, with the call and NCCL's own words, unless it succeeded.
inline void check(const NcclCalls& nccl, ncclResult_t result, std::string_view call) {
  if (result == ncclSuccess) return;
  throw Error(std::string(call) + ": " + nccl.error_string(result) + "; NCCL_DEBUG=WARN says more",
              Code::kWrongAnswer);
}

}  // namespace ringcraft::kernels
