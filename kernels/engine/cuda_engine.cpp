// The block engine of a GPU rank: turns buffers into pointers and extents for kernels.
#include "engine/cuda_engine.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/state_kernels.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::kernels {
namespace {

constexpr Index kLargestGrid = 65535;                                // of a grid's second and third extent
constexpr Index kLargestRows = std::numeric_limits<int>::max() / 2;  // rows and tiles are counted in int

void refuse_above(const char* what, Index limit, Index actual, const char* advice) {
  if (actual > limit)
    throw Error(std::string("CudaEngine: ") + what, "at most " + std::to_string(limit),
                std::to_string(actual), advice);
}

// Of a step of either pass: q and k are those of its shard and its block.
template <class Step>
void set_extents(Step& step, const Extents& q, const Extents& k, double softmax_scale) {
  step.batch = static_cast<int>(q.batch);
  step.heads = static_cast<int>(q.heads);
  step.kv_heads = static_cast<int>(k.heads);
  step.rows = static_cast<int>(q.rows);
  step.keys = static_cast<int>(k.rows);
  step.head_dim = static_cast<int>(q.width);
  step.softmax_scale = static_cast<float>(softmax_scale);
}

}  // namespace

CudaRungs with_forward(const BackwardRung& backward) {
  return {backward.dtype == DType::kBFloat16 ? &kPipeline : CudaRungs{}.forward, &backward, {}};
}

CudaEngine::CudaEngine(int device, CudaRungs rungs)
    : rungs_(std::move(rungs)),
      device_(use_device(device)),
      ranges_(stream_),
      transposed_ranges_(stream_),
      copied_rows_(stream_) {}

void CudaEngine::refuse(const Problem& problem, Pass pass) const {
  const Shape& s = problem.shape;
  kernels::refuse(*rungs_.forward, dtype(Role::kElement), s.head_dim);
  if (pass == Pass::kBackward) kernels::refuse(*rungs_.backward, dtype(Role::kElement), s.head_dim);
  refuse_above("batch", kLargestGrid, s.batch, "split the batch");
  refuse_above("heads", kLargestGrid, s.heads, "split the heads");
  refuse_above("rows of a shard", kLargestRows, problem.sharding().largest_rows(), "use more ranks");
}

Buffer CudaEngine::allocate(Extents extents, Role role) {
  return Buffer(extents, dtype(role), device_memory());
}

RowState CudaEngine::do_begin(const Buffer& q) {
  const Extents& e = q.extents();
  const Extents rows{e.batch, e.heads, e.rows, 1};
  RowState state{allocate(e, Role::kAccumulator), allocate(rows, Role::kAccumulator),
                 allocate(rows, Role::kAccumulator)};
  do_set_zero(state.out);
  fill(device_floats(state.max), rows.elements(), -std::numeric_limits<float>::infinity(), stream_.get());
  do_set_zero(state.sum);
  return state;
}

void CudaEngine::do_forward(RowState& state, const Buffer& q, const KvBlock& block, const BlockRanges& ranges,
                            double softmax_scale) {
  const DeviceRanges device_ranges = ranges_.upload(ranges.by_row());
  const DType type = dtype(Role::kElement);
  ForwardStep step{
      .q_gmem = device_numbers(q, type),
      .k_gmem = device_numbers(block.k, type),
      .v_gmem = device_numbers(block.v, type),
      .begin_gmem = device_ranges.begin_gmem,
      .end_gmem = device_ranges.end_gmem,
      .out_gmem = device_floats(state.out),
      .max_gmem = device_floats(state.max),
      .sum_gmem = device_floats(state.sum),
  };
  set_extents(step, q.extents(), block.k.extents(), softmax_scale);
  step.tile = rungs_.tiles.place(*rungs_.forward, step.head_dim);
  run(*rungs_.forward, step, workspace(workspace_of(*rungs_.forward, step)), stream_.get());
}

// Freeing device memory waits for the kernels that still use it.
float* CudaEngine::workspace(Index numbers) {
  if (workspace_.extents().elements() < numbers) {
    workspace_ = Buffer();  // both at once would be the most that the engine ever holds
    workspace_ = allocate({1, 1, numbers, 1}, Role::kAccumulator);
  }
  return workspace_.empty() ? nullptr : device_floats(workspace_);
}

Output CudaEngine::finish(RowState&& state) {
  const Extents& e = state.out.extents();
  finish_rows(device_floats(state.out), device_floats(state.max), device_floats(state.sum),
              e.batch * e.heads * e.rows, e.width, stream_.get());
  state.sum = Buffer();  // the release waits for the kernel that reads it
  return {std::move(state.out), std::move(state.max)};
}

Buffer CudaEngine::delta(const Buffer& out, const Buffer& dout) {
  const Extents& e = out.extents();
  Buffer delta = allocate({e.batch, e.heads, e.rows, 1}, Role::kAccumulator);
  const DType type = dtype(Role::kElement);
  row_delta(device_floats(out), device_numbers(dout, type), type, device_floats(delta),
            e.batch * e.heads * e.rows, e.width, stream_.get());
  return delta;
}

void CudaEngine::do_backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                             const BlockRanges& ranges, double softmax_scale) {
  const DeviceRanges keys_of_rows = ranges_.upload(ranges.by_row());
  const DeviceRanges rows_of_keys =
      transposed_ranges_.upload(ranges.by_row().transposed(static_cast<int>(block.k.extents().rows)));
  const DType type = dtype(Role::kElement);
  BackwardStep step{
      .q_gmem = device_numbers(saved.q, type),
      .dout_gmem = device_numbers(saved.dout, type),
      .lse_gmem = device_floats(saved.lse),
      .delta_gmem = device_floats(saved.delta),
      .k_gmem = device_numbers(block.k, type),
      .v_gmem = device_numbers(block.v, type),
      .key_begin_gmem = keys_of_rows.begin_gmem,
      .key_end_gmem = keys_of_rows.end_gmem,
      .row_begin_gmem = rows_of_keys.begin_gmem,
      .row_end_gmem = rows_of_keys.end_gmem,
      .dq_gmem = device_floats(dq),
      .dk_gmem = device_floats(part.k),
      .dv_gmem = device_floats(part.v),
  };
  set_extents(step, saved.q.extents(), block.k.extents(), softmax_scale);
  step.tile = rungs_.tiles.place(*rungs_.backward, step.head_dim);
  run(*rungs_.backward, step, workspace(workspace_of(*rungs_.backward, step)), stream_.get());
}

void CudaEngine::do_add(KvBlock& into, const KvBlock& from) {
  const auto add_to = [&](Buffer& sum, const Buffer& term) {
    kernels::add(device_floats(sum), device_floats(term), sum.extents().elements(), stream_.get());
  };
  add_to(into.k, from.k);
  add_to(into.v, from.v);
}

// The two lists of rows travel as ranges do: two integers for each.
void CudaEngine::do_copy(Buffer& to, const Buffer& from, const RowCopy& rows) {
  const auto list = [](const RowList& of) { return std::vector<int>(of.rows().begin(), of.rows().end()); };
  const DeviceRanges lists = copied_rows_.upload({list(rows.from_rows), list(rows.to_rows)});
  const Extents &t = to.extents(), &f = from.extents();
  copy_rows(to.bytes().data(), {t.heads, t.rows, rows.to_head}, from.bytes().data(),
            {f.heads, f.rows, rows.from_head}, f.batch, rows.heads, lists.begin_gmem, lists.end_gmem,
            rows.from_rows.size(), f.width * static_cast<Index>(size_of(from.dtype())), stream_.get());
}

void CudaEngine::do_set_zero(Buffer& buffer) {
  fill(device_floats(buffer), buffer.extents().elements(), 0.0f, stream_.get());
}

}  // namespace ringcraft::kernels
