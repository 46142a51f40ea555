// One team serves all checks of a file: workers stay until one misbehaves or a check needs others, calls are
// counted and output is shown check by check, and state that a file keeps between checks does not help it.
#include "judge/run/team.hpp"

#include <sched.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "judge/build/toolchain.hpp"
#include "judge/tree/config.hpp"
#include "judge/verdict/judge.hpp"
#include "process/child.hpp"
#include "reports.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::ReportRow;
using verify::Status;

// The verdict on a lesson's own file, in src/ringcraft, with these lines before a place of it.
Report with_lines_at(int lesson, const std::string& name, std::string_view place, const std::string& lines,
                     const CheckOptions& options) {
  std::ifstream original(std::filesystem::path(RINGCRAFT_SOURCE_DIR) / "src/ringcraft" / name);
  std::ostringstream text;
  text << original.rdbuf();
  std::string source =
      "#include <unistd.h>\n#include <cstdio>\n#include <cstdlib>\n#include <string>\n#include "
      "<stdexcept>\n#include <thread>\n" +
      text.str();
  const auto found = source.find(place);
  REQUIRE(found != source.npos);
  source.insert(found, lines + "\n  ");
  const WorkFolder folder;  // tests run side by side
  const auto file = folder.path() / std::filesystem::path(name).filename();
  std::ofstream(file) << source;
  return check(lesson, file, options).report;
}

// The verdict on lesson 104's own file with these lines at the beginning of its body.
Report with_lines(const std::string& lines, const CheckOptions& options = {}) {
  return with_lines_at(104, "attention/merge.cpp", "// BEGIN SOLUTION 104", lines, options);
}

// One processor for this thread and all that it starts, which other threads keep busy.
class BusyProcessor {
 public:
  BusyProcessor() {
    REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    for (int i = 0; i < 6; ++i)
      others_.emplace_back([this] {
        while (!done_) ++turns_;
      });
  }
  ~BusyProcessor() {
    done_ = true;
    for (std::thread& other : others_) other.join();
    ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_;
  std::atomic<bool> done_ = false;
  std::atomic<std::uint64_t> turns_ = 0;
  std::vector<std::thread> others_;
};

// How many sums a processor computes one after the other within these seconds of it.
long sums_in(double seconds) {
  constexpr long kSome = 1'000'000;
  volatile double sum = 0;
  long sums = 0;
  for (const std::clock_t begin = std::clock();
       static_cast<double>(std::clock() - begin) < seconds * CLOCKS_PER_SEC; sums += kSome)
    for (long i = 0; i < kSome; ++i) sum = sum + 1;
  return sums;
}

// Lines that count the calls of a process, which a variable of the file may not do.
std::string counting() {
  return "const char* const before = std::getenv(\"calls\");\n"
         "  const int calls = (before ? std::atoi(before) : 0) + 1;\n"
         "  setenv(\"calls\", std::to_string(calls).c_str(), 1);\n  ";
}

// The output of the program that a check's row shows.
std::string printed_of(const ReportRow& row) {
  const std::string words = "your program printed:\n";
  const auto found = row.sentence.find(words);
  return found == row.sentence.npos ? "" : row.sentence.substr(found + words.size());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the same processes serve check after check, and each check shows its own output") {
  // Wrong in every call, so that every check that is tried shows the output.
  const Report report =
      with_lines(counting() +
                 "std::printf(\"process %d call %d\\n\", static_cast<int>(getpid()), calls);\n"
                 "  if (acc.out.cols > 0) acc.sum[0] = T(7);");
  INFO(verify::text_of(report));
  std::set<std::string> processes, lines;
  int checks = 0;
  for (const ReportRow& row : report.rows) {
    if (row.status != Status::kFailed) continue;
    ++checks;
    INFO(row.id);
    CHECK_FALSE(printed_of(row).empty());
    for (const std::string& line : lines_of(printed_of(row))) {
      CHECK(lines.insert(line).second);  // nothing is shown twice
      processes.insert(line.substr(0, line.find(" call")));
    }
  }
  CHECK(checks > 1);
  CHECK(processes.size() == 1);
}

TEST_CASE("after a misbehaviour a check gets other processes, and calls count from 1") {
  const Report report = with_lines(
      "std::printf(\"process %d\\n\", static_cast<int>(getpid()));\n"
      "  throw std::runtime_error(\"no\");");
  INFO(verify::text_of(report));
  std::set<std::string> processes;
  int checks = 0;
  for (const ReportRow& row : report.rows) {
    if (row.status != Status::kFailed) continue;
    ++checks;
    CHECK(testing::contains(row.sentence, "in call 1 of merge"));
    for (const std::string& line : lines_of(printed_of(row))) processes.insert(line);
  }
  CHECK(checks >= 3);
  CHECK(processes.size() == static_cast<std::size_t>(checks));
}

TEST_CASE("a program that is right in its first calls only is caught in a later check") {
  const Report report = with_lines(counting() + "if (calls > 4) acc.sum[0] = T(7);");
  INFO(verify::text_of(report));
  CHECK(row(report, "104.two-halves").status == Status::kPassed);  // three calls
  CHECK_FALSE(report.good());
}

TEST_CASE("endless output ends a check, and little output in each check ends none") {
  const Report report =
      with_lines("for (int i = 0; i < 100 && acc.out.cols != 6; ++i) std::puts(\"a line of some length\");");
  INFO(verify::text_of(report));
  CHECK(report.good());  // more than 64 KB over all checks
}

TEST_CASE("a worker may start threads and no process") {
  const Report threads = with_lines("std::thread([] {}).join();");
  INFO(verify::text_of(threads));
  CHECK(threads.good());
  if (kSanitized) return;  // there processes are let through
  const Report processes = with_lines("if (fork() == 0) { setsid(); sleep(1000); }");
  INFO(verify::text_of(processes));
  CHECK(testing::contains(row(processes, "104.two-halves").sentence,
                          "asked the system for a socket or another process"));
}

TEST_CASE("a worker has the fast kernels only where a lesson is about them") {
  const WorkFolder folder;
  for (const auto& [lesson, served] : kServed) {
    if (lesson / 100 == 2) continue;  // kernels of a GPU
    std::vector<std::string> command = kLink;
    command.insert(command.end(), {"-Wl,--trace", "-o", folder.path() / "worker"});
    command.insert(command.end(), kFirst.begin(), kFirst.end());
    command.push_back(served);
    command.insert(command.end(), kLinkInputs.begin(), kLinkInputs.end());
    const process::Finished linked = process::run_command({.arguments = command,
                                                           .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"},
                                                           .output_limit = std::size_t{1} << 20},
                                                          std::chrono::seconds(60));
    INFO(lesson << "\n" << linked.printed);
    REQUIRE(linked.good());
    if (lesson == 105) CHECK(testing::contains(linked.printed, "host_engine.cpp.o"));
    CHECK(testing::contains(linked.printed, "fast_forward.cpp.o") == (lesson == 108));
  }
}

TEST_CASE("a call that computes is not too late on a busy machine") {
  CheckOptions options;
  options.per_call = std::chrono::seconds(1);
  const std::string sums =
      std::to_string(sums_in(0.3));  // far from the limit, and beside six others beyond it
  const BusyProcessor busy;
  const Report report =
      with_lines(counting() + "volatile double sum = 0;\n  for (long i = 0; calls == 1 && i < " + sums +
                     "; ++i) sum = sum + 1;",
                 options);
  INFO(verify::text_of(report));
  CHECK(report.count(Status::kFailed) == 0);
}

// So is a ring when it is the judge that gets no processor: its ranks hardly compute, but messages still
// come.
TEST_CASE("a call whose messages move is not too late, and one that moves no more is") {
  CheckOptions options;
  options.per_call = std::chrono::milliseconds(400);
  const auto napping = [&](const std::string& when, int milliseconds) {
    return with_lines_at(303, "ring/forward.cpp", "const int source = (rank - t + n) % n;",
                         "if (" + when + ") std::this_thread::sleep_for(std::chrono::milliseconds(" +
                             std::to_string(milliseconds) + "));",
                         options);
  };
  const Report moves = napping("n == 7", 90);
  INFO(verify::text_of(moves));
  CHECK(row(moves, "303.full-more").status == Status::kPassed);
  const Report stuck = napping("n == 7 && t == 1 && rank == 2", 10'000);
  INFO(verify::text_of(stuck));
  CHECK(testing::contains(row(stuck, "303.full-more").sentence, "did not come back within 0.4 s"));
}

}  // namespace ringcraft::judge
