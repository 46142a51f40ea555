// Accesses beside an argument or below the stack are named, and so are an exit before main and a variable
// that is read before it is set.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "judge/build/toolchain.hpp"
#include "judge/run/stray.hpp"
#include "judge/tree/config.hpp"
#include "judge/verdict/judge.hpp"
#include "reports.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using testing::contains;
using verify::Report;

// The verdict on lesson 104's own file with `before` in front of the function and `lines` in its loop over
// rows.
Report with_lines(const std::string& lines, const std::string& before = "") {
  std::ifstream original(original_file(104));
  std::string text(std::istreambuf_iterator<char>(original), {});
  const auto add = [&](const std::string& mark, const std::string& what) {
    const auto at = text.find(mark);
    REQUIRE(at != text.npos);
    text.insert(at, what);
  };
  add("    m = largest;", "    " + lines + "\n");
  add("template <class T>", before + "\n");
  const WorkFolder folder;
  const auto file = folder.path() / "merge.cpp";
  std::ofstream(file) << text;
  return check(104, file).report;
}

// The sentence of the first check that fails.
std::string first_failure(const Report& report) {
  INFO(verify::text_of(report));
  const auto first = std::ranges::find(report.rows, verify::Status::kFailed, &verify::ReportRow::status);
  REQUIRE(first != report.rows.end());
  return first->sentence;
}

}  // namespace

TEST_CASE("an element read or written beside an argument is named, with the argument and the line") {
  if (kSanitized) return;
  const std::string read_after = first_failure(with_lines("l += block.sum.data()[acc.out.rows];"));
  CHECK(contains(read_after,
                 "read the element after the last one of its second argument (memory of 48 bytes)"));
  CHECK(contains(read_after, "at merge.cpp:"));
  const std::string read_before = first_failure(with_lines("l += block.sum.data()[i - 1];"));
  CHECK(contains(read_before, "read the element before the first one of its second argument"));
  const std::string wrote_after = first_failure(with_lines("acc.sum.data()[i + 1] = T(i);"));
  CHECK(contains(wrote_after, "wrote the element after the last one of its first argument"));
  const std::string wrote_before = first_failure(with_lines("if (i == 0) acc.max.data()[-1] = T(1);"));
  CHECK(contains(wrote_before, "wrote the element before the first one of its first argument"));
  const std::string far = first_failure(with_lines("acc.out.data.data()[acc.out.data.size() + 10] = T(1);"));
  CHECK(contains(far, "wrote 80 bytes after the last element of its first argument (memory of 240 bytes)"));
}

TEST_CASE("a stack that overflows and a null pointer are told apart from other crashes") {
  if (kSanitized) return;
  const std::string endless = first_failure(with_lines("volatile int x = 1;\n    l += T(deeper(&x));",
                                                       "namespace {\nint deeper(volatile int* x) { volatile "
                                                       "int more[50] = {*x}; return more[1] + deeper(more) + "
                                                       "more[0]; }\n}"));
  CHECK(contains(endless, "overflowed its stack (a function that calls itself without end"));
  const std::string large = first_failure(
      with_lines("volatile char room[64 << 20];\n    room[0] = 1;\n    room[i] = 2;\n    l += T(room[0]);"));
  CHECK(contains(large, "overflowed its stack"));
  const std::string null = first_failure(with_lines("T* volatile nothing = nullptr;\n    l += *nothing;"));
  CHECK(contains(null, "read through a null pointer"));
}

TEST_CASE("a program that ends before main is not said to have ended in a call") {
  const Report report =
      with_lines("", "#include <cstdlib>\nconst struct Early { Early() { std::exit(3); } } early;");
  const std::string sentence = first_failure(report);
  CHECK(contains(sentence,
                 "exit code 3, while the variables outside of its functions were initialised, before "
                 "call 1 of merge"));
}

TEST_CASE("a small write into the block is told as that") {
  const Report report = with_lines("const_cast<T&>(block.out(i, 0)) += T(1e-9);");
  INFO(verify::text_of(report));
  REQUIRE_FALSE(row(report, "104.two-halves").causes.empty());
  CHECK(row(report, "104.two-halves").causes.front().id == "solved-merge-writes");
}

TEST_CASE("a variable that is read before it is set is remarked, once for all types") {
  const Report report = with_lines("T unset;\n    if (l > T(3)) unset = l;\n    l += unset;");
  const std::string remark = row(report, "104.compiles").remark;
  INFO(remark);
  CHECK(testing::count_of(remark, "'unset' may be used uninitialized") == 1);
}

TEST_CASE("memory that was touched in words") {
  CHECK(text_of(Stray{}).empty());
  CHECK(text_of(Stray{Stray::Where::kAfter, Stray::How::kTouched, kNoArgument, 3, 16}) ==
        "touched the element after the last one of a copy of an argument (memory of 16 bytes)");
  CHECK(text_of(Stray{Stray::Where::kBefore, Stray::How::kRead, 9, 24, 8}) ==
        "read 24 bytes before the first element of its argument 10 (memory of 8 bytes)");
}

}  // namespace ringcraft::judge
