#pragma once
// The report of bench: the machine, the build, a table of medians, and the ratios, for people and as JSON.

#include <optional>
#include <string>
#include <vector>

#include "tool/bench/bench_runs.hpp"

namespace ringcraft::tool {

// Of the values of all rounds.
struct Spread {
  double least = 0, median = 0, most = 0;
};
Spread spread_of(std::vector<double> values);

// The length for which there are goals.
inline constexpr Index kGoalTokens = 4096;

// The ratio of two contestants, taken round by round, beside its goal.
struct Ratio {
  std::string name;  // "108 forward, head_dim 128, of the peak"
  Spread value;
  std::optional<double> at_least, at_most;  // the goal, for kGoalTokens

  bool met() const;
};

struct BenchReport {
  std::string machine, build, torch;  // torch: its version, or the reason why it is left out
  BenchSettings settings;
  std::vector<Timing> timings;
  std::vector<Ratio> ratios;
};

// "AMD EPYC, 2 cores"
std::string machine_text();
// "GCC 12.2.0, -O3 -DNDEBUG -march=native, registers of 32 bytes"
std::string build_text();
// The ratios of the measured times.
std::vector<Ratio> ratios_of(const std::vector<Timing>& timings, int threads);

std::string text_of(const BenchReport& report);
std::string json_of(const BenchReport& report);

}  // namespace ringcraft::tool
