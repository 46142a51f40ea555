// A roster as Canvas, Moodle and others export it: who has handed in is found by id or by name, and their
// points go into the same table.
#include "grade/intake/roster.hpp"

#include <algorithm>

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
  all.enrolment = Enrolment{roster, {}};
  for (const std::optional<std::size_t>& each : lines)
    all.enrolment->students.push_back(each ? std::vector{*each} : std::vector<std::size_t>());
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
  const auto refusal_of = [](const std::string& text) {
    return testing::outcome_of([&] { read_roster(text, "r.csv"); }).sentence;
  };
  CHECK(testing::contains(refusal_of("name\n\xE9va\n"), "r.csv, whose line 2 is not in UTF-8"));
  CHECK(testing::contains(refusal_of("\xFF\xFEn"), "r.csv, which is in UTF-16"));
  CHECK(testing::contains(refusal_of("PK\x03\x04xl"), "r.csv, which is a workbook"));
  CHECK(testing::contains(refusal_of("name\n"), "r.csv, with 1 line"));
  CHECK(testing::contains(refusal_of(""), "r.csv, with 0 lines"));
  CHECK(testing::contains(refusal_of("name\n\"Ada\n"), "where the last one does not"));
  CHECK(testing::contains(refusal_of("name\nAda,3\n"), "Ada has 2"));
  CHECK(read_roster("name\nmehr\xE2\x80\x8C"
                    "ad\n",
                    "r.csv")
            .rows.size() == 1);  // a letter without a width
}

TEST_CASE("people are found on a roster by the column of their ids, else by their names") {
  CHECK(lines_of(canvas(), {{"", "13"}, {"", "12"}, {"", "99"}}) == Lines{2, 1, {}});
  CHECK(lines_of(canvas(), {{"", "A12"}}) == Lines{2});  // of another column, in any case
  CHECK(lines_of(canvas(), {{"lovelaceada", "12"}}) == Lines{1});
  CHECK(lines_of(moodle(), {{"", "502"}, {"Ada Lovelace", "501"}}) == Lines{1, 0});
  CHECK(lines_of(moodle(), {{"", "ada@example.org"}}) == Lines{0});
  CHECK(lines_of(canvas(), {{"lovelaceada", ""}, {"Turing Alan", ""}}) == Lines{1, 3});
  CHECK(lines_of(moodle(), {{"Grace Hopper", ""}, {"ada-lovelace", ""}}) == Lines{1, 0});
  CHECK(lines_of(moodle(), {{"", ""}}) == Lines{{}});
}

TEST_CASE("names are found in any alphabet, with and without accents") {
  const Roster names = read_roster(
      "Student\n\"\xC5\xBB\xC3\xB3\xC5\x82\xC4\x87, \xC5\x81ukasz\"\n\xD0\xA9\xD0\xB5\n\"Mu\xC3\xB1oz, "
      "Jos\xC3\xA9\"\n",
      "t");
  CHECK(lines_of(names, {{"\xC5\xBC\xC3\xB3\xC5\x82\xC4\x87\xC5\x82ukasz", ""},
                         {"\xD1\x89\xD0\xB5", ""},
                         {"Mun\xCC\x83oz Jose\xCC\x81", ""}}) == Lines{0, 1, 2});
}

TEST_CASE("one column tells all ids: the same number elsewhere is nobody") {
  const Roster scored = read_roster("name,id,score\nAda,7,8\nGrace,8,7\nAlan,9,1\n", "t");
  CHECK(lines_of(scored, {{"", "7"}, {"", "8"}, {"", "9"}, {"", "1"}}) == Lines{0, 1, 2, {}});
}

TEST_CASE("an id on a line of another name is nobody's") {
  const Roster ids = read_roster("First name,Last name,ID number\nBob,Blau,101\nAda,Lovelace,102\n", "t");
  CHECK(lines_of(ids, {{"Ada Lovelace", "101"}, {"Bob Blau", "102"}}) == Lines{1, 0});  // by their names
  CHECK(lines_of(canvas(), {{"x", "12"}, {"lovelaceada", "12"}, {"hoppergraceamazing", "13"}}) ==
        Lines{{}, 1, 2});
  CHECK(lines_of(read_roster("id\n101\n102\n", "t"), {{"Ada", "101"}}) ==
        Lines{0});  // no names to contradict
}

TEST_CASE("two lines of one id are nobody's, and so is a line that several people fit") {
  const Roster twice = read_roster("name,id\nAda,7\nAda,7\nGrace,8\n", "t");
  CHECK(lines_of(twice, {{"Ada", "7"}, {"Grace", "8"}}) == Lines{{}, 2});
  const Roster logins = read_roster("name\nada-lovelace\ngrace\n", "t");
  CHECK(lines_of(logins, {{"AdaLovelace", ""}, {"ada-lovelace", ""}, {"grace", ""}}) == Lines{{}, 0, 1});
  CHECK(lines_of(moodle(), {{"adalovelace", ""}, {"Ada-Lovelace", ""}, {"Grace Hopper", ""}}) ==
        Lines{{}, {}, 1});
  CHECK(lines_of(twice, {{"Grace", "8"}, {"Grace", "8"}}) == Lines{2, 2});  // one person, two hand-ins
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

TEST_CASE("a roster keeps all that it had, and of several hand-ins of a person the best") {
  const Roster given = read_roster(
      "Name,Phone,Feedback\nAda,+49 30 1,\"two\nlines\"\nBob,-,=1+1\nPoints possible,+A1,x\n", "t");
  ClassResults all = class_with(given, {student_with("a", 3), student_with("b", 9)}, {{}, {}, {}});
  all.enrolment->students[0] = {0, 1};
  CHECK(roster_csv(all) ==
        "\"Name\",\"Phone\",\"Feedback\",\"104 Merge\"\r\n"
        "\"Ada\",\"+49 30 1\",\"two\nlines\",9\r\n"
        "\"Bob\",\"-\",\"'=1+1\",\"\"\r\n"
        "\"Points possible\",\"'+A1\",\"x\",\"\"\r\n");  // no line of Canvas's: nobody earns by a word
}

TEST_CASE("the page of the class names those who handed in nothing, and those who are on no roster") {
  const ClassResults all =
      class_with(canvas(), {student_with("ada", 7), student_with("eve", 16)}, {{}, 0, {}, {}});
  const std::string page = class_page(all);
  const std::string absent = page.substr(page.find("On the roster"),
                                         page.find("on no line of the roster") - page.find("On the roster"));
  CHECK(absent.find("Turing, Alan") != absent.npos);
  CHECK(absent.find("Hopper, Grace") != absent.npos);
  CHECK(absent.find("Lovelace") == absent.npos);
  CHECK(absent.find("Points Possible") == absent.npos);
  std::string unknown = page.substr(page.find("on no line of the roster"));
  unknown = unknown.substr(0, unknown.find("</section>"));
  CHECK(unknown.find("students/eve.html") != unknown.npos);
  CHECK(unknown.find("students/ada.html") == unknown.npos);
  CHECK(class_page(class_with(moodle(), {student_with("ada", 7)}, {0, {}})).find("Grace Hopper") !=
        page.npos);
}

TEST_CASE("the column of an exercise is found by its name or number, as each system writes it") {
  for (const char* head : {"104 Merge", "104", "104 Merge (991)", "104 (991)", "Assignment: 104 Merge (Real)",
                           "Assignment:104 Merge (Real)"}) {
    INFO(head);
    const Roster roster = read_roster(std::string("Student,ID,") + head + "\nada,12,\n", "r.csv");
    const ClassResults results = class_with(roster, {{"ada", "ada", {}, {Result{}}}}, {{0}});
    const std::string csv = roster_csv(results);
    CHECK(std::ranges::count(csv.substr(0, csv.find('\n')), ',') == 2);
  }
  const Roster other = read_roster("Student,ID,104 Merge and more,1104\nada,12,,\n", "r.csv");
  const ClassResults results = class_with(other, {{"ada", "ada", {}, {Result{}}}}, {{0}});
  CHECK(roster_csv(results).starts_with("\"Student\",\"ID\",\"104 Merge and more\",1104,\"104 Merge\"\r\n"));
}

}  // namespace ringcraft::grade
