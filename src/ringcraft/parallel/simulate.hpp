#pragma once
/// @file
/// simulate: runs a method, the very same functions, on a machine that is not there. Every rank is a fiber
/// with a CostEngine; messages meet on a Switchboard with the machine's links and carry nothing. The results
/// are the traffic, the memory and the virtual time of every rank.

#include <atomic>
#include <optional>
#include <vector>

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/parallel/machine.hpp"
#include "ringcraft/parallel/method.hpp"

namespace ringcraft {

/// Choices of a simulation.
struct SimulateOptions {
  MethodOptions method = {};                ///< choices of the method
  Pass last = Pass::kBackward;              ///< kForward: that pass alone
  std::optional<TraceDetail> trace;         ///< records every rank's events, so far
  std::atomic<Index>* done = nullptr;       ///< for a bar that shows progress (BlockEngine::count_in)
  const std::atomic<bool>* stop = nullptr;  ///< once it is true, the simulation throws Error
};

/// One simulated pass. Vectors have one entry per rank.
struct SimulatedPass {
  std::vector<Traffic> traffic;   ///< bytes and messages
  std::vector<double> clock;      ///< virtual seconds from the beginning of the pass to the rank's end
  std::vector<double> computing;  ///< of these: with blocks; the rest is exposed, waiting for messages
  std::vector<Index> pairs;       ///< visible (query, key) pairs of one head
  std::vector<Index> peak_bytes;  ///< of the rank's buffers, from the beginning of the run on

  /// Seconds until the last rank has ended.
  double seconds() const;
  /// The rank that computes longest.
  int slowest() const;
  /// The share of the pass in which a rank waits, on average over the ranks; it waits for the slowest one,
  /// too.
  double exposed() const;
};

/// A simulated run.
struct Simulation {
  SimulatedPass forward;                  ///< the forward pass
  std::optional<SimulatedPass> backward;  ///< the backward pass, unless options.last is kForward
  std::optional<Trace> trace;             ///< both passes, one after the other, on virtual time; if recorded
};

/// Runs the method for this problem on problem.world_size ranks of the machine. All ranks begin each pass
/// together. Throws Error for what the method refuses, and for a machine that is none
/// or takes 1e15 seconds.
Simulation simulate(const Method& method, const Problem& problem, const Machine& machine,
                    const SimulateOptions& options = {});

}  // namespace ringcraft
