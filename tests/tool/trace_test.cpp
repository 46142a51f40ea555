// attend --trace: the picture of a whole run as a user gets it.
#include <nlohmann/json.hpp>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/theory.hpp"
#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

TEST_CASE("attend --trace draws every rank, and its messages are those of theory") {
  const Folder folder;
  const Problem problem = make_problem({1, 4, 2, 29, 4}, causal_mask(), Layout::kZigzag, 3);
  write_inputs(folder.file("in"),
               verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, 5), DType::kFloat32));
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
    const Ran ran =
        run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                             " --ranks 3 --causal --trace " + folder.file("trace.json") + " --schedule " +
                             std::string(name_of(schedule)));
    INFO(ran.out << ran.err);
    REQUIRE(ran.exit_code == 0);
    CHECK(ran.out.find("ui.perfetto.dev") != std::string::npos);
    const auto picture = nlohmann::json::parse(contents(folder.file("trace.json")));
    std::vector<Index> bytes(3, 0), messages(3, 0), pairs(3, 0);
    for (const auto& e : picture["traceEvents"]) {
      const auto rank = e["pid"].get<std::size_t>();
      REQUIRE(rank < 3);
      if (e["ph"] == "b" && e["cat"] == "send") {
        bytes[rank] += e["args"]["bytes"].get<Index>();
        ++messages[rank];
        CHECK(e["name"].get<std::string>().find(" bytes ") == std::string::npos);  // each block has its name
      }
      if (e["ph"] == "X" && e["cat"] == "forward") pairs[rank] += e["args"]["pairs"].get<Index>();
    }
    const Theory forward = forward_theory(problem, {4, 4}),
                 backward = backward_theory(problem, schedule, {4, 4});
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(bytes[rank] == forward.bytes_sent[rank] + backward.bytes_sent[rank]);
      CHECK(messages[rank] == forward.messages_sent[rank] + backward.messages_sent[rank]);
      CHECK(pairs[rank] == forward.pairs[rank]);
    }
  }
}
