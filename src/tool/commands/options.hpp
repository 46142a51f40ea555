#pragma once
// Flags that several commands share, and how they become a Mask, a Layout, a Problem.

#include <optional>
#include <string>

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/method.hpp"
#include "ringcraft/problem/problem.hpp"

namespace CLI {
class App;
}

namespace ringcraft::tool {

// --ranks, --layout, --softmax-scale: how a problem is dealt.
struct DealOptions {
  int ranks = 4;
  std::string layout = "zigzag";
  std::optional<double> softmax_scale;

  void add_to(CLI::App& command);
  // --ranks. Throws Error for more than a machine can hold, before anything is made for each of them.
  int checked_ranks() const;
};

// --causal, --window, --window-size, --cu-seqlens, --per-sequence
struct MaskOptions {
  bool causal = false, per_sequence = false;
  std::optional<Position> window;
  std::string window_size;  // as typed: "5,0"
  std::string cu_seqlens;   // as typed: "0,5,24"

  void add_to(CLI::App& command);
  Mask mask() const;
  // This mask over these tensors, dealt as `deal` says. Throws Error for what cannot be dealt.
  Problem problem(Shape shape, const DealOptions& deal) const;
};

// --method and the flags of its options.
struct MethodFlags {
  std::string method = "ring", schedule;
  MethodOptions options;

  void add_to(CLI::App& command);
  // Throws Error for a name that is none.
  const Method& named() const;
  // The options as typed. Throws Error for a schedule that the method has not.
  MethodOptions typed() const;
};

Layout layout_named(const std::string& name);
DType dtype_named(const std::string& name);

// The place of the ranks, and the device that computes. Backends and devices that this build lacks are
// refused by name.
enum class Backend {
  kThreads,   // threads of this process
  kMpi,       // processes of an MPI job
  kCuda,      // virtual ranks on one GPU
  kCudaHost,  // the same, with the kernels on the CPU
  kNccl,      // processes of an MPI job, each with a GPU of its own
};
Backend backend_named(const std::string& name);

// The problem of these tensors: q [batch, heads, seqlen, head_dim], k and v [batch, kv_heads, seqlen,
// head_dim], dout as q or empty. Throws Error where shapes or types do not fit together.
Problem problem_of(const Buffer& q, const Buffer& k, const Buffer& v, const Buffer& dout,
                   const MaskOptions& mask, const DealOptions& deal);

// The same Error; if it begins with the name of an input ("q: expected"), the file is named in front of it.
Error of_inputs(const Error& error, const std::string& file);
// Runs action(), whose complaints about q, k, v and dout are about tensors of this file.
template <class Action>
auto with_inputs_of(const std::string& file, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw of_inputs(error, file);
  }
}

}  // namespace ringcraft::tool
