#pragma once
/// @file
/// Checks of forward kernels, independent of their construction: those that lessons from 201 on share, those
/// of the arrays between the kernels of rungs 01 and 02, and those of single scores. Each throws Wrong.

#include <functional>

#include "judge/checks/kernel_trial.hpp"

namespace ringcraft::judge {

/// A rung under check.
struct KernelRung {
  KernelCall call;
  std::function<Index(const HeadCase&)> workspace;  ///< numbers that it needs for this head, or these heads
  DType dtype = DType::kFloat32;                    ///< of q, k and v
};

/// The size of the score matrix of rungs 01 and 02 in numbers, with a factor per row.
Index score_matrix(const HeadCase& head);

/// For a rung that needs no workspace: 0.
Index no_workspace(const HeadCase& head);

/// A head with the inputs that the rung needs.
KernelHead kernel_head(const KernelRung& rung, const HeadCase& head);
/// The same with random numbers from the trial's seed.
KernelHead kernel_head(const Trial& trial, const KernelRung& rung, const HeadShape& shape, const Mask& mask,
                       verify::Data data = verify::Data::kNormal);

/// One step from (0, -inf, 0) is attention, for every shape without a mask; the orders of the threads differ.
void require_shapes(const Trial& trial, const KernelRung& rung, const std::vector<HeadShape>& shapes);
/// The same for a softmax_scale of 0, a negative one, and 1.
void require_scales(const Trial& trial, const KernelRung& rung);
/// Causal, windowed, two-sided and packed masks of this many tokens; at least 14.
void require_masks(const Trial& trial, const KernelRung& rung, Index tokens);
/// Rows that see no key keep O, m and l to the bit, for any values; sizes are multiplied by `factor`.
void require_blind_rows(const Trial& trial, const KernelRung& rung, Index factor);
/// Every kind of data, full and causal.
void require_hot_scores(const Trial& trial, const KernelRung& rung);
/// Heads, groups of heads and batch entries.
void require_heads(const Trial& trial, const KernelRung& rung);
/// Keys that come in several steps, in any order; sizes are multiplied by `factor`.
void require_state(const Trial& trial, const KernelRung& rung, Index factor);
/// For a diagnosis: a head whose keys come in three steps, so that two of them begin with a state; null if
/// that is right.
verify::Exhibit three_steps(const Trial& trial, const KernelRung& rung);
/// For a diagnosis of a rung with a score matrix: the output of each of the three kernels for a head whose
/// rows have seen other keys; or, if all are right, for other heads. Null if nothing is wrong.
verify::Exhibit one_by_one(const Trial& trial, const KernelRung& rung);
/// Every `stride`-th block of the harness's brief table; here errors are also judged together, which says
/// little for a few small heads.
void require_table(const Trial& trial, const KernelRung& rung, std::size_t stride);

/// No line moves shared memory in more passes over the banks than its bytes take. The sentence begins with
/// `label` and says that `what` meet in one bank.
void require_fewest_passes(const std::string& label, const std::vector<MovedByLine>& moved,
                           const std::string& what);

/// After the first kernel of a single head: softmax_scale * q . k in S, where a row sees a key.
void require_scores(KernelHead& head);
/// After a whole step: S of a single head is as it was where a row does not see a key.
void require_unseen_scores_untouched(KernelHead& head);
/// After the second, from (-inf, 0): P, m, l and the factor 0 of the rows that see a key.
void require_weights(KernelHead& head);

/// After a whole step in which each row of a single head sees one key: l is 1, and m is the score.
void require_single_scores(KernelHead& head);

}  // namespace ringcraft::judge
