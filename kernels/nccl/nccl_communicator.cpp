// Sends and receives as groups of NCCL calls.
#include "nccl/nccl_communicator.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "engine/check.hpp"
#include "nccl/nccl_watch.hpp"
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft::kernels {
namespace {

const NcclCalls& calls_of(const NcclOptions& options) {
  return options.calls != nullptr ? *options.calls : nccl_library();
}

ncclComm_t joined(const NcclCalls& nccl, int rank, int world_size, const NcclId& id) {
  ncclUniqueId unique;
  static_assert(sizeof unique == sizeof id);
  std::memcpy(&unique, id.data(), sizeof unique);
  ncclComm_t comm = nullptr;
  check(nccl, nccl.init_rank(&comm, world_size, unique, rank), "ncclCommInitRank");
  return comm;
}

// An operation of a group says that it is there, or is wrong; the group is closed in any case.
void run_group(const NcclCalls& nccl, std::span<const Op> ops, ncclComm_t comm, cudaStream_t stream) {
  check(nccl, nccl.group_start(), "ncclGroupStart");
  ncclResult_t first = ncclSuccess;
  for (const Op& op : ops) {
    const ncclResult_t result =
        op.kind == Op::kSend ? nccl.send(op.bytes.data(), op.bytes.size(), ncclInt8, op.peer, comm, stream)
                             : nccl.recv(op.bytes.data(), op.bytes.size(), ncclInt8, op.peer, comm, stream);
    if (first == ncclSuccess) first = result;
  }
  const ncclResult_t closed = nccl.group_end();
  check(nccl, first, "ncclSend or ncclRecv");
  check(nccl, closed, "ncclGroupEnd");
}

}  // namespace

NcclId make_nccl_id(const NcclOptions& options) {
  const NcclCalls& nccl = calls_of(options);
  ncclUniqueId unique;
  check(nccl, nccl.unique_id(&unique), "ncclGetUniqueId");
  NcclId id;
  std::memcpy(id.data(), &unique, sizeof id);
  return id;
}

NcclId agreed_nccl_id(Communicator& host, const NcclOptions& options) {
  if (host.rank() == 0) {
    const NcclId id = make_nccl_id(options);
    for (int peer = 1; peer < host.world_size(); ++peer) send(host, peer, id);
    return id;
  }
  NcclId id;
  recv(host, 0, id);
  return id;
}

NcclCommunicator::NcclCommunicator(int rank, int world_size, const NcclId& id, const Stream& compute,
                                   const NcclOptions& options)
    : Communicator(rank, world_size, Space::kDevice),
      nccl_(calls_of(options)),
      compute_(compute),
      watch_(std::make_unique<NcclWatch>(nccl_, joined(nccl_, rank, world_size, id), options.device,
                                         options.timeout)) {}

NcclCommunicator::~NcclCommunicator() { cudaStreamSynchronize(copies_.get()); }

void NcclCommunicator::throw_if_aborted() { watch_->throw_if_aborted(); }

std::uint64_t NcclCommunicator::do_start(std::span<const Op> ops) {
  const auto exchange = std::make_shared<NcclExchange>();
  exchange->ready.record(compute_);
  RINGCRAFT_CUDA(cudaStreamWaitEvent(copies_.get(), exchange->ready.get()));
  watch_->call([&](ncclComm_t comm) { run_group(nccl_, ops, comm, copies_.get()); });
  exchange->done.record(copies_);
  watch_->expect(exchange);
  exchanges_[++last_ticket_] = exchange;
  return last_ticket_;
}

void NcclCommunicator::do_wait(std::uint64_t ticket) {
  const auto exchange = std::move(exchanges_.at(ticket));
  exchanges_.erase(ticket);
  RINGCRAFT_CUDA(cudaStreamWaitEvent(compute_.get(), exchange->done.get()));
  watch_->throw_if_aborted();
}

void NcclCommunicator::do_give_up() {
  watch_->abort("rank " + std::to_string(rank()) + " ended with an exception while messages were under way");
}

}  // namespace ringcraft::kernels
