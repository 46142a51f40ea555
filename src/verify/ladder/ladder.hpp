#pragma once
/// @file
/// The ladder as data: stages from dense attention to rings, Ulysses and hybrids, computed from the same
/// inputs, each compared with the stage before it and with the oracle; the windowed and the packed ring under
/// masks of their own. A new stage is one entry in ladder.cpp.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/ladder/subject.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// How a stage over ranks runs.
struct OverRanks {
  Layout layout;                  ///< of its tokens
  const Method* method = &kRing;  ///< the method it runs
  MethodOptions options = {};     ///< of the method
  /// Options that depend on the problem; null: `options`.
  MethodOptions (*choose)(const Problem&) = nullptr;
  bool per_sequence = false;  ///< deals each packed sequence by itself, whatever the shared problem says
};

/// One stage.
struct Stage {
  std::string name;                     ///< "ring backward, reversed"
  int lesson;                           ///< 304
  std::string predecessor;              ///< name of the stage that it is compared with; empty for the first
  Expect expect;                        ///< kForward: the stage computes no gradients
  std::optional<OverRanks> over_ranks;  ///< empty: one device
  /// Most bytes that a stage on one device holds, inputs included; with gradients if `backward`. Null for a
  /// stage over ranks, whose method has its own theory.
  Index (*peak_bytes)(const Shape& shape, bool backward, RoleBytes bytes);
  /// Computes the stage: takes the problem from problem_of and whole inputs, and fills in the cost.
  std::function<Answer(const Problem&, const Inputs&, Measurement&)> run;
  std::vector<int> lessons;  ///< lessons whose files it runs, its own included
  /// Of its elements, if it differs from the inputs'; the stage rounds them itself.
  std::optional<DType> dtype = {};
  /// A mask of its own, from the shared problem's; then its predecessor is climbed again under that mask.
  /// Null: the shared one. The mask of a problem that has it already is the same.
  Mask (*mask)(const Problem& shared) = nullptr;
};

/// All stages, in the order of the lessons.
std::span<const Stage> ladder();

/// The stage of this name. Throws Error if there is none.
const Stage& stage_named(const std::string& name);

/// The shared problem as this stage distributes it: with its mask and layout, or one rank for a stage on one
/// device.
/// Theory (bytes, steps, peaks) is evaluated for this problem.
Problem problem_of(const Stage& stage, const Problem& shared);

/// The options of a stage over ranks, for the problem from problem_of.
MethodOptions options_of(const Stage& stage, const Problem& problem);

/// Why the method of a stage over ranks cannot run the shared problem; empty if it can.
std::string refusal(const Stage& stage, const Problem& shared);

/// The answer of a stage, and its cost.
struct StageResult {
  Answer answer;
  Measurement measurement;
};

/// Runs one stage on the shared problem. A stage with Expect::kForward leaves the gradients empty.
StageResult climb(const Stage& stage, const Problem& shared, const Inputs& inputs);

}  // namespace ringcraft::verify
