#pragma once
/// @file
/// The smallest device communicator: messages between device buffers, carried by a host communicator through
/// host memory. It waits for the device at every step, so nothing can be out of order: the reference for
/// transports that do not wait.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <vector>

#include "engine/check.hpp"
#include "engine/device_memory.hpp"
#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::kernels {

/// One rank's end. `host` and `stream` (that of the rank's engine) outlive it.
class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(Communicator& host, const Stream& stream)
      : Communicator(host.rank(), host.world_size(), Space::kDevice), host_(host), stream_(stream) {}

 private:
  struct Exchange {
    std::vector<Op> device_ops;
    std::vector<std::vector<std::byte>> staged;  // the bytes of each operation, on the host
    Pending pending;
  };

  std::uint64_t do_start(std::span<const Op> ops) override {
    Exchange& exchange = exchanges_[++last_ticket_];
    exchange.device_ops.assign(ops.begin(), ops.end());
    std::vector<Op> host_ops;
    for (const Op& op : ops) {
      std::vector<std::byte>& bytes = exchange.staged.emplace_back(op.bytes.size());
      host_ops.push_back({op.kind, op.peer, bytes});
      if (op.kind == Op::kSend) copy(bytes.data(), op.bytes.data(), bytes.size(), cudaMemcpyDeviceToHost);
    }
    stream_.synchronize();  // all that this rank has enqueued is done; its receive buffers are free
    exchange.pending = host_.start(host_ops);
    return last_ticket_;
  }

  void do_wait(std::uint64_t ticket) override {
    Exchange& exchange = exchanges_.at(ticket);
    exchange.pending.wait();
    for (std::size_t i = 0; i < exchange.device_ops.size(); ++i) {
      const Op& op = exchange.device_ops[i];
      if (op.kind == Op::kRecv)
        copy(op.bytes.data(), exchange.staged[i].data(), op.bytes.size(), cudaMemcpyHostToDevice);
    }
    stream_.synchronize();
    exchanges_.erase(ticket);
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes, cudaMemcpyKind kind) {
    RINGCRAFT_CUDA(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()));
  }

  Communicator& host_;
  const Stream& stream_;
  std::map<std::uint64_t, Exchange> exchanges_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace ringcraft::kernels
