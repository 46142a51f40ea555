#pragma once
// Ranks that compute with the CUDA kernels. The RINGCRAFT_HAS_... macros of a build say which of them it has.

#include <functional>
#include <memory>

#include "tool/jobs/meeting.hpp"
#include "tool/ranks/ranks.hpp"

namespace ringcraft::tool {

// Virtual ranks over loopback: on the CPU, and on the first GPU. Throws Error (Code::kMissing) without one.
std::unique_ptr<Ranks> cuda_host_ranks();
std::unique_ptr<Ranks> cuda_ranks();

// This process's rank over NCCL, on its own GPU, in a job whose ranks meet there. Throws Error
// (Code::kMissing) without a GPU or NCCL.
std::unique_ptr<Ranks> nccl_ranks(Meeting& meeting);

// Throws Error unless the kernels of both passes take this type.
void require_kernel_type(const char* backend, DType type);

}  // namespace ringcraft::tool
