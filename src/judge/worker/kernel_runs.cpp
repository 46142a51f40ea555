// Copies the arrays of a step to the device, runs a checked launch, and copies them back.
#include "judge/worker/kernel_runs.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>

#include "host/checker/traffic.hpp"
#include "host/device_heap.hpp"
#include "ringcraft/core/buffer.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

// A device copy of q, k or v in the rung's number type. They are sent as float32 and hold numbers of that
// type, so nothing is rounded here.
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

// A piece of device memory may be an array with a name in the lesson.
void name_array(simt::FoundMemory& memory, std::initializer_list<std::pair<const void*, const char*>> names) {
  if (memory.kind != simt::FoundMemory::Kind::kDevice) return;
  for (const simt::Piece& piece : simt::DeviceHeap::get().pieces())
    for (const auto& [gmem, name] : names)
      if (piece.number == memory.piece && !piece.freed &&
          piece.first == reinterpret_cast<std::uintptr_t>(gmem))
        memory.name = name;
}

// The settings of a launch, for the life of this object.
class UnderSettings {
 public:
  explicit UnderSettings(const simt::Settings& settings) { simt::settings() = settings; }
  ~UnderSettings() { simt::settings() = {}; }
  UnderSettings(const UnderSettings&) = delete;
  UnderSettings& operator=(const UnderSettings&) = delete;
};

std::vector<MovedByLine> moved() {
  std::vector<MovedByLine> lines;
  for (const simt::LineTraffic& line : simt::last_traffic())
    lines.push_back({line.place, line.shared, line.writes, line.bytes, line.requests, line.transfers,
                     line.least_transfers, line.words, line.products, line.products_ahead, line.copied});
  return lines;
}

}  // namespace

KernelRun launched(const simt::Settings& settings, const std::function<void()>& launch,
                   std::initializer_list<std::pair<const void*, const char*>> names) {
  KernelRun answer;
  const UnderSettings under(settings);
  simt::forget_failure();
  try {
    const simt::FixedSettings fixed;  // the student's code
    const simt::WithoutDevice host;
    launch();
    simt::rethrow_failure();  // the failure of a launch, if the student's file has caught it
    if (settings.count_traffic) answer.moved = moved();
  } catch (const simt::LaunchError& error) {  // any other exception is reported by the worker
    answer.findings = {error.finding()};
    name_array(answer.findings[0].memory, names);
  }
  return answer;
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

  const KernelRun answer = launched({.seed = s.order,
                                     .workers = 1,
                                     .count_traffic = s.count_traffic,
                                     .launches = s.launches,
                                     .name_lines = false},
                                    [&] { kernels::run(rung, step, workspace.gmem(), nullptr); },
                                    {{q.gmem(), "q_gmem"},
                                     {k.gmem(), "k_gmem"},
                                     {v.gmem(), "v_gmem"},
                                     {begin.gmem(), "begin_gmem"},
                                     {end.gmem(), "end_gmem"},
                                     {out.gmem(), "out_gmem"},
                                     {max.gmem(), "max_gmem"},
                                     {sum.gmem(), "sum_gmem"},
                                     {workspace.gmem(), "the workspace"}});
  for (auto* array : {&q, &k, &v}) array->bring_back();
  for (const auto* array : {&out, &max, &sum, &workspace}) array->bring_back();
  for (const auto* array : {&begin, &end}) array->bring_back();
  return answer;
}

KernelRun run(const kernels::BackwardRung& rung, const GradientStep& s) {
  OperandCopy q(s.q, rung.dtype), dout(s.dout, rung.dtype), k(s.k, rung.dtype), v(s.v, rung.dtype);
  const DeviceCopy lse(s.lse), delta(s.delta), dq(s.dq), dk(s.dk), dv(s.dv);
  const DeviceCopy key_begin(s.key_begin), key_end(s.key_end), row_begin(s.row_begin), row_end(s.row_end);
  const kernels::BackwardStep step{.q_gmem = q.gmem(),
                                   .dout_gmem = dout.gmem(),
                                   .lse_gmem = lse.gmem(),
                                   .delta_gmem = delta.gmem(),
                                   .k_gmem = k.gmem(),
                                   .v_gmem = v.gmem(),
                                   .key_begin_gmem = key_begin.gmem(),
                                   .key_end_gmem = key_end.gmem(),
                                   .row_begin_gmem = row_begin.gmem(),
                                   .row_end_gmem = row_end.gmem(),
                                   .dq_gmem = dq.gmem(),
                                   .dk_gmem = dk.gmem(),
                                   .dv_gmem = dv.gmem(),
                                   .batch = s.batch,
                                   .heads = s.heads,
                                   .kv_heads = s.kv_heads,
                                   .rows = s.rows,
                                   .keys = s.keys,
                                   .head_dim = s.head_dim,
                                   .softmax_scale = s.softmax_scale};
  const KernelRun answer = launched({.seed = s.order,
                                     .workers = 1,
                                     .count_traffic = s.count_traffic,
                                     .launches = s.launches,
                                     .name_lines = false,
                                     .block_seed = s.order},
                                    [&] { kernels::run(rung, step, nullptr, nullptr); },
                                    {{q.gmem(), "q_gmem"},
                                     {dout.gmem(), "dout_gmem"},
                                     {k.gmem(), "k_gmem"},
                                     {v.gmem(), "v_gmem"},
                                     {lse.gmem(), "lse_gmem"},
                                     {delta.gmem(), "delta_gmem"},
                                     {key_begin.gmem(), "key_begin_gmem"},
                                     {key_end.gmem(), "key_end_gmem"},
                                     {row_begin.gmem(), "row_begin_gmem"},
                                     {row_end.gmem(), "row_end_gmem"},
                                     {dq.gmem(), "dq_gmem"},
                                     {dk.gmem(), "dk_gmem"},
                                     {dv.gmem(), "dv_gmem"}});
  for (auto* array : {&q, &dout, &k, &v}) array->bring_back();
  for (const auto* array : {&lse, &delta, &dq, &dk, &dv}) array->bring_back();
  for (const auto* array : {&key_begin, &key_end, &row_begin, &row_end}) array->bring_back();
  return answer;
}

}  // namespace ringcraft::judge
