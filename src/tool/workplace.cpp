// Workplaces: the host's own, and that of an engine with device memory (see workplace.hpp).
#include "tool/workplace.hpp"

#include <utility>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/ranks.hpp"
#ifdef RINGCRAFT_HAS_EXECUTOR
#include "engine/cuda_engine.hpp"
#include "engine/staged_communicator.hpp"
#endif

namespace ringcraft::tool {
namespace {

class HostWorkplace final : public Workplace {
 public:
  HostWorkplace(DType type, Communicator& host) : host_(host), engine_(make_host_engine(type)) {}
  Communicator& comm() override { return host_; }
  BlockEngine& engine() override { return *engine_; }
  Buffer taken(Buffer host) override { return host; }
  void gather(Buffer& whole, const Buffer& shard, const Sharding& sharding) override {
    gather_to_first(host_, whole, shard, sharding);
  }

 private:
  Communicator& host_;
  std::unique_ptr<BlockEngine> engine_;
};

#ifdef RINGCRAFT_HAS_EXECUTOR
class DeviceWorkplace final : public Workplace {
 public:
  explicit DeviceWorkplace(Communicator& host) : host_(host), comm_(host, engine_.stream()) {}
  Communicator& comm() override { return comm_; }
  BlockEngine& engine() override { return engine_; }
  Buffer taken(Buffer host) override { return kernels::copied_to_device(host, engine_.stream()); }
  void gather(Buffer& whole, const Buffer& shard, const Sharding& sharding) override {
    gather_to_first(host_, whole, kernels::copied_to_host(shard, engine_.stream()), sharding);
  }

 private:
  Communicator& host_;
  kernels::CudaEngine engine_;
  kernels::StagedCommunicator comm_;
};
#endif

}  // namespace

std::unique_ptr<Workplace> make_workplace(Backend backend, DType type, Communicator& host) {
#ifdef RINGCRAFT_HAS_EXECUTOR
  if (backend == Backend::kCudaHost) {
    if (type != DType::kFloat32)
      throw Error("--backend cuda-host", "float32", std::string(name_of(type)), "add --dtype float32");
    return std::make_unique<DeviceWorkplace>(host);
  }
#endif
  (void)backend;
  return std::make_unique<HostWorkplace>(type, host);
}

}  // namespace ringcraft::tool
