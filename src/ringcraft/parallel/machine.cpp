// Speeds of links and ranks, and the machines that are known by name.
#include "ringcraft/parallel/machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

constexpr int kInsidePort = 0, kBetweenPort = 1;

#define RINGCRAFT_MACHINE(name, ranks, flops, share, alpha, beta, far_alpha, far_beta) \
  Machine{name, ranks, flops, share, {alpha, beta}, {far_alpha, far_beta}},
const Machine kKnown[] = {
#include "ringcraft/parallel/machines.inc"
};
#undef RINGCRAFT_MACHINE

void require(bool good, const std::string& what, const std::string& expected, double got) {
  if (good) return;
  char number[32];
  std::snprintf(number, sizeof number, "%g", got);
  throw Error("machine: " + what, expected, number, "see docs/pages/simulation.md for an example");
}

void require_rank(int rank, int world_size, const std::string& flag) {
  if (rank < 0 || rank >= world_size)
    throw Error(flag, "ranks of 0 to " + std::to_string(world_size - 1), "rank " + std::to_string(rank),
                "a simulation of more ranks has it");
}

}  // namespace

LinkCost Machine::link(int from, int to) const {
  const bool near = same_node(from, to);
  LinkCost cost{near ? inside.latency : between.latency, near ? inside.bandwidth : between.bandwidth,
                near ? kInsidePort : kBetweenPort};
  for (const SlowLink& slow : slow_links)
    if ((slow.a == from && slow.b == to) || (slow.a == to && slow.b == from)) cost.beta /= slow.factor;
  return cost;
}

BlockCost Machine::block(const Shape& shape, Pass pass, int rank) const {
  const Index flop = 2 * products_per_pair(pass) * shape.head_dim * shape.heads * shape.batch;
  double seconds = static_cast<double>(flop) / (peak_flops * efficiency);
  for (const SlowRank& slow : slow_ranks)
    if (slow.rank == rank) seconds *= slow.factor;
  return {.per_pair = seconds};
}

DType Machine::dtype(Role role) const {
  const int bytes = role == Role::kElement ? element_bytes : accumulator_bytes;
  return bytes == 2 ? DType::kBFloat16 : bytes == 4 ? DType::kFloat32 : DType::kFloat64;
}

void validate(const Machine& machine, int world_size) {
  const auto positive = [](double number) { return std::isfinite(number) && number > 0; };
  require(machine.ranks_per_node >= 1, "ranks_per_node", "at least 1", machine.ranks_per_node);
  require(positive(machine.peak_flops), "peak_flops", "a number above 0", machine.peak_flops);
  require(positive(machine.efficiency) && machine.efficiency <= 1, "efficiency", "above 0, at most 1",
          machine.efficiency);
  for (const auto& [name, link] : {std::pair{"inside", machine.inside}, {"between", machine.between}}) {
    const std::string of = std::string(name) + ".";
    require(std::isfinite(link.latency) && link.latency >= 0, of + "latency", "at least 0 seconds",
            link.latency);
    require(positive(link.bandwidth), of + "bandwidth", "more than 0 bytes per second", link.bandwidth);
  }
  const int element = machine.element_bytes, accumulator = machine.accumulator_bytes;
  require(element == 2 || element == 4 || element == 8, "element_bytes", "2, 4 or 8", element);
  require(accumulator == 4 || accumulator == 8, "accumulator_bytes", "4 or 8", accumulator);
  for (const SlowLink& slow : machine.slow_links) {
    require_rank(slow.a, world_size, "slow link");
    require_rank(slow.b, world_size, "slow link");
    if (slow.a == slow.b)
      throw Error("slow link", "two ranks", "rank " + std::to_string(slow.a) + " twice",
                  "name the ranks at both ends of the link");
    require(positive(slow.factor), "factor of a slow link", "a number above 0", slow.factor);
  }
  for (const SlowRank& slow : machine.slow_ranks) {
    require_rank(slow.rank, world_size, "slow rank");
    require(positive(slow.factor), "factor of a slow rank", "a number above 0", slow.factor);
  }
}

std::span<const Machine> known_machines() { return kKnown; }

const Machine* known_machine(std::string_view name) {
  const auto found = std::ranges::find(kKnown, name, &Machine::name);
  return found == std::end(kKnown) ? nullptr : &*found;
}

}  // namespace ringcraft
