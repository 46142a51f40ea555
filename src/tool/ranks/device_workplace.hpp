#pragma once
// The workplace of a rank that computes with the CUDA kernels. It lies in the kernels' namespace, for it is
// there twice: on a GPU and on the CPU.

#include <string>

#include "engine/cuda_engine.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/ranks/workplace.hpp"

namespace ringcraft::kernels {

// Over any communicator of device memory.
class DeviceWorkplace final : public tool::Workplace {
 public:
  // Both outlive this.
  DeviceWorkplace(Communicator& comm, CudaEngine& engine) : comm_(comm), engine_(engine) {}
  Communicator& comm() override { return comm_; }
  BlockEngine& engine() override { return engine_; }
  Buffer taken(Buffer host) override { return copied_to_device(host, engine_.stream()); }

 private:
  const Memory& memory() const override { return device_memory(); }
  void put(Buffer& whole, const Buffer& shard, const Sharding& sharding, int rank) override {
    gather(whole, copied_to_host(shard, engine_.stream()), sharding, rank);
  }

  Communicator& comm_;
  CudaEngine& engine_;
};

// Throws Error unless the kernels of both passes take this type.
inline void require_kernel_type(const char* backend, DType type) {
  if (type != DType::kFloat32)
    throw Error(std::string("--backend ") + backend, "float32", std::string(name_of(type)),
                "add --dtype float32");
}

}  // namespace ringcraft::kernels
