// The command simulate as a user meets it: figures beside theory, machines from files, pictures.
#include <nlohmann/json.hpp>

#include "ringcraft/ring/theory.hpp"
#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

using Json = nlohmann::json;

const Json kMachine{{"name", "two a node"},
                    {"ranks_per_node", 2},
                    {"peak_flops", 1e12},
                    {"efficiency", 0.5},
                    {"inside", {{"latency", 1e-6}, {"bandwidth", 1e11}}},
                    {"between", {{"latency", 1e-5}, {"bandwidth", 1e10}}},
                    {"element_bytes", 4},
                    {"accumulator_bytes", 4}};

Json figures(const Folder& folder, const std::string& flags) {
  const Ran ran = run_tool(folder, "simulate --json " + folder.file("f.json") + " " + flags);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(contents(folder.file("f.json")));
}

}  // namespace

TEST_CASE("simulate prints a line for each pass and number of ranks, and theory below it") {
  const Folder folder;
  const Ran ran = run_tool(folder, "simulate --ranks 3,16 --tokens 1000 --causal");
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("ring on 8xH100: 1000 tokens, causal, zigzag, 32 heads, 8 KV heads of 128") == 0);
  std::size_t same = 0;
  for (auto at = ran.out.find("the same for every rank"); at != std::string::npos;
       at = ran.out.find("the same for every rank", at + 1))
    ++same;
  CHECK(same == 4);
  CHECK(ran.out.find("\n   16  forward ") != std::string::npos);
}

TEST_CASE("a machine from a file, and its figures") {
  const Folder folder;
  write(folder.file("m.json"), kMachine.dump());
  const std::string flags =
      "--machine " + folder.file("m.json") +
      " --ranks 5 --tokens 103 --heads 4 --kv-heads 2 --head-dim 8 --window 30 --layout striped";
  const Json all = figures(folder, flags);
  Problem problem = make_problem({1, 4, 2, 103, 8}, window_mask(30), Layout::kStriped, 5);
  const Theory theory = forward_theory(problem, {4, 4});
  const Json& forward = all["passes"][0];
  CHECK(all["machine"] == "two a node");
  CHECK(forward["bytes_sent"] == std::ranges::max(theory.bytes_sent));
  CHECK(forward["messages_sent"] == std::ranges::max(theory.messages_sent));
  CHECK(forward["peak_bytes"] == std::ranges::max(theory.peak_bytes));
  CHECK(forward["computing_seconds"].get<double>() ==
        Approx(forward["theory"]["computing_seconds"].get<double>()));
  const double slow = figures(folder, flags + " --slow-rank 2:100")["passes"][0]["seconds"].get<double>();
  CHECK(slow > 50 * forward["computing_seconds"].get<double>());
  CHECK(figures(folder, flags + " --pass forward")["passes"].size() == 1);
}

TEST_CASE("a file with anything that is not a machine is refused") {
  const Folder folder;
  const auto refused = [&](const char* member, const Json& value, const std::string& fragment) {
    Json machine = kMachine;
    machine[member] = value;
    write(folder.file("m.json"), machine.dump());
    const Ran ran = run_tool(folder, "simulate --machine " + folder.file("m.json"));
    INFO(ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find(fragment) != std::string::npos);
  };
  refused("colour", "red", "expected no member colour");
  refused("name", 3, "m.json.name: expected a text");
  refused("ranks_per_node", 0, "ranks_per_node: expected an integer from 1");
  refused("peak_flops", "many", "peak_flops: expected a finite number");
  refused("efficiency", 2, "efficiency: expected above 0, at most 1");
  refused("inside", Json::array(), "inside: expected an object");
  refused("between", {{"latency", 1e-6}}, "between: expected the member bandwidth");
  refused("element_bytes", 3, "element_bytes: expected 2, 4 or 8");
  refused("peak_flops", 1e-320, "machine: expected speeds that take less than 1e15 seconds");
  const std::string right = kMachine.dump();
  const std::string cut = right.substr(0, right.size() - 9), twice = "{\"name\":\"x\"," + right.substr(1);
  for (const auto& [text, fragment] : {std::pair{twice, "m.json: expected each member once, got name twice"},
                                       {cut, "m.json: expected JSON, got one that ends too early"},
                                       {std::string(9000, '['), "m.json: expected JSON of at most 16 levels"},
                                       {right + std::string(1, '\0'), "got a text with a zero byte"},
                                       {std::string("[1]"), "expected an object"}}) {
    write(folder.file("m.json"), text);
    const Ran ran = run_tool(folder, "simulate --machine " + folder.file("m.json"));
    INFO(ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find(fragment) != std::string::npos);
  }
}

TEST_CASE("simulate proves the schedule of every method") {
  const Folder folder;
  for (const std::string method :
       {"ring", "all-gather", "double-ring --node 2", "ulysses", "hybrid --ulysses 2"}) {
    const Ran ran = run_tool(folder, "simulate --ranks 4 --tokens 1000 --causal --method " + method +
                                         " --svg " + folder.file("t.svg"));
    INFO(method << "\n" << ran.out << ran.err);
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.find("schedule: proved: ") != std::string::npos);
  }
}

TEST_CASE("simulate draws what it has run, and proves the schedule") {
  const Folder folder;
  const Ran ran = run_tool(folder, "simulate --ranks 4 --tokens 1000 --causal --slow-link 1-2:50 --svg " +
                                       folder.file("t.svg") + " --trace " + folder.file("t.json"));
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("\nrank 3 ") != std::string::npos);
  CHECK(ran.out.find("schedule: proved: ") != std::string::npos);
  CHECK(contents(folder.file("t.svg")).starts_with("<svg xmlns="));
  const Json events = Json::parse(contents(folder.file("t.json")))["traceEvents"];
  double last = 0;
  for (const Json& event : events) last = std::max(last, event["ts"].get<double>());
  CHECK(last > 0);
}

TEST_CASE("simulate overwrites neither its machine nor what it has just written") {
  const Folder folder;
  write(folder.file("m.json"), kMachine.dump());
  const auto refused = [&](const std::string& flags, const std::string& fragment) {
    const Ran ran = run_tool(folder, "simulate --tokens 64 --machine " + folder.file("m.json") + flags);
    INFO(ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find(fragment) != std::string::npos);
  };
  for (const std::string flag : {"--trace", "--svg", "--json"})
    refused(" " + flag + " " + folder.file("m.json"), flag + ": expected another file than the input");
  refused(" --trace " + folder.file("t") + " --svg " + folder.file("t"),
          "--trace: expected another file than that of --svg");
  CHECK(contents(folder.file("m.json")) == kMachine.dump());
}

TEST_CASE("simulate proves the schedule of every method, heads that are dealt included") {
  const Folder folder;
  const auto drawn = [&](const std::string& flags) {
    const Ran ran =
        run_tool(folder, "simulate --ranks 8 --causal --svg " + folder.file("t.svg") + " " + flags);
    INFO(ran.out << ran.err);
    CHECK(ran.exit_code == 0);
    return ran.out;
  };
  for (const char* method :
       {"ring", "all-gather --gather-heads 2", "ulysses", "hybrid --ulysses 4", "double-ring --node 4"})
    for (const char* layout : {"zigzag", "striped"}) {
      CAPTURE(method, layout);
      const std::string flags = std::string("--tokens 999 --method ") + method + " --layout " + layout;
      CHECK(drawn(flags).find("schedule: proved: ") != std::string::npos);
    }
  CHECK(drawn("--tokens 200000 --method ulysses --layout striped")
            .find("The schedule is not proved: ulysses copies") != std::string::npos);
}
