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
/// All that explain it, the likeliest first.
std::vector<Cause> causes_of(const AttentionExhibit& exhibit);
/// Why a merge is wrong: the weights of its four parts, solved for.
std::vector<Cause> causes_of(const MergeExhibit& exhibit);
/// Why a scan, or a softmax, is wrong: what one scan with a mistake leaves, whatever its parts are.
std::vector<Cause> causes_of(const ScanExhibit& exhibit);
/// Why a softmax over ranks is wrong: which state each rank has used, and which it returns.
std::vector<Cause> causes_of(const SharedScanExhibit& exhibit);
/// Why other bytes travel than theory says, or another block is handed out.
std::vector<Cause> causes_of(const TravelExhibit& exhibit);
/// Why a deal of single tokens is wrong: the formulas of positions and owners, and the rounds that are
/// turned.
std::vector<Cause> causes_of(const DealExhibit& exhibit);
/// Why chunks are wrong: the formulas of their ends, and of the numbers of a rank's two.
std::vector<Cause> causes_of(const ChunkExhibit& exhibit);
/// Why a ledger of work is wrong: which pairs its entries count, and what is made of its own table.
std::vector<Cause> causes_of(const WorkExhibit& exhibit);
/// Why an exchange is wrong: who sends or receives first, to whom, and how much.
std::vector<Cause> causes_of(const ExchangeExhibit& exhibit);
/// Why a product is wrong: the start, the terms, the numbers of either factor, and what is written.
std::vector<Cause> causes_of(const ProductExhibit& exhibit);
/// Why one of three kernels is wrong: from what it found in memory, and what it left.
std::vector<Cause> causes_of(const StepExhibit& exhibit);
/// Why a kernel is wrong: its fragments, its walk over tiles, its gradients or its merge.
std::vector<Cause> causes_of(const KernelExhibit& exhibit);
/// The same for an exhibit of any kind.
std::vector<Cause> causes_of(const Exhibit& exhibit);
/// What explains several exhibits of one program: of each kind at least half of them. Exhibits that are too
/// small to tell mistakes apart do not count.
std::vector<Cause> causes_of(const std::vector<Exhibit>& exhibits);

/// Whether a cause says which numbers are wrong rather than by which mistake.
bool is_general(const Cause& cause);

}  // namespace ringcraft::verify
