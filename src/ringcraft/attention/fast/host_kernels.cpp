// Registers the fast kernels of a HostEngine. In a file of its own, so that a program with an engine of
// readable kernels alone links no fast ones.
#include <string>

#include "ringcraft/attention/fast/fast_heads_detail.hpp"
#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

constexpr int kMostThreads = 4096;

template <class T>
std::unique_ptr<BlockKernels<T>> kernels_of(const HostOptions& options) {
  options.tile.validate();
  if (options.threads < 1)
    throw Error("threads", "at least 1", std::to_string(options.threads),
                "leave them out for the usual number");
  if (options.threads > kMostThreads)
    throw Error("threads", "at most " + std::to_string(kMostThreads), std::to_string(options.threads),
                "as many as there are cores are enough");
  if (options.threads > 1 && options.kernel == Kernel::kReadable)
    throw Error("threads", "1 with the readable kernels", std::to_string(options.threads),
                "take the fast kernels, or more ranks");
  if (options.kernel == Kernel::kReadable) return readable_kernels<T>(options.tile);
  return std::make_unique<FastHeads<T>>(options.threads, options.stop);
}

}  // namespace

template <class T>
HostEngine<T>::HostEngine(HostOptions options) : kernels_(kernels_of<T>(options)) {}

template HostEngine<float>::HostEngine(HostOptions);
template HostEngine<double>::HostEngine(HostOptions);

std::unique_ptr<BlockEngine> make_host_engine(DType type, HostOptions options) {
  if (type == DType::kFloat32) return std::make_unique<HostEngine<float>>(options);
  if (type == DType::kFloat64) return std::make_unique<HostEngine<double>>(options);
  throw Error("engine", "float32 or float64", std::string(name_of(type)), "bfloat16 is computed in float32");
}

}  // namespace ringcraft
