#pragma once
// The report of bench kernels about a GPU: a table for every pass, head_dim and mask, and the results of
// --tune, for people and as JSON.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/core/types.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft::tool {

// Settings that all rows of one table share.
struct KernelSetting {
  Pass pass;
  Index head_dim;
  bool causal;
  bool operator==(const KernelSetting&) const = default;
};
inline constexpr Index kKernelHeadDims[] = {64, 128};
// All of them, in the order of the tables.
std::vector<KernelSetting> kernel_settings();
// "forward, head_dim 64, causal"
std::string described(const KernelSetting& setting);

// A rung's time, or a library's.
struct KernelRow {
  KernelSetting setting;
  std::string name;  // "05 pipeline"; "PyTorch, cuDNN"
  bool library = false;
  DType dtype = DType::kBFloat16;
  Index tokens = 0;
  double operations = 0;              // of one run
  double hot_ms = 0, flushed_ms = 0;  // medians; see kernels/timing/timed_step.hpp
  std::optional<double> error;        // of a rung: its largest error against the oracle / scale
  std::string tile;                   // "64x32"; empty: it has but one
  std::vector<int> registers;         // of a thread, kernel by kernel
  Index shared_bytes = 0;             // of a thread block, the most of all kernels
  Index spilled_bytes = 0;            // local memory of a thread, the most of all kernels

  double rate() const { return operations / (1e-3 * hot_ms); }  // operations per second
};

struct KernelReport {
  std::string device, torch;                                  // torch: its version, or why it is left out
  double bfloat16_peak = 0, float32_peak = 0;                 // operations per second; 0: unknown
  std::vector<std::pair<KernelSetting, std::string>> clocks;  // as the driver gives them after these runs
  std::vector<KernelRow> rows;

  // Of the peak for the row's number type; none if that is unknown.
  std::optional<double> share_of_peak(const KernelRow& row) const;
  // Of the fastest library in the same setting; none if there is none.
  std::optional<double> share_of_library(const KernelRow& row) const;
};

std::string text_of(const KernelReport& report);
std::string json_of(const KernelReport& report);

// One tile size of one rung, timed full and causal.
struct TuneRow {
  Pass pass;
  std::string name;  // "05 pipeline"
  Index head_dim;
  std::string tile;
  double full_ms, causal_ms;
  bool chosen = false;  // the least sum of both among the sizes of its rung and head_dim
};
// Marks the chosen ones.
void choose(std::vector<TuneRow>& rows);

std::string text_of(const std::string& device, const std::vector<TuneRow>& rows);
std::string json_of(const std::string& device, const std::vector<TuneRow>& rows);

}  // namespace ringcraft::tool
