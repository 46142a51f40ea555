#pragma once
// The runs of bench: contestants, each of which does one piece of work and reports its time, and the rounds
// in which all of them run alternately.

#include <functional>
#include <string>
#include <vector>

#include "ringcraft/core/types.hpp"
#include "tool/bench/bench_torch.hpp"

namespace ringcraft::tool {

// One piece of work.
struct Contestant {
  std::string name;  // "108 forward, head_dim 64, full"
  double flop = 0;   // floating-point operations of one run; masked pairs are not counted
  std::function<Seconds()> run;
};

// Its time in each round.
struct Timing {
  std::string name;
  double flop = 0;
  std::vector<Seconds> rounds;
};

struct BenchSettings {
  Index tokens = 4096;
  int rounds = 9, threads = 2;
};

inline constexpr Index kHeadDims[] = {64, 128};

// The contestants, beside the peak and Eigen's product.
enum class Who {
  kReadable,  // 105 and 106
  kFast,      // 108
  kThreads,   // 108 on several threads
  kRing,      // 108 on a ring of 4 ranks, full attention only
  kTorch,
  kTorchThreads,  // on several threads, a head for each: its backward pass deals heads to threads
};

// The names of contestants.
inline constexpr const char* kPeak = "multiply-add peak of the core";
inline constexpr const char* kEigen = "Eigen product of 1024 x 1024 matrices";
std::string name_of(Who who, Pass pass, Index head_dim, bool causal);

// All contestants, in the order of the table. PyTorch's are left out without a Torch.
std::vector<Contestant> contestants(const BenchSettings& settings, Torch* torch);

// Runs every contestant once to warm up, then once in every round; calls `progress` for each run.
std::vector<Timing> run_rounds(
    const std::vector<Contestant>& contestants, int rounds,
    const std::function<void(std::size_t done, const std::string& name)>& progress);

}  // namespace ringcraft::tool
