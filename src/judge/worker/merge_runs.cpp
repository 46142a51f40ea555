// Merges on the executor, in a file apart from the steps: linking it links the lesson's file.
#include "judge/worker/kernel_runs.hpp"
#include "merge/merge.hpp"

namespace ringcraft::judge {
namespace {

simt::Settings settings_of(const MergeStep& s) {
  return {.seed = s.order, .workers = 1, .count_traffic = s.count_traffic, .name_lines = false};
}

}  // namespace

KernelRun run_merge(const MergeStep& s) {
  const DeviceCopy out(s.out), max(s.max), sum(s.sum);
  const DeviceCopy block_out(s.block_out), block_max(s.block_max), block_sum(s.block_sum);
  const KernelRun answer =
      launched(settings_of(s),
               [&] {
                 kernels::merge({out.gmem() + s.skipped, max.gmem(), sum.gmem()},
                                {block_out.gmem() + s.skipped, block_max.gmem(), block_sum.gmem()}, s.rows,
                                s.head_dim, nullptr);
               },
               {{out.gmem(), "acc.out_gmem"},
                {max.gmem(), "acc.max_gmem"},
                {sum.gmem(), "acc.sum_gmem"},
                {block_out.gmem(), "block.out_gmem"},
                {block_max.gmem(), "block.max_gmem"},
                {block_sum.gmem(), "block.sum_gmem"}});
  for (const auto* array : {&out, &max, &sum, &block_out, &block_max, &block_sum}) array->bring_back();
  return answer;
}

KernelRun run_merge_normalized(const MergeStep& s) {
  const DeviceCopy out(s.out), lse(s.max), block_out(s.block_out), block_lse(s.block_max);
  const KernelRun answer =
      launched(settings_of(s),
               [&] {
                 kernels::merge_normalized(out.gmem() + s.skipped, lse.gmem(), block_out.gmem() + s.skipped,
                                           block_lse.gmem(), s.rows, s.head_dim, nullptr);
               },
               {{out.gmem(), "out_gmem"},
                {lse.gmem(), "lse_gmem"},
                {block_out.gmem(), "block_out_gmem"},
                {block_lse.gmem(), "block_lse_gmem"}});
  for (const auto* array : {&out, &lse, &block_out, &block_lse}) array->bring_back();
  return answer;
}

}  // namespace ringcraft::judge
