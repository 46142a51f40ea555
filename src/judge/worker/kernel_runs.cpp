// One step on the executor, with the student's kernels (see kernel_exercises.hpp): arrays to the device, a
// checked launch, arrays back. A launch that fails is an answer like any other: what it left behind travels
// with the words of the finding.
#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "engine/check.hpp"
#include "forward/forward.hpp"
#include "host/device_heap.hpp"
#include "host/traffic.hpp"
#include "judge/kernel_exercises.hpp"
#include "ringcraft/core/buffer.hpp"

namespace ringcraft::judge {
namespace {

// A device copy of an array, a piece of cudaMalloc by itself, so that what lies beside it is nobody's.
template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(std::span<T> host) : host_(host) {
    RINGCRAFT_CUDA(cudaMalloc(&memory_, host.size_bytes()));
    RINGCRAFT_CUDA(cudaMemcpyAsync(memory_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice, nullptr));
  }
  ~DeviceCopy() { cudaFree(memory_); }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  T* gmem() const { return static_cast<T*>(memory_); }
  void bring_back() const {
    RINGCRAFT_CUDA(
        cudaMemcpyAsync(host_.data(), memory_, host_.size_bytes(), cudaMemcpyDeviceToHost, nullptr));
  }

 private:
  std::span<T> host_;
  void* memory_ = nullptr;
};

// A device copy of q, k or v in the rung's number type. They are float32 on their way and hold numbers of
// that type, so that nothing is rounded here.
class OperandCopy {
 public:
  OperandCopy(std::span<float> host, DType dtype) : host_(host) {
    if (dtype == DType::kFloat32) {
      as_it_is_.emplace(host);
      return;
    }
    for (const float x : host) bits_.push_back(bfloat16_from(x));
    narrow_.emplace(bits_);
  }
  const void* gmem() const { return narrow_ ? static_cast<void*>(narrow_->gmem()) : as_it_is_->gmem(); }
  void bring_back() {
    if (as_it_is_) return as_it_is_->bring_back();
    narrow_->bring_back();
    std::ranges::transform(bits_, host_.begin(), float_from_bfloat16);
  }

 private:
  std::span<float> host_;
  std::vector<std::uint16_t> bits_;
  std::optional<DeviceCopy<float>> as_it_is_;
  std::optional<DeviceCopy<std::uint16_t>> narrow_;
};

// "piece 13 of cudaMalloc" is an array that the lesson has a name for.
void name_array(std::string& finding, const void* gmem, const std::string& name) {
  for (const simt::Piece& piece : simt::DeviceHeap::get().pieces()) {
    if (piece.first != reinterpret_cast<std::uintptr_t>(gmem) || piece.freed) continue;
    const std::string number = "device memory (piece " + std::to_string(piece.number) + " of cudaMalloc, ";
    if (const auto at = finding.find(number); at != finding.npos)
      finding.replace(at, number.size(), name + " (");
  }
}

std::vector<MovedByLine> moved() {
  std::vector<MovedByLine> lines;
  for (const simt::LineTraffic& line : simt::last_traffic())
    lines.push_back({line.line, line.shared, line.writes, line.bytes, line.requests, line.transfers,
                     line.least_transfers, line.products, line.products_ahead, line.copied});
  return lines;
}

KernelRun run(const kernels::ForwardRung& rung, const KernelStep& s) {
  OperandCopy q(s.q, rung.dtype), k(s.k, rung.dtype), v(s.v, rung.dtype);
  const DeviceCopy out(s.out), max(s.max), sum(s.sum), workspace(s.workspace);
  const DeviceCopy begin(s.begin), end(s.end);
  const kernels::ForwardStep step{q.gmem(),   k.gmem(),   v.gmem(),   begin.gmem(), end.gmem(),
                                  out.gmem(), max.gmem(), sum.gmem(), s.batch,      s.heads,
                                  s.kv_heads, s.rows,     s.keys,     s.head_dim,   s.softmax_scale};
  if (kernels::workspace_of(rung, step) > static_cast<Index>(s.workspace.size()))
    throw Error("the step asks for more workspace than it was given");

  KernelRun answer;
  simt::settings() = {.seed = s.order,
                      .workers = 1,
                      .count_traffic = s.count_traffic,
                      .launches = s.launches,
                      .name_lines = false};
  try {
    kernels::run(rung, step, workspace.gmem(), nullptr);
    if (s.count_traffic) answer.moved = moved();
  } catch (const std::exception& error) {
    answer.finding = error.what();
    if (answer.finding.empty()) answer.finding = "an exception without a word";
  }
  simt::settings() = {};
  const std::pair<const void*, const char*> names[] = {
      {q.gmem(), "q_gmem"},         {k.gmem(), "k_gmem"},     {v.gmem(), "v_gmem"},
      {begin.gmem(), "begin_gmem"}, {end.gmem(), "end_gmem"}, {out.gmem(), "out_gmem"},
      {max.gmem(), "max_gmem"},     {sum.gmem(), "sum_gmem"}, {workspace.gmem(), "the workspace"}};
  for (const auto& [gmem, name] : names) name_array(answer.finding, gmem, name);
  for (auto* array : {&q, &k, &v}) array->bring_back();
  for (const auto* array : {&out, &max, &sum, &workspace}) array->bring_back();
  for (const auto* array : {&begin, &end}) array->bring_back();
  return answer;
}

}  // namespace

template <>
KernelRun run_forward<1>(const KernelStep& step) {
  return run(kernels::kNaive, step);
}

template <>
KernelRun run_forward<2>(const KernelStep& step) {
  return run(kernels::kTiles, step);
}

template <>
KernelRun run_forward<4>(const KernelStep& step) {
  return run(kernels::kTensorCores, step);
}

template <>
KernelRun run_forward<5>(const KernelStep& step) {
  return run(kernels::kPipeline, step);
}

}  // namespace ringcraft::judge
