// Sends and receives as groups of NCCL calls.
#include "nccl/nccl_communicator.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "engine/check.hpp"
#include "engine/stream_calls.hpp"
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

// One exchange on a communicator. An operation of a group says that it is there, or is wrong; the group is
// closed in any case.
class NcclStreamCalls final : public CudaStreamCalls {
 public:
  NcclStreamCalls(const NcclCalls& nccl, ncclComm_t comm, const Stream& compute, const Stream& copies,
                  const NcclExchange& exchange)
      : CudaStreamCalls(compute, copies, exchange.ready, exchange.done), nccl_(nccl), comm_(comm) {}

  void group_start() override { check(nccl_, nccl_.group_start(), "ncclGroupStart"); }
  void send(int peer, std::span<const std::byte> bytes, RankStream stream) override {
    keep_first(nccl_.send(bytes.data(), bytes.size(), ncclInt8, peer, comm_, on(stream).get()));
  }
  void recv(int peer, std::span<std::byte> bytes, RankStream stream) override {
    keep_first(nccl_.recv(bytes.data(), bytes.size(), ncclInt8, peer, comm_, on(stream).get()));
  }
  void group_end() override {
    const ncclResult_t closed = nccl_.group_end();
    check(nccl_, first_, "ncclSend or ncclRecv");
    check(nccl_, closed, "ncclGroupEnd");
  }

 private:
  void keep_first(ncclResult_t result) { first_ = first_ == ncclSuccess ? result : first_; }

  const NcclCalls& nccl_;
  ncclComm_t comm_;
  ncclResult_t first_ = ncclSuccess;
};

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
  watch_->call([&](ncclComm_t comm) {
    NcclStreamCalls calls(nccl_, comm, compute_, copies_, *exchange);
    start_on_streams(calls, ops, kEventNumbers);
  });
  watch_->expect(exchange);
  exchanges_[++last_ticket_] = exchange;
  return last_ticket_;
}

void NcclCommunicator::do_wait(std::uint64_t ticket) {
  const auto exchange = std::move(exchanges_.at(ticket));
  exchanges_.erase(ticket);
  NcclStreamCalls calls(nccl_, nullptr, compute_, copies_, *exchange);
  wait_on_streams(calls, kEventNumbers);
  watch_->throw_if_aborted();
}

void NcclCommunicator::do_give_up() {
  watch_->abort("rank " + std::to_string(rank()) + " ended with an exception while messages were under way");
}

}  // namespace ringcraft::kernels
