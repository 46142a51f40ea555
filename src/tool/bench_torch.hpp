#pragma once
// PyTorch's CPU attention in a child process that waits for one order at a time, so that its runs take turns
// with ours.

#include <memory>
#include <string>

#include "judge/child.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft::tool {

// What a piece of work took.
struct Seconds {
  double processor = 0;  // of all threads of its process together
  double wall = 0;
};

// One run of torch.nn.functional.scaled_dot_product_attention, float32, one batch entry, one head, one
// thread.
struct TorchRun {
  Pass pass;
  Index tokens, head_dim;
  bool causal;
};

class Torch {
 public:
  // Starts this Python and waits until it has loaded PyTorch. Throws Error (kMissing) with a sentence where
  // there is no such Python, or none with PyTorch.
  explicit Torch(const std::string& python);

  // "2.8.0, AVX2": its version and the instructions that it uses.
  const std::string& version() const { return version_; }
  // Has one run made. Throws Error if the child fails.
  Seconds run(const TorchRun& run);

 private:
  void send(const std::string& order);
  std::string line();

  std::string python_;
  judge::Child child_;
  std::string version_;
};

}  // namespace ringcraft::tool
