// Grading a class with a judge that is a small script: what runs, what is kept, what a failure of the judge
// does.
#include "grade/run/grader.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "grade/jail/jail.hpp"
#include "io/files.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

// A judge: a file that holds "right" passes, one with "broken" does not compile, one with "alien" does not
// belong to its lesson, one with "scrawl" cannot be read, one with "crash" ends the judge; "silent" ends as a
// wrong answer does, and writes nothing, "cut" half a report, and "idle" one of no check.
constexpr const char* kJudge = R"(#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --file) file=$2 ;; --json) json=$2 ;; --seed) [ "$2" = - ] && read -r seed ;; --confidential) words=hidden ;; esac
  shift
done
mode=$(stat -L -c %a /dev/stdin)
[ $mode = 600 ] || seed=1 # the seed is for nobody else to read
echo called >> "$(dirname "$0")/calls" 2>/dev/null
grep -q crash "$file" && { echo "ringcraft: the disk is full"; exit 3; }
grep -q silent "$file" && { echo "bwrap: no such folder"; exit 1; }
grep -q cut "$file" && { printf '{"title":"Lesson' > "$json"; exit 0; }
grep -q idle "$file" && { printf '{"title":"Lesson 104","good":true,"points":0,"all_points":0,"rows":[]}' > "$json"; exit 0; }
status=failed compiles=passed belongs=passed reads=passed
grep -q right "$file" && status=passed
grep -q broken "$file" && { status=skipped; compiles=failed; }
grep -q alien "$file" && { status=skipped; belongs=failed; }
grep -q scrawl "$file" && { status=skipped; reads=failed; }
row() {
  printf '{"id":"104.%s","claim":"c","status":"%s","weight":%s,"sentence":"seed %s %s","hint":"","figures":[],"maps":[],' "$1" "$2" "$3" "$seed" "$words"
  printf '"causes":[],"yours":[],"remark":"","unexplained":false,"timed":false,"code":"","facts":[]}'
}
{ printf '{"title":"Lesson 104","seed":%s,"good":true,"points":0,"all_points":3,"rows":[' "$seed"
  row compiles $compiles 0; printf ','; row belongs $belongs 0; printf ','; row reads $reads 0; printf ','; row identity $status 3; printf ']}'; } > "$json"
[ $status = passed ]
)";

struct Class {
  test::Scratch folder;
  GradeOptions options;

  Class() {
    const fs::path tree = folder / "tree";
    fs::create_directories(tree / "build");
    std::ofstream(tree / "CMakeLists.txt") << "";
    std::ofstream(tree / "judge") << kJudge;
    fs::permissions(tree / "judge", fs::perms::owner_all | fs::perms::group_all | fs::perms::others_all);
    fs::permissions(folder / ".", fs::perms::others_all, fs::perm_options::add);
    options.folder = folder / "class";
    options.out = folder / "grades";
    options.exercises = {{"104", "Merge", "104_merge", "merge.cpp"}};
    options.all_points = {3};
    options.program = tree / "judge";
    options.tree = tree;
    options.build = tree / "build";
    for (const Layer& layer : layers(tree))
      if (!layer.here) options.without.insert(layer.id);
  }
  void hand_in(const std::string& student, const std::string& text, const std::string& name = "merge.cpp") {
    fs::create_directories(folder / "class" / student / "104_merge");
    std::ofstream(folder / "class" / student / "104_merge" / name) << text;
  }
};

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

const Result& result_of(const ClassResults& results, const std::string& student) {
  return std::ranges::find(results.students, student, &StudentResults::key)->results.at(0);
}

}  // namespace

TEST_CASE("every student is judged, and the mistake of one does not stop the others") {
  Class c;
  c.hand_in("ada", "right");
  c.hand_in("bob", "wrong");
  c.hand_in("cyd", "broken");
  c.hand_in("dan", "crash");
  c.hand_in("eve", std::string("\0", 1));
  fs::create_directories(c.folder / "class/fay");
  c.options.jobs = 3;
  const ClassResults results = grade(c.options);
  CHECK(result_of(results, "ada").points() == 3);
  CHECK(result_of(results, "bob").points() == 0);
  CHECK(result_of(results, "bob").state() == State::kGraded);
  CHECK(result_of(results, "cyd").state() == State::kUngradable);
  CHECK(result_of(results, "dan").state() == State::kUnjudged);
  CHECK(result_of(results, "dan").counted()->sentence == "the judge stopped: ringcraft: the disk is full");
  CHECK(result_of(results, "eve").state() == State::kUngradable);
  CHECK(result_of(results, "fay").state() == State::kMissing);
  for (const char* file : {"index.html", "students/ada.html", "report.json", "gradebook.csv", "junit.xml",
                           "times.json", "gradescope/ada.json"})
    CHECK(fs::exists(c.options.out / file));
}

TEST_CASE("a second run judges what is new, and what the judge did not finish, and gives the same bytes") {
  Class c;
  c.options.jobs = 2;
  c.hand_in("ada", "right");
  c.hand_in("bob", "wrong");
  grade(c.options);
  const std::string first = text_of(c.options.out / "report.json");
  std::ofstream(c.options.program) << "#!/bin/sh\nexit 3\n";  // nothing is judged again
  grade(c.options);
  CHECK(text_of(c.options.out / "report.json") == first);
  c.hand_in("bob", "right");  // another file has no verdict yet
  CHECK(result_of(grade(c.options), "bob").state() == State::kUnjudged);
  std::ofstream(c.options.program) << kJudge;
  CHECK(result_of(grade(c.options), "bob").points() == 3);
}

TEST_CASE("the same secret gives the same reports elsewhere, and another secret other inputs") {
  Class c;
  c.hand_in("ada", "wrong");
  c.options.secret = Secret("00112233445566778899aabbccddeeff");
  grade(c.options);
  const std::string first = text_of(c.options.out / "report.json");
  c.options.out = c.folder / "elsewhere";
  grade(c.options);
  CHECK(text_of(c.options.out / "report.json") == first);
  c.options.out = c.folder / "third";
  c.options.secret = Secret("10112233445566778899aabbccddeeff");
  grade(c.options);
  CHECK(text_of(c.options.out / "report.json") != first);
}

TEST_CASE("of several attempts the best counts, whenever it came") {
  Class c;
  c.hand_in("ada", "wrong", "merge.cpp");
  c.hand_in("ada", "right", "merge-1.cpp");
  c.hand_in("ada", "broken", "merge-2.cpp");
  const ClassResults results = grade(c.options);
  const Result& result = result_of(results, "ada");
  CHECK(result.attempts.size() == 3);
  CHECK(result.points() == 3);
  CHECK(result.state() == State::kGraded);
}

TEST_CASE("beside a late attempt that counts the best of those on time is known") {
  Class c;
  const auto canvas = [&](const std::string& name, const std::string& text) {
    fs::create_directories(c.folder / "class");
    std::ofstream(c.folder / "class" / name) << text;
  };
  canvas("ada_12_100_merge.cpp", "wrong");
  canvas("ada_LATE_12_101_merge-1.cpp", "right");
  canvas("bob_LATE_13_102_merge.cpp", "right");
  canvas("cyd_14_103_merge.cpp", "right");
  canvas("cyd_LATE_14_104_merge-1.cpp", "right");
  c.options.title = "Autumn";
  c.options.roster = read_roster("Student,ID\nCyd,14\nDan,15\nAda,12\n", "r.csv");
  const ClassResults results = grade(c.options);
  CHECK(result_of(results, "ada").points() == 3);
  CHECK(result_of(results, "ada").is_late());
  REQUIRE(result_of(results, "ada").best_on_time() != nullptr);
  CHECK(result_of(results, "ada").best_on_time()->report.points() == 0);
  CHECK(result_of(results, "bob").is_late());
  CHECK(result_of(results, "bob").best_on_time() == nullptr);
  CHECK(!result_of(results, "cyd").is_late());
  CHECK(text_of(c.options.out / "gradebook.csv") ==
        "\"student\",\"name\",\"id\",\"104 Merge (3)\",\"sum (3)\",\"104 on time\",\"notes\"\r\n"
        "\"ada\",\"Ada\",\"12\",3,3,0,\"104 late\"\r\n"
        "\"bob\",\"bob\",\"13\",3,3,,\"104 late\"\r\n"
        "\"cyd\",\"Cyd\",\"14\",3,3,3,\"\"\r\n");
  CHECK(text_of(c.options.out / "roster.csv") ==
        "\"Student\",\"ID\",\"104 Merge\"\r\n\"Cyd\",14,3\r\n\"Dan\",15,\"\"\r\n\"Ada\",12,3\r\n");
  const std::string page = text_of(c.options.out / "index.html");
  CHECK(page.find("Autumn") != page.npos);
  CHECK(page.find("<small>late, 0 on time</small>") != page.npos);
  CHECK(page.find("<small>late</small>") != page.npos);
  CHECK(page.find("Dan") != page.npos);
  CHECK(text_of(c.options.out / "students/ada.html").find("The best of those on time has 0 points.") !=
        page.npos);
  c.options.roster.reset();
  grade(c.options);
  CHECK(!fs::exists(c.options.out / "roster.csv"));
}

TEST_CASE("a line of the roster that two students fit is nobody's") {
  Class c;
  c.hand_in("Ada_Lovelace", "right");
  c.hand_in("ada-lovelace", "wrong");
  c.hand_in("Grace", "right");
  c.options.roster = read_roster("Name\nAda Lovelace\nGrace\n", "r.csv");
  grade(c.options);
  CHECK(text_of(c.options.out / "roster.csv") ==
        "\"Name\",\"104 Merge\"\r\n\"Ada Lovelace\",\"\"\r\n\"Grace\",3\r\n");
}

TEST_CASE("a judge that reports nothing has given no verdict, and the others get theirs") {
  Class c;
  for (const char* how : {"silent", "cut", "idle"}) c.hand_in(how, how);
  c.hand_in("zoe", "right");
  const ClassResults results = grade(c.options);
  for (const char* how : {"silent", "cut", "idle"})
    CHECK(result_of(results, how).state() == State::kUnjudged);
  CHECK(result_of(results, "silent").counted()->sentence == "the judge stopped: bwrap: no such folder");
  CHECK(result_of(results, "zoe").points() == 3);
}

TEST_CASE("of attempts that are worth the same the first counts") {
  Class c;
  c.hand_in("ada", "right", "merge.cpp");
  c.hand_in("ada", "right, too", "merge-1.cpp");
  CHECK(result_of(grade(c.options), "ada").best == 0);
}

TEST_CASE("a file that does not belong to its lesson, or cannot be read, is ungradable") {
  Class c;
  c.hand_in("ada", "alien");
  c.hand_in("bob", "scrawl");
  const ClassResults results = grade(c.options);
  CHECK(result_of(results, "ada").state() == State::kUngradable);
  CHECK(result_of(results, "bob").state() == State::kUngradable);
}

TEST_CASE("a student reads no words of the program, and no seed") {
  Class c;
  c.hand_in("ada", "wrong");
  const ClassResults results = grade(c.options);
  const verify::Report& report = result_of(results, "ada").counted()->report;
  CHECK(!report.seed);
  CHECK(report.rows.back().sentence.ends_with("hidden"));

  const Explained explained = explain(c.options, "ada", "104");
  CHECK(explained.report.rows.back().sentence == "seed " + std::to_string(*explained.report.seed) + " ");
  CHECK(report.rows.back().sentence == explained.report.rows.back().sentence + "hidden");  // the same inputs
  CHECK(text_of(explained.file) == "wrong");
  testing::check_refused([&] { explain(c.options, "bob", "104"); }, "a student of");
}

TEST_CASE("an explanation is asked for by key, id, name or the roster's name, and says whose file it is") {
  Class c;
  fs::create_directories(c.folder / "class");
  for (const char* name : {"ada_12_100_merge.cpp", "ada_LATE_12_101_merge-1.cpp", "eve_14_102_merge.cpp"})
    std::ofstream(c.folder / "class" / name) << "wrong";
  c.options.roster = read_roster("Student,ID\nEve,14\nÁda,12\n", "r.csv");
  for (const char* who : {"ada", "12", "Áda"}) {
    const Explained explained = explain(c.options, who, "104");
    CHECK(explained.name == "Áda");
    CHECK(explained.attempt == 1);
    CHECK(explained.attempts == 2);
    CHECK(!explained.late);
  }
  CHECK(text_of(c.options.out / "report.json").empty());  // nobody else is judged for it
  grade(c.options);
  const std::string page = text_of(c.options.out / "students/ada.html");
  CHECK(page.find("<h1>") != page.npos);
  CHECK(page.find("Áda") != page.npos);
}

TEST_CASE("nothing is written among files that are none of these reports") {
  Class c;
  c.hand_in("ada", "right");
  fs::create_directories(c.options.out);
  std::ofstream(c.options.out / "merge.cpp") << "mine";
  testing::check_refused([&] { grade(c.options); }, "with other files");
  CHECK(std::distance(fs::directory_iterator(c.options.out), {}) == 1);
  fs::remove(c.options.out / "merge.cpp");
  fs::permissions(c.options.out, fs::perms::all);
  grade(c.options);
  CHECK(fs::status(c.options.out).permissions() == fs::perms::owner_all);
}

TEST_CASE("a class in which no file is one of an exercise is refused, with the first that was passed over") {
  Class c;
  c.hand_in("ada", "a report", "report.pdf");
  c.options.only_handed_in = true;
  testing::check_refused([&] { grade(c.options); }, "report.pdf");
  CHECK(!fs::exists(c.options.out));
}

TEST_CASE("a header beside a file is a part of it") {
  Class c;
  c.hand_in("ada", "wrong");
  c.hand_in("ada", "#pragma once\n", "mine.hpp");
  const std::string first = result_of(grade(c.options), "ada").counted()->digest;
  CHECK(result_of(grade(c.options), "ada").counted()->digest == first);
  c.hand_in("ada", "#pragma once\n\n", "mine.hpp");
  CHECK(result_of(grade(c.options), "ada").counted()->digest != first);
}

TEST_CASE("again judges also what has a verdict") {
  Class c;
  c.hand_in("ada", "wrong");
  grade(c.options);
  std::ofstream(c.options.program) << "#!/bin/sh\nexit 3\n";
  c.options.again = true;
  CHECK(result_of(grade(c.options), "ada").state() == State::kUnjudged);
}

TEST_CASE("exercises that nobody has handed in are left out if that is asked for") {
  Class c;
  c.options.exercises.push_back({"105", "Blockwise", "105_blockwise", "blockwise_forward.cpp"});
  c.options.all_points.push_back(7);
  c.hand_in("ada", "right");
  CHECK(grade(c.options).exercises.size() == 2);
  c.options.only_handed_in = true;
  const ClassResults results = grade(c.options);
  CHECK(results.exercises.size() == 1);
  CHECK(results.points() == 3);
  CHECK(results.students[0].results.size() == 1);
}

TEST_CASE("a failure that is no student's ends the run, and what was judged is kept") {
  Class c;
  c.hand_in("ada", "right");
  grade(c.options);
  fs::remove(c.options.out / "report.json");
  c.hand_in("bob", "right");
  std::ofstream(c.options.out / "verdicts/bob") << "a file where a folder should be";
  testing::check_refused([&] { grade(c.options); }, "verdicts/bob", Code::kMissing);
  CHECK(!fs::exists(c.options.out / "report.json"));
  fs::remove(c.options.out / "verdicts/bob");
  std::ofstream(c.options.program) << "#!/bin/sh\nexit 3\n";
  const ClassResults results = grade(c.options);
  CHECK(result_of(results, "ada").points() == 3);
  CHECK(result_of(results, "bob").state() == State::kUnjudged);
}

TEST_CASE("reports go into no folder of the class, and none around it") {
  Class c;
  c.hand_in("ada", "right");
  fs::create_directory_symlink(c.folder / "class", c.folder / "link");
  for (const char* out : {"class", "class/grades", "class/ada", ".", "link", "link/grades"}) {
    c.options.out = c.folder / out;
    testing::check_refused([&] { grade(c.options); }, "not in the class's");
  }
  CHECK(!fs::exists(c.folder / "class/seed.txt"));
  c.options.out = c.folder / "class-grades";
  CHECK(result_of(grade(c.options), "ada").points() == 3);
}

TEST_CASE("the reports of one class stay apart from those of another, and are the instructor's alone") {
  Class c;
  c.hand_in("ada", "right");
  c.hand_in("bob", "wrong");
  grade(c.options);
  CHECK(fs::status(c.options.out).permissions() == fs::perms::owner_all);
  c.hand_in("cyd", "right");
  fs::remove_all(c.folder / "class/bob");
  grade(c.options);  // the same class, some weeks later
  for (const char* file : {"students/bob.html", "gradescope/bob.json"})
    CHECK(!fs::exists(c.options.out / file));
  for (const char* file : {"students/ada.html", "students/cyd.html"}) CHECK(fs::exists(c.options.out / file));
  const std::string before = text_of(c.options.out / "report.json");
  for (const char* student : {"ada", "cyd"}) fs::remove_all(c.folder / "class" / student);
  c.hand_in("zoe", "right");
  testing::check_refused([&] { grade(c.options); }, "with those of other students");
  CHECK(text_of(c.options.out / "report.json") == before);
  c.options.folder = c.folder / "nowhere";
  c.options.out = c.folder / "nothing";
  testing::check_refused([&] { grade(c.options); }, "which is not there");
  CHECK(!fs::exists(c.options.out));
  c.options.folder = c.folder / "empty";
  fs::create_directory(c.options.folder);
  testing::check_refused([&] { grade(c.options); }, "which holds none");
  CHECK(!fs::exists(c.options.out));
}

TEST_CASE("a missing layer stops grading unless it may be missing, and is reported") {
  const std::vector<Layer> all{{"files", "a", true, ""}, {"user", "b", false, "only root can"}};
  testing::check_refused([&] { require(all, {}); }, "--without user", Code::kMissing);
  require(all, {"user"});
  testing::check_refused(
      [&] {
        require({{"files", "a", false, "x"}, all[1]}, {"user"});
      },
      "--without files", Code::kMissing);
  testing::check_refused([&] { require(all, {"users"}); }, "a layer: files, user");
  require({all[0], {"group", "c", false, "none here", "limits of its own"}}, {});
}

TEST_CASE("a jailed program sees neither other files nor other processes, and no network") {
  const std::vector<Layer> all = layers("/");
  if (!has(all, "namespaces")) {
    std::puts("skipped: no namespaces; see ./ringcraft doctor");  // CMakeLists.txt looks for it
    return;
  }
  const test::Scratch folder;
  fs::create_directories(folder / "out");
  fs::create_directories(folder / "work");
  fs::permissions(folder / "out", fs::perms::all);
  fs::permissions(folder / ".", fs::perms::others_all, fs::perm_options::add);
  test::write_bytes(folder / "secret.txt", "secret");
  const process::Command command{
      .arguments = {"/bin/sh", "-c",
                    "cat " + (folder / "secret.txt").string() +
                        " && echo seen; cat /etc/passwd && echo seen; "
                        "[ $(ls /proc | grep -c '^[0-9]') -le 8 ] && echo alone; "
                        "[ $(grep -c : /proc/net/dev) -le 1 ] && echo offline; echo done"},
      .environment = {"PATH=/usr/bin:/bin"}};
  const auto finished =
      process::run_command(jailed(command, all, {{}, {folder / "out"}, folder / "work", folder / "work"}),
                           std::chrono::seconds(10));
  INFO(finished.printed);
  CHECK(finished.good());
  CHECK(finished.printed.find("seen") == std::string::npos);
  for (const char* words : {"alone", "offline", "done"})
    CHECK(finished.printed.find(words) != std::string::npos);
}

TEST_CASE("one student's folder is graded under the name that Gradescope gives, and told after each file") {
  Class c;
  c.hand_in("x", "right");
  c.options.folder = c.folder / "class/x";
  c.options.exercises.push_back({"105", "Blockwise", "105_blockwise", "blockwise_forward.cpp"});
  c.options.all_points.push_back(3);
  fs::create_directories(c.options.folder / "105_blockwise");
  std::ofstream(c.options.folder / "105_blockwise/blockwise_forward.cpp") << "wrong";
  c.options.whose = read_submission(
      R"({"created_at": "2026-05-02T00:00:01Z", "assignment": {"due_date": "2026-05-02T00:00:00Z"},
          "users": [{"name": "Ada <b>", "sid": "../17", "email": "a@b"}]})");
  std::vector<std::string> told;
  c.options.so_far = [&](const ClassResults& results) {
    std::string states;
    for (const Result& result : results.students.at(0).results)
      states += std::string(name_of(result.state())) + " ";
    told.push_back(states);
  };
  const ClassResults results = grade(c.options);
  CHECK(told == std::vector<std::string>{"unjudged unjudged ", "graded unjudged ", "graded graded "});
  REQUIRE(results.students.size() == 1);
  CHECK(results.students[0].key == "17");
  CHECK(results.students[0].name == "Ada <b>");
  CHECK(results.students[0].points() == 3);
  CHECK(results.students[0].results[0].counted()->late);
}

}  // namespace ringcraft::grade
