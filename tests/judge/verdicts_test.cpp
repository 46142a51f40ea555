// Whole verdicts: wrong calls are refused, a hang costs one deadline. Known wrong and equivalent files are
// judged by tests/misconceptions; that the library's own files pass and skeletons fail is tested lesson by
// lesson in tests/lessons.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "judge/tree/config.hpp"
#include "judge/verdict/judge.hpp"
#include "misconceptions/edit.hpp"
#include "reports.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::Status;

const std::filesystem::path kAttacks = kRoot / "tests/attacks/104_merge";

class Workspace {  // a folder that removes itself
 public:
  explicit Workspace(const char* name) : path_(std::filesystem::path(RINGCRAFT_BINARY_DIR) / name) {
    std::filesystem::remove_all(path_);
  }
  ~Workspace() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("answers for the worlds of the corpus alone earn nothing under a seed that nobody knows") {
  const std::pair<int, const char*> files[] = {{501, "501_all_gather/knows_small_worlds"},
                                               {502, "502_ulysses/knows_the_fixed_deals"},
                                               {503, "503_hybrids/knows_the_fixed_worlds"}};
  for (const auto& [lesson, name] : files) {
    CheckOptions options;
    options.seed = 777;
    const Report report =
        check(lesson, HandedIn(lesson, kRoot / "tests/attacks" / name).file(), options).report;
    INFO(verify::text_of(report));
    CHECK(report.points() <= 3);  // of one and two ranks, which leave no choice
  }
}

TEST_CASE("a link to a file of the student's own is judged, one to another file is not") {
  const Workspace workspace("links");
  const auto folder = workspace.path() / "104_merge";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(kRoot / "src/ringcraft/attention/merge.cpp", workspace.path() / "mine.cpp");
  std::filesystem::create_symlink("../mine.cpp", folder / "own.cpp");
  std::filesystem::create_symlink(kRoot / "src/ringcraft/attention/merge.cpp", folder / "solution.cpp");
  std::filesystem::create_symlink("/etc/passwd", folder / "passwords.cpp");
  CHECK(check(104, folder / "own.cpp").report.good());
  for (const char* name : {"solution.cpp", "passwords.cpp"}) {
    const Report report = check(104, folder / name).report;
    CHECK(failed(report) == std::set<std::string>{"104.compiles"});
    CHECK(row(report, "104.compiles").sentence ==
          std::string(name) + " is a link to a file outside of your folder: put a file of your own there");
  }
}

TEST_CASE("progress names every step") {
  std::vector<std::string> claims;
  CheckOptions options;
  options.progress = [&](const std::string& claim, int done, int total) {
    CHECK(done == static_cast<int>(claims.size()));
    claims.push_back(claim);
    CHECK(done < total);
  };
  const Report report = check(104, kAttacks / "syntax_error.cpp", options).report;
  CHECK(claims.size() == 13);  // two steps of the build, of which one is tried, and twelve checks
  CHECK(report.rows.size() == claims.size());
}

TEST_CASE("wrong calls are refused with the next thing to type") {
  const Workspace workspace("wrong_calls");
  const auto w = workspace.path();
  std::string known = "one of ";
  for (const LessonInfo& lesson : lessons())
    known += std::to_string(lesson.number) + (lesson.number == lessons().back().number ? ", got 999" : ", ");
  testing::check_refused([&] { start(999, w); }, known);
  testing::check_refused([&] { check(999, w); }, known);
  testing::check_refused([&] { started_file(104, w); }, "./ringcraft start 104");
  testing::check_refused([&] { check(104, w / "nothing.cpp"); }, "a file that can be read");
  const auto file = start(104, w);
  testing::check_refused([&] { start(104, w); }, "continue with it, or move it away");
  std::ofstream(file) << std::string(300 << 10, ' ');
  testing::check_refused([&] { check(104, file); }, "at most 262144 bytes");
}

// ---- kernels

namespace {

bool runs_kernels() {
  const auto all = lessons();
  return std::ranges::find(all, 201, &LessonInfo::number)->checkable;
}

}  // namespace

TEST_CASE("words that stay hidden are those of every exception, and a refused message keeps its cause") {
  CheckOptions hidden;
  hidden.words = Words::kHidden;
  const Report thrown = check(104, kAttacks / "throws.cpp", hidden).report;
  CHECK(row(thrown, "104.two-halves").sentence ==
        "your program threw an exception, whose words are not shown here, in call 1 of merge");
  const HandedIn no_modulo(303, kRoot / "tests/misconceptions/303_ring_forward/no_modulo");
  const Report refused = check(303, no_modulo.file(), hidden).report;
  CHECK(testing::contains(row(refused, "303.no-deadlock").sentence,
                          "rank 1 addressed a rank that does not exist in call 1 of ring_forward"));
  REQUIRE(row(refused, "303.no-deadlock").causes.size() == 1);
  CHECK(row(refused, "303.no-deadlock").causes[0].id == "travel-modulo");
  if (!runs_kernels()) return;
  const HandedIn long_words(201, kRoot / "tests/attacks/201_naive_kernel/long_words");
  const Report kernel = check(201, long_words.file(), hidden).report;
  CHECK(!testing::contains(verify::text_of(kernel), "xxx"));
  CHECK(testing::contains(row(kernel, "201.scores").sentence, "whose words are not shown here"));
  const HandedIn finding(202, kRoot / "tests/attacks/202_tiles/words_a_finding_itself");
  const Report worded = check(202, finding.file(), hidden).report;
  CHECK(row(worded, "202.one-tile").status == Status::kFailed);
  CHECK(!testing::contains(verify::text_of(worded), "my inputs"));
  CHECK(testing::contains(row(worded, "202.one-tile").sentence, "out_gmem"));
}

TEST_CASE("without an executor a kernel is not judged, and says what is missing") {
  const std::filesystem::path file = kRoot / "kernels/forward/01_naive.cu";
  if (runs_kernels())
    CHECK(check(201, file).report.good());
  else
    testing::check_refused([&] { check(201, file); }, "libboost-context-dev", Code::kMissing);
  testing::check_refused([&] { build_for_debugging(201, file); }, "./ringcraft check 201");
}

TEST_CASE("findings of a checked launch name the student's file and line") {
  if (!runs_kernels()) return;
  const std::filesystem::path folder = kRoot / "tests/misconceptions/201_naive_kernel";
  const auto sentence_of = [&](const char* name, const char* id) {
    return row(check(201, HandedIn(201, folder / name).file()).report, id).sentence;
  };
  const std::string bounds = sentence_of("no_guard", "201.scores");
  INFO(bounds);
  CHECK(testing::contains(bounds, "at no_guard.cu:"));
  CHECK(testing::contains(bounds, "of begin_gmem (24 bytes): out of bounds"));
  CHECK_FALSE(testing::contains(bounds, "+0x"));
  const std::string race = sentence_of("one_sum_for_many", "201.values");
  INFO(race);
  CHECK(testing::contains(race, "data race at byte"));
  CHECK(testing::contains(race, "of out_gmem ("));
  CHECK(testing::contains(race, "one_sum_for_many.cu:"));
}

TEST_CASE("while a kernel is not written, the checks of the kernels before it are tried") {
  if (!runs_kernels()) return;
  const Workspace workspace("one_kernel");
  const auto file = start(201, workspace.path());
  std::ifstream skeleton(file), original(kRoot / "kernels/forward/01_naive.cu");
  std::string text{std::istreambuf_iterator<char>(skeleton), {}};
  const std::string solution{std::istreambuf_iterator<char>(original), {}};
  const auto begin = solution.find("  const Index i = thread_of_this_head();");
  const auto todo = text.find("  // TODO: write scores");
  REQUIRE(todo != text.npos);
  const auto end = text.find("}", text.find("throw NotWritten", todo));
  text.replace(todo, end - todo, solution.substr(begin, solution.find("  // END SOLUTION [scores]") - begin));
  std::ofstream(file) << text;
  const Report report = check(201, file).report;
  INFO(verify::text_of(report));
  CHECK(row(report, "201.scores").status == Status::kPassed);
  CHECK(testing::contains(row(report, "201.weights").sentence, "lesson 201 is not written yet"));
  CHECK(testing::contains(row(report, "201.weights").hint, "The TODO still stands"));
}

// ---- attacks and the corpus (tests/misconceptions judges its files)

TEST_CASE("every lesson has known wrong and equivalent files") {
  for (const LessonInfo& lesson : lessons())
    for (const char* folder : {"tests/misconceptions", "tests/misconceptions/equivalent"}) {
      INFO(folder << "/" << lesson.name);
      CHECK(std::filesystem::is_directory(kRoot / folder / lesson.name));
    }
}

TEST_CASE("a first version with two mistakes gets the cause of each") {
  const Workspace workspace("two_mistakes");
  const auto reported = [&](int lesson, const char* body) {
    std::filesystem::create_directories(workspace.path());
    const auto file = workspace.path() / "first_version.cpp";
    std::ofstream(file) << "#include <algorithm>\n#include <cmath>\n#include <limits>\n"
                           "#include \"ringcraft/attention/softmax.hpp\"\nnamespace ringcraft {\n"
                        << body << "}\n";
    return check(lesson, file).report;
  };
  const auto ids_in = [](const Report& report, const std::string& id) {
    INFO(verify::text_of(report));
    std::set<std::string> ids;
    for (const verify::Cause& cause : row(report, id).causes) ids.insert(cause.id);
    return ids;
  };
  // The sum is not rescaled with the maximum, and a row without a key is not handled.
  const Report never_follows = reported(103, R"(
    template <class T> SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
      for (std::size_t j = 0; j < scores.size(); ++j) {
        if (scores[j] > state.max) state.max = scores[j];
        state.sum += std::exp(scores[j] - state.max);
      }
      return state;
    }
    template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
    template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);
  )");
  CHECK(ids_in(never_follows, "103.rising").contains("scan-factor-one-sum"));
  // A score is read after its weight has overwritten it, and again a row without a key is not handled.
  const Report asked_twice = reported(102, R"(
    template <class T> void safe_softmax(std::span<const T> scores, std::span<T> weights) {
      T m = -std::numeric_limits<T>::infinity(), l = 0;
      for (const T s : scores) m = std::max(m, s);
      for (std::size_t j = 0; j < scores.size(); ++j) l += weights[j] = std::exp(scores[j] - m);
      for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - m) / l;
    }
    template void safe_softmax(std::span<const float>, std::span<float>);
    template void safe_softmax(std::span<const double>, std::span<double>);
  )");
  CHECK(ids_in(asked_twice, "102.nothing-seen") == std::set<std::string>{"scan-finish"});
  const std::string both = row(asked_twice, "102.nothing-seen").causes.front().sentence;
  CHECK(testing::contains(both, "a row without a visible score is not treated apart"));
  CHECK(testing::contains(both, "and are then read as scores once more"));
  CHECK(ids_in(asked_twice, "102.drives-dense-attention").empty());  // the causes are in the first row
}

// A hang costs one deadline, not one per check.
TEST_CASE("after a hang nothing more is tried") {
  CheckOptions options;
  options.per_call = std::chrono::milliseconds(500);
  const Report report = check(104, kAttacks / "hangs.cpp", options).report;
  CHECK(failed(report) == std::set<std::string>{"104.two-halves"});
  CHECK(testing::contains(row(report, "104.nothing-with-nothing").sentence,
                          "did not come back in 104.two-halves"));
  int untried = 0;
  for (const verify::ReportRow& one : report.rows)
    untried += testing::contains(one.sentence, "did not come back in 104.two-halves");
  CHECK(untried > 1);
}

// Nor does a loop without end that stores something cost all memory once per check.
TEST_CASE("after memory has run out in three checks nothing more is tried") {
  const Report report = check(104, kAttacks / "has_no_memory.cpp").report;
  CHECK(failed(report).size() == 3);
  int untried = 0;
  for (const verify::ReportRow& one : report.rows)
    untried += testing::contains(one.sentence, "ran out of memory again in 104.");
  CHECK(untried > 1);
}

}  // namespace ringcraft::judge
