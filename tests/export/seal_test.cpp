// Text that shows a solution is found before it is exported: in tests, in pages, in copies; lists of lessons.
#include "tool/export/seal.hpp"

#include <fstream>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "tool/course/lesson_list.hpp"
#include "tool/tool_process.hpp"

namespace ringcraft::tests {
namespace {

using tool::lessons_listed;
using tool::listed_lessons;
using tool::StudentTree;

constexpr const char* kSolution =
    "#include \"x.hpp\"\n"
    "void f() {\n"
    "  // BEGIN SOLUTION 104 [f]\n"
    "  const double first_step = begin_it();\n"
    "  const double second_step = go_on_with(first_step);\n"
    "  const double third_step = go_on_with(second_step);\n"
    "  const double fourth_step = go_on_with(third_step);\n"
    "  finish_it(fourth_step);\n"
    "  // END SOLUTION [f]\n"
    "}\n";

// A small project.
class Project {
 public:
  Project() { write("src/ringcraft/f.cpp", kSolution); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.file(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  StudentTree exported(const std::set<int>& sealed = {104}) const {
    return tool::student_tree(folder_.file(""), sealed, {104, 105});
  }
  std::string refusal() const {
    try {
      exported();
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  }

 private:
  Folder folder_;
};

TEST_CASE("a body is taken out, and stays where its lesson is solved") {
  const Project project;
  project.write("src/ringcraft/empty.hpp", "");
  const StudentTree tree = project.exported();
  CHECK(tree.sealed == std::vector<std::string>{"src/ringcraft/f.cpp"});
  CHECK(tree.files.at("src/ringcraft/f.cpp") ==
        "#include \"x.hpp\"\nvoid f() {\n  // TODO: write f here, about 5 lines.\n"
        "  throw NotWritten(104);\n}\n");
  CHECK(tree.files.at("src/ringcraft/empty.hpp").empty());
  const StudentTree solved = project.exported({105});
  CHECK(solved.sealed.empty());
  CHECK(solved.files.at("src/ringcraft/f.cpp") == kSolution);
}

TEST_CASE("a test that shows a line of a body is left out") {
  const Project project;
  project.write("tests/core/a_test.cpp", "  finish_it(fourth_step);  // as in the library\n");
  project.write("tests/core/b_test.cpp", "void other();\n");
  const StudentTree tree = project.exported();
  CHECK(tree.left_out == std::vector<std::string>{"tests/core/a_test.cpp"});
  CHECK_FALSE(tree.files.contains("tests/core/a_test.cpp"));
  CHECK(tree.files.contains("tests/core/b_test.cpp"));
}

TEST_CASE("a page that shows a line of a body is refused by file and line") {
  const Project project;
  project.write("docs/pages/f.md", "# f\n\n    const double third_step = go_on_with(second_step);\n");
  CHECK(project.refusal() ==
        "export: expected no line of a sealed body in docs/pages/f.md, got line 3; say it in other words, or "
        "move "
        "it out of the tree");
}

TEST_CASE("a copy of a body in other code is refused") {
  const Project project;
  std::string copy = kSolution;
  for (const char* mark : {"  // BEGIN SOLUTION 104 [f]\n", "  // END SOLUTION [f]\n"})
    copy.erase(copy.find(mark), std::string(mark).size());
  project.write("src/ringcraft/f_old.cpp", copy);
  CHECK(project.refusal().find("expected no other file with the body of src/ringcraft/f.cpp") !=
        std::string::npos);
}

TEST_CASE("malformed marks are refused by file and line") {
  const Project project;
  project.write("src/ringcraft/g.cpp", "  // BEGIN SOLUTION 105 [g]\n  g();\n");
  CHECK(project.refusal().find("src/ringcraft/g.cpp:1: expected an END") != std::string::npos);
}

TEST_CASE("lists of lessons") {
  const std::set<int> known{101, 102, 103, 104, 301};
  CHECK(lessons_listed("--solved", "", known).empty());
  CHECK(lessons_listed("--solved", "104", known) == std::set<int>{104});
  CHECK(lessons_listed("--solved", "301,101-103", known) == std::set<int>{101, 102, 103, 301});
  CHECK(lessons_listed("--solved", "103-301,104", known) == std::set<int>{103, 104, 301});
  for (const char* wrong :
       {"101-", "-101", "101-102-103", " 101", "101;102", "0x65", "+101", "104-101", ",", "99999999999"}) {
    INFO(wrong);
    CHECK_THROWS_AS(lessons_listed("--solved", wrong, known), Error);
  }
  CHECK(listed_lessons({101, 102, 104, 301}, known) == "101-102, 104-301");
  CHECK(listed_lessons({}, known) == "none");
}

}  // namespace
}  // namespace ringcraft::tests
