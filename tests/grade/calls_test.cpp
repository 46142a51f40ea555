// Calls of grade and doctor as an instructor types them: a wrong one ends with exit code 2 or 3, one
// sentence, and no verdict.
#include <algorithm>
#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft::tests;

namespace {

struct Refusal {
  const char* arguments;  // CLASS and OUT stand for folders
  const char* fragment;   // of the sentence
  int exit_code = 2;
};

const Refusal kRefusals[] = {
    {"grade", "DIR is required"},
    {"grade ''", "a value after grade, got an empty one"},
    {"grade nowhere --out OUT", "nowhere"},
    {"grade CLASS --out OUT --jobs 0", "--jobs"},
    {"grade CLASS --out OUT --lessons 999", "--lessons"},
    {"grade CLASS --out OUT --lessons 207", "--lessons"},
    {"grade CLASS --out OUT --lessons 104-101", "--lessons"},
    {"grade CLASS --out OUT --seed 123", "grade --seed: expected 32 hexadecimal digits, got 123"},
    {"grade CLASS --out OUT --without walls", "grade --without: expected a layer: intake, "},
    {"grade CLASS --out OUT --explain ada",
     "--explain: expected a student and a check, as in ada:104.identity"},
    {"grade CLASS --out OUT --explain eve:104.identity", "--explain: expected a student of "},
    {"grade CLASS --out OUT --explain ada:104.identity",
     "--explain: expected a file of ada for 104, got none"},
    {"grade CLASS --out /proc/OUT", "name another one with --out", 3},
    {"grade CLASS surplus --out OUT", "surplus"},
    {"doctor surplus", "surplus"},
    {"gradescope 104 --out '" RINGCRAFT_SOURCE_DIR "/src/autograder.zip'",
     "gradescope --out: expected a file outside of this tree"},
};

void replace(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
}

// Layers that this host may lack; no case here runs a student's file.
constexpr const char* kAnyHost = " --without files,calls,namespaces,user";

}  // namespace

TEST_CASE("every wrong call of grade and doctor is refused with a sentence") {
  const Folder folder;
  std::filesystem::create_directories(folder.file("class/ada"));
  for (const Refusal& refusal : kRefusals) {
    std::string arguments = refusal.arguments;
    replace(arguments, "CLASS", folder.file("class"));
    replace(arguments, "/proc/OUT", "/proc/nowhere");
    replace(arguments, "OUT", folder.file("grades"));
    if (arguments.starts_with("grade ") && arguments.find("--without") == arguments.npos)
      arguments += kAnyHost;
    CAPTURE(arguments);
    const Ran ran = run_tool(folder, arguments);
    CAPTURE(ran.out, ran.err);
    CHECK(ran.exit_code == refusal.exit_code);
    CHECK(ran.err.find(refusal.fragment) != std::string::npos);
    CHECK(ran.err.starts_with("ringcraft: "));
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder.file("grades/report.json")));
  }
}

TEST_CASE("grade and doctor have help with an example, and doctor counts the layers") {
  const Folder folder;
  for (const char* command : {"grade", "doctor"}) {
    const Ran ran = run_tool(folder, std::string(command) + " --help");
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.find("Example: ./ringcraft ") != std::string::npos);
  }
  const Ran ran = run_tool(folder, "doctor");
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find(" of 9 layers are here") != std::string::npos);
}

TEST_CASE("a class that has handed in nothing has a line for every student, and signs that are explained") {
  const Folder folder;
  for (const char* student : {"ada", "bob"})
    std::filesystem::create_directories(folder.file("class/") + student);
  const Ran ran = run_tool(folder, "grade " + folder.file("class") + " --out " + folder.file("grades") +
                                       " --lessons 101-104" + kAnyHost);
  CAPTURE(ran.out, ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.starts_with("student   101   102   103   104     sum\n"));
  CHECK(ran.out.find("\nada         -     -     -     -       0\nbob ") != std::string::npos);
  CHECK(ran.out.find("\n- missing\n") != std::string::npos);
}
