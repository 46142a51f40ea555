#pragma once
/// @file
/// Merges by kernels, in float32: partial results of rows, made of random numbers or of the keys of a head,
/// and their expected values by the formula in double.

#include <functional>
#include <string>
#include <vector>

#include "judge/checks/kernel_trial.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {

/// Which of the two kernels of lesson 205.
enum class MergeForm : std::uint8_t {
  kPartials,    ///< (O, m, l)
  kNormalized,  ///< (out, lse)
};

/// A kernel that merges.
struct MergeKernelCall {
  MergeForm form;
  std::function<KernelRun(const MergeStep&)> call;
};

/// Partial results of some rows: (O, m, l), or (out, lse), where `max` is lse and `sum` is empty.
struct PartialRows {
  Index rows, head_dim;
  std::vector<float> out, max, sum;
};

/// Rows that have seen no key.
PartialRows identity_rows(MergeForm form, Index rows, Index head_dim);
/// Rows of random numbers; m, or lse, lies around `level`.
PartialRows random_rows(MergeForm form, Index rows, Index head_dim, double level, Random& random);
/// The state after the keys [first, last) in the rows of a head, or of all heads: computed in double from the
/// float32 inputs.
PartialRows rows_after(MergeForm form, KernelHead& head, Index first, Index last);
/// Turns row `row` into one that has seen no key.
void forget(PartialRows& part, Index row);

/// How a merge is run.
struct HowMerged {
  std::uint64_t order = 0;
  bool count_traffic = false;
  int skipped = 0;      ///< see MergeStep
  Index rows_left = 0;  ///< rows past those that are merged, which a kernel must not touch
};

/// Calls the kernel to merge `block` into `acc`. Throws Wrong, with `label` in front, if the launch ends with
/// a finding, if the block's arrays have changed (sign::kInput), or anything around the rows of `acc`.
KernelRun merge_rows(const MergeKernelCall& kernel, const std::string& label, PartialRows& acc,
                     const PartialRows& block, HowMerged how = {});

/// Inputs and results of a merge, for a diagnosis.
verify::MergeExhibit exhibit_of_merge(const PartialRows& acc, const PartialRows& block,
                                      const PartialRows& result);

/// Throws Wrong unless `got` equals all of `parts`, merged in double, up to the rounding of one merge fewer
/// than there are parts. m must be the largest one exactly.
void require_merged(MergeForm form, const std::string& label, const PartialRows& got,
                    const std::vector<PartialRows>& parts);
/// Throws Wrong, "row 3 HAS SEEN WHAT, and its O ...", unless the row has the same bits as that of `want`.
void require_same_row(const std::string& label, const std::string& seen, const PartialRows& got,
                      const PartialRows& want, Index row);

}  // namespace ringcraft::judge
