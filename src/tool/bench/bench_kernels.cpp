// Times the rungs on the first GPU.
#include "tool/bench/bench_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/check.hpp"
#include "process/child.hpp"
#include "ringcraft/core/random.hpp"
#include "timing/peak.hpp"
#include "timing/timed_step.hpp"
#include "tool/bench/bench_torch.hpp"
#include "tool/bench/kernel_report.hpp"
#include "tool/ranks/tile_file.hpp"
#include "tool/terminal/output.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::tool {
namespace {

using namespace kernels;

constexpr Index kJudgedTokens = 256;

Device first_gpu() {
  try {
    return use_device();
  } catch (const Error& error) {
    throw Error("bench kernels measures a GPU, and there is none (" + std::string(error.what()) +
                    "); on the CPU the kernels are checked, not timed: ./ringcraft run",
                error.code());
  }
}

std::string described(const Device& device) {
  char text[300];
  std::snprintf(text, sizeof text, "%s, compute capability %d.%d, %d SMs at up to %.2f GHz, %.0f MB of L2",
                device.name.c_str(), device.major, device.minor, device.multiprocessors,
                device.clock_hz / 1e9, static_cast<double>(device.l2_bytes) / 1e6);
  return text;
}

// The device's state right after a run, as the driver reports it.
std::string clocks() {
  char bus[32] = {};
  RINGCRAFT_CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  const process::Finished said = process::run_command(
      {.arguments = {"/usr/bin/env", "nvidia-smi", "-i", bus,
                     "--query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu", "--format=csv,noheader"},
       .environment = whole_environment(),
       .folder = {},
       .limits = {}},
      std::chrono::seconds(10));
  return said.good() ? "SM, memory, power, °C: " + said.printed.substr(0, said.printed.find('\n'))
                     : "clocks unknown: nvidia-smi does not answer";
}

Mask mask_of(const KernelSetting& setting) { return setting.causal ? causal_mask() : full_mask(); }

template <class Step>
std::string name_of(const Rung<Step>& rung) {
  return (rung.number < 10 ? "0" : "") + std::to_string(rung.number) + " " + rung.name;
}

// The largest error of a short sequence, in units of each element's scale.
double error_of(const CudaRungs& rungs, const KernelSetting& setting) {
  const Problem problem =
      make_problem({1, 2, 2, kJudgedTokens, setting.head_dim}, mask_of(setting), Layout::kContiguous, 1);
  StepInputs numbers = normal_inputs({1, 2, kJudgedTokens, setting.head_dim});
  for (Buffer* tensor : {&numbers.q, &numbers.k, &numbers.v, &numbers.dout})
    *tensor = converted(*tensor, rungs.forward->dtype);
  TimedStep step(rungs, setting.pass, numbers, key_ranges(problem.mask, kJudgedTokens),
                 problem.softmax_scale);
  step.run();
  const auto on_host = [&](const Buffer& tensor) { return copied_to_host(tensor, step.engine().stream()); };
  const Output& output = step.finish();
  const bool backward = setting.pass == Pass::kBackward;
  const verify::Answer answer =
      backward ? verify::Answer{on_host(output.out), on_host(output.lse), on_host(step.dq()),
                                on_host(step.dkv().k), on_host(step.dkv().v)}
               : verify::Answer{on_host(output.out), on_host(output.lse), {}, {}, {}};
  const verify::Inputs inputs{std::move(numbers.q), std::move(numbers.k), std::move(numbers.v),
                              std::move(numbers.dout)};
  return verify::compare_exact(answer, verify::oracle(problem, inputs),
                               backward ? verify::Expect::kAll : verify::Expect::kForward)
      .worst;
}

// Runs all measurements, one after another.
class Measuring {
 public:
  Measuring(const Device& device, TileTable tiles) : device_(device), tiles_(std::move(tiles)) {}

  template <class Step>
  KernelRow row(const Rung<Step>& rung, const KernelSetting& setting) {
    CudaRungs rungs = rungs_for(rung);
    rungs.tiles = tiles_;
    const Index tokens = tokens_for(rung);
    const KeyRanges ranges = key_ranges(mask_of(setting), tokens);
    KernelRow row{.setting = setting,
                  .name = name_of(rung),
                  .dtype = rung.dtype,
                  .tokens = tokens,
                  .operations = operations_of(setting.pass, kModelWidth / setting.head_dim, setting.head_dim,
                                              ranges.pairs()),
                  .error = error_of(rungs, setting)};
    const auto sizes = tiles_of(rung, static_cast<int>(setting.head_dim));
    if (!sizes.empty())
      row.tile =
          name_of(sizes[static_cast<std::size_t>(tiles_.place(rung, static_cast<int>(setting.head_dim)))]);
    TimedStep step(rungs, setting.pass, inputs(tokens, setting.head_dim), ranges, kTimedScale);
    const RunTime time = timed(step);
    row.hot_ms = time.hot;
    row.flushed_ms = time.flushed;
    for (const KernelNeeds& kernel : kernels_of(step)) {
      row.registers.push_back(kernel.registers);
      row.shared_bytes = std::max(row.shared_bytes, kernel.shared_bytes);
      row.spilled_bytes = std::max(row.spilled_bytes, kernel.local_bytes);
    }
    return row;
  }

  std::optional<KernelRow> row(TorchOnGpu& torch, const char* backend, const KernelSetting& setting) const {
    constexpr Index kTokens = 8192;
    const Index heads = kModelWidth / setting.head_dim;
    TorchGpuRun run{backend, setting.pass, kTokens, heads, setting.head_dim, setting.causal, 0};
    const std::optional<double> hot = torch.milliseconds(run);
    run.flush_bytes = 2 * device_.l2_bytes;
    const std::optional<double> flushed = torch.milliseconds(run);
    if (!hot || !flushed) return {};
    return KernelRow{.setting = setting,
                     .name = std::string("PyTorch, ") + backend,
                     .library = true,
                     .tokens = kTokens,
                     .operations = operations_of(setting.pass, heads, setting.head_dim,
                                                 key_ranges(mask_of(setting), kTokens).pairs()),
                     .hot_ms = *hot,
                     .flushed_ms = *flushed};
  }

  // One run after another on these tiles: hot milliseconds.
  template <class Step>
  double milliseconds(const Rung<Step>& rung, const KernelSetting& setting, const TileTable& tiles) {
    CudaRungs rungs = rungs_for(rung);
    rungs.tiles = tiles;
    const Index tokens = tokens_for(rung);
    TimedStep step(rungs, setting.pass, inputs(tokens, setting.head_dim),
                   key_ranges(mask_of(setting), tokens), kTimedScale);
    return timed(step).hot;
  }

 private:
  // Generated again only for another shape.
  const StepInputs& inputs(Index tokens, Index head_dim) {
    const Extents extents = timed_extents(tokens, head_dim);
    if (inputs_.q.extents() != extents) inputs_ = normal_inputs(extents);
    return inputs_;
  }

  const Device& device_;
  TileTable tiles_;
  StepInputs inputs_;
};

// Calls body(rung) for every rung of a pass.
template <class Body>
void for_each_rung(Pass pass, Body body) {
  if (pass == Pass::kForward)
    for (const ForwardRung* rung : forward_rungs()) body(*rung);
  else
    for (const BackwardRung* rung : backward_rungs()) body(*rung);
}

KernelReport measured(const Device& device, const std::string& python) {
  KernelReport report{.device = described(device),
                      .torch = {},
                      .bfloat16_peak = peak_rate(device, DType::kBFloat16),
                      .float32_peak = peak_rate(device, DType::kFloat32),
                      .clocks = {},
                      .rows = {}};
  std::unique_ptr<TorchOnGpu> torch;
  try {
    torch = std::make_unique<TorchOnGpu>(python);
    report.torch = torch->version();
  } catch (const Error& error) {
    report.torch = std::string("left out: ") + error.what();
  }
  Measuring measuring(device, read_tile_table(tile_sizes_file(), device.name));
  const std::vector<KernelSetting> settings = kernel_settings();
  Progress progress(static_cast<double>(settings.size()));
  for (const KernelSetting& setting : settings) {
    progress.at(static_cast<double>(report.clocks.size()), tool::described(setting));
    for_each_rung(setting.pass,
                  [&](const auto& rung) { report.rows.push_back(measuring.row(rung, setting)); });
    report.clocks.emplace_back(setting, clocks());
    if (torch == nullptr) continue;
    for (const char* backend : kTorchBackends)
      if (auto row = measuring.row(*torch, backend, setting)) report.rows.push_back(std::move(*row));
  }
  return report;
}

int tune(const Device& device, const std::string& json) {
  require_writable("bench kernels --tune", tile_sizes_file());
  Measuring measuring(device, {});
  std::vector<TuneRow> rows;
  std::vector<std::function<void(TileTable&)>> choices;  // of the rows
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    for (const Index head_dim : kKernelHeadDims)
      for_each_rung(pass, [&](const auto& rung) {
        for (const TileSize size : tiles_of(rung, static_cast<int>(head_dim))) {
          const auto take = [&rung, head_dim, size](TileTable& table) {
            table.choose(rung, static_cast<int>(head_dim), size);
          };
          TileTable table;
          take(table);
          rows.push_back({pass, name_of(rung), head_dim, name_of(size),
                          measuring.milliseconds(rung, {pass, head_dim, false}, table),
                          measuring.milliseconds(rung, {pass, head_dim, true}, table)});
          choices.emplace_back(take);
        }
      });
  choose(rows);
  TileTable best;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].chosen) choices[i](best);
  write_text("bench kernels --tune", tile_sizes_file(), best.text(device.name));
  std::fputs(text_of(described(device) + "; " + clocks(), rows).c_str(), stdout);
  if (!json.empty()) write_text("--json", json, json_of(described(device), rows));
  return 0;
}

}  // namespace

int bench_kernels(const KernelBench& options) {
  const Device device = first_gpu();
  if (options.tune) return tune(device, options.json);
  const KernelReport report = measured(device, options.python);
  std::fputs(text_of(report).c_str(), stdout);
  if (!options.json.empty()) write_text("--json", options.json, json_of(report));
  return 0;
}

}  // namespace ringcraft::tool
