#pragma once
/// @file
/// The exercises whose files are kernels. A request holds one step of a ring with the state around it, and
/// the settings of the executor; a reply holds the arrays as the kernels left them, and the findings of a
/// checked launch. Only the workers define the functions (worker/serve_kernels.cpp, worker/merge_runs.cpp).

#include <cstdint>
#include <string>

#include "host/finding.hpp"
#include "judge/wire/exercise.hpp"

namespace ringcraft::judge {

/// One step of a ring for a rung of kernels/forward: see ForwardStep there. All arrays are float32 and travel
/// back; q, k, v, begin and end must come back as they were. A rung for bf16 gets q, k and v as bf16: the
/// numbers must be rounded to it.
struct KernelStep {
  std::span<float> q, k, v;                          ///< [batch, heads, rows, head_dim]; kv_heads and keys
  std::span<int> begin, end;                         ///< [rows]
  std::span<float> out, max, sum;                    ///< O, m, l of all rows
  std::span<float> workspace;                        ///< as large as the rung requires
  int batch, heads, kv_heads, rows, keys, head_dim;  ///< extents
  float softmax_scale;
  std::uint64_t order = 0;     ///< of the threads; 0: by their index
  int launches = -1;           ///< the number of kernels of the step to run; -1: all
  bool count_traffic = false;  ///< whether to count the traffic of each line as well

  static auto fields(auto& s) {
    return std::tie(s.q, s.k, s.v, s.begin, s.end, s.out, s.max, s.sum, s.workspace, s.batch, s.heads,
                    s.kv_heads, s.rows, s.keys, s.head_dim, s.softmax_scale, s.order, s.launches,
                    s.count_traffic);
  }
};

/// One merge of partial results by a kernel of kernels/merge: see merge.hpp there. All arrays are float32 and
/// travel back; those of the block must come back as they were.
struct MergeStep {
  std::span<float> out, max, sum;                    ///< (O, m, l), or (out, lse) with an empty `sum`
  std::span<float> block_out, block_max, block_sum;  ///< the same of the block
  std::int64_t rows;                                 ///< to be merged; the arrays may have more
  int head_dim;
  int skipped = 0;             ///< numbers in front of the first row of `out`, and of `block_out`
  std::uint64_t order = 0;     ///< see KernelStep
  bool count_traffic = false;  ///< see KernelStep

  static auto fields(auto& s) {
    return std::tie(s.out, s.max, s.sum, s.block_out, s.block_max, s.block_sum, s.rows, s.head_dim, s.skipped,
                    s.order, s.count_traffic);
  }
};

/// One step of a ring's backward pass for a rung of kernels/backward: see BackwardStep there. All arrays are
/// float32 and travel back; all but dq, dk and dv must come back as they were.
struct GradientStep {
  std::span<float> q, dout, k, v, lse, delta;             ///< q, dout as q; kv_heads and keys; rows
  std::span<int> key_begin, key_end, row_begin, row_end;  ///< [rows], and [keys]
  std::span<float> dq, dk, dv;                            ///< to be added to
  int batch, heads, kv_heads, rows, keys, head_dim;       ///< extents
  float softmax_scale;
  std::uint64_t order = 0;     ///< of threads and thread blocks; 0: by their index
  int launches = -1;           ///< see KernelStep, as the next
  bool count_traffic = false;  ///< see above

  static auto fields(auto& s) {
    return std::tie(s.q, s.dout, s.k, s.v, s.lse, s.delta, s.key_begin, s.key_end, s.row_begin, s.row_end,
                    s.dq, s.dk, s.dv, s.batch, s.heads, s.kv_heads, s.rows, s.keys, s.head_dim,
                    s.softmax_scale, s.order, s.launches, s.count_traffic);
  }
};

/// The traffic of a line of a kernel's source: see LineTraffic in kernels/host/checker/traffic.hpp.
struct MovedByLine {
  simt::CodePlace place;
  bool shared = false, writes = false;
  std::uint64_t bytes = 0, requests = 0, transfers = 0, least_transfers = 0, words = 0, products = 0;
  std::uint64_t products_ahead = 0, copied = 0;

  static auto fields(auto& m) {
    return std::tie(m.place, m.shared, m.writes, m.bytes, m.requests, m.transfers, m.least_transfers, m.words,
                    m.products, m.products_ahead, m.copied);
  }
};

/// The names of arrays in device memory that a finding may have.
inline constexpr const char* kNamesOfArrays[] = {
    "q_gmem",         "k_gmem",         "v_gmem",         "dout_gmem",    "lse_gmem",       "delta_gmem",
    "dq_gmem",        "dk_gmem",        "dv_gmem",        "out_gmem",     "max_gmem",       "sum_gmem",
    "begin_gmem",     "end_gmem",       "key_begin_gmem", "key_end_gmem", "row_begin_gmem", "row_end_gmem",
    "the workspace",  "acc.out_gmem",   "acc.max_gmem",   "acc.sum_gmem", "block.out_gmem", "block.max_gmem",
    "block.sum_gmem", "block_out_gmem", "block_lse_gmem"};

/// The reply of a launch beside the arrays. It comes from a student's program: a teaching aid, not evidence.
struct KernelRun {
  std::vector<simt::Finding> findings;  ///< the finding that ended it: none, or one
  std::vector<MovedByLine> moved;       ///< by the last kernel that ran, if traffic was counted

  static auto fields(auto& r) { return std::tie(r.findings, r.moved); }
};

/// Runs a step with the rung of this number.
template <int kRung>
KernelRun run_forward(const KernelStep& step);

/// Merges (O, m, l).
KernelRun run_merge(const MergeStep& step);
/// Merges (out, lse).
KernelRun run_merge_normalized(const MergeStep& step);

/// Runs a step of a backward pass with the rung of this number.
template <int kRung>
KernelRun run_backward(const GradientStep& step);

using NaiveKernels = Exercise<&run_forward<1>, "naive_kernels">;
using TiledKernels = Exercise<&run_forward<2>, "tiled_kernels">;
using TensorCoreKernel = Exercise<&run_forward<4>, "tensor_core_kernel">;
using PipelineKernel = Exercise<&run_forward<5>, "pipeline_kernel">;
using MergeKernel = Exercise<&run_merge, "merge_kernel">;
using NormalizedMergeKernel = Exercise<&run_merge_normalized, "merge_normalized_kernel">;
using GradientKernels = Exercise<&run_backward<2>, "gradient_kernels">;

}  // namespace ringcraft::judge
