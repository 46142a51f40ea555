// Writes and reads files of traces.
#include "verify/schedule/trace_file.hpp"

#include <limits>
#include <set>

#include "verify/schedule/chrome_trace.hpp"
#include "verify/schedule/trace_file_detail.hpp"

namespace ringcraft::verify {
namespace {

using Json = nlohmann::json;

constexpr int kFormat =
    3;  // 1: rings, without their method, queries and results; 2: without the beginnings of sums
constexpr int kMostRanks = 4096;
constexpr int kDeepest = 16;  // levels of JSON: more than a trace has
constexpr std::array<std::string_view, 2> kPasses{"forward", "backward"};  // as in Pass

Json limit(Position keys) { return keys == kNoLimit ? Json() : Json(keys); }

Json json_of(const Problem& p) {
  return {
      {"batch", p.shape.batch},       {"heads", p.shape.heads},           {"kv_heads", p.shape.kv_heads},
      {"seqlen", p.shape.seqlen},     {"head_dim", p.shape.head_dim},     {"left", limit(p.mask.left)},
      {"right", limit(p.mask.right)}, {"cu_seqlens", p.mask.cu_seqlens},  {"layout", name_of(p.layout)},
      {"world_size", p.world_size},   {"softmax_scale", p.softmax_scale}, {"per_sequence", p.per_sequence}};
}

Position limit(const StrictJson& json) { return json.is_null() ? kNoLimit : json.integer(0, kNoLimit); }

Layout layout_of(const StrictJson& json) {
  std::array<std::string_view, std::size(kLayouts)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(kLayouts[i]);
  return kLayouts[json.one_of(names)];
}

// In the order of Schedule.
constexpr std::array<std::string_view, 2> kSchedules{"forward", "reversed"};

Json json_of(const MethodOptions& options) {
  return {{"schedule", kSchedules[static_cast<std::size_t>(options.schedule)]},
          {"ulysses", options.ulysses},
          {"gather_heads", options.gather_heads},
          {"node", options.node}};
}

// `most_tokens`: no recorded sequence is longer, since the key ranges of every token are in the file.
Problem problem_of(const StrictJson& json, std::size_t ranks, Index most_tokens) {
  json.require_members({"batch", "heads", "kv_heads", "seqlen", "head_dim", "left", "right", "cu_seqlens",
                        "layout", "world_size", "softmax_scale", "per_sequence"});
  const auto extent = [&](const char* name) { return json[name].integer(1, kNoLimit); };
  Problem problem{.shape = {extent("batch"), extent("heads"), extent("kv_heads"),
                            json["seqlen"].integer(1, most_tokens), extent("head_dim")},
                  .mask = {limit(json["left"]), limit(json["right"]),
                           json["cu_seqlens"].integers<Position>(0, most_tokens)},
                  .layout = layout_of(json["layout"]),
                  .world_size = json["world_size"].small(1, kMostRanks),
                  .softmax_scale = json["softmax_scale"].number(),
                  .per_sequence = json["per_sequence"].truth()};
  if (static_cast<std::size_t>(problem.world_size) != ranks)
    json["world_size"].refuse("the number of the file's ranks (" + std::to_string(ranks) + ")",
                              std::to_string(problem.world_size));
  try {
    validate(problem);
  } catch (const Error& error) {
    json.refuse("a problem that there can be", std::string("one with a flaw (") + error.what() + ")");
  }
  return problem;
}

const Method* method_of(const StrictJson& json) {
  std::array<std::string_view, std::size(kMethods)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kMethods[i]->name;
  return kMethods[json.one_of(names)];
}

// `most_heads`: a copy moves each head by itself, so that a run with copies has no more heads.
MethodOptions options_of(const StrictJson& json, const Method& method, const Problem& problem,
                         Index most_heads) {
  json.require_members({"schedule", "ulysses", "gather_heads", "node"});
  const int most = std::numeric_limits<int>::max();
  const MethodOptions options{.schedule = static_cast<Schedule>(json["schedule"].one_of(kSchedules)),
                              .ulysses = json["ulysses"].small(0, most),
                              .gather_heads = json["gather_heads"].small(0, most),
                              .node = json["node"].small(0, most)};
  try {
    refuse(method, problem, options);
  } catch (const Error& error) {
    json.refuse("options that the method takes", std::string("others (") + error.what() + ")");
  }
  if (moves_heads(method, problem, options) && problem.shape.heads > most_heads / problem.shape.batch)
    json.refuse("at most " + std::to_string(most_heads) + " heads in all sequences that copies move",
                std::to_string(problem.shape.heads) + " in each of " + std::to_string(problem.shape.batch));
  return options;
}

}  // namespace

Json parsed(const std::string& text, const std::string& place, const char* advice, std::string_view only) {
  if (text.find('\0') != std::string::npos)  // the JSON library would take it for the end
    throw Error(place, "JSON", "a text with a zero byte", advice);
  std::array<std::set<std::string>, kDeepest + 1> members;  // of the objects that are open, by depth
  const auto keep = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (depth >= kDeepest)
      throw Error(place, "JSON of at most " + std::to_string(kDeepest) + " levels", "more", advice);
    if (event == Event::object_start) members[static_cast<std::size_t>(depth) + 1].clear();
    if (event == Event::key &&
        !members[static_cast<std::size_t>(depth)].insert(value.get<std::string>()).second)
      throw Error(place, "each member once", shown(value.get<std::string>()) + " twice", advice);
    return only.empty() || depth != 1 || event != Event::key || value == only;
  };
  try {
    return Json::parse(text, keep);
  } catch (const Json::parse_error& error) {
    const bool cut = error.byte > text.size();
    throw Error(place, "JSON",
                cut ? "one that ends too early" : "a syntax error at byte " + std::to_string(error.byte),
                cut ? "the file was cut off; copy or write it again" : advice);
  } catch (const Json::exception&) {  // a number beyond the range of double, say
    throw Error(place, "JSON", "one that cannot be read", advice);
  }
}

std::string trace_text(const TracedRun& run, const Replay& replayed) {
  // The own member comes last: Perfetto has stopped at members that it does not know.
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":" + chrome_events(run.trace, replayed);
  text += ",\n\"ringcraft\":{\"format\":" + std::to_string(run.begins_sums      ? kFormat
                                                           : run.states_results ? 2
                                                                                : 1);
  text += ",\"problem\":" + json_of(run.problem).dump();
  text += ",\"pass\":" + Json(kPasses[static_cast<std::size_t>(run.last)]).dump();
  if (run.states_results) {
    text += ",\"method\":" + Json(run.method->name).dump();
    text += ",\"options\":" + json_of(run.options).dump();
  }
  text += ",\"backend\":" + Json(run.backend).dump();
  text += ",\"clock_error\":" + Json(run.clock_error).dump() + ",\"ranks\":[";
  for (int rank = 0; rank < run.trace.world_size(); ++rank)
    text += (rank == 0 ? "" : ",\n") + events_text(run.trace.rank(rank));
  return text + "]}}\n";
}

TracedRun read_trace(const std::string& text, const std::string& file) {
  const Json document = parsed(text, file, kRecordAgain, "ringcraft");
  if (!document.is_object() || !document.contains("ringcraft"))
    throw Error(file, "a trace of ringcraft, with a member ringcraft",
                document.is_object() ? "an object without one" : "something else",
                "traces of other programs lack what the schedule checker needs; record one with ./ringcraft "
                "attend --trace");
  const StrictJson json(document["ringcraft"], file + ": ringcraft", kRecordAgain);
  const Index format = json["format"].integer(1, kNoLimit);
  if (format > kFormat)
    throw Error(file, "a trace of format " + std::to_string(kFormat), "format " + std::to_string(format),
                "read it with the version that has written it, or record it again");
  if (format == 1)
    json.require_members({"format", "problem", "pass", "backend", "clock_error", "ranks"});
  else
    json.require_members(
        {"format", "problem", "pass", "method", "options", "backend", "clock_error", "ranks"});
  const StrictJson ranks = json["ranks"];
  const std::size_t world_size = ranks.size(kMostRanks);
  Problem problem = problem_of(json["problem"], world_size, static_cast<Index>(text.size()));
  TracedRun run{.problem = std::move(problem),
                .last = static_cast<Pass>(json["pass"].one_of(kPasses)),
                .backend = json["backend"].words(),
                .clock_error = json["clock_error"].number(),
                .trace = Trace(static_cast<int>(world_size)),
                .states_results = format > 1,
                .begins_sums = format > 2};
  if (run.states_results) {
    run.method = method_of(json["method"]);
    run.options = options_of(json["options"], *run.method, run.problem, static_cast<Index>(text.size()));
  }
  if (run.clock_error < 0) json["clock_error"].refuse("seconds from 0 on", std::to_string(run.clock_error));
  const EventRules rules{run.problem, run.goal().degree, moves_heads(*run.method, run.problem, run.options),
                         run.states_results, run.begins_sums};
  for (std::size_t rank = 0; rank < world_size; ++rank)
    read_events(ranks[rank], rules, static_cast<int>(rank), run.trace.rank(static_cast<int>(rank)));
  return run;
}

}  // namespace ringcraft::verify
