// Computes rates and shares of the peak, and writes them.
#include "tool/bench/kernel_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tool/ranks/tile_file.hpp"

namespace ringcraft::tool {
namespace {

const char* name_of(Pass pass) { return pass == Pass::kForward ? "forward" : "backward"; }

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string line_of(const KernelReport& report, const KernelRow& row) {
  std::string registers;
  for (const int number : row.registers) registers += (registers.empty() ? "" : " ") + std::to_string(number);
  const auto of_a_rung = [&](std::string text) { return row.library ? "-" : std::move(text); };
  return fmt::format("{:<20} {:>7} {:>9.3f} {:>9.3f} {:>8.1f} {:>8} {:>11} {:>8} {:>11} {:>9} {:>7}  {}\n",
                     row.name, row.tokens, row.hot_ms, row.flushed_ms, row.rate() / 1e12,
                     percent(report.share_of_peak(row)), percent(report.share_of_library(row)),
                     row.error ? fmt::format("{:.1e}", *row.error) : "-", of_a_rung(registers),
                     of_a_rung(fmt::format("{:.1f} kB", static_cast<double>(row.shared_bytes) / 1e3)),
                     of_a_rung(fmt::format("{} B", row.spilled_bytes)), row.tile.empty() ? "-" : row.tile);
}

std::string peak_text(const char* type, double peak) {
  return peak > 0 ? fmt::format("{} {:.1f} TFLOP/s", type, peak / 1e12) : fmt::format("{} unknown", type);
}

}  // namespace

std::string tile_sizes_file() { return RINGCRAFT_SOURCE_DIR "/build/tile_sizes.txt"; }

std::vector<KernelSetting> kernel_settings() {
  std::vector<KernelSetting> all;
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    for (const Index head_dim : kKernelHeadDims)
      for (const bool causal : {false, true}) all.push_back({pass, head_dim, causal});
  return all;
}

std::string described(const KernelSetting& setting) {
  return fmt::format("{}, head_dim {}, {}", name_of(setting.pass), setting.head_dim,
                     setting.causal ? "causal" : "full");
}

std::optional<double> KernelReport::share_of_peak(const KernelRow& row) const {
  const double peak = row.dtype == DType::kBFloat16 ? bfloat16_peak : float32_peak;
  return peak > 0 ? std::optional(row.rate() / peak) : std::nullopt;
}

std::optional<double> KernelReport::share_of_library(const KernelRow& row) const {
  double best = 0;
  for (const KernelRow& other : rows)
    if (other.library && other.setting == row.setting) best = std::max(best, other.rate());
  return best > 0 ? std::optional(row.rate() / best) : std::nullopt;
}

std::string text_of(const KernelReport& report) {
  std::string text = fmt::format(
      "device   {}\npeak     {}, {}: multiply-adds at the highest clock\nPyTorch  {}\n\n"
      "One batch entry, 2048 numbers per token in all heads, N(0,1). Medians of device time, the "
      "accumulators reset before each\nrun; flushed: with nothing of use in the L2 cache. A visible pair "
      "counts 4 * head_dim operations forward, 10 backward.\nError: against the oracle, of 256 tokens, in "
      "units of each element's scale. Registers of a thread, kernel by kernel; shared\nmemory of a thread "
      "block; local memory of a thread, which is what was spilled.\n",
      report.device, peak_text("bfloat16", report.bfloat16_peak), peak_text("float32", report.float32_peak),
      report.torch);
  for (const KernelSetting& setting : kernel_settings()) {
    text += "\n" + described(setting);
    for (const auto& [of, clocks] : report.clocks)
      if (of == setting) text += " (" + clocks + ")";
    text += fmt::format("\n{:<20} {:>7} {:>9} {:>9} {:>8} {:>8} {:>11} {:>8} {:>11} {:>9} {:>7}  {}\n", "",
                        "tokens", "ms", "flushed", "TFLOP/s", "of peak", "of library", "error", "registers",
                        "shared", "spilled", "tile");
    for (const KernelRow& row : report.rows)
      if (row.setting == setting) text += line_of(report, row);
  }
  return text;
}

std::string text_of(const std::string& device, const std::vector<TuneRow>& rows) {
  std::string text = fmt::format("device   {}\n\n{:<31} {:>8} {:>8} {:>10} {:>10}\n", device, "", "head_dim",
                                 "tile", "full, ms", "causal, ms");
  for (const TuneRow& row : rows)
    text += fmt::format("{:<31} {:>8} {:>8} {:>10.3f} {:>10.3f}{}\n",
                        fmt::format("{} {}", name_of(row.pass), row.name), row.head_dim, row.tile,
                        row.full_ms, row.causal_ms, row.chosen ? "  taken" : "");
  return text + "\nwritten: " + tile_sizes_file() + "\n";
}

void choose(std::vector<TuneRow>& rows) {
  const auto sum = [](const TuneRow& row) { return row.full_ms + row.causal_ms; };
  for (TuneRow& row : rows)
    row.chosen = std::ranges::all_of(rows, [&](const TuneRow& other) {
      const bool rival = other.pass == row.pass && other.name == row.name && other.head_dim == row.head_dim;
      return !rival || &other == &row || sum(row) < sum(other) || (sum(row) == sum(other) && &row < &other);
    });
}

namespace {

nlohmann::json number(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace

std::string json_of(const KernelReport& report) {
  nlohmann::json rows = nlohmann::json::array(), clocks = nlohmann::json::array();
  for (const KernelRow& row : report.rows)
    rows.push_back({{"pass", name_of(row.setting.pass)},
                    {"head_dim", row.setting.head_dim},
                    {"causal", row.setting.causal},
                    {"name", row.name},
                    {"library", row.library},
                    {"dtype", name_of(row.dtype)},
                    {"tokens", row.tokens},
                    {"operations", row.operations},
                    {"hot_ms", row.hot_ms},
                    {"flushed_ms", row.flushed_ms},
                    {"share_of_peak", number(report.share_of_peak(row))},
                    {"share_of_library", number(report.share_of_library(row))},
                    {"error", number(row.error)},
                    {"tile", row.tile},
                    {"registers", row.registers},
                    {"shared_bytes", row.shared_bytes},
                    {"spilled_bytes", row.spilled_bytes}});
  for (const auto& [setting, text] : report.clocks)
    clocks.push_back({{"after", described(setting)}, {"clocks", text}});
  const nlohmann::json all{{"device", report.device},
                           {"torch", report.torch},
                           {"bfloat16_peak", report.bfloat16_peak},
                           {"float32_peak", report.float32_peak},
                           {"clocks", clocks},
                           {"rows", rows}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string json_of(const std::string& device, const std::vector<TuneRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const TuneRow& row : rows)
    list.push_back({{"pass", name_of(row.pass)},
                    {"name", row.name},
                    {"head_dim", row.head_dim},
                    {"tile", row.tile},
                    {"full_ms", row.full_ms},
                    {"causal_ms", row.causal_ms},
                    {"chosen", row.chosen}});
  return nlohmann::json{{"device", device}, {"file", tile_sizes_file()}, {"sizes", list}}.dump(2) + "\n";
}

}  // namespace ringcraft::tool
