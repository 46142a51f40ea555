// Copies between the host and a rank's device memory.
#include "engine/device_place.hpp"

namespace ringcraft::kernels {

void at_loopback(const Loopback& loopback, Communicator& host, const CudaRungs& rungs, RankTrace* trace,
                 const std::function<void(RankPlace&)>& body) {
  CudaEngine engine(0, rungs);
  LoopbackCommunicator comm(host, engine.stream(), loopback);
  DevicePlace place(comm, engine, trace);
  body(place);
  engine.stream().synchronize();
}

}  // namespace ringcraft::kernels
