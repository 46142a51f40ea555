// The size of a trace, known in advance.
#include "tool/attention/long_run.hpp"

#include <filesystem>

#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

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
