#pragma once
/// @file
/// The communicator over NCCL (lesson 306): one process per GPU. start: an event from the computing stream,
/// then all sends and receives as one group on a stream of their own: outside of a group they may wait for
/// each other (tests/comm/streams_test.cpp). wait: an event back. The host waits for neither; a watch aborts
/// what never ends. Unlike elsewhere, the starts of a rank progress one after the other: two ranks that start
/// the same exchanges in different orders wait until the watch ends them. The ring does not.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "engine/device_memory.hpp"
#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::kernels {

struct NcclCalls;
struct NcclExchange;
class NcclWatch;

/// Identifier that the ranks of one job share.
using NcclId = std::array<std::byte, 128>;

/// How a rank joins.
struct NcclOptions {
  int device = 0;                                               ///< counted from 0
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  ///< for messages; a rank may compute longer
  const NcclCalls* calls = nullptr;                             ///< null: those of libnccl.so.2
};

/// A new id; one rank makes it. Throws Error (Code::kMissing) if there is no NCCL here.
NcclId make_nccl_id(const NcclOptions& options = {});
/// The id of rank 0, on every rank of a communicator in host memory.
NcclId agreed_nccl_id(Communicator& host, const NcclOptions& options = {});

/// One rank's end.
class NcclCommunicator final : public Communicator {
 public:
  /// Returns when all ranks are here. `compute`: the stream of the rank's engine, on the same device; it
  /// outlives this. Throws Error if NCCL is not here (Code::kMissing) or refuses: it takes one rank per GPU.
  NcclCommunicator(int rank, int world_size, const NcclId& id, const Stream& compute,
                   const NcclOptions& options = {});
  /// Waits for the messages in flight.
  ~NcclCommunicator() override;

  /// Throws Error if messages of this rank were given up. Call it after synchronising the computing stream,
  /// before using the results.
  void throw_if_aborted();

 private:
  std::uint64_t do_start(std::span<const Op> ops) override;
  void do_wait(std::uint64_t ticket) override;
  void do_give_up() override;

  const NcclCalls& nccl_;
  const Stream& compute_;
  Stream copies_;
  std::unique_ptr<NcclWatch> watch_;
  std::map<std::uint64_t, std::shared_ptr<const NcclExchange>> exchanges_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace ringcraft::kernels
