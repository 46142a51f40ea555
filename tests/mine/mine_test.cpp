// The student's files drive the ladder: right ones, wrong ones, and those that do something other than
// answer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>

#include "judge/verdict/judge.hpp"
#include "support/effort.hpp"
#include "support/errors.hpp"
#include "tool/attention/own_files.hpp"
#include "tool/tool_process.hpp"
#include "verify/ladder/kernel_stages.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::tests {
namespace {

using verify::Report;
using verify::ReportRow;
using verify::Status;

// The workspace of a student.
class Workspace {
 public:
  std::filesystem::path path() const { return folder_.file("exercises"); }

  // The skeleton, as `start` writes it.
  void start(int lesson) const { judge::start(lesson, path()); }
  // The skeleton with this code instead of every throw.
  void start(int lesson, const std::string& body) const {
    start(lesson);
    const auto file = judge::exercise_file(lesson, path());
    std::string text = contents(file);
    for (std::size_t at; (at = text.find("throw NotWritten(")) != text.npos;)
      text.replace(at, text.find('\n', at) - at, body);
    std::ofstream(file) << text;
  }
  // The library's own file, with `word` replaced.
  void solve(int lesson, const std::string& word = "", const std::string& by = "") const {
    std::string text = contents(judge::original_file(lesson));
    if (!word.empty()) {
      REQUIRE(text.find(word) != text.npos);
      text.replace(text.find(word), word.size(), by);
    }
    const auto file = judge::exercise_file(lesson, path());
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  Report climb(tool::KernelPlace kernels = tool::kernel_place(tool::Backend::kCudaHost,
                                                              Layout::kZigzag)) const {
    const verify::Case c = make_case(make_problem({1, 4, 2, 41, 8}, causal_mask(), Layout::kZigzag, 4),
                                     verify::Data::kNormal, 3);
    ::setenv("RINGCRAFT_WORKSPACE", path().c_str(), 1);
    return tool::climb_with_own_files("a small problem", c.problem, verify::make_inputs(c, DType::kFloat64),
                                      {}, std::move(kernels));
  }

 private:
  Folder folder_;
};

// All that run --mine climbs.
std::vector<verify::Stage> stages() {
  std::vector<verify::Stage> all(verify::ladder().begin(), verify::ladder().end());
#ifdef RINGCRAFT_HAS_EXECUTOR
  std::ranges::move(verify::host_kernel_stages(Layout::kZigzag).stages, std::back_inserter(all));
#endif
  return all;
}

bool runs(const ReportRow& row, int lesson) {
  return std::ranges::find(row.yours, lesson) != row.yours.end();
}

// Every stage that runs the lesson is wrong, with these words; every other one is right.
void check_exactly(const Report& report, int lesson, const std::string& words) {
  int wrong = 0;
  for (const ReportRow& row : report.rows) {
    INFO(row.id << ": " << row.sentence);
    CHECK((row.status == Status::kFailed) == runs(row, lesson));
    if (row.status != Status::kFailed) continue;
    CHECK(row.sentence.find(words) != row.sentence.npos);
    ++wrong;
  }
  CHECK(wrong > 0);
  CHECK_FALSE(report.good());
}

TEST_CASE("right files are right in every stage, and marked as the student's") {
  const Workspace student;
  student.solve(104);
  student.solve(303);
  const Report report = student.climb();
  CHECK(report.good());
  CHECK(report.count(Status::kPassed) == static_cast<int>(stages().size()));
  for (const ReportRow& row : report.rows) {
    INFO(row.id);
    const auto named = [&](const char* word) { return row.id.find(word) != row.id.npos; };
    const bool rings = named("Ulysses") || named("hybrid") || (named("ring") && !named("double ring"));
    CHECK(runs(row, 303) == rings);
    if (row.id == "104 merge") CHECK(row.yours == std::vector<int>{104});
    if (row.id == "303 ring forward") CHECK(row.yours == std::vector<int>{104, 303});
    if (row.id == "102 safe softmax") CHECK(row.yours.empty());
  }
}

TEST_CASE("a wrong merge is wrong in exactly the stages that run it, and the next ones ask the oracle") {
  const Workspace student;
  student.solve(104, "m = largest;", "m = largest + T(1);");  // wrong for any two partial results
  student.solve(303);
  const Report report = student.climb();
  check_exactly(report, 104, "elements are wrong");
  const auto blockwise = std::ranges::find(report.rows, "105 blockwise forward", &ReportRow::id);
  REQUIRE(blockwise != report.rows.end());
  CHECK(blockwise->claim == "equals the oracle (merge failed)");
  for (const ReportRow& row : report.rows)
    if (row.status == Status::kFailed)
      CHECK(row.sentence.ends_with("It runs your 104, as merge did, which failed: begin there.") ==
            (row.id != "104 merge"));
}

TEST_CASE("every stage names the lessons whose files it runs") {
  const auto lessons = judge::lessons();
  const std::size_t step = testing::long_run() ? 1 : 3;
  if (step > 1) std::printf("every third lesson; all of them with ./ringcraft test --long\n");
  for (std::size_t at = 0; at < lessons.size(); at += step) {
    const judge::LessonInfo& lesson = lessons[at];
    INFO(lesson.name);
    const Workspace student;
    student.start(lesson.number, "throw std::runtime_error(\"as planned\");");
    const Report report = student.climb();
    const auto all = stages();
    const bool used = std::ranges::any_of(
        all, [&](const verify::Stage& s) { return std::ranges::count(s.lessons, lesson.number) > 0; });
    if (used)
      check_exactly(report, lesson.number, "it ended with an exception: as planned");
    else
      CHECK(report.good());
  }
}

#ifdef RINGCRAFT_HAS_EXECUTOR
TEST_CASE("kernels of the student's take part, unchecked as the library's own, and a wrong one is wrong") {
  const Workspace student;
  for (const int lesson : {201, 202, 203, 204, 205, 206}) student.solve(lesson);
  const Report right = student.climb();
  CHECK(right.count(Status::kPassed) == static_cast<int>(stages().size()));
  for (const ReportRow& row : right.rows) {
    INFO(row.id);
    if (row.id == "204 pipelined kernel") CHECK(row.yours == std::vector<int>{204});
    if (row.id == "205 merge kernel") CHECK(row.yours == std::vector<int>{205});
    if (row.id == "206 ring of kernels") CHECK(row.yours == std::vector<int>{206});
  }
  student.solve(206, "(dp_reg[i][j] - delta_reg[i])", "(dp_reg[i][j] + delta_reg[i])");
  const Report wrong = student.climb();
  check_exactly(wrong, 206, "elements are wrong");
}

// The work of check on a GPU, here on the CPU.
TEST_CASE("a kernel file alone climbs the stages that run it, and what it breaks is a row of its lesson") {
  const Workspace student;
  ::setenv("RINGCRAFT_WORKSPACE", student.path().c_str(), 1);
  const auto rows = [](int lesson) {
    return tool::stages_with_own_file(lesson, tool::kernel_place(tool::Backend::kCudaHost, Layout::kZigzag),
                                      5);
  };
  student.solve(204);
  student.solve(202, "warp_sum(sum)", "warp_sam(sum)");  // the file of another lesson takes no part
  std::set<std::string> names;
  for (const ReportRow& row : rows(204)) {
    INFO(row.id << ": " << row.sentence);
    CHECK(row.status == Status::kPassed);
    CHECK(row.weight == 0);
    CHECK(row.yours == std::vector<int>{204});
    names.insert(row.id);
  }
  CHECK(names ==
        std::set<std::string>{"204.pipelined-kernel", "204.tensor-core-gradients", "204.fused-gradients"});

  const auto broken = rows(202);
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].id == "202.compiles-for-the-device");
  CHECK(broken[0].claim == "your file compiles for CPU (host executor)");
  CHECK(broken[0].status == Status::kFailed);
  CHECK(broken[0].sentence.find("warp_sam") != std::string::npos);

  student.solve(206, "(dp_reg[i][j] - delta_reg[i])", "(dp_reg[i][j] + delta_reg[i])");
  for (const ReportRow& row : rows(206)) {
    INFO(row.id << ": " << row.sentence);
    CHECK(row.status == Status::kFailed);
    CHECK(row.sentence.find("elements are wrong") != std::string::npos);
  }
  CHECK(rows(206).size() == 2);
}
#endif

#ifdef RINGCRAFT_HAS_CUDA
// Up to the first call that needs a device where there is none.
TEST_CASE("for a GPU the student's kernels are compiled by nvcc and linked with the library's") {
  const Workspace student;
  student.solve(201);
  tool::KernelPlace kernels = tool::kernel_place(tool::Backend::kThreads, Layout::kZigzag);
  const bool gpu = std::exchange(kernels.gpu, true);
  for (const ReportRow& row : student.climb(std::move(kernels)).rows) {
    INFO(row.id << ": " << row.sentence);
    CHECK(runs(row, 201) == (row.id == "201 naive kernels"));
    if (gpu || !runs(row, 201)) {
      CHECK(row.status == Status::kPassed);
    } else {
      CHECK(row.status == Status::kFailed);
      CHECK(row.sentence.find("one of: dense, ") != row.sentence.npos);  // the stage of a GPU is not there
    }
  }
}
#endif

TEST_CASE("a file as it was given is none of the student's, one that still throws says so") {
  const Workspace student;
  student.start(104);
  CHECK(testing::outcome_of([&] { (void)student.climb(); }).sentence ==
        "run --mine: expected an exercise that you have written in, got 104 as given by start; write a body; "
        "./ringcraft check judges it");
  student.solve(103);
  CHECK(student.climb().good());
  std::ofstream(judge::exercise_file(104, student.path()), std::ios::app) << "// a thought\n";
  check_exactly(student.climb(), 104, "your lesson 104 is not written yet");
}

TEST_CASE("a crash is a row with a sentence, and the other stages go on") {
  const Workspace student;
  student.start(303, "*static_cast<volatile int*>(nullptr) = 1; return {};");
  check_exactly(student.climb(), 303, "the stage runs your 303; it crashed (segmentation fault)");
}

TEST_CASE("code that a file runs before main touches the stages that run it, and no others") {
  const Workspace student;
  student.solve(104, "namespace ringcraft {",
                "#include <unistd.h>\nstatic const bool kEnded = (_exit(0), true);\nnamespace ringcraft {");
  student.solve(303);
  check_exactly(student.climb(), 104, "it ended itself with exit code 0");
}

TEST_CASE("a deadlock is a row that says which rank waits for which") {
  const Workspace student;
  student.start(303,
                "KvBlock block = allocate_kv(engine, problem, Role::kElement);"
                "comm.start({recv_from((comm.rank() + 1) % comm.world_size(), block.k)}).wait(); return {};");
  Report report = student.climb();
  std::erase_if(report.rows,
                [](const ReportRow& row) { return row.id == "502 Ulysses"; });  // a ring of one rank
  check_exactly(report, 303, "deadlock: ");
}

TEST_CASE("a stage opens no files") {
  const Workspace student;
  student.start(303, "throw std::runtime_error(std::fopen(\"/etc/passwd\", \"r\") ? \"a file\" : \"none\");");
  check_exactly(student.climb(), 303, "it ended with an exception: none");
}

TEST_CASE("an exit is a row, and so is an exception of any type") {
  const Workspace student;
  student.start(102, "throw 7;");
  student.start(105, "throw std::runtime_error(\"enough\");");
  student.start(302, "::exit(0);");
  const Report report = student.climb();
  for (const ReportRow& row : report.rows) {
    INFO(row.id << ": " << row.sentence);
    if (runs(row, 102)) CHECK(row.sentence.find("something that is no std::exception") != row.sentence.npos);
    if (runs(row, 105)) CHECK(row.sentence.find("ended with an exception: enough") != row.sentence.npos);
    if (runs(row, 302)) CHECK(row.sentence.find("it ended itself with exit code 0") != row.sentence.npos);
    CHECK((row.status == Status::kPassed) == row.yours.empty());
  }
}

TEST_CASE("a hang is one row after some seconds, stages with the same file are not tried") {
  const Workspace student;
  student.start(108, "for (volatile int i = 0;; i = 0) {}");
  student.solve(303);
  const Report report = student.climb();
  int hung = 0;
  for (const ReportRow& row : report.rows) {
    INFO(row.id << ": " << row.sentence);
    if (!runs(row, 108)) {
      CHECK(row.status == Status::kPassed);
    } else if (row.status == Status::kFailed) {
      CHECK(row.sentence.find("it did not come back within") != row.sentence.npos);
      ++hung;
    } else {
      CHECK(row.status == Status::kSkipped);
      CHECK(row.sentence.find("not tried: it runs your 108") == 0);
    }
  }
  CHECK(hung == 1);
  CHECK_FALSE(report.good());
}

TEST_CASE(
    "a file that does not compile, or makes a forbidden call, is named, the library's own replaces it") {
  const Workspace student;
  student.solve(104, "exp(", "expp(");
  student.solve(303);
  std::filesystem::resize_file(judge::exercise_file(303, student.path()), 1 << 30);
  student.solve(402);
  const Report report = student.climb();
  REQUIRE(report.rows.size() >= stages().size() + 2);
  CHECK(report.rows[1].id == "303 your forward.cpp");
  CHECK(report.rows[1].sentence.find("at most 262144 bytes") != std::string::npos);
  CHECK(report.rows[0].id == "104 your merge.cpp");
  CHECK(report.rows[0].status == Status::kFailed);
  CHECK(report.rows[0].sentence.find("merge.cpp does not compile") != std::string::npos);
  CHECK(std::count_if(report.rows.begin(), report.rows.end(), [](const ReportRow& row) {
          return row.status == Status::kPassed && !runs(row, 104);
        }) == static_cast<int>(stages().size()));
  CHECK_FALSE(report.good());
}

TEST_CASE("run --mine from the command line: exit codes, a column, and a refusal without any file") {
  const Workspace student;
  const Folder folder;
  const std::string command = "RINGCRAFT_WORKSPACE='" + student.path().string() + "' '" + RINGCRAFT_TOOL +
                              "' run --mine --tokens 60 --ranks 2";
  const Ran none = run_command(folder, command);
  CHECK(none.exit_code == 2);
  CHECK(none.err.find("run --mine: expected a started exercise in ") != none.err.npos);
  student.solve(403);
  student.solve(301);
  const Ran right = run_command(folder, command);
  INFO(right.out << right.err);
  CHECK(right.exit_code == 0);
  CHECK(right.out.find("your files: 301, 403;") != right.out.npos);
  CHECK(right.out.find("no stage of the ladder runs your 301") != right.out.npos);
  CHECK(right.out.find("right      403") != right.out.npos);
  student.start(302, "throw std::runtime_error(\"no\");");
  const Ran wrong = run_command(folder, command);
  INFO(wrong.out << wrong.err);
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.out.find(
            "302 distributed softmax: the stage runs your 302, 403; it ended with an exception: no") !=
        wrong.out.npos);
}

}  // namespace
}  // namespace ringcraft::tests
