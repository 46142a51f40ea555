// exercises/progress.txt: facts that no order, no duplicate and no other program loses.
#include "tool/course/progress.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;
using tool::ProgressFile;

TEST_CASE("progress is read in any order, with duplicates, blanks and the line ends of another system") {
  const Folder folder;
  const std::string path = folder.file("progress.txt");
  write(path,
        "303 hint 1\r\n104 hint 2\r\n\r\n  104   passed  00ff \n104 hint 1\n104 hint 2\n303 hint many\n"
        "<<<<<<< HEAD\n105 passed\n1044 passed\n106 passed_not\n107\n");
  const ProgressFile progress(path);
  CHECK(progress.passed("104"));
  CHECK(progress.passed_with("104", "00ff"));
  CHECK_FALSE(progress.passed_with("104", "00fe"));
  CHECK(progress.passed("105"));
  CHECK_FALSE(progress.passed_with("105", ""));
  for (const char* id : {"10", "106", "107", "303", "passed"}) CHECK_FALSE(progress.passed(id));
  CHECK(progress.hints("104") == 2);
  CHECK(progress.hints("303") == 1);
  CHECK(progress.hints("101") == 0);
}

TEST_CASE("a fact is added once, and unknown lines are kept unchanged") {
  const Folder folder;
  const std::string path = folder.file("exercises/progress.txt");  // the folder is made
  ProgressFile(path).add_passed("104", "aa");
  write(path, "my own note, with  two blanks\r\n" + contents(path));
  ProgressFile progress(path);
  progress.add_passed("104", "aa");
  progress.add_passed("104", "");  // says less than what is known
  progress.add_passed("104", "bb");
  progress.add_hints("301.deadlock", 2);
  progress.add_hints("301.deadlock", 1);
  CHECK(contents(path) ==
        "my own note, with  two blanks\n104 passed aa\n104 passed bb\n301.deadlock hint 2\n");
  CHECK(ProgressFile(path).hints("301.deadlock") == 2);
}

TEST_CASE("a passed exercise is done until a file of it fails, and again with one that has passed") {
  const Folder folder;
  const std::string path = folder.file("progress.txt");
  ProgressFile progress(path);
  progress.add_failed("104", "aa");  // no fact about an exercise that never passed
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_FALSE(progress.done("104", "aa"));
  progress.add_passed("104", "aa");
  progress.add_failed("104", "bb");
  progress.add_failed("104", "bb");
  progress.add_failed("104", "");
  CHECK(contents(path) == "104 passed aa\n104 failed bb\n");
  CHECK(progress.done("104", "aa"));
  CHECK_FALSE(progress.done("104", "bb"));
  CHECK(progress.done("104", "cc"));  // not checked yet
  CHECK(progress.done("104", ""));    // no file
  CHECK(progress.passed("104"));
  progress.add_passed("104", "bb");
  CHECK(progress.done("104", "bb"));
}

TEST_CASE("two programs that add to one progress file lose none of each other's facts") {
  const Folder folder;
  const std::string path = folder.file("progress.txt");
  ProgressFile first(path), second(path);
  first.add_passed("101", "aa");
  second.add_passed("102", "bb");
  first.add_hints("103", 1);
  CHECK(contents(path) == "101 passed aa\n102 passed bb\n103 hint 1\n");
  CHECK(second.passed("101"));
}

TEST_CASE("progress is replaced whole: nothing is left beside it, and a link to it stays a link") {
  const Folder folder;
  const std::string path = folder.file("progress.txt"), target = folder.file("elsewhere.txt");
  write(target, "101 passed\n");
  std::filesystem::create_symlink(target, path);
  ProgressFile(path).add_hints("104", 1);
  CHECK(std::filesystem::is_symlink(path));
  CHECK(contents(target) == "101 passed\n104 hint 1\n");
  std::filesystem::create_symlink("later.txt", folder.file("dangling.txt"));
  ProgressFile(folder.file("dangling.txt")).add_hints("104", 1);
  CHECK(std::filesystem::is_symlink(folder.file("dangling.txt")));
  CHECK(contents(folder.file("later.txt")) == "104 hint 1\n");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("")))
    files += entry.path().filename().string().find("new") != std::string::npos;
  CHECK(files == 0);
}

TEST_CASE("progress that cannot be read or written is an error, and earlier facts stay") {
  const Folder folder;
  std::filesystem::create_directories(folder.file("progress.txt"));  // a folder in its place
  CHECK_THROWS_AS(ProgressFile(folder.file("progress.txt")), Error);
  write(folder.file("file"), "x");
  ProgressFile progress(folder.file("file/progress.txt"));
  CHECK_THROWS_AS(progress.add_hints("104", 1), Error);
  CHECK(contents(folder.file("file")) == "x");
}

TEST_CASE("a fingerprint changes with any byte") {
  CHECK(tool::fingerprint("") == "cbf29ce484222325");  // the published values of FNV-1a
  CHECK(tool::fingerprint("a") == "af63dc4c8601ec8c");
  CHECK(tool::fingerprint("foobar") == "85944171f73967e8");
  CHECK(tool::fingerprint_of("/nowhere/at/all").empty());
}

TEST_CASE("a path that is no regular file has no fingerprint, and is not read forever") {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(tool::fingerprint_of(pipe).empty());
  CHECK(tool::fingerprint_of(folder.file("")).empty());
  CHECK(tool::fingerprint_of("/dev/zero").empty());
}
