// Runs the kernels' stages of the ladder.
#include "tool/attention/kernel_ladder.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "verify/ladder/kernel_stages.hpp"

namespace ringcraft::tool {
namespace {

// The first rows of every head of the first batch entry, rounded to bfloat16, in float32.
Buffer first_rows(const Buffer& tensor, Index rows) {
  if (tensor.extents() == Extents{}) return {};
  Extents extents = tensor.extents();
  const std::size_t row_bytes = static_cast<std::size_t>(extents.width) * size_of(tensor.dtype());
  const std::size_t old_head = static_cast<std::size_t>(extents.rows) * row_bytes;
  const std::size_t new_head = static_cast<std::size_t>(rows) * row_bytes;
  extents.batch = 1;
  extents.rows = rows;
  Buffer first(extents, tensor.dtype());
  for (std::size_t head = 0; head < static_cast<std::size_t>(extents.heads); ++head)
    std::memcpy(first.bytes().data() + head * new_head, tensor.bytes().data() + head * old_head, new_head);
  return converted(converted(first, DType::kBFloat16), DType::kFloat32);
}

verify::ReportRow not_tried(const std::string& reason) {
  verify::ReportRow row;
  row.id = "201 to 206 kernels";
  row.claim = "CUDA kernels";
  row.sentence = "not tried: " + reason;
  return row;
}

std::vector<verify::ReportRow> kernel_rows(KernelPlace place, const Problem& problem,
                                           const verify::Inputs& inputs, const Climber& climber) {
  if (place.kernels.device.empty())
    return {not_tried("this build runs no kernels on the CPU; install libboost-context-dev")};
  if (problem.shape.head_dim > place.kernels.largest_head_dim)
    return {not_tried("the kernels take a head_dim of at most " +
                      std::to_string(place.kernels.largest_head_dim) + ", this is " +
                      std::to_string(problem.shape.head_dim))};
  const auto [small, small_inputs] =
      first_tokens(problem, inputs, place.gpu ? problem.shape.seqlen : kKernelTokens);
  std::vector<verify::Stage>& stages = place.kernels.stages;
  stages.insert(stages.begin(), verify::stage_named("dense"));  // the reference for the first of them
  std::vector<verify::ReportRow> rows = climb_stages("", stages, small, small_inputs, climber).rows;
  rows.erase(rows.begin());
  for (verify::ReportRow& row : rows) {
    row.claim += ", " + (place.gpu ? place.kernels.device : std::to_string(small.shape.seqlen) + " tokens");
    if (!place.gpu) row.figures.push_back({kFirstTokens, static_cast<double>(small.shape.seqlen), {}, ""});
  }
  return rows;
}

}  // namespace

std::pair<Problem, verify::Inputs> first_tokens(const Problem& problem, const verify::Inputs& inputs,
                                                Position tokens) {
  Problem small = problem;
  small.shape.batch = 1;
  small.shape.seqlen = std::min(problem.shape.seqlen, tokens);
  std::vector<Position>& borders = small.mask.cu_seqlens;
  if (!borders.empty()) {
    std::erase_if(borders, [&](Position border) { return border >= small.shape.seqlen; });
    borders.push_back(small.shape.seqlen);
  }
  const auto first = [&](const Buffer& tensor) { return first_rows(tensor, small.shape.seqlen); };
  return {small, verify::Inputs{first(inputs.q), first(inputs.k), first(inputs.v), first(inputs.dout)}};
}

KernelPlace kernel_place([[maybe_unused]] Backend backend, [[maybe_unused]] Layout layout) {
#ifdef RINGCRAFT_HAS_CUDA
  if (backend != Backend::kCudaHost)
    if (auto kernels = verify::cuda_kernel_stages(layout); !kernels.device.empty())
      return {std::move(kernels), true};
#endif
  if (backend == Backend::kCuda)
    throw Error("run --backend cuda", "a CUDA device", "none", "cuda-host runs the same kernels on the CPU",
                Code::kMissing);
#ifdef RINGCRAFT_HAS_EXECUTOR
  return {verify::host_kernel_stages(layout)};
#else
  return {};
#endif
}

KernelPlace up_to(int lesson, KernelPlace place) {
  std::vector<verify::Stage>& stages = place.kernels.stages;
  while (!stages.empty() && std::ranges::find(stages.back().lessons, lesson) == stages.back().lessons.end())
    stages.pop_back();
  return place;
}

void add_kernel_stages(verify::Report& report, KernelPlace place, const Problem& problem,
                       const verify::Inputs& inputs, const Climber& climber) {
  std::vector<verify::ReportRow> rows = kernel_rows(std::move(place), problem, inputs, climber);
  const auto behind =
      std::ranges::find_if(report.rows, [](const verify::ReportRow& row) { return row.id >= "201"; });
  report.rows.insert(behind, std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

}  // namespace ringcraft::tool
