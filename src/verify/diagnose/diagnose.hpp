#pragma once
/// @file
/// Why is this answer wrong? It is compared with what every known mistake gives on exactly these inputs: a
/// cause is named because its numbers are those of the answer. Where no mistake gives them, there is none.

#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// How much a claim says about where it was computed.
enum class Ranks : std::uint8_t {
  kKnown,    ///< number of ranks and layout are those of the problem
  kUnknown,  ///< other numbers, layouts and tiles are tried too
};

/// What is known about a wrong claim.
struct Diagnosis {
  std::vector<Cause> forward;   ///< of out and lse: the likeliest first
  std::vector<Cause> backward;  ///< of dq, dk and dv: likewise
  std::string place;  ///< the first differing rank, step, tensor, chunk, head and row; empty if none
  std::vector<std::string> remarks;  ///< what else a person should know

  /// At most so many of all, the likeliest first.
  std::vector<Cause> causes(std::size_t most = 3) const;
};

/// The diagnosis of a claim that `comparison` found wrong; empty for a right one. The oracle is that of the
/// same inputs. A claim that has not all tensors is judged by those that it has.
Diagnosis diagnose(const Problem& problem, const Inputs& inputs, const Answer& claim, const Oracle& oracle,
                   const Comparison& comparison, Ranks ranks = Ranks::kKnown);

/// The same for the answer of an exercise.
Diagnosis diagnose(const AttentionExhibit& exhibit);
/// Why a merge is wrong: the weights of its four parts, solved for.
std::vector<Cause> causes_of(const MergeExhibit& exhibit);
/// All that explain an exhibit of any kind, the likeliest first.
std::vector<Cause> causes_of(const Exhibit& exhibit);
/// What explains several exhibits of one program, at least half of them; what explains more goes first.
/// Exhibits that are too small to tell mistakes apart only count where larger ones say the same.
std::vector<Cause> causes_of(const std::vector<Exhibit>& exhibits);

/// Whether a cause says which numbers are wrong rather than by which mistake.
bool is_general(const Cause& cause);

}  // namespace ringcraft::verify
