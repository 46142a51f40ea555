// attend --trace and trace: the picture of a whole run as a user gets it, and the verdict on a file that was
// changed.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/theory.hpp"
#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

using Json = nlohmann::json;

// A trace of both passes on three ranks, as attend writes it.
Json recorded_trace(const Folder& folder, const std::string& flags = "") {
  write_inputs(folder.file("in"), make_problem({1, 4, 2, 29, 4}, causal_mask(), Layout::kZigzag, 3), 5);
  const Ran ran = run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                                       " --ranks 3 --causal --trace " + folder.file("t.json") + flags);
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(contents(folder.file("t.json")));
}

Ran run_trace(const Folder& folder, const Json& trace, const std::string& flags = "") {
  write(folder.file("edited.json"), trace.dump());
  return run_command(folder, "COLUMNS=1000 '" RINGCRAFT_TOOL "' trace " + folder.file("edited.json") + " " +
                                 flags);  // wide: no sentence is folded
}

std::size_t first_of(const Json& events, const std::string& kind, std::size_t from = 0) {
  for (std::size_t i = from; i < events.size(); ++i)
    if (events[i]["kind"] == kind) return i;
  FAIL("no event " << kind);
  return 0;
}

// Takes an event out; waits keep their starts.
void remove(Json& events, std::size_t number) {
  events.erase(number);
  for (Json& event : events)
    if (event["kind"] == "wait" && event["waits_for"] > number)
      event["waits_for"] = event["waits_for"].get<std::size_t>() - 1;
}

std::string kilobytes(const std::string& file) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f kB", static_cast<double>(std::filesystem::file_size(file)) / 1e3);
  return text;
}

}  // namespace

TEST_CASE("attend --trace draws every rank, and its messages are those of theory") {
  const Folder folder;
  const Problem problem = make_problem({1, 4, 2, 29, 4}, causal_mask(), Layout::kZigzag, 3);
  write_inputs(folder.file("in"), problem, 5);
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
    const Ran ran =
        run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                             " --ranks 3 --causal --trace " + folder.file("trace.json") + " --schedule " +
                             std::string(name_of(schedule)));
    INFO(ran.out << ran.err);
    REQUIRE(ran.exit_code == 0);
    CHECK(ran.out.find("ui.perfetto.dev") != std::string::npos);
    CHECK(ran.out.find("trace.json, " + kilobytes(folder.file("trace.json")) + ": what every rank did") !=
          std::string::npos);
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

TEST_CASE("trace draws what attend has recorded, and proves it") {
  const Folder folder;
  recorded_trace(folder);
  const Ran ran = run_tool(folder, "trace " + folder.file("t.json") + " --svg " + folder.file("t.svg"));
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("3 ranks (threads), forward and backward, causal, 29 tokens, zigzag, ") !=
        std::string::npos);
  CHECK(ran.out.find("\nrank 2 ") != std::string::npos);
  CHECK(ran.out.find("schedule: proved: ") != std::string::npos);
  CHECK(ran.out.find("\x1b") == std::string::npos);  // colour only on a terminal
  const std::string svg = contents(folder.file("t.svg"));
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.find("</svg>") != std::string::npos);
  if (run_command(folder, "command -v xmllint").exit_code == 0) {
    const Ran lint = run_command(folder, "xmllint --noout " + folder.file("t.svg"));
    INFO(lint.err);
    CHECK(lint.exit_code == 0);
  }
}

TEST_CASE("a lane in a terminal is as wide as the terminal") {
  const Folder folder;
  recorded_trace(folder);
  for (const std::size_t width : {60, 100}) {
    const Ran ran = run_command(
        folder, "COLUMNS=" + std::to_string(width) + " '" RINGCRAFT_TOOL "' trace " + folder.file("t.json"));
    const auto lane = ran.out.find("\nrank 1 ") + 1;
    CHECK(ran.out.find('\n', lane) - lane == width - 1);
  }
}

TEST_CASE("a planted fault in a file is found by trace") {
  const Folder folder;
  const Json right = recorded_trace(folder);
  CHECK(run_trace(folder, right).exit_code == 0);
  const auto fails = [&](const Json& trace, const std::string& sentence) {
    const Ran ran = run_trace(folder, trace);
    INFO(ran.out << ran.err);
    CHECK(ran.exit_code == 1);
    CHECK(ran.out.find("wrong schedule: " + sentence) != std::string::npos);
  };

  Json trace = right;  // rank 1 computes with a block before it has waited for it
  Json& events = trace["ringcraft"]["ranks"][1];
  remove(events, first_of(events, "wait"));
  fails(trace, "rank 1, step 1: reads k where a message is still arriving from rank 0");

  trace = right;  // rank 2 receives into the memory that it sends
  for (Json& event : trace["ringcraft"]["ranks"][2]) {
    if (event["kind"] != "start") continue;
    Json *send = nullptr, *recv = nullptr;
    for (Json& m : event["messages"]) (m["kind"] == "send" ? send : recv) = &m;
    if (send == nullptr || recv == nullptr) continue;
    (*recv)["address"] = (*send)["address"];
    break;
  }
  fails(trace, "rank 2, step 0: receives from rank 1 into the memory of ");

  trace = right;  // rank 0 ends before its last exchange
  Json& shorter = trace["ringcraft"]["ranks"][0];
  while (shorter.back()["kind"] != "start") remove(shorter, shorter.size() - 1);
  remove(shorter, shorter.size() - 1);
  fails(trace, "");
}

TEST_CASE("every method is recorded and proved, and a copy of another head is found by trace") {
  const Folder folder;
  for (const char* flags : {" --method all-gather --gather-heads 1", " --method hybrid --ulysses 1",
                            " --method double-ring --node 3", " --method all-gather"}) {
    CAPTURE(flags);
    const Ran ran = run_trace(folder, recorded_trace(folder, flags));
    CAPTURE(ran.out, ran.err);
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.find("schedule: proved: ") != std::string::npos);
  }
  write_inputs(folder.file("in"), make_problem({1, 4, 2, 29, 4}, causal_mask(), Layout::kZigzag, 4), 5);
  const Ran ulysses =
      run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                           " --ranks 4 --causal --method ulysses --trace " + folder.file("u.json"));
  CAPTURE(ulysses.out, ulysses.err);
  REQUIRE(ulysses.exit_code == 0);
  Json trace = Json::parse(contents(folder.file("u.json")));
  const Ran right = run_trace(folder, trace);
  CHECK(right.exit_code == 0);
  CHECK(right.out.find("ulysses, 4 ranks (threads), forward and backward") != std::string::npos);

  Json& events = trace["ringcraft"]["ranks"][1];
  Json& copied =
      events[first_of(events, "copy")]["copied"];  // queries of head 1, which become those of head 0
  const int head = copied[0].get<int>();
  for (std::size_t i = 0; i < copied.size(); i += 3) copied[i] = copied[i].get<int>() - head;
  const Ran wrong = run_trace(folder, trace);
  CAPTURE(wrong.out);
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.out.find("wrong schedule: rank 1, step 0: computes with a part of q0 and ") !=
        std::string::npos);
}

TEST_CASE("a trace that cannot be written costs no output, and leaves no part of itself") {
  const Folder folder;
  write_inputs(folder.file("in"), make_problem({1, 4, 2, 29, 4}, causal_mask(), Layout::kZigzag, 3), 5);
  const auto attend = [&](const std::string& trace, const std::string& before = "") {
    return run_command(folder, before + "cd '" + folder.file("") +
                                   "' && '" RINGCRAFT_TOOL
                                   "' attend --input in --output out --ranks 3 --causal --trace " +
                                   trace);
  };
  for (const char* same : {"out", "./out", "../\"${PWD##*/}\"/out"}) {  // of a file that is not there yet
    const Ran ran = attend(same);
    INFO(ran.out << ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find("--trace: expected another file than the output") != std::string::npos);
  }
  CHECK(attend("in").err.find("--trace: expected another file than the input") != std::string::npos);
  const Ran missing = attend("no/t.json");
  CHECK(missing.exit_code == 2);
  CHECK(missing.err.find("--trace: expected a file that can be written") != std::string::npos);
  CHECK(contents(folder.file("out")).empty());
  write(folder.file("t.json"), "an older one");
  const Ran full =
      attend("t.json", "ulimit -f 64; trap '' XFSZ; ");  // blocks: more than the output, less than the trace
  INFO(full.out << full.err);
  CHECK(full.exit_code == 3);
  CHECK(full.err.find("t.json: expected room for all of the file") != std::string::npos);
  CHECK(contents(folder.file("t.json")) == "an older one");
  CHECK(contents(folder.file("out")).size() > 1000);
  CHECK(run_command(folder, "ls -A '" + folder.file("") + "' | grep -q tmp").exit_code == 1);
}

TEST_CASE("trace refuses other files, and overwrites none") {
  const Folder folder;
  const Json right = recorded_trace(folder);
  const auto refused = [&](const std::string& arguments, const std::string& sentence) {
    const Ran ran = run_tool(folder, "trace " + arguments);
    INFO(ran.out << ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find(sentence) != std::string::npos);
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  };
  refused("", "file is required");
  refused(folder.file("nowhere.json"), "trace: expected a file that can be read");
  refused(folder.file("in"), "trace: expected a file of text, got");
  refused(folder.file("t.json") + " --svg " + folder.file("t.json"),
          "--svg: expected another file than the input");
  refused(folder.file("t.json") + " --svg " + folder.file("no/t.svg"),
          "--svg: expected a file that can be written");
  refused(folder.file("t.json") + " --svg t.cpp", "--svg: expected a file for results");
  refused(folder.file("t.json") + " --clock virtual",
          "--clock: expected wall for a trace without virtual time");
  refused(folder.file("t.json") + " --clock sun", "--clock: expected wall or virtual, got sun");
  for (const char* rows : {"0", "-3", "abc", "2.5", "4097", "99999999999999999999", "24x"})
    refused(folder.file("t.json") + " --rows " + rows,
            "--rows: expected a whole number from 1 to 4096, got '" + std::string(rows) +
                "'; leave it out for 24 of the ranks");
  const std::string svg = folder.file("t.json") + " --svg ";
  refused(svg + folder.file(""), "--svg: expected the name of a file, got the folder " + folder.file(""));
  refused(svg + folder.file("no/t.svg"), "; make its folder first: mkdir -p " + folder.file("no"));
  refused(svg + "''", "expected a value after --svg, got an empty one");
  Json other = right;
  other.erase("ringcraft");
  write(folder.file("chrome.json"), other.dump());
  refused(folder.file("chrome.json"), "expected a trace of ringcraft");
  const std::string text = contents(folder.file("t.json"));
  write(folder.file("cut.json"), text.substr(0, text.size() / 2));
  refused(folder.file("cut.json"), "the file was cut off");
  other = right;
  other["ringcraft"]["problem"]["world_size"] = 1'000'000'000;
  write(folder.file("huge.json"), other.dump());
  refused(folder.file("huge.json"), "world_size: expected an integer from 1 to 4096, got 1000000000");
  CHECK(contents(folder.file("t.json")) == text);
}

#ifdef RINGCRAFT_HAS_EXECUTOR
TEST_CASE("a run on virtual ranks is recorded, too") {
  const Folder folder;
  const Json trace = recorded_trace(folder, " --backend cuda-host");
  CHECK(trace["ringcraft"]["backend"] == "cuda-host");
  const Ran ran = run_trace(folder, trace);
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
}
#endif

TEST_CASE("a run with too many exchanges to draw is refused before it begins") {
  const Folder folder;
  write_inputs(folder.file("in"), make_problem({1, 1, 1, 400, 1}, full_mask(), Layout::kZigzag, 2), 5);
  const Ran ran = run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                                       " --ranks 400 --trace " + folder.file("t.json"));
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("--trace: expected ranks that send keys and values at most 50000 times, got ") !=
        std::string::npos);
}
