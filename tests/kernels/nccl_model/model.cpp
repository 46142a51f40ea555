// Groups over a communicator of the host.
#include "model.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

using ringcraft::Communicator;
using ringcraft::Op;

namespace {

thread_local Communicator* host_of_thread = nullptr;
ringcraft::testing::NcclModelFaults faults;
std::atomic<int> open_ranks = 0, aborted_ranks = 0;

struct Call {
  ncclComm_t comm;
  Op op;
  cudaStream_t stream;
};
thread_local std::vector<Call> group;
thread_local int depth = 0;

}  // namespace

struct ModelOfNccl {
  Communicator& host;
  std::atomic<bool> aborted = false;
};

namespace {

ncclResult_t run_group(std::vector<Call> calls) {
  if (calls.empty()) return ncclSuccess;
  ModelOfNccl& comm = *calls.front().comm;
  while (faults.never_ends)
    if (comm.aborted) return ncclRemoteError;  // its memory is kept: calls may still return from it
  std::vector<std::vector<std::byte>> staged;
  std::vector<Op> ops;
  for (const Call& call : calls) {
    cudaStreamSynchronize(call.stream);
    auto& bytes = staged.emplace_back(call.op.bytes.size());
    if (call.op.kind == Op::kSend) std::memcpy(bytes.data(), call.op.bytes.data(), bytes.size());
    ops.push_back({call.op.kind, call.op.peer, bytes});
  }
  try {
    comm.host.start(ops).wait();
  } catch (const ringcraft::Error&) {
    return ncclRemoteError;
  }
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].op.kind == Op::kRecv)
      ringcraftEnqueue(calls[i].stream, [to = calls[i].op.bytes, from = std::move(staged[i])] {
        std::memcpy(to.data(), from.data(), from.size());
      });
  return ncclSuccess;
}

ncclResult_t add(const Call& call) {
  group.push_back(call);
  return depth > 0 ? ncclSuccess : run_group(std::exchange(group, {}));
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "remote process exited or there was a network error";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memcpy(id->internal, "the only one", 13);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  if (host_of_thread == nullptr || ranks != host_of_thread->world_size() || rank != host_of_thread->rank() ||
      std::strcmp(id.internal, "the only one") != 0)
    return ncclRemoteError;
  *comm = new ModelOfNccl{*host_of_thread};
  ++open_ranks;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = faults.remote_error ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  --open_ranks;
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  --open_ranks;
  ++aborted_ranks;
  comm->aborted = true;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return --depth > 0 ? ncclSuccess : run_group(std::exchange(group, {})); }
ncclResult_t ncclSend(const void* bytes, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  auto* const first = static_cast<std::byte*>(const_cast<void*>(bytes));
  return add({comm, {Op::kSend, peer, {first, count}}, stream});
}
ncclResult_t ncclRecv(void* bytes, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add({comm, {Op::kRecv, peer, {static_cast<std::byte*>(bytes), count}}, stream});
}

namespace ringcraft::testing {

const kernels::NcclCalls& nccl_model() {
  static const kernels::NcclCalls calls{
      ncclGetErrorString, ncclGetUniqueId, ncclCommInitRank, ncclCommGetAsyncError,
      ncclCommDestroy,    ncclCommAbort,   ncclGroupStart,   ncclGroupEnd,
      ncclSend,           ncclRecv};
  return calls;
}

NcclModelRank::NcclModelRank(Communicator& host) { host_of_thread = &host; }
NcclModelRank::~NcclModelRank() { host_of_thread = nullptr; }
NcclModelFaults& nccl_model_faults() { return faults; }
int nccl_model_open() { return open_ranks; }
int nccl_model_aborted() { return aborted_ranks; }

}  // namespace ringcraft::testing
