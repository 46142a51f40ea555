#pragma once
/// @file
/// Subjects: implementations that answer cases. Those here compute in this process, with the library's own
/// functions; a worker, a file of claimed tensors or a GPU is one more class. A subject computes in the
/// number type of its inputs.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/attention/single_device.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/comm/trace.hpp"
#include "ringcraft/parallel/run.hpp"
#include "verify/oracle/tensors.hpp"

namespace ringcraft::verify {

/// Costs of one pass of a run. The lists have one entry per rank (one entry on a single device).
struct PassCost {
  std::vector<Traffic> traffic;   ///< bytes and messages
  std::vector<Index> peak_bytes;  ///< of the tensors that the rank held in this pass, its shards included
  std::vector<Work> work;         ///< visible pairs and blocks computed, per head
  std::vector<double> clock;      ///< virtual seconds, if requested, else 0
  double seconds = 0;             ///< of real time, for all ranks together
  std::optional<Trace> trace;     ///< if requested

  /// Largest bytes sent, peak bytes and clock of any rank.
  Index bytes_sent() const;
  Index peak() const;
  double longest() const;
  /// 1 - mean / max of the pairs of all ranks; 0 if there is no work.
  double imbalance() const;
};

/// Costs of a whole run. A pass that did not run has empty lists.
struct Measurement {
  PassCost forward, backward;

  double seconds() const { return forward.seconds + backward.seconds; }
};

/// An implementation that answers cases.
class Subject {
 public:
  virtual ~Subject() = default;
  /// For tables: "ring reversed".
  virtual std::string name() const = 0;
  /// The whole answer, with gradients if the inputs have dout. Throws Error for a problem that it cannot
  /// compute.
  virtual Answer answer(const Problem& problem, const Inputs& inputs) = 0;
};

/// A subject on one device; only the readable blockwise kernels use `tile`.
std::unique_ptr<Subject> single_device_subject(Algorithm algorithm, TileSize tile = {});

/// Calls `body` with the RankPlace of the rank that has `host`, and returns when all work that the body has
/// started is done. The place records in `trace`, or nothing if that is null.
using AtPlace = std::function<void(ThreadCommunicator& host, RankTrace* trace,
                                   const std::function<void(RankPlace&)>& body)>;

/// Options of a run on thread ranks.
struct RanksOptions {
  MethodOptions options = {};     ///< of the method
  HostOptions engine = {};        ///< of each rank
  SwitchboardOptions board = {};  ///< delivery order and link costs
  double seconds_per_pair = 0;  ///< virtual time of a visible pair, forward, on a HostEngine; backward: 2.5x
  bool trace = false;           ///< record each pass in its PassCost
  const Method* method = &kRing;  ///< the method to run
  AtPlace at_place = {};          ///< where the ranks compute; by default each on a HostEngine
  /// Runs the ranks: run_ranks, or one like it (run_fibers, comm/fibers/fibers.hpp).
  RanksReport (*start)(int, const std::function<void(ThreadCommunicator&)>&, SwitchboardOptions) = run_ranks;
};

/// A subject that runs a method on thread ranks.
std::unique_ptr<Subject> ranks_subject(RanksOptions options = {});

/// Runs on one device as a plain function, and measures the cost. `measurement` may be null.
Answer run_single_device(Algorithm algorithm, const Problem& problem, const Inputs& inputs,
                         TileSize tile = {}, Measurement* measurement = nullptr);
/// Runs a method on thread ranks as a plain function, and measures the cost. `measurement` may be null.
Answer run_over_ranks(const Problem& problem, const Inputs& inputs, const RanksOptions& options = {},
                      Measurement* measurement = nullptr);

}  // namespace ringcraft::verify
