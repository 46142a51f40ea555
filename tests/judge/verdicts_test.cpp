// Whole verdicts: other seeds pass, wrong calls are refused, a hang costs one deadline. Known wrong and
// equivalent files are judged by tests/misconceptions; that the library's own files pass and skeletons fail
// is tested lesson by lesson in tests/lessons.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "judge/config.hpp"
#include "judge/judge.hpp"
#include "reports.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::Status;

const std::filesystem::path kRoot = RINGCRAFT_SOURCE_DIR;  // the top of the source tree
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

TEST_CASE("other seeds pass as well") {
  const bool all = std::getenv("RINGCRAFT_LONG") != nullptr;
  for (std::uint64_t seed = 7; seed < 7 + (all ? 20u : 2u); ++seed)
    for (const LessonInfo& lesson : lessons()) {
      if (!lesson.checkable || (kSanitized && lesson.number % 6 != 0)) continue;  // a verdict takes ten times as long there
      CheckOptions options;
      options.seed = seed;
      const Report report = check_file(lesson.number, kRoot / lesson.source, options);
      INFO(verify::text_of(report));
      CHECK(report.good());
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
  const Report report = check_file(104, kAttacks / "syntax_error.cpp", options);
  CHECK(claims.size() == 12);  // two steps of the build, of which one is tried, and eleven checks
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
  testing::check_refused([&] { check(104, w); }, "./ringcraft start 104");
  testing::check_refused([&] { check_file(104, w / "nothing.cpp"); }, "a source file that exists");
  const auto file = start(104, w);
  testing::check_refused([&] { start(104, w); }, "go on writing in it");
  std::ofstream(file) << std::string(300 << 10, ' ');
  testing::check_refused([&] { check(104, w); }, "at most 262144 bytes");
}

// ---- attacks and the corpus (tests/misconceptions judges its files)

TEST_CASE("every lesson has known wrong and equivalent files") {
  for (const LessonInfo& lesson : lessons())
    for (const char* folder : {"tests/misconceptions", "tests/misconceptions/equivalent"}) {
      INFO(folder << "/" << lesson.name);
      CHECK(std::filesystem::is_directory(kRoot / folder / lesson.name));
    }
}

// A hang costs one deadline, not one per check.
TEST_CASE("after a hang nothing more is tried") {
  const auto begun = std::chrono::steady_clock::now();
  CheckOptions options;
  options.per_call = std::chrono::milliseconds(500);
  const Report report = check_file(104, kAttacks / "hangs.cpp", options);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));
  CHECK(failed(report) == std::set<std::string>{"104.two-halves"});
  CHECK(testing::contains(row(report, "104.nothing-with-nothing").sentence,
                          "did not come back in 104.two-halves"));
}

}  // namespace ringcraft::judge
