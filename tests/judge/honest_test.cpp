// Honest code is judged, not refused; where it cannot be judged, the sentence says what to do.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "judge/build/toolchain.hpp"
#include "judge/tree/config.hpp"
#include "judge/verdict/judge.hpp"
#include "reports.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::Status;

// The library's own file of a lesson with `before` in front of it and `first` as the first line of its body.
struct Variant {
  explicit Variant(int number) : lesson(number) {
    std::ifstream file(original_file(lesson));
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  Variant& before(const std::string& lines) {
    text = lines + text;
    return *this;
  }
  Variant& first(const std::string& lines) {
    const std::string mark = "// BEGIN SOLUTION " + std::to_string(lesson);
    const auto body = text.find(mark);
    REQUIRE(body != text.npos);
    text.insert(body, lines + "\n  ");
    return *this;
  }
  Variant& without(const std::string& words) {
    const auto at = text.find(words);
    REQUIRE(at != text.npos);
    text.erase(at, text.find('\n', at) - at);
    return *this;
  }
  // The verdict on it, with these files beside it.
  Report judged(const std::vector<std::pair<std::string, std::string>>& beside = {}) const {
    const WorkFolder folder;
    const auto file = folder.path() / original_file(lesson).filename();
    std::ofstream(file) << text;
    for (const auto& [name, words] : beside) std::ofstream(folder.path() / name) << words;
    return check(lesson, file).report;
  }

  int lesson;
  std::string text;
};

void check_passes(const Report& report) {
  INFO(verify::text_of(report));
  CHECK(report.good());
  CHECK(report.points() == report.all_points());
}

}  // namespace

TEST_CASE("matrices of Eigen may be used") {
  check_passes(
      Variant(101)
          .before("#include <Eigen/Dense>\n")
          .first("using M = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;\n"
                 "  const Eigen::Map<const M> a(q.data.data(), q.rows, q.cols), b(k.data.data(), k.rows, "
                 "k.cols);\n"
                 "  const M scores = a * b.transpose();\n"
                 "  if (scores.size() < 0) return;")
          .judged());
}

TEST_CASE("constants of the standard library's types are no state, variables are") {
  const std::string include = "#include <map>\n#include <string>\n#include <vector>\n";
  check_passes(
      Variant(104)
          .before(include + "static const std::string name = \"a text too long to lie in the object\";\n")
          .first("static const std::vector<double> table{1, 2, 3};\n"
                 "  static std::map<int, std::string> const names = {{1, name}};\n"
                 "  static const auto more = std::vector<double>(table);\n"
                 "  if (names.empty() || more.empty()) return;\n"
                 "  if (name.empty() || table.empty()) return;")
          .judged());
  const Report kept =
      Variant(104).before(include).first("static std::vector<double> table{1, 2, 3};").judged();
  CHECK(testing::contains(row(kept, "104.belongs").sentence, "your file keeps table from call to call"));
}

TEST_CASE("a file may include others of its own folder, by any name") {
  check_passes(Variant(104)
                   .before("#include \"helper.inc\"\n#include \"more.hpp\"\n")
                   .first("if (twice(1) != 2 || thrice(1) != 3) return;")
                   .judged({{"helper.inc", "inline int twice(int x) { return 2 * x; }\n"},
                            {"more.hpp", "#pragma once\ninline int thrice(int x) { return 3 * x; }\n"}}));
}

TEST_CASE("a line that is missing at the end is told with its type") {
  const Report report = Variant(104).without("template void merge(Partial<float>").judged();
  CHECK(testing::contains(row(report, "104.belongs").sentence,
                          "your file no longer defines ringcraft::merge<float>;"));
}

TEST_CASE("a submission that writes to a file is told where to print") {
  const Variant right = Variant(104).before("#include <fstream>\n").first("std::ofstream(\"log.txt\") << 1;");
  check_passes(right.judged());
  const Report wrong = Variant(right).first("acc.sum[0] += 1;").judged();
  CHECK_FALSE(wrong.good());
  CHECK(testing::contains(row(wrong, "104.belongs").remark, "your file opens files, and here none can be"));
  CHECK(testing::count_of(verify::text_of(wrong), "opens files") == 1);
}

TEST_CASE("an object that is too large is not blamed on the compiler") {
  const Report report = Variant(104)
                            .before("namespace { double table[1 << 26] = {1}; }\n")
                            .first("if (table[0] == 0) return;\n  table[1] += 1;")
                            .judged();
  CHECK(testing::contains(row(report, "104.compiles").sentence, "an object of more than 256 MB"));
}

TEST_CASE("a submission that prints too much is told to print less") {
  const Report report = Variant(104)
                            .before("#include <cstdio>\n")
                            .first("for (int i = 0; i < 100000; ++i) std::puts(\"a line\");")
                            .judged();
  CHECK(testing::contains(row(report, "104.two-halves").sentence, "printed more than 64 KB"));
  CHECK(testing::contains(row(report, "104.two-halves").hint, "only what is wrong, or only on rank 0"));
}

}  // namespace ringcraft::judge
