// Methods on ranks of this process, their costs, traces and proofs, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "arguments.hpp"
#include "attention.hpp"
#include "bindings.hpp"
#include "interruptible.hpp"
#include "methods.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/schedule/timeline.hpp"
#include "verify/schedule/trace_file.hpp"

namespace ringcraft::python {
namespace {

using namespace nb::literals;

// A recorded run: forward, and backward after it.
struct Recorded {
  verify::TracedRun run;

  verify::ScheduleProof proof() const { return verify::prove_run(run); }
};

Figures costs_of(const verify::PassCost& cost, const Theory& theory) {
  std::vector<Index> pairs;
  for (const Work& w : cost.work) pairs.push_back(w.pairs);
  Figures costs = figures_of(cost.traffic, cost.peak_bytes, pairs, theory);
  costs["clock"] = cost.clock;
  costs["seconds"] = cost.seconds;
  return costs;
}

// Joins the traces of both passes into one: the events of the second pass follow those of the first.
Trace joined(verify::Measurement& cost) {
  Trace trace = std::move(*cost.forward.trace);
  if (!cost.backward.trace) return trace;
  const double offset = cost.forward.longest();
  for (int rank = 0; rank < trace.world_size(); ++rank) {
    RankTrace& into = trace.rank(rank);
    const std::size_t before = into.events().size();
    for (TraceEvent event : cost.backward.trace->rank(rank).events()) {
      if (event.kind == TraceEvent::kWait) event.waits_for += before;
      event.begin.virtual_ += offset;
      event.end.virtual_ += offset;
      into.append(std::move(event));
    }
  }
  return trace;
}

Figures attend(const Problem& problem, nb::handle q, nb::handle k, nb::handle v, nb::handle dout,
               const std::string& axes, const MethodChoice& choice, int threads, bool trace,
               double seconds_per_pair, double seconds_per_message, double seconds_per_byte) {
  const verify::Inputs in = inputs_of(problem, q, k, v, dout, axes);
  refuse(*choice.method, problem, choice.options);
  for (const auto& [name, seconds] : {std::pair{"seconds_per_pair", seconds_per_pair},
                                      {"seconds_per_message", seconds_per_message},
                                      {"seconds_per_byte", seconds_per_byte}})
    if (!(seconds >= 0 && std::isfinite(seconds)))
      throw Error(name, "a finite number, at least 0", std::to_string(seconds), "0 is no cost");
  verify::Measurement cost;
  verify::Answer answer =
      interruptible(is_brief(problem) && problem.world_size < 16, [&](const std::atomic<bool>* stop) {
        verify::RanksOptions options{.options = choice.options,
                                     .engine = {.threads = threads, .stop = stop},
                                     .seconds_per_pair = seconds_per_pair,
                                     .trace = trace,
                                     .method = choice.method};
        options.board.link = {seconds_per_message,
                              seconds_per_byte > 0 ? 1 / seconds_per_byte : options.board.link.beta};
        return verify::run_over_ranks(problem, in, options, &cost);
      });
  const Pass last = in.has_backward() ? Pass::kBackward : Pass::kForward;
  const std::size_t size = size_of(in.q.dtype());
  nb::dict result;
  result["answer"] = arrays_of(std::move(answer), axes);
  result["forward"] =
      costs_of(cost.forward, choice.method->theory(problem, choice.options, Pass::kForward, {size, size}));
  if (last == Pass::kBackward)
    result["backward"] = costs_of(
        cost.backward, choice.method->theory(problem, choice.options, Pass::kBackward, {size, size}));
  if (trace)
    result["trace"] = nb::cast(Recorded{{.problem = problem,
                                         .last = last,
                                         .backend = "threads",
                                         .trace = joined(cost),
                                         .method = choice.method,
                                         .options = choice.options}});
  return result;
}

std::string_view name_of(verify::Activity activity) {
  switch (activity) {
    case verify::Activity::kCompute:
      return "compute";
    case verify::Activity::kOverlap:
      return "overlap";
    case verify::Activity::kCopy:
      return "copy";
    case verify::Activity::kWait:
      return "wait";
    case verify::Activity::kIdle:
      return "idle";
  }
  return "?";
}

}  // namespace

Figures figures_of(const std::vector<Traffic>& traffic, const std::vector<Index>& peak_bytes,
                   const std::vector<Index>& pairs, const Theory& theory) {
  Figures figures, expected;
  std::vector<Index> sent, messages;
  for (const Traffic& t : traffic) {
    sent.push_back(t.bytes_sent);
    messages.push_back(t.messages_sent);
  }
  figures["bytes_sent"] = sent;
  figures["messages_sent"] = messages;
  figures["peak_bytes"] = peak_bytes;
  figures["pairs"] = pairs;
  expected["bytes_sent"] = theory.bytes_sent;
  expected["messages_sent"] = theory.messages_sent;
  expected["peak_bytes"] = theory.peak_bytes;
  expected["pairs"] = theory.pairs;
  figures["theory"] = expected;
  return figures;
}

Lanes lanes_of(const Trace& trace, verify::TraceClock clock) {
  nb::list lanes;
  for (const verify::Lane& lane : verify::timeline_of(trace, clock).lanes) {
    nb::list stretches;
    for (const verify::Stretch& s : lane.stretches) {
      const std::string_view name = name_of(s.activity);
      stretches.append(nb::make_tuple(nb::str(name.data(), name.size()), s.begin, s.end));
    }
    lanes.append(stretches);
  }
  return lanes;
}

MethodChoice method_choice(const std::string& name, int ulysses, int gather_heads, int node,
                           const std::string& schedule) {
  std::string names;
  MethodChoice choice{.options = {.ulysses = ulysses, .gather_heads = gather_heads, .node = node}};
  for (const Method* each : kMethods) {
    if (name == each->name) choice.method = each;
    names += (names.empty() ? "" : ", ") + std::string(each->name);
  }
  if (choice.method == nullptr)
    throw Error("method", "one of " + names, shown(name), "ring is the first to try");
  if (!schedule.empty() && schedule != "forward" && schedule != "reversed")
    throw Error("schedule", "forward or reversed", shown(schedule), "it is that of a ring's backward pass");
  if (schedule == "forward") choice.options.schedule = Schedule::kForward;
  const auto refuse_unless = [&](unsigned taken, bool given, const std::string& option) {
    if (given && (choice.method->takes & taken) == 0)
      throw Error(option, "none with the method " + name, "one", "leave it out, or take another method");
  };
  refuse_unless(kTakesSchedule, !schedule.empty(), "schedule");
  refuse_unless(kTakesUlysses, ulysses != 0, "ulysses");
  refuse_unless(kTakesGatherHeads, gather_heads != 0, "gather_heads");
  refuse_unless(kTakesNode, node != 0, "node");
  return choice;
}

void bind_runs(nb::module_& m) {
  nb::class_<MethodChoice>(m, "Method", "A method with its options.")
      .def(
          "__init__",
          [](MethodChoice* self, const nb::args& args, const nb::kwargs& kwargs) {
            const Arguments a("ringcraft.attend", {"method"}, 0,
                              {"ulysses", "gather_heads", "node", "schedule"}, args, kwargs);
            new (self) MethodChoice(method_choice(a["method"].text_or("ring"), a["ulysses"].whole_or(0),
                                                  a["gather_heads"].whole_or(0), a["node"].whole_or(0),
                                                  a["schedule"].text_or("")));
          },
          nb::sig("def __init__(self, method: str = 'ring', *, ulysses: int = 0, gather_heads: int = 0, "
                  "node: int = 0, "
                  "schedule: str = '') -> None"))
      .def_prop_ro(
          "name", [](const MethodChoice& c) { return std::string(c.method->name); },
          "That of ringcraft.methods().")
      .def("__repr__", [](const MethodChoice& c) { return "<Method: " + std::string(c.method->name) + ">"; });
  nb::class_<Recorded>(m, "Recorded", "What every rank of a run did when.")
      .def(
          "is_right", [](const Recorded& r) { return r.proof().good(); },
          "Whether the schedule is proved: messages meet, every pair is computed once, every sum comes home.")
      .def(
          "report",
          [](const Recorded& r) {
            const verify::ScheduleProof proof = r.proof();
            return verify::text_of(verify::report_of(proof, r.run.goal(), std::string(r.run.method->name)));
          },
          "The proof in words, a line for each claim.")
      .def(
          "text", [](const Recorded& r) { return verify::trace_text(r.run, r.proof().replay); },
          "The trace as a file that ui.perfetto.dev draws.")
      .def(
          "lanes",
          [](const Recorded& r, nb::object virtual_time) {
            const bool by_costs = argument(virtual_time, "virtual_time", "ringcraft.Recorded.lanes").truth();
            return lanes_of(r.run.trace, by_costs ? verify::TraceClock::kVirtual : verify::TraceClock::kWall);
          },
          "virtual_time"_a.none() = false,
          nb::sig("def lanes(self, virtual_time: bool = False) -> list[list[tuple[str, float, float]]]"),
          "For each rank a list of (activity, begin, end), in seconds.");
  m.def("attend", attend, "problem"_a, "q"_a, "k"_a, "v"_a, "dout"_a = nb::none(), "axes"_a = "bhsd",
        "method"_a = MethodChoice{&kRing, {}}, "threads"_a = 1, "trace"_a = false, "seconds_per_pair"_a = 0.0,
        "seconds_per_message"_a = 0.0, "seconds_per_byte"_a = 0.0,
        "A method on thread ranks, with its costs.");
  m.def(
      "methods",
      [] {
        std::vector<std::string> names;
        for (const Method* method : kMethods) names.emplace_back(method->name);
        return names;
      },
      "Names of the ways to attend over ranks.");
}

}  // namespace ringcraft::python
