// Compares a simulated run with theory, and writes it as a table and as JSON.
#include "tool/simulate/simulation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tool/terminal/output.hpp"
#include "tool/trace/time_axis.hpp"

namespace ringcraft::tool {
namespace {

Index most(const std::vector<Index>& numbers) { return *std::ranges::max_element(numbers); }

// With GB from a billion bytes on.
std::string amount_text(Index bytes) {
  constexpr double kGiga = 1e9;
  const auto all = static_cast<double>(bytes);
  return all < kGiga ? bytes_text(all) : fmt::format("{:.2f} GB", all / kGiga);
}

std::string time_text(double seconds) { return TimeAxis(seconds).words(seconds); }

// The first rank whose figures are not those of theory. The peak is that of the whole run so far.
std::string difference(const SimulatedPass& pass, const Theory& theory, const std::vector<Index>& peaks) {
  for (std::size_t r = 0; r < pass.traffic.size(); ++r) {
    const std::tuple<const char*, Index, Index> figures[] = {
        {"bytes sent", pass.traffic[r].bytes_sent, theory.bytes_sent[r]},
        {"messages", pass.traffic[r].messages_sent, theory.messages_sent[r]},
        {"visible pairs", pass.pairs[r], theory.pairs[r]},
        {"peak bytes", pass.peak_bytes[r], peaks[r]}};
    for (const auto& [what, got, want] : figures)
      if (got != want) return fmt::format("rank {}: {} {}, theory {}", r, what, got, want);
  }
  return {};
}

std::string_view pass_name(Pass pass) { return pass == Pass::kForward ? "forward" : "backward"; }

}  // namespace

std::vector<PassReport> reports_of(const Simulation& simulation, const Method& method, const Problem& problem,
                                   const MethodOptions& options, const Machine& machine) {
  std::vector<PassReport> reports;
  std::vector<Index> peaks(static_cast<std::size_t>(problem.world_size), 0);
  const RoleBytes bytes{size_of(machine.dtype(Role::kElement)), size_of(machine.dtype(Role::kAccumulator))};
  const auto add = [&](const SimulatedPass& pass, Pass which) {
    const Theory theory = method.theory(problem, options, which, bytes);
    std::ranges::transform(peaks, theory.peak_bytes, peaks.begin(),
                           [](Index a, Index b) { return std::max(a, b); });
    double computing = 0;
    for (int rank = 0; rank < problem.world_size; ++rank)
      computing = std::max(computing, machine.block(problem.shape, which, rank).per_pair *
                                          theory.heads * static_cast<double>(theory.pairs[static_cast<std::size_t>(rank)]));
    const auto sent = [&](auto member) { return std::ranges::max(pass.traffic, {}, member).*member; };
    reports.push_back({.ranks = problem.world_size,
                       .pass = which,
                       .seconds = pass.seconds(),
                       .exposed = pass.exposed(),
                       .computing = std::ranges::max(pass.computing),
                       .slowest = pass.slowest(),
                       .bytes = sent(&Traffic::bytes_sent),
                       .messages = sent(&Traffic::messages_sent),
                       .peak = most(pass.peak_bytes),
                       .theory = theory,
                       .theory_computing = computing,
                       .difference = difference(pass, theory, peaks)});
  };
  add(simulation.forward, Pass::kForward);
  if (simulation.backward) add(*simulation.backward, Pass::kBackward);
  return reports;
}

std::string text_of(const std::vector<PassReport>& reports) {
  constexpr const char* kRow = "{:>5}  {:<8}  {:>9}  {:>7}  {:>9}  {:>9}  {:>8}  {:>10}  {}\n";
  std::string text = fmt::format(kRow, "ranks", "pass", "time", "waiting", "computing", "bytes", "messages",
                                 "memory", "computes longest");
  for (const PassReport& r : reports) {
    text +=
        fmt::format(kRow, r.ranks, pass_name(r.pass), time_text(r.seconds),
                    fmt::format("{:.1f} %", 100 * r.exposed), time_text(r.computing), amount_text(r.bytes),
                    r.messages, amount_text(r.peak), fmt::format("rank {}", r.slowest));
    text += fmt::format(kRow, "", "  theory", "", "", time_text(r.theory_computing),
                        amount_text(most(r.theory.bytes_sent)), most(r.theory.messages_sent),
                        amount_text(most(r.theory.peak_bytes)),
                        r.difference.empty() ? "the same for every rank" : r.difference);
  }
  return text +
         "waiting: share of the time, average of the ranks; the other figures: of the rank that has most\n";
}

std::string json_of(const std::vector<PassReport>& reports, const Method& method, const Machine& machine,
                    const std::string& what) {
  nlohmann::json passes = nlohmann::json::array();
  for (const PassReport& r : reports)
    passes.push_back({{"ranks", r.ranks},
                      {"pass", pass_name(r.pass)},
                      {"seconds", r.seconds},
                      {"waiting_share", r.exposed},
                      {"computing_seconds", r.computing},
                      {"slowest_rank", r.slowest},
                      {"bytes_sent", r.bytes},
                      {"messages_sent", r.messages},
                      {"peak_bytes", r.peak},
                      {"theory",
                       {{"computing_seconds", r.theory_computing},
                        {"bytes_sent", most(r.theory.bytes_sent)},
                        {"messages_sent", most(r.theory.messages_sent)},
                        {"peak_bytes", most(r.theory.peak_bytes)}}},
                      {"as_theory", r.difference.empty()}});
  const nlohmann::json all{
      {"method", method.name}, {"machine", machine.name}, {"problem", what}, {"passes", passes}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ringcraft::tool
