#pragma once
/// @file
/// Method: one way to compute attention over ranks, as data. Tools, the harness and the tests run methods
/// through one function (run.hpp) and depend on none in particular: another method is another value. Refusals
/// common to all methods are in ring/refuse.hpp; a value adds its own, masks and layouts included.

#include <memory>
#include <string_view>

#include "ringcraft/engine/theory.hpp"
#include "ringcraft/parallel/rank_place.hpp"
#include "ringcraft/problem/problem.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

/// Choices that a method offers.
struct MethodOptions {
  Schedule schedule = Schedule::kReversed;  ///< of the backward pass of a ring
  /// Neighbours among which a hybrid deals heads; it divides the ranks. 0: all of them (Ulysses).
  int ulysses = 0;
  /// KV heads that an all-gather brings at a time; it divides kv_heads. 0: all of them.
  int gather_heads = 0;
  /// Neighbours that make up a node of a double ring; it divides the ranks. 0: one node.
  int node = 0;
};

/// The options that a method may take, as bits.
enum MethodOption : unsigned {
  kTakesSchedule = 1,     ///< MethodOptions::schedule
  kTakesUlysses = 2,      ///< MethodOptions::ulysses
  kTakesGatherHeads = 4,  ///< MethodOptions::gather_heads
  kTakesNode = 8,         ///< MethodOptions::node
};

/// Results of a method's forward pass on a rank.
struct Forward {
  Output output;  ///< out and lse of the rank's rows
  /// State for the method's own backward pass (q and a KV block, say); no other code reads it. It is all that
  /// is left of the arguments.
  std::shared_ptr<const void> saved;
};

/// One way to attend over ranks. Each function is called on every rank with the same problem and options.
struct Method {
  std::string_view name;  ///< as the command line spells it: "ring"

  /// The options that it takes, of MethodOption.
  unsigned takes;
  /// Throws Error for what this method alone cannot do, and says which method can. Null: no limits.
  void (*refuse)(const Problem& problem, const MethodOptions& options);
  /// The rank's rows of the result, from its shards, which are given up.
  Forward (*forward)(RankPlace& place, const Problem& problem, const MethodOptions& options, Buffer q,
                     KvBlock kv);
  /// The gradients of sum(out * dout) with respect to the rank's shards. Writes no argument, so the call can
  /// be repeated. Null: the method has a forward pass only.
  Gradients (*backward)(RankPlace& place, const Problem& problem, const MethodOptions& options,
                        const Forward& forward, const Buffer& dout);
  /// The expected cost of a pass.
  Theory (*theory)(const Problem& problem, const MethodOptions& options, Pass pass, RoleBytes bytes);
};

/// Ring attention (ring/ring.hpp).
extern const Method kRing;

/// All-gather of keys and values, whole or some heads at a time (gather/gather_passes.hpp).
extern const Method kAllGather;
/// All-to-all between rows and heads (hybrid/head_exchange.hpp), each rank then attends alone.
extern const Method kUlysses;
/// Ulysses among neighbours, rings across them.
extern const Method kHybrid;
/// A ring inside of every node, and one of nodes (double_ring/double_ring.hpp).
extern const Method kDoubleRing;

/// The methods that a user can ask for by name.
inline constexpr const Method* kMethods[] = {&kRing, &kAllGather, &kUlysses, &kHybrid, &kDoubleRing};

/// Throws Error unless this method can do this pass of this problem with this communicator and engine: on
/// every rank, with the same words, before the first message.
void refuse(const Method& method, const Problem& problem, const MethodOptions& options, Pass pass,
            const Communicator& comm, const BlockEngine& engine);
/// The part of it that concerns the method alone: problem and options.
void refuse(const Method& method, const Problem& problem, const MethodOptions& options);

}  // namespace ringcraft
