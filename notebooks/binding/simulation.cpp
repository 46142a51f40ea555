// Simulated machines, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
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

constexpr auto kMachineSignature =
    "def __init__(self, name: str, *, ranks_per_node: int, peak_flops: float, efficiency: float, "
    "inside_latency: float, "
    "inside_bandwidth: float, between_latency: float, between_bandwidth: float, element_bytes: int = 2, "
    "accumulator_bytes: int = 4) -> None";

void init_machine(Machine* self, const nb::args& args, const nb::kwargs& kwargs) {
  const Arguments a("ringcraft.Machine", {"name"}, 1,
                    {"ranks_per_node", "peak_flops", "efficiency", "inside_latency", "inside_bandwidth",
                     "between_latency", "between_bandwidth", "element_bytes", "accumulator_bytes"},
                    args, kwargs);
  const auto number = [&](std::string_view name) { return a.given(name).number(); };
  Machine machine{.name = a["name"].text(),
                  .ranks_per_node = a.given("ranks_per_node").whole<int>(),
                  .peak_flops = number("peak_flops"),
                  .efficiency = number("efficiency"),
                  .inside = {number("inside_latency"), number("inside_bandwidth")},
                  .between = {number("between_latency"), number("between_bandwidth")},
                  .element_bytes = a["element_bytes"].whole_or(2),
                  .accumulator_bytes = a["accumulator_bytes"].whole_or(4)};
  validate(machine, 1);
  new (self) Machine(std::move(machine));
}

}  // namespace

void bind_simulation(nb::module_& m) {
  nb::class_<Machine>(m, "Machine", "A cluster of equal nodes, for simulations.")
      .def("__init__", &init_machine, nb::sig(kMachineSignature),
           "Latencies in seconds, bandwidths in bytes per second, FLOP per second of a rank.")
      .def_static(
          "named",
          [](nb::object name) {
            return machine_named(argument(name, "machine", "ringcraft.machines").text());
          },
          "name"_a.none(), nb::sig("def named(name: str) -> Machine"),
          "A machine that the library knows: a name of ringcraft.machines().")
      .def(
          "slowed",
          [](const Machine& machine, nb::object links, nb::object ranks) {
            constexpr auto kOf = "ringcraft.simulate";
            Machine slow = machine;
            for (const auto& [a, b, factor] :
                 argument(links, "slow_links", kOf)
                     .converted<std::vector<std::tuple<int, int, double>>>("a list of (rank, rank, factor)"))
              slow.slow_links.push_back({a, b, factor});
            for (const auto& [rank, factor] :
                 argument(ranks, "slow_ranks", kOf)
                     .converted<std::vector<std::tuple<int, double>>>("a list of (rank, factor)"))
              slow.slow_ranks.push_back({rank, factor});
            return slow;
          },
          "links"_a.none() = nb::make_tuple(), "ranks"_a.none() = nb::make_tuple(),
          nb::sig("def slowed(self, links: Sequence[tuple[int, int, float]] = (), ranks: Sequence[tuple[int, "
                  "float]] = ()) "
                  "-> Machine"),
          "The same with slow links (rank, rank, factor) and slow ranks (rank, factor).")
      .def_ro("name", &Machine::name, "What it is called.")
      .def_ro("ranks_per_node", &Machine::ranks_per_node, "Ranks that share the fast links of a node.")
      .def("__repr__", [](const Machine& machine) { return "<Machine: " + machine.name + ">"; });
  m.def(
      "machines",
      [] {
        std::vector<std::string> names;
        for (const Machine& machine : known_machines()) names.push_back(machine.name);
        return names;
      },
      "Names of the machines that the library knows.");
  m.def("simulate", simulated, "problem"_a, "method"_a, "machine"_a, "backward"_a = true, "trace"_a = false,
        "A method on a machine that is not there.");
}

}  // namespace ringcraft::python
