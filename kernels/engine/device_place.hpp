#pragma once
/// @file
/// DevicePlace: the place of a rank that computes with the CUDA kernels, over any communicator of device
/// memory.

#include <functional>

#include "engine/cuda_engine.hpp"
#include "engine/loopback.hpp"
#include "ringcraft/parallel/rank_place.hpp"

namespace ringcraft::kernels {

/// In device memory.
class DevicePlace final : public RankPlace {
 public:
  /// Both outlive this. `trace` as in RankPlace.
  DevicePlace(Communicator& comm, CudaEngine& engine, RankTrace* trace = nullptr)
      : RankPlace(comm, engine, trace), stream_(engine.stream()) {}
  Buffer taken(Buffer host) override { return copied_to_device(host, stream_); }
  Buffer on_host(Buffer tensor) override { return copied_to_host(tensor, stream_); }

 private:
  const Stream& stream_;
};

/// Calls `body` with the place of a virtual rank, whose engine drives these kernels, and waits for all that
/// it has enqueued: late errors are thrown here. `host`: the rank in a run_ranks with the loopback's
/// options.
void at_loopback(const Loopback& loopback, Communicator& host, const CudaRungs& rungs, RankTrace* trace,
                 const std::function<void(RankPlace&)>& body);

}  // namespace ringcraft::kernels
