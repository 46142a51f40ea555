// Files of traces: every event comes back as it was, for every kind of problem, and a file that was changed
// is refused with its place, or read as what it says.
#include "verify/schedule/trace_file.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "parallel/method_choices.hpp"
#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/schedule/said.hpp"

namespace ringcraft::verify {
namespace {

bool same(const TraceTime& a, const TraceTime& b) { return a.wall == b.wall && a.virtual_ == b.virtual_; }

bool same(const TracedMessage& a, const TracedMessage& b) {
  return a.kind == b.kind && a.peer == b.peer && a.bytes == b.bytes;
}

bool same(const TracedTensor& a, const TracedTensor& b) {
  return a.name == b.name && a.access == b.access && a.bytes == b.bytes;
}

bool same(const TraceEvent& a, const TraceEvent& b) {
  const auto alike = [](const auto& x, const auto& y) { return same(x, y); };
  return a.kind == b.kind && same(a.begin, b.begin) && a.ended == b.ended &&
         (!a.ended || same(a.end, b.end)) && a.live_bytes == b.live_bytes && a.owner == b.owner &&
         a.part == b.part && a.copied == b.copied && a.waits_for == b.waits_for &&
         std::ranges::equal(a.messages, b.messages, alike) &&
         std::ranges::equal(a.tensors, b.tensors, alike) && a.key_begin == b.key_begin &&
         a.key_end == b.key_end && a.pairs == b.pairs;
}

bool same(const TracedRun& a, const TracedRun& b) {
  bool equal = Problem::fields(a.problem) == Problem::fields(b.problem) && a.last == b.last &&
               a.backend == b.backend && a.clock_error == b.clock_error && a.method == b.method &&
               a.options.schedule == b.options.schedule && a.options.ulysses == b.options.ulysses &&
               a.options.gather_heads == b.options.gather_heads && a.options.node == b.options.node &&
               a.states_results == b.states_results && a.trace.world_size() == b.trace.world_size();
  for (int rank = 0; equal && rank < a.trace.world_size(); ++rank)
    equal = std::ranges::equal(a.trace.rank(rank).events(), b.trace.rank(rank).events(),
                               [](const auto& x, const auto& y) { return same(x, y); });
  return equal;
}

std::string text_of(const TracedRun& run) {
  return trace_text(run, replay(run.trace, run.problem, {}, run.goal().degree));
}

Measurement recorded(const Problem& problem, RanksOptions options = {}) {
  options.trace = true;
  Measurement cost;
  run_over_ranks(problem, make_inputs(make_case(problem, Data::kNormal, 3), DType::kFloat64), options, &cost);
  return cost;
}

TracedRun small_run() {
  const Problem problem = make_problem({1, 2, 1, 12, 2}, causal_mask(), Layout::kZigzag, 3);
  return {problem, Pass::kForward, "threads", 0.0, std::move(*recorded(problem).forward.trace)};
}

// Four heads on four ranks, by the Ulysses of two neighbours.
TracedRun run_with_copies() {
  const Problem problem = make_problem({1, 4, 2, 12, 2}, causal_mask(), Layout::kZigzag, 4);
  const MethodOptions options{.ulysses = 2};
  Measurement cost = recorded(problem, {.options = options, .method = &kHybrid});
  return {problem, Pass::kForward, "threads", 0.0, std::move(*cost.forward.trace), &kHybrid, options};
}

// The Error of a text, or nothing.
std::string refusal(const std::string& text) {
  try {
    read_trace(text, "t.json");
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == Code::kWrongCall);
    return error.what();
  }
}

// The text with the value at a JSON pointer replaced, or removed if there is none.
std::string edited(const std::string& text, const std::string& place,
                   const std::optional<nlohmann::json>& value) {
  nlohmann::json all = nlohmann::json::parse(text);
  const nlohmann::json::json_pointer at("/ringcraft" + place);
  REQUIRE(all.contains(at));
  if (value)
    all[at] = *value;
  else
    all[at.parent_pointer()].erase(at.back());
  return all.dump();
}

}  // namespace

TEST_CASE("a trace comes back from its file as it was, for every kind of problem") {
  Random random(77);
  for (int trial = 0; trial < (testing::tries_fewer() ? 8 : 60); ++trial) {
    const Problem problem = testing::random_problem(random, 6, 30);
    INFO(testing::described(problem));
    Measurement cost =
        recorded(problem, {.options = {.schedule = trial % 2 == 0 ? Schedule::kForward : Schedule::kReversed},
                           .board = {.link = {.alpha = 0.1}},
                           .seconds_per_pair = 1.0 / 3});
    for (PassCost* pass : {&cost.forward, &cost.backward}) {
      const TracedRun run{problem, pass == &cost.forward ? Pass::kForward : Pass::kBackward, "a \"name\"",
                          1.0 / 3e7, std::move(*pass->trace)};
      const std::string text = text_of(run);
      const TracedRun back = read_trace(text, "t.json");
      CHECK(same(back, run));
      CHECK(text_of(back) == text);
    }
  }
}

TEST_CASE("extreme numbers and an event that did not end come back as they were") {
  TracedRun run = small_run();
  Trace trace(3);
  TraceEvent e;
  e.kind = TraceEvent::kStart;
  e.begin = {0.1 + 0.2, std::numeric_limits<double>::denorm_min()};
  e.live_bytes = std::numeric_limits<Index>::max();
  e.messages = {{Op::kSend, 1, {std::numeric_limits<std::uintptr_t>::max() - 7, 7}}};
  trace.rank(0).append(e);
  e.begin = e.end = {1e300, std::nextafter(1.0, 2.0)};
  e.ended = true;
  trace.rank(0).append(e);
  run.trace = std::move(trace);
  CHECK(same(read_trace(text_of(run), "t.json"), run));
}

TEST_CASE("a wrong value in a file of a trace is named by its place") {
  const std::string text = text_of(small_run());
  REQUIRE(refusal(text) == "");
  struct Edit {
    const char* place;
    std::optional<nlohmann::json> value;
    const char* sentence;
  };
  const nlohmann::json huge = 1'000'000'000, lists = nlohmann::json::array();
  const Edit edits[] = {
      {"", 7, "t.json: ringcraft: expected an object, got 7"},
      {"/format", 4, "t.json: expected a trace of format 3, got format 4; read it with the version"},
      {"/problem", {}, "t.json: ringcraft: expected the member problem, got none; the file is damaged"},
      {"/problem/world_size", huge,
       "ringcraft.problem.world_size: expected an integer from 1 to 4096, got 1000000000"},
      {"/problem/world_size", 4, "expected the number of the file's ranks (3), got 4"},
      {"/problem/world_size", 3.5, "world_size: expected an integer from 1 to 4096, got 3.5"},
      {"/problem/seqlen", huge, "ringcraft.problem.seqlen: expected an integer from 1 to "},
      {"/problem/seqlen", -1, "got -1"},
      {"/problem/heads", 3000000000000000000u, "expected a problem that there can be"},
      {"/problem/heads", 18446744073709551615u, "got 18446744073709551615"},
      {"/problem/layout", "zig",
       "layout: expected one of contiguous, striped, zigzag, zigzag-token, got \"zig\""},
      {"/problem/cu_seqlens", nlohmann::json{0, 5}, "cu_seqlens: expected borders from 0 to seqlen (12)"},
      {"/problem/per_sequence", 1, "per_sequence: expected true or false, got 1"},
      {"/problem/softmax_scale", nullptr, "softmax_scale: expected a finite number, got null"},
      {"/pass", "sideways", "pass: expected one of forward, backward, got \"sideways\""},
      {"/backend", lists, "backend: expected a text, got a list"},
      {"/clock_error", -1.0, "clock_error: expected seconds from 0 on"},
      {"/ranks", {}, "expected the member ranks, got none"},
      {"/ranks", huge, "ranks: expected a list, got 1000000000"},
      {"/ranks", nlohmann::json(5000, lists), "ranks: expected at most 4096 elements, got 5000"},
      {"/ranks/1/0", 3, "ringcraft.ranks[1][0]: expected an object, got 3"},
      {"/ranks/1/0/kind", "sleep", "ringcraft.ranks[1][0].kind: expected one of holds, start, wait"},
      {"/ranks/1/0/owner", 3, "owner: expected an integer from 0 to 2, got 3"},
      {"/ranks/1/0/tensors", lists, "tensors: expected 1 tensor, got 0"},
      {"/ranks/1/0/tensors/0/name", "w", "name: expected one of k, v, q, dout, got \"w\""},
      {"/ranks/1/0/tensors/0/address", 18446744073709551615u, "address: expected bytes within 2^64"},
      {"/ranks/1/0/tensors/0/bytes", -8, "bytes: expected an integer from 0"},
      {"/ranks/1/0/begin", nlohmann::json{1.0}, "begin: expected two numbers, wall and virtual seconds"},
      {"/ranks/1/3/kind", "hold", "kind: expected one of holds, start"},
      {"/ranks/1/0/end", nlohmann::json{-1e9, 0}, "end: expected a time not before its begin"},
      {"/ranks/1/0/begin/0", 1e9, "end: expected a time not before its begin"},
      {"/ranks/1/3/kind", "wait", "expected the member waits_for, got none"},
      {"/ranks/1/4/messages/0/peer", 1, "peer: expected another rank, got the rank itself"},
      {"/ranks/1/4/messages/0/peer", 3, "peer: expected an integer from 0 to 2, got 3"},
      {"/ranks/1/4/messages/0/bytes", 0, "bytes: expected an integer from 1"}};
  for (const Edit& edit : edits) {
    CAPTURE(edit.place, edit.sentence);
    CHECK(refusal(edited(text, edit.place, edit.value)).find(edit.sentence) != std::string::npos);
  }
}

TEST_CASE("a run with copies comes back, and its copies, parts and method are read strictly") {
  Random random(78);
  for (int trial = 0; trial < (testing::tries_fewer() ? 8 : 40); ++trial) {
    Problem problem = testing::random_problem(random, 6, 30);
    problem.shape.heads = 12;
    problem.shape.kv_heads = 6;
    const auto all = testing::choices(problem);
    const testing::Choice& choice = all[static_cast<std::size_t>(random.integer(0, std::ssize(all) - 1))];
    INFO(testing::described(problem) << ", " << choice.name());
    Measurement cost = recorded(problem, {.options = choice.options, .method = choice.method});
    for (PassCost* pass : {&cost.forward, &cost.backward}) {
      const TracedRun run{problem,
                          pass == &cost.forward ? Pass::kForward : Pass::kBackward,
                          "threads",
                          0,
                          std::move(*pass->trace),
                          choice.method,
                          choice.options};
      CHECK(same(read_trace(text_of(run), "t.json"), run));
    }
  }

  const std::string text = text_of(run_with_copies());
  REQUIRE(refusal(text) == "");
  const nlohmann::json copy = nlohmann::json::parse(text)["ringcraft"]["ranks"][1][3];
  REQUIRE(copy["kind"] == "copy");
  struct Edit {
    const char* place;
    std::optional<nlohmann::json> value;
    const char* sentence;
  };
  const Edit edits[] = {
      {"/method", "bulls", "method: expected one of ring, all-gather, ulysses, hybrid, double-ring"},
      {"/method", "ring", "options: expected options that the method takes, got others (ulysses: expected"},
      {"/method", {}, "expected the member method, got none"},
      {"/problem/heads", 4000000, "heads in all sequences that copies move, got 4000000 in each of 1"},
      {"/options/ulysses", 3,
       "options: expected options that the method takes, got others (ulysses: expected"},
      {"/options/schedule", "sideways", "schedule: expected one of forward, reversed"},
      {"/ranks/1/3/copied", nlohmann::json{1, 2},
       "copied: expected from, to and size of each run, got 2 numbers"},
      {"/ranks/1/3/copied/0", -1, "copied[0]: expected an integer from 0"},
      {"/ranks/1/3/copied/0", 100000, "copied[0]: expected bytes of from ("},
      {"/ranks/1/3/copied/1", 100000, "copied[1]: expected bytes of to ("},
      {"/ranks/1/3/copied/2", 0, "copied[2]: expected 1 byte or more, got 0"},
      {"/ranks/1/3/copied", {}, "expected the member copied, got none"},
      {"/ranks/1/3/tensors/0/name", "q", "name: expected from, got \"q\""},
      {"/ranks/1/3/tensors/1/access", "read", "access: expected update, got \"read\""}};
  for (const Edit& edit : edits) {
    CAPTURE(edit.place, edit.sentence);
    CHECK(refusal(edited(text, edit.place, edit.value)).find(edit.sentence) != std::string::npos);
  }
  nlohmann::json ring = nlohmann::json::parse(text_of(small_run()));
  ring["ringcraft"]["ranks"][1][3] = copy;
  CHECK(refusal(ring.dump()).find("kind: expected no copy in a run of a method that moves no heads") !=
        std::string::npos);
}

TEST_CASE("a file of the first format is a ring without stated queries and results") {
  nlohmann::json old = nlohmann::json::parse(text_of(small_run()));
  nlohmann::json& run = old["ringcraft"];
  run["format"] = 1;
  CHECK(refusal(old.dump()).find("expected no member method, got one") != std::string::npos);
  run.erase("method");
  run.erase("options");
  CHECK(refusal(old.dump()).find("name: expected one of k, v, got \"q\"") != std::string::npos);
  for (nlohmann::json& events : run["ranks"]) {
    events.erase(3);  // the beginning of its sums
    events.erase(0);
    for (nlohmann::json& e : events)
      if (e["kind"] == "wait") e["waits_for"] = e["waits_for"].get<int>() - 2;
    while (events.back()["kind"] == "gives") events.erase(events.size() - 1);
  }
  const TracedRun back = read_trace(old.dump(), "t.json");
  CHECK(prove_run(back).good());
  CHECK(same(read_trace(text_of(back), "t.json"), back));
  run["format"] = 2;
  run["method"] = "ring";
  run["options"] = {{"schedule", "reversed"}, {"ulysses", 0}, {"gather_heads", 0}, {"node", 0}};
  const ScheduleProof unstated = prove_run(read_trace(old.dump(), "t.json"));
  CHECK(testing::contains(said(unstated), "rank 1 never gives out1"));
  CHECK(testing::contains(said(unstated), "rank 1 never states where its q is"));
}

TEST_CASE("a member too many, and waits without their start, are refused") {
  const std::string text = text_of(small_run());
  nlohmann::json all = nlohmann::json::parse(text);
  all["ringcraft"]["ranks"][0][1]["note"] = "x";
  CHECK(refusal(all.dump()).find("ringcraft.ranks[0][1]: expected no member note, got one") !=
        std::string::npos);
  all = nlohmann::json::parse(text);
  int edits = 0;
  for (auto& event : all["ringcraft"]["ranks"][2])
    if (event["kind"] == "wait" && ++edits == 1) event["waits_for"] = 99999;
  REQUIRE(edits > 0);
  CHECK(refusal(all.dump())
            .find("waits_for: expected the number of an earlier start that nothing has waited "
                  "for, got 99999") != std::string::npos);
  all = nlohmann::json::parse(text);
  for (auto& event : all["ringcraft"]["ranks"][2])
    if (event["kind"] == "forward") event["key_end"] = {1};
  CHECK(refusal(all.dump()).find("key_end: expected a key for each of the rank's 4 rows, got 1") !=
        std::string::npos);
}

TEST_CASE("texts that are no trace of this program are refused") {
  const std::string text = text_of(small_run());
  CHECK(refusal("").find("expected JSON, got one that ends too early") != std::string::npos);
  CHECK(refusal("hello").find("expected JSON, got a syntax error at byte 1") != std::string::npos);
  CHECK(
      refusal("[1, 2]").find("expected a trace of ringcraft, with a member ringcraft, got something else") !=
      std::string::npos);
  CHECK(refusal(R"({"traceEvents": [{"ph": "X", "ts": 1}]})")
            .find("got an object without one; traces of other programs lack") != std::string::npos);
  CHECK(refusal(text + std::string(1, '\0')).find("a text with a zero byte") != std::string::npos);
  CHECK(refusal(text + "{}").find("a syntax error at byte") != std::string::npos);
  CHECK(refusal("{\"ringcraft\":1e999}").find("t.json: expected JSON, got one that cannot be read") !=
        std::string::npos);
  CHECK(refusal(std::string(100'000, '[')).find("JSON of at most 16 levels, got more") != std::string::npos);
  for (std::size_t size = 0; size + 2 < text.size(); size += 1 + size / 40)
    CHECK(refusal(text.substr(0, size)).find("ends too early") != std::string::npos);
}

TEST_CASE("a file with random changes is refused, or proved right or wrong") {
  const std::string text = text_of(small_run()), own = text.substr(text.find("\"ringcraft\""));
  Random random(5);
  int read = 0;
  for (int trial = 0; trial < (testing::tries_fewer() ? 300 : 3000); ++trial) {
    std::string changed = own;
    for (Index i = random.integer(1, 3); i > 0; --i) {
      char& at = changed[static_cast<std::size_t>(random.integer(0, static_cast<Index>(own.size()) - 1))];
      at = static_cast<char>(at >= '0' && at <= '9' ? '0' + random.integer(0, 9) : random.integer(1, 126));
    }
    try {
      const TracedRun run = read_trace("{" + changed, "t.json");
      prove_schedule(run.trace, run.problem, run.goal());
      ++read;
    } catch (const Error& error) {
      CHECK(std::string(error.what()).starts_with("t.json"));
    }
  }
  CHECK(read > 0);  // an address, say
}

}  // namespace ringcraft::verify
