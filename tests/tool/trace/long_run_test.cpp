// The size of a trace, known in advance.
#include "tool/attention/long_run.hpp"

#include <filesystem>

#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

TEST_CASE("the size of a trace of copies is known in advance, too") {
  const Folder folder;
  struct Run {
    const Method& method;
    MethodOptions options;
    const char* flags;
  };
  const Run runs[] = {{kUlysses, {}, "ulysses"},
                      {kHybrid, {.ulysses = 2}, "hybrid --ulysses 2"},
                      {kHybrid, {.ulysses = 4}, "hybrid --ulysses 4"},
                      {kAllGather, {.gather_heads = 1}, "all-gather --gather-heads 1"}};
  for (const Layout layout : {Layout::kContiguous, Layout::kStriped}) {
    const Problem problem = make_problem({2, 8, 2, 160, 4}, causal_mask(), layout, 8);
    write_inputs(folder.file("in"), problem, 5);
    for (const Run& run : runs) {
      const Ran ran =
          run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                               " --ranks 8 --causal --layout " + std::string(name_of(layout)) + " --trace " +
                               folder.file("t.json") + " --method " + run.flags);
      INFO(ran.out << ran.err);
      REQUIRE(ran.exit_code == 0);
      const auto size = static_cast<double>(std::filesystem::file_size(folder.file("t.json")));
      const double told = tool::trace_bytes(run.method, problem, run.options, Pass::kBackward);
      CAPTURE(run.flags, size, told);
      CHECK(told > 0.6 * size);
      CHECK(told < 1.6 * size);
    }
  }
  const Problem large = make_problem({1, 32, 8, 131072, 128}, causal_mask(), Layout::kStriped, 8);
  CHECK(tool::warning_of_trace(kUlysses, large, {}, Pass::kBackward).find("the trace will take about ") == 0);
  CHECK(tool::copied_runs(kRing, large, {}, Pass::kBackward) == 0);
}

TEST_CASE("the size of a trace is known in advance, and a large one is announced") {
  const Folder folder;
  const Problem problem = make_problem({1, 2, 1, 60, 4}, full_mask(), Layout::kZigzag, 12);
  write_inputs(folder.file("in"), problem, 5);
  const Ran ran = run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                                       " --ranks 12 --trace " + folder.file("t.json"));
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit_code == 0);
  const auto size = static_cast<double>(std::filesystem::file_size(folder.file("t.json")));
  CHECK(tool::trace_bytes(kRing, problem, {}, Pass::kBackward) > 0.8 * size);
  CHECK(tool::trace_bytes(kRing, problem, {}, Pass::kBackward) < 1.2 * size);
  CHECK(tool::warning_of_trace(kRing, problem, {}, Pass::kBackward).empty());
  const Problem large = make_problem({1, 1, 1, 400, 4}, full_mask(), Layout::kZigzag, 200);
  CHECK(
      tool::warning_of_trace(kRing, large, {}, Pass::kBackward).find("the trace will take about 362 MB: ") ==
      0);
  CHECK(tool::warning_of_trace(kRing, large, {}, Pass::kForward).find("about 119 MB") != std::string::npos);
  const Problem few_hops = make_problem({1, 1, 1, 400, 4}, window_mask(2), Layout::kContiguous, 200);
  CHECK(tool::warning_of_trace(kRing, few_hops, {}, Pass::kBackward).empty());
}
