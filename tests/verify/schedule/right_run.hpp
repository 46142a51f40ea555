#pragma once
/// @file
/// Files of right runs as JSON, for tests that falsify them.

#include <nlohmann/json.hpp>
#include <string>

#include "parallel/method_choices.hpp"
#include "ringcraft/core/error.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/schedule/trace_file.hpp"

namespace ringcraft::verify {

using nlohmann::json;
using Pointer = json::json_pointer;

/// Both passes on one trace, as attend records them: the member "ringcraft" of its file.
inline json right_run(const Problem& problem, const testing::Choice& choice) {
  Measurement cost;
  RanksOptions options;
  options.options = choice.options;
  options.method = choice.method;
  options.trace = true;
  run_over_ranks(problem, make_inputs(make_case(problem, Data::kNormal, 3), DType::kFloat32), options, &cost);
  TracedRun run{problem,       Pass::kBackward, "threads", 0, Trace(problem.world_size),
                choice.method, choice.options};
  for (int rank = 0; rank < problem.world_size; ++rank) {
    const auto& forward = cost.forward.trace->rank(rank).events();
    for (const TraceEvent& e : forward) run.trace.rank(rank).append(e);
    for (TraceEvent e : cost.backward.trace->rank(rank).events()) {
      if (e.kind == TraceEvent::kWait) e.waits_for += forward.size();
      e.begin = e.end = forward.empty() ? TraceTime{} : forward.back().end;
      run.trace.rank(rank).append(std::move(e));
    }
  }
  return json::parse(trace_text(run, replay(run.trace, run.problem, {}, run.goal().degree)))["ringcraft"];
}

/// Whether a file is read and proved right; else `why` says why not.
inline bool passes(const json& run, std::string& why) {
  try {
    const ScheduleProof proof = prove_run(read_trace(json{{"ringcraft", run}}.dump(), "t.json"));
    why = proof.good() ? "" : proof.violations.front().sentence;
    return proof.good();
  } catch (const Error& error) {
    why = error.what();
    return false;
  }
}

/// Takes an event out; waits keep their starts.
inline void remove_event(json& events, std::size_t number) {
  events.erase(number);
  for (json& e : events)
    if (e["kind"] == "wait" && e["waits_for"] > number)
      e["waits_for"] = e["waits_for"].get<std::size_t>() - 1;
}
/// Puts one in.
inline void insert_event(json& events, std::size_t number, json event) {
  events.insert(events.begin() + static_cast<std::ptrdiff_t>(number), std::move(event));
  for (json& e : events)
    if (e["kind"] == "wait" && e["waits_for"] >= number)
      e["waits_for"] = e["waits_for"].get<std::size_t>() + 1;
}

}  // namespace ringcraft::verify
