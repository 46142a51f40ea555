#pragma once
// PyTorch's attention in a child process that waits for one order at a time, so that its runs take turns with
// ours: on the CPU, and on a GPU.

#include <memory>
#include <optional>
#include <string>

#include "process/child.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft::tool {

// The time of a piece of work.
struct Seconds {
  double processor = 0;  // of all threads of its process together
  double wall = 0;
};

// One run of torch.nn.functional.scaled_dot_product_attention, float32, one batch entry.
struct TorchRun {
  Pass pass;
  Index heads, tokens, head_dim;
  bool causal;
  int threads;
};

// A Python that has loaded PyTorch and answers orders.
class TorchProcess {
 public:
  // "2.8.0, AVX2": its version, and its instruction set or device.
  const std::string& version() const { return version_; }

 protected:
  // Starts this Python with this script and waits for its first line. Throws Error (kMissing) with a sentence
  // where there is no such Python, none with PyTorch, or no GPU where it needs one.
  TorchProcess(const std::string& python, const std::string& script);
  // The answer to an order. Throws Error if the child fails.
  std::string answer(const std::string& order);

  std::string python_;

 private:
  std::string line();

  process::Child child_;
  std::string version_;
};

// On the CPU.
class Torch : public TorchProcess {
 public:
  explicit Torch(const std::string& python);

  // Has one run made. Throws Error if the child fails.
  Seconds run(const TorchRun& run);
};

// Runs of one backend of scaled_dot_product_attention on the first GPU, bfloat16, one batch entry, timed as
// the kernels are (kernels/timing/timed_step.hpp).
struct TorchGpuRun {
  std::string backend;  // of kTorchBackends
  Pass pass;
  Index tokens, heads, head_dim;
  bool causal;
  Index flush_bytes;  // written before each run; 0: none
};
inline constexpr const char* kTorchBackends[] = {"flash", "cuDNN"};

// On the first GPU.
class TorchOnGpu : public TorchProcess {
 public:
  explicit TorchOnGpu(const std::string& python);

  // The median of its runs in milliseconds of device time; none where the backend refuses.
  std::optional<double> milliseconds(const TorchGpuRun& run);
};

}  // namespace ringcraft::tool
