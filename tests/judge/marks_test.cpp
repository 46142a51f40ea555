// The parser of marks rejects every line that is not exactly a mark, with file and line; skeletons keep
// everything but the body.
#include "judge/tree/marks.hpp"

#include <fstream>
#include <sstream>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

const std::set<int> kLessons{104, 303};

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(RINGCRAFT_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr const char* kGood =
    "int f() {\n"
    "  // BEGIN SOLUTION 104 [f]\n"
    "  return 1;\n"
    "  // END SOLUTION [f]\n"
    "}\n"
    "int g() {\n"
    "  // BEGIN SOLUTION 303 [g]\n"
    "  int two = 2;\n"
    "  return two;\n"
    "  // END SOLUTION [g]\n"
    "}\n";

}  // namespace

TEST_CASE("well-formed marks give their regions") {
  const auto regions = parse_marks(kGood, "a.cpp", kLessons);
  REQUIRE(regions.size() == 2);
  CHECK(regions[0].lesson == 104);
  CHECK(regions[0].name == "f");
  CHECK(regions[0].begin == 2);
  CHECK(regions[0].end == 4);
  CHECK(regions[0].lines() == 1);
  CHECK(regions[0].indent == "  ");
  CHECK(regions[1].lesson == 303);
  CHECK(regions[1].lines() == 2);
  CHECK(parse_marks("int x;\n", "a.cpp", kLessons).empty());
}

TEST_CASE("malformed marks are refused with file and line") {
  struct Malformed {
    const char* text;
    const char* fragment;
  };
  const Malformed bad = GENERATE(values<Malformed>({
      {"// BEGIN SOLUTION 104 [f]\nx\n",
       "a.cpp:1: expected an END for the BEGIN of [f], got the end of the file"},
      {"x\n// END SOLUTION [f]\n", "a.cpp:2: expected a BEGIN before this END"},
      {"// BEGIN SOLUTION 104 [f]\nx\n// BEGIN SOLUTION 104 [g]\n",
       "a.cpp:3: expected the END of [f], begun in line 1"},
      {"// BEGIN SOLUTION 104 [f]\nx\n// END SOLUTION [g]\n", "a.cpp:3: expected the END of [f], got [g]"},
      {"// BEGIN SOLUTION 104 [f]\n// END SOLUTION [f]\n", "a.cpp:2: expected a body between the marks"},
      {"// BEGIN SOLUTION 105 [f]\nx\n// END SOLUTION [f]\n",
       "a.cpp:1: expected the number of a lesson, got 105"},
      {"// BEGIN SOLUTION 104 [f]\nx\n// END SOLUTION [f]\n// BEGIN SOLUTION 303 [f]\nx\n// END SOLUTION "
       "[f]\n",
       "a.cpp:4: expected a name that is used once"},
      {"// BEGIN SOLUTION [f]\nx\n// END SOLUTION [f]\n", "a.cpp:1: expected '// BEGIN SOLUTION 104 [name]'"},
      {"// BEGIN SOLUTION 104 f\nx\n// END SOLUTION [f]\n", "a.cpp:1: expected '// BEGIN"},
      {"// BEGIN SOLUTION 104 [f] here\nx\n// END SOLUTION [f]\n", "a.cpp:1: expected '// BEGIN"},
      {"int x;  // BEGIN SOLUTION 104 [f]\nx\n// END SOLUTION [f]\n", "a.cpp:1: expected '// BEGIN"},
      {"//BEGIN SOLUTION 104 [f]\nx\n// END SOLUTION [f]\n", "a.cpp:1: expected '// BEGIN"},
      {"// BEGIN SOLUTION 104 [f]\nx\n// END SOLUTION 104 [f]\n", "a.cpp:3: expected '// BEGIN"},
      {"// BEGIN SOLUTION 104 [f g]\nx\n// END SOLUTION [f g]\n", "a.cpp:1: expected '// BEGIN"},
      {"\t// BEGIN SOLUTION 104 [f]\nx\n// END SOLUTION [f]\n", "a.cpp:1: expected '// BEGIN"},
  }));
  testing::check_refused([&] { parse_marks(bad.text, "a.cpp", kLessons); }, bad.fragment);
}

TEST_CASE("lines of any length are read, and shown shortened") {
  const std::string blanks(300'000, ' '), name(300'000, 'a');
  const auto regions = parse_marks(
      blanks + "// BEGIN SOLUTION 104 [" + name + "]\nx\n" + blanks + "// END SOLUTION [" + name + "]\n",
      "a.cpp", kLessons);
  REQUIRE(regions.size() == 1);
  CHECK(regions[0].name == name);
  CHECK(regions[0].indent == blanks);
  const auto outcome =
      testing::outcome_of([&] { parse_marks("\x1b[2J BEGIN SOLUTION " + name, "a.cpp", kLessons); });
  CHECK(testing::contains(outcome.sentence, "a.cpp:1: expected '// BEGIN SOLUTION 104 [name]'"));
  CHECK(testing::contains(outcome.sentence, "got ?[2J BEGIN SOLUTION aaa"));
  CHECK(outcome.sentence.size() < 400);
}

TEST_CASE("a skeleton loses the bodies of its lesson and all marks") {
  CHECK(skeleton(kGood, "a.cpp", kLessons, 104) ==
        "int f() {\n"
        "  // TODO: write f here, about 1 line.\n"
        "  throw NotWritten(104);\n"
        "}\n"
        "int g() {\n"
        "  int two = 2;\n"
        "  return two;\n"
        "}\n");
  testing::check_refused([] { skeleton("int x;\n", "a.cpp", kLessons, 104); },
                         "a.cpp: expected marks of lesson 104");
}

TEST_CASE("the library's files have the marks of their lessons") {
  const auto merge = parse_marks(text_of("src/ringcraft/attention/merge.cpp"), "merge.cpp", kLessons);
  REQUIRE(merge.size() == 1);
  CHECK(merge[0].name == "merge");
  const auto forward = parse_marks(text_of("src/ringcraft/ring/forward.cpp"), "forward.cpp", kLessons);
  REQUIRE(forward.size() == 1);
  CHECK(forward[0].name == "ring_forward");
  const std::string text = skeleton(text_of("src/ringcraft/ring/forward.cpp"), "forward.cpp", kLessons, 303);
  CHECK(testing::contains(text, "refuse(problem"));
  CHECK_FALSE(testing::contains(text, "engine.forward"));
}

}  // namespace ringcraft::judge
