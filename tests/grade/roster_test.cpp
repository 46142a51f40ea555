// A roster as Canvas, Moodle and others export it: who has handed in is found by id or by name, and their
// points go into the same table.
#include "grade/intake/roster.hpp"

#include "grade/pages/pages.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::grade {
namespace {

using Lines = std::vector<std::optional<std::size_t>>;

constexpr const char* kCanvas =
    "\xEF\xBB\xBFStudent,ID,SIS User ID,Section,104 Merge (991)\r\n"
    "    Points Possible,,,,16\r\n"
    "\"Lovelace, Ada\",12,a17,Tue,\r\n"
    "\"Hopper, Grace \"\"Amazing\"\"\",13,a12,Tue,3\r\n"
    "\"=Turing, Alan\",17,a13,Wed,\r\n";
constexpr const char* kMoodle =
    "Identifier;First name;Last name;Email address\n"
    "Participant 501;Ada;Lovelace;ada@example.org\n"
    "Participant 502;Grace;Hopper;grace@example.org\n";

Roster canvas() { return read_roster(kCanvas, "canvas.csv"); }
Roster moodle() { return read_roster(kMoodle, "moodle.csv"); }

// A class of these students, with one exercise of 16 points.
ClassResults class_with(const Roster& roster, const std::vector<StudentResults>& students,
                        const std::vector<std::optional<std::size_t>>& lines) {
  ClassResults all{"class", {{"104", "Merge", "104_merge", "merge.cpp"}}, {16}, students, {}};
  all.enrolment = {roster, lines};
  return all;
}

StudentResults student_with(const std::string& key, double points) {
  Record record{.exercise = "104", .name = "merge.cpp", .digest = "1", .state = State::kGraded};
  record.report.rows.push_back(
      {.id = "104.a", .claim = "c", .status = verify::Status::kPassed, .weight = points});
  return {key, key, {}, {{{record}, 0}}};
}

}  // namespace

TEST_CASE("a roster is read with its quotes, separators and line ends") {
  CHECK(canvas().head.size() == 5);
  REQUIRE(canvas().rows.size() == 4);
  CHECK(canvas().rows[2][0] == "Hopper, Grace \"Amazing\"");
  CHECK(moodle().separator == ';');
  CHECK(moodle().rows[1] ==
        std::vector<std::string>{"Participant 502", "Grace", "Hopper", "grace@example.org"});
  CHECK(read_roster("a\tb\n1\t2\n3\n", "t").rows[1] == std::vector<std::string>{"3", ""});
  CHECK(read_roster("a,b\n\"1\n2\",3\n", "t").rows[0][0] == "1\n2");
}

TEST_CASE("a text that is no roster is refused with its place") {
  const auto refusal_of = [](const char* text) {
    return testing::outcome_of([=] { read_roster(text, "r.csv"); }).sentence;
  };
  CHECK(testing::contains(refusal_of("name\n\xE9va\n"), "r.csv, line 2"));
  CHECK(testing::contains(refusal_of("name\n"), "r.csv, with 1 line"));
  CHECK(testing::contains(refusal_of(""), "r.csv, with 0 lines"));
  CHECK(testing::contains(refusal_of("name\n\"Ada\n"), "where the last one does not"));
  CHECK(testing::contains(refusal_of("name\nAda,3\n"), "Ada has 2"));
}

TEST_CASE("people are found on a roster by the column of their ids, else by their names") {
  CHECK(lines_of(canvas(), {{"x", "13"}, {"y", "12"}, {"z", "99"}}) == Lines{2, 1, {}});
  CHECK(lines_of(canvas(), {{"x", "A12"}}) == Lines{2});  // of another column, in any case
  CHECK(lines_of(moodle(), {{"x", "502"}, {"y", "501"}}) == Lines{1, 0});
  CHECK(lines_of(moodle(), {{"x", "ada@example.org"}}) == Lines{0});
  CHECK(lines_of(canvas(), {{"lovelaceada", ""}, {"Turing Alan", ""}}) == Lines{1, 3});
  CHECK(lines_of(moodle(), {{"Grace Hopper", ""}, {"hopper-grace", ""}}) == Lines{1, {}});  // one way for all
  CHECK(lines_of(moodle(), {{"", ""}}) == Lines{{}});
}

TEST_CASE("one column tells all ids: the same number elsewhere is nobody") {
  const Roster scored = read_roster("name,id,score\nAda,7,8\nGrace,8,7\nAlan,9,1\n", "t");
  CHECK(lines_of(scored, {{"x", "7"}, {"y", "8"}, {"z", "9"}, {"w", "1"}}) == Lines{0, 1, 2, {}});
}

TEST_CASE("two lines of one id are nobody's") {
  const Roster twice = read_roster("name,id\nAda,7\nAda,7\nGrace,8\n", "t");
  CHECK(lines_of(twice, {{"Ada", "7"}, {"Grace", "8"}}) == Lines{{}, 2});
}

TEST_CASE("a roster comes back with points in the column of the exercise, and nothing else changed") {
  const ClassResults all =
      class_with(canvas(), {student_with("ada", 7.5), student_with("alan", 16)}, {{}, 0, {}, 1});
  CHECK(roster_csv(all) ==
        "\"Student\",\"ID\",\"SIS User ID\",\"Section\",\"104 Merge (991)\"\r\n"
        "\"    Points Possible\",\"\",\"\",\"\",16\r\n"
        "\"Lovelace, Ada\",12,\"a17\",\"Tue\",7.5\r\n"
        "\"Hopper, Grace \"\"Amazing\"\"\",13,\"a12\",\"Tue\",3\r\n"
        "\"'=Turing, Alan\",17,\"a13\",\"Wed\",16\r\n");
  StudentResults broken = student_with("grace", 5);
  broken.results[0].attempts[0].state = State::kUngradable;
  CHECK(testing::contains(roster_csv(class_with(canvas(), {broken}, {{}, {}, 0, {}})),
                          "\"a12\",\"Tue\",3\r\n"));
  const std::string fresh = roster_csv(class_with(moodle(), {student_with("ada", 2)}, {0, {}}));
  CHECK(fresh.starts_with("\"Identifier\";\"First name\";\"Last name\";\"Email address\";\"104 Merge\"\r\n"));
  CHECK(fresh.find("\"ada@example.org\";2\r\n") != fresh.npos);
  CHECK(fresh.find("\"grace@example.org\";\"\"\r\n") != fresh.npos);
}

TEST_CASE("the page of the class names those who handed in nothing, and those who are on no roster") {
  const ClassResults all =
      class_with(canvas(), {student_with("ada", 7), student_with("eve", 16)}, {{}, 0, {}, {}});
  const std::string page = class_page(all);
  const std::string absent =
      page.substr(page.find("On the roster"), page.find("Not on the roster") - page.find("On the roster"));
  CHECK(absent.find("Turing, Alan") != absent.npos);
  CHECK(absent.find("Hopper, Grace") != absent.npos);
  CHECK(absent.find("Lovelace") == absent.npos);
  CHECK(absent.find("Points Possible") == absent.npos);
  const std::string unknown = page.substr(page.find("Not on the roster"));
  CHECK(unknown.find("students/eve.html") != unknown.npos);
  CHECK(unknown.find("students/ada.html") == unknown.npos);
  CHECK(class_page(class_with(moodle(), {student_with("ada", 7)}, {0, {}})).find("Grace Hopper") !=
        page.npos);
}

}  // namespace ringcraft::grade
