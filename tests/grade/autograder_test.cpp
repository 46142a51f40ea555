// The archive of an autograder: what it holds, and its script with a grader that is a small script itself.
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "grade/autograder/zip.hpp"
#include "io/files.hpp"
#include "process/child.hpp"
#include "support/catch.hpp"
#include "tool/commands/grade_commands.hpp"

#ifdef RINGCRAFT_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

const fs::path kScript = fs::path(RINGCRAFT_SOURCE_DIR) / "src/grade/autograder/run_autograder.sh";

// Gradescope's folders, with a grader that says which layers are missing, and writes down its arguments.
struct Place {
  test::Scratch folder;
  fs::path grader = folder / "source/build/release/bin/ringcraft-grader";

  explicit Place(const std::string& doctor, int code = 0) {
    for (const char* name : {"source/build/release/bin", "submission", "results"})
      fs::create_directories(folder / name);
    test::write_bytes(folder / "submission_metadata.json", "{}");
    test::write_bytes(folder / "source/lessons.txt", "104-105\n");
    test::write_bytes(grader, "#!/bin/sh\n[ $1 = doctor ] && { printf '" + doctor +
                                  "'; exit 0; }\nprintf '<%s>' \"$@\" > " + (folder / "called").string() +
                                  "\nexit " + std::to_string(code) + "\n");
    fs::permissions(grader, fs::perms::owner_all);
  }
  int run() const {
    process::Command command{.arguments = {"/bin/bash", kScript, folder / "."}, .environment = {}};
    process::inherit(command.environment, {"PATH"});
    return process::run_command(command, std::chrono::seconds(20)).ending.number;
  }
  std::string called() const { return test::bytes_of(folder / "called"); }
  mode_t mode(const std::string& name) const {
    struct stat status {};
    REQUIRE(::stat((folder / name).c_str(), &status) == 0);
    return status.st_mode & 0777;
  }
};

bool has(const std::string& text, const std::string& words) { return text.find(words) != text.npos; }

}  // namespace

TEST_CASE(
    "the script of an autograder grades the lessons that it was made for, and closes what is no student's") {
  const Place place("  here     files  x\\n");
  CHECK(place.run() == 0);
  CHECK(has(place.called(), "<grade><" + (place.folder / "./submission").string() + ">"));
  CHECK(has(place.called(), "<--lessons><104-105>"));
  CHECK(has(place.called(), "/results/results.json>"));
  CHECK(has(place.called(), "<--seed-file>"));
  CHECK(!has(place.called(), "--without"));
  CHECK(place.mode("results") == 0700);
  CHECK(place.mode("submission") == 0700);
  CHECK(place.mode("grades") == 0700);
  CHECK(place.mode("submission_metadata.json") == 0600);
}

TEST_CASE("the script of an autograder names exactly the layers that are missing") {
  const Place place(
      "  missing  calls       missing here\\n      why it is missing\\n  here     files  x\\n  missing  user "
      " y\\n");
  CHECK(place.run() == 0);
  CHECK(has(place.called(), "<--without><calls,user>"));
}

TEST_CASE("the script of an autograder fails if the grader does, and if no layers are known") {
  CHECK(Place("", 3).run() == 3);
  const Place place("");
  test::write_bytes(place.grader, "#!/bin/sh\nexit 5\n");
  CHECK(place.run() == 5);
}

#ifdef RINGCRAFT_HAS_LIBARCHIVE
namespace {

// Paths in a zip -> permissions.
std::map<std::string, unsigned> listed(const fs::path& zip) {
  std::map<std::string, unsigned> modes;
  struct archive* reading = archive_read_new();
  archive_read_support_format_zip_seekable(reading);
  REQUIRE(archive_read_open_filename(reading, zip.c_str(), 1 << 16) == ARCHIVE_OK);
  for (struct archive_entry* entry; archive_read_next_header(reading, &entry) == ARCHIVE_OK;)
    modes[archive_entry_pathname(entry)] = archive_entry_perm(entry);
  archive_read_free(reading);
  return modes;
}

}  // namespace

TEST_CASE(
    "an autograder's archive holds the tree with its solutions, and neither history nor builds nor tests") {
  const test::Scratch folder;
  const std::string zip = folder / "autograder.zip";
  CHECK(tool::gradescope({.lessons = "104-105", .out = zip, .seed = "00112233445566778899aabbccddeeff"}) ==
        0);
  const auto modes = listed(zip);
  for (const char* name : {"setup.sh", "run_autograder", "ringcraft"}) {
    INFO(name);
    REQUIRE(modes.contains(name));
    CHECK(modes.at(name) == 0755);
  }
  for (const char* name : {"lessons.txt", "seed.txt", "CMakeLists.txt", "src/ringcraft/attention/merge.cpp",
                           "lessons/104_merge/checks.cpp"}) {
    INFO(name);
    REQUIRE(modes.contains(name));
    CHECK(modes.at(name) == 0644);
  }
  for (const auto& [path, mode] : modes) {
    INFO(path);
    for (const char* start : {".git/", "build/", "exercises/", "tests/", "/"})
      CHECK(!path.starts_with(start));
    CHECK(path.find("..") == path.npos);
  }
  struct stat status {};
  REQUIRE(::stat(zip.c_str(), &status) == 0);
  CHECK((status.st_mode & 0077) == 0);  // it holds the solutions
}

TEST_CASE("an autograder's archive is never written over something, and only for lessons that are judged") {
  const test::Scratch folder;
  const std::string zip = folder / "autograder.zip";
  test::write_bytes(zip, "mine");
  test::require_fragment(test::error_of([&] { tool::gradescope({.lessons = "104", .out = zip}); }),
                         "File exists");
  CHECK(test::bytes_of(zip) == "mine");
  fs::remove(zip);
  CHECK_THROWS_AS(tool::gradescope({.lessons = "999", .out = zip}), Error);
  CHECK_THROWS_AS(tool::gradescope({.lessons = "104", .out = zip, .seed = "short"}), Error);
  CHECK(!fs::exists(zip));
}

TEST_CASE("the same files give the same archive") {
  const test::Scratch folder;
  for (const char* name : {"one.zip", "two.zip"})
    write_zip(folder / name, {{"a/b.txt", "words"}, {"run", "x", true}});
  CHECK(test::bytes_of(folder / "one.zip") == test::bytes_of(folder / "two.zip"));
}
#endif

}  // namespace ringcraft::grade
