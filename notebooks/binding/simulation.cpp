// Simulated machines, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "methods.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/parallel/simulate.hpp"
#include "tensors.hpp"

namespace ringcraft::python {
namespace {

using namespace nb::literals;

Machine machine_named(const std::string& name) {
  std::string names;
  for (const Machine& machine : known_machines()) names += (names.empty() ? "" : ", ") + machine.name;
  if (const Machine* machine = known_machine(name)) return *machine;
  throw Error("machine", "one of " + names + ", or a Machine", shown(name),
              "make one: ringcraft.Machine(...)");
}

Figures costs_of(const SimulatedPass& pass, const Theory& theory) {
  Figures costs = figures_of(pass.traffic, pass.peak_bytes, pass.pairs, theory);
  costs["seconds"] = pass.seconds();
  costs["exposed"] = pass.exposed();
  costs["clock"] = pass.clock;
  costs["computing"] = pass.computing;
  return costs;
}

Figures simulated(const Problem& problem, const MethodChoice& choice, const Machine& machine, bool backward,
                  bool trace) {
  SimulateOptions options{.method = choice.options,
                          .last = backward ? Pass::kBackward : Pass::kForward,
                          .trace = trace ? std::optional(TraceDetail::kPairs) : std::nullopt};
  const Simulation simulation = interruptible(false, [&](const std::atomic<bool>* stop) {
    options.stop = stop;
    return simulate(*choice.method, problem, machine, options);
  });
  const RoleBytes bytes{size_of(machine.dtype(Role::kElement)), size_of(machine.dtype(Role::kAccumulator))};
  const auto theory = [&](Pass pass) { return choice.method->theory(problem, choice.options, pass, bytes); };
  nb::dict result;
  result["forward"] = costs_of(simulation.forward, theory(Pass::kForward));
  if (simulation.backward) result["backward"] = costs_of(*simulation.backward, theory(Pass::kBackward));
  if (simulation.trace) result["lanes"] = lanes_of(*simulation.trace, verify::TraceClock::kVirtual);
  return result;
}

}  // namespace

void bind_simulation(nb::module_& m) {
  nb::class_<Machine>(m, "Machine", "A cluster of equal nodes, for simulations.")
      .def(
          "__init__",
          [](Machine* self, const std::string& name, int ranks_per_node, double peak_flops, double efficiency,
             double inside_latency, double inside_bandwidth, double between_latency, double between_bandwidth,
             int element_bytes, int accumulator_bytes) {
            Machine machine{.name = name,
                            .ranks_per_node = ranks_per_node,
                            .peak_flops = peak_flops,
                            .efficiency = efficiency,
                            .inside = {inside_latency, inside_bandwidth},
                            .between = {between_latency, between_bandwidth},
                            .element_bytes = element_bytes,
                            .accumulator_bytes = accumulator_bytes};
            validate(machine, 1);
            new (self) Machine(std::move(machine));
          },
          "name"_a, nb::kw_only(), "ranks_per_node"_a, "peak_flops"_a, "efficiency"_a, "inside_latency"_a,
          "inside_bandwidth"_a, "between_latency"_a, "between_bandwidth"_a, "element_bytes"_a = 2,
          "accumulator_bytes"_a = 4,
          "Latencies in seconds, bandwidths in bytes per second, FLOP per second of a rank.")
      .def_static("named", machine_named, "name"_a, "A machine that the library knows.")
      .def(
          "slowed",
          [](const Machine& machine, const std::vector<std::tuple<int, int, double>>& links,
             const std::vector<std::tuple<int, double>>& ranks) {
            Machine slow = machine;
            for (const auto& [a, b, factor] : links) slow.slow_links.push_back({a, b, factor});
            for (const auto& [rank, factor] : ranks) slow.slow_ranks.push_back({rank, factor});
            return slow;
          },
          "links"_a = std::vector<std::tuple<int, int, double>>{},
          "ranks"_a = std::vector<std::tuple<int, double>>{},
          "The same with slow links (rank, rank, factor) and slow ranks (rank, factor).")
      .def_ro("name", &Machine::name)
      .def_ro("ranks_per_node", &Machine::ranks_per_node)
      .def("__repr__", [](const Machine& machine) { return "<Machine: " + machine.name + ">"; });
  m.def("machines", [] {
    std::vector<std::string> names;
    for (const Machine& machine : known_machines()) names.push_back(machine.name);
    return names;
  });
  m.def("simulate", simulated, "problem"_a, "method"_a, "machine"_a, "backward"_a = true, "trace"_a = false,
        "A method on a machine that is not there.");
}

}  // namespace ringcraft::python
