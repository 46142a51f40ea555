#pragma once
/// @file
/// The ladder as data: the stages from dense attention to the zig-zag ring, each computing the same problem
/// from the same inputs, each compared with the stage before it and with the oracle. A new stage is one entry
/// in ladder.cpp.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/ladder/subject.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// How a stage over ranks goes about it.
struct OverRanks {
  Layout layout;                  ///< of its tokens
  const Method* method = &kRing;  ///< what it runs
  MethodOptions options = {};     ///< of the method
};

/// One stage.
struct Stage {
  std::string name;                     ///< "ring backward, reversed"
  int lesson;                           ///< 304
  std::string predecessor;              ///< name of the stage that it is compared with; empty for the first
  Expect expect;                        ///< kForward: the stage has no gradients
  std::optional<OverRanks> over_ranks;  ///< none: one device
  /// Bytes that a stage on one device holds at most, inputs included; with gradients if `backward`. None for
  /// a stage over ranks, whose method has a theory.
  Index (*peak_bytes)(const Shape& shape, bool backward, RoleBytes bytes);
  /// Computes it: the problem as problem_of gives it, the inputs whole. Fills in what it cost.
  std::function<Answer(const Problem&, const Inputs&, Measurement&)> run;
  std::vector<int> lessons;  ///< whose files it runs, its own among them
  /// Of its elements, where they are not the inputs' own; it rounds these itself.
  std::optional<DType> dtype = {};
};

/// All stages, in the order of the lessons.
std::span<const Stage> ladder();

/// The stage of this name. Throws Error if there is none.
const Stage& stage_named(const std::string& name);

/// The shared problem as this stage deals it: its layout, or one rank for a stage on one device. What theory
/// says about a stage (bytes, steps, peaks) is asked of this problem.
Problem problem_of(const Stage& stage, const Problem& shared);

/// What a stage answers, and what it cost.
struct StageResult {
  Answer answer;
  Measurement measurement;
};

/// Runs one stage on the shared problem. A stage with Expect::kForward leaves the gradients empty.
StageResult climb(const Stage& stage, const Problem& shared, const Inputs& inputs);

}  // namespace ringcraft::verify
