#pragma once
/// @file
/// Explains why an answer is wrong. Compares it with the result of every known mistake on exactly these
/// inputs: a cause is named because its numbers are those of the answer. If no mistake gives them, no cause
/// is named.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// How much is known about the ring of a claim.
enum class Ranks : std::uint8_t {
  kKnown,    ///< number of ranks and layout are those of the problem
  kUnknown,  ///< other numbers of ranks, layouts and tiles are tried too
};

/// Whether a pass without a single number tells of mistakes: many leave one. It does where other claims of
/// the same program rule out those that would show in them.
enum class NoNumbers : bool { kTellNothing, kTell };

/// Called again and again during long work; may throw to end it. Empty: never called.
using Poll = std::function<void()>;

/// Options of a diagnosis.
struct DiagnoseOptions {
  Ranks ranks = Ranks::kKnown;
  NoNumbers no_numbers = NoNumbers::kTellNothing;
  std::vector<std::string> refuted = {};  ///< ids of causes that it is not
  Poll poll = {};
  bool causes = true;                   ///< whether to look for any
  std::optional<DType> precision = {};  ///< that it was computed in, if not in the type of its tensors
  bool derived = false;                 ///< the gradients are known to be the derivative of the claimed out
};

/// Findings about a wrong claim.
struct Diagnosis {
  std::vector<Cause> forward;   ///< of out and lse: the likeliest first
  std::vector<Cause> backward;  ///< of dq, dk and dv: likewise
  std::string place;  ///< the first differing rank, step, tensor, chunk, head and row; empty if none
  std::optional<Problem> ring;  ///< another ring than that of the claim, if the mistake was found there: the
                                ///< place is one of it
  std::vector<std::string> remarks;  ///< further notes for the reader

  /// At most so many of all, the likeliest first.
  std::vector<Cause> causes(std::size_t most = 3) const;
};

/// The number type of a claim: that of out, or of a gradient; lse alone is often kept in a wider one.
DType type_of_claim(const Answer& claim);

/// The diagnosis of a claim that `comparison` found wrong; empty for a right one. The oracle is that of the
/// same inputs. A claim without some of the tensors is judged by those that it has.
Diagnosis diagnose(const Problem& problem, const Inputs& inputs, const Answer& claim, const Oracle& oracle,
                   const Comparison& comparison, const DiagnoseOptions& options = {});

/// The same for the answer of an exercise; `refuted`: ids of causes that it is not.
Diagnosis diagnose(const AttentionExhibit& exhibit, const std::vector<std::string>& refuted = {});

/// Those of these ids of causes that a claim refutes: every known mistake with the id gives plainly other
/// numbers than it has, on the ranks where it is wrong. An empty claim stands for a right one, which refutes
/// a mistake that shows on any rank. `precision`: of the claim. An id of no known mistake is never among
/// them, nor is that of one with a number of its own in each program.
std::vector<std::string> refuted_mistakes(const Problem& problem, const Inputs& inputs, const Answer& claim,
                                          const std::vector<std::string>& ids, DType precision,
                                          const Poll& poll = {});

/// All causes that explain it, the likeliest first.
std::vector<Cause> causes_of(const AttentionExhibit& exhibit);
/// Why a merge is wrong: the weights of its four parts, solved for.
std::vector<Cause> causes_of(const MergeExhibit& exhibit);
/// Why a scan, or a softmax, is wrong: the result of one scan with a mistake, for any split into parts.
std::vector<Cause> causes_of(const ScanExhibit& exhibit);
/// Why a softmax over ranks is wrong: which state each rank has used, and which one it returns.
std::vector<Cause> causes_of(const SharedScanExhibit& exhibit);
/// Why the traffic differs from theory, or a rank returns another block.
std::vector<Cause> causes_of(const TravelExhibit& exhibit);
/// Why a deal of single tokens is wrong: the formulas of positions and owners, and the rounds that are
/// reversed.
std::vector<Cause> causes_of(const DealExhibit& exhibit);
/// Why chunks are wrong: the formulas of their ends, and of the numbers of a rank's two chunks.
std::vector<Cause> causes_of(const ChunkExhibit& exhibit);
/// Why intervals or ranges of keys are wrong: the formulas of their two ends, and what the ends are counted
/// in.
std::vector<Cause> causes_of(const RangesExhibit& exhibit);
/// Why a ledger of work is wrong: which pairs its entries count, and which figures are derived from its own
/// table.
std::vector<Cause> causes_of(const WorkExhibit& exhibit);
/// Why reaches are wrong: what a query sees, which ranks are asked, and which of them counts.
std::vector<Cause> causes_of(const ReachExhibit& exhibit);
/// Why coordinates, ranks or groups of a mesh are wrong: strides, remainders, axes and members.
std::vector<Cause> causes_of(const MeshExhibit& exhibit);
/// Why the schedule of an all-gather is wrong: which blocks are computed, which come alone, and which come
/// while another is computed.
std::vector<Cause> causes_of(const GatherExhibit& exhibit);
/// Why the clocks of a ring are wrong: when messages begin, which ranks wait for them, and when.
std::vector<Cause> causes_of(const ClockExhibit& exhibit);
/// Why groups or a walk are wrong: the formulas of their members, and the steps in which messages are sent.
std::vector<Cause> causes_of(const GridExhibit& exhibit);
/// Why an exchange is wrong: which rank sends or receives first, to which peer, and how much.
std::vector<Cause> causes_of(const ExchangeExhibit& exhibit);
/// Why a product is wrong: the start, the terms, the numbers of either factor, and the stores.
std::vector<Cause> causes_of(const ProductExhibit& exhibit);
/// Why one of three kernels is wrong: from the memory that it read, and the memory that it left.
std::vector<Cause> causes_of(const StepExhibit& exhibit);
/// Why a kernel is wrong: its fragments, its walk over tiles, its gradients or its merge.
std::vector<Cause> causes_of(const KernelExhibit& exhibit);
/// Why calls on streams are in a wrong order: where events are recorded and awaited, the groups, and the
/// operations.
std::vector<Cause> causes_of(const StreamExhibit& exhibit);
/// Why heads or rows are dealt wrongly among neighbours: the formulas of the heads, and what a row's number
/// counts.
std::vector<Cause> causes_of(const HeadDealExhibit& exhibit);
/// Dispatches an exhibit of any kind to one of the functions above.
std::vector<Cause> causes_of(const Exhibit& exhibit);
/// Causes of several exhibits of one program that explain, of each kind, at least half of them. Exhibits that
/// are too small to tell mistakes apart do not count. `right`: problems of rings that the program gave the
/// right out for, in float64; known mistakes that would show there are causes only where nothing else is.
std::vector<Cause> causes_of(const std::vector<Exhibit>& exhibits, const std::vector<Case>& right = {});

/// The same for exhibits of an instantiation for float whose checks in double have passed: its numbers leave
/// the range of float, have too few digits, are never written, or show another mistake.
std::vector<Cause> causes_in_floats(const std::vector<Exhibit>& exhibits);

/// Whether a cause is one of the known mistakes, which are found by their numbers.
bool is_known(const Cause& cause);
/// Whether a cause says which numbers are wrong rather than by which mistake.
bool is_general(const Cause& cause);

}  // namespace ringcraft::verify
