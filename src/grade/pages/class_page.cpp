// The page for the instructor: what needs a person first, then the points, then what the class has not
// understood.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "grade/pages/html.hpp"
#include "grade/pages/pages.hpp"
#include "grade/pages/rows.hpp"
#include "grade/pages/tally.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

constexpr std::size_t kMostStuck = 8;

std::string link_to(const StudentResults& student, const std::string& anchor = "") {
  return fmt::format("<a href=\"students/{}{}\">{}</a>", escaped(student_file(student.key)),
                     anchor.empty() ? "" : "#" + anchor, isolated(name_of(student, kShortName)));
}

std::string links_to(const std::vector<const StudentResults*>& students, const std::string& anchor = "") {
  std::string markup;
  for (const StudentResults* student : students)
    markup += (markup.empty() ? "" : ", ") + link_to(*student, anchor);
  return markup;
}

// "3 students", which unfolds into their names.
std::string who(const std::vector<const StudentResults*>& students, const std::string& anchor = "") {
  return fmt::format("<details><summary>{}</summary>{}</details>", counted(students.size(), "student"),
                     links_to(students, anchor));
}

std::string section(const char* heading, const std::string& words, const std::string& markup) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}{}</section>\n", heading,
                     words.empty() ? "" : "<p class=\"dim\">" + words + "</p>\n", markup);
}

// ---- the class at a glance

std::string cards(const ClassResults& results) {
  std::map<State, int> states;
  int late = 0;
  for (const StudentResults& student : results.students)
    for (const Result& result : student.results) {
      ++states[result.state()];
      late += result.is_late() ? 1 : 0;
    }
  std::vector<double> sums;
  for (const StudentResults& student : results.students)
    if (student.is_graded()) sums.push_back(student.points());
  std::ranges::sort(sums);
  const std::size_t middle = sums.size() / 2;
  const double median = sums.empty()           ? 0
                        : sums.size() % 2 == 1 ? sums[middle]
                                               : (sums[middle - 1] + sums[middle]) / 2;
  const auto card = [](const std::string& number, const char* what) {
    return fmt::format("<li><b>{}</b>{}</li>\n", number, what);
  };
  const auto count = [](int number, const char* what) {
    return number == 0 ? "" : fmt::format("<li><b>{}</b>{}</li>\n", number, what);
  };
  return "<ul class=\"cards\">\n" + card(std::to_string(results.students.size()), "students") +
         card(points_text(median), "median points") + card(points_text(results.points()), "possible points") +
         count(states[State::kGraded], "exercises graded") +
         count(states[State::kUngradable], "cannot be graded") +
         count(states[State::kUnjudged], "to be graded again") +
         count(states[State::kMissing], "not handed in") + count(late, "handed in late") + "</ul>\n";
}

// "merge.txt is no file of these exercises, and 2 more"
std::string passed_over(const StudentResults& student) {
  const std::size_t more = student.remarks.size() - 1;
  return shown(student.remarks.front(), 300) + (more == 0 ? "" : fmt::format(", and {} more", more));
}

// The files passed over of those who lack an exercise, with links to all who have the same.
std::vector<std::pair<std::string, std::string>> passed_over_by_whom(const ClassResults& results) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const StudentResults& student : results.students) {
    const auto is_missing = [](const Result& result) { return result.state() == State::kMissing; };
    if (student.remarks.empty() || std::ranges::none_of(student.results, is_missing)) continue;
    const std::string what = passed_over(student);
    const auto same = std::ranges::find(all, what, &std::pair<std::string, std::string>::first);
    if (same == all.end())
      all.emplace_back(what, link_to(student));
    else
      same->second += ", " + link_to(student);
  }
  return all;
}

std::string for_a_person(const ClassResults& results) {
  std::string rows;
  for (const StudentResults& student : results.students)
    for (std::size_t i = 0; i < results.exercises.size(); ++i) {
      const Result& result = student.results[i];
      if (result.state() != State::kUngradable && result.state() != State::kUnjudged) continue;
      rows += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"state\">{}</td><td>{}</td></tr>\n",
                          link_to(student, anchor_of(results.exercises[i].id)),
                          escaped(heading_of(results.exercises[i])), name_of(result.state()),
                          escaped(shown(first_lines(result.counted()->sentence, 1), 300)));
    }
  for (const auto& [what, links] : passed_over_by_whom(results))
    rows += fmt::format("<tr><td>{}</td><td></td><td class=\"state\">passed over</td><td>{}</td></tr>\n",
                        links, escaped(what));
  if (rows.empty()) return "";
  return section(
      "Needs a person",
      "These have neither points nor a zero: a file that cannot be judged is no wrong answer. An unjudged "
      "one is "
      "tried again by the same command; one that was passed over may be a missing exercise by another name.",
      "<table class=\"stack\"><tbody>\n" + rows + "</tbody></table>\n");
}

// Files that were judged as any other, and call what no exercise needs (ReportRow::remark of "belongs").
std::string odd_calls(const ClassResults& results) {
  std::string rows;
  for (const StudentResults& student : results.students)
    for (std::size_t i = 0; i < results.exercises.size(); ++i)
      for (const Record& record : student.results[i].attempts)
        for (const verify::ReportRow& row : record.report.rows)
          if (row.id.ends_with(".belongs") && !row.remark.empty())
            rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                                link_to(student, anchor_of(results.exercises[i].id)),
                                escaped(heading_of(results.exercises[i])), isolated(record.name),
                                escaped(shown(first_lines(row.remark, 1), 300)));
  if (rows.empty()) return "";
  return section("Worth a look", "These were judged as any other file, and their odd calls reached nothing.",
                 "<table class=\"stack\"><tbody>\n" + rows + "</tbody></table>\n");
}

// ---- points

// Five shades, the fifth for all points.
std::string shade_of(double points, double all) {
  if (all <= 0 || points <= 0) return "p0";
  return points >= all ? "p5" : fmt::format("p{}", std::clamp(static_cast<int>(points / all * 4) + 1, 1, 4));
}

// "late, 7 on time"
std::string late_note(const Result& result) {
  if (!result.is_late()) return "";
  const Record* const on_time = result.best_on_time();
  return fmt::format("<small>late{}</small>",
                     on_time == nullptr ? "" : ", " + points_text(on_time->report.points()) + " on time");
}

std::string cell_of(const StudentResults& student, const Exercise& exercise, const Result& result,
                    double all) {
  const State state = result.state();
  if (state == State::kMissing) return "<td class=\"missing\">–</td>";
  const bool graded = state == State::kGraded;
  return fmt::format("<td class=\"{}\"><a href=\"students/{}#{}\">{}{}</a></td>",
                     graded ? shade_of(result.points(), all) : "open", escaped(student_file(student.key)),
                     anchor_of(exercise.id),
                     graded ? points_text(result.points()) : std::string(name_of(state)), late_note(result));
}

std::string points_table(const ClassResults& results) {
  std::string head = "<th>student</th>", rows, means = "<th>mean of those graded</th>";
  for (std::size_t i = 0; i < results.exercises.size(); ++i) {
    const double all = results.all_points[i];
    head += fmt::format("<th><b>{}</b>{}<br>of {}</th>", escaped(results.exercises[i].id),
                        escaped(results.exercises[i].title), points_text(all));
    double sum = 0;
    int graded = 0;
    for (const StudentResults& student : results.students)
      if (student.results[i].state() == State::kGraded) sum += student.results[i].points(), ++graded;
    means += graded == 0 ? "<td>–</td>" : fmt::format("<td>{:.1f}</td>", sum / graded);
  }
  double sum = 0;
  int graded = 0;
  for (const StudentResults& student : results.students) {
    rows += "<tr><th>" + link_to(student) + "</th>";
    for (std::size_t i = 0; i < results.exercises.size(); ++i)
      rows += cell_of(student, results.exercises[i], student.results[i], results.all_points[i]);
    rows +=
        fmt::format("<td><b>{}</b></td></tr>\n", student.is_graded() ? points_text(student.points()) : "–");
    if (student.is_graded()) sum += student.points(), ++graded;
  }
  if (graded > 0) sum /= graded;
  return section(
      "Points",
      "The stronger the colour, the more of the points; full colour for all of them. A cell leads to its "
      "report.",
      fmt::format(
          "<div class=\"wide\"><table class=\"grid\"><thead><tr>{}<th><b>sum</b><br>of {}</th></tr></thead>\n"
          "<tbody>\n{}</tbody>\n<tfoot><tr>{}<td>{:.1f}</td></tr></tfoot></table></div>\n",
          head, points_text(results.points()), rows, means, sum));
}

// ---- what is not understood

std::string row_of(const ClassResults& results, const CheckTally& check) {
  const Exercise& exercise = results.exercises[check.exercise];
  const std::size_t tried = check.failed.size() + check.passed.size();
  return fmt::format(
      "<tr><td>{}<br><span class=\"dim\">{}{}</span></td><td>{}</td><td>{}</td></tr>\n", escaped(check.claim),
      escaped(check.id), check.skipped.empty() ? "" : fmt::format(", not tried for {}", check.skipped.size()),
      bar(static_cast<double>(check.failed.size()), static_cast<double>(tried), "bad") +
          fmt::format("<span class=\"dim\">{} of {} failed</span>", check.failed.size(), tried),
      check.failed.empty() ? "" : who(check.failed, anchor_of(exercise.id)));
}

std::string bars(const ClassResults& results, const std::vector<const CheckTally*>& checks) {
  std::string rows;
  for (const CheckTally* check : checks) rows += row_of(results, *check);
  return "<table class=\"pictures stack\"><tbody>\n" + rows + "</tbody></table>\n";
}

std::string stuck(const ClassResults& results, const Tally& tally) {
  std::vector<const CheckTally*> checks;
  for (const CheckTally& check : tally.checks)
    if (!check.failed.empty()) checks.push_back(&check);
  std::ranges::stable_sort(checks, std::greater(),
                           [](const CheckTally* check) { return check->failed.size(); });
  if (checks.empty()) return "";
  checks.resize(std::min(checks.size(), kMostStuck));
  return section(
      "Where the class is stuck",
      "Failed checks, those of the most students first. A check that waits for another one is not tried, and "
      "counts as no failure.",
      bars(results, checks));
}

std::string every_check(const ClassResults& results, const Tally& tally) {
  std::string markup;
  for (std::size_t i = 0; i < results.exercises.size(); ++i) {
    std::vector<const CheckTally*> checks;
    for (const CheckTally& check : tally.checks)
      if (check.exercise == i) checks.push_back(&check);
    if (checks.empty()) continue;
    markup += fmt::format("<details><summary>{}</summary>\n{}</details>\n",
                          escaped(heading_of(results.exercises[i])), bars(results, checks));
  }
  return markup.empty() ? "" : section("Every check", "", markup);
}

// The words about a mistake; where students were told different ones, each with those who were.
std::string words_of(const CauseTally& cause) {
  if (cause.wordings.size() == 1) return escaped(cause.wordings.front().sentence);
  std::string items;
  for (const Wording& wording : cause.wordings)
    items += "<li>" + escaped(wording.sentence) + " (" + links_to(wording.students) + ")</li>\n";
  return "<ul>\n" + items + "</ul>\n";
}

std::string mistakes(const ClassResults& results, const Tally& tally) {
  if (tally.causes.empty() && tally.unexplained.students.empty()) return "";
  std::string head, rows;
  for (const Exercise& exercise : results.exercises)
    head += "<th class=\"num\">" + escaped(exercise.id) + "</th>";
  const auto add = [&](const CauseTally& cause, const std::string& words) {
    if (cause.students.empty()) return;
    rows += fmt::format("<tr><td>{}<br><span class=\"dim\">{}</span></td><td>{}</td>", words,
                        escaped(cause.id), who(cause.students));
    for (const int count : cause.of_exercise)
      rows += fmt::format("<td class=\"num\">{}</td>", count == 0 ? "" : std::to_string(count));
    rows += "</tr>\n";
  };
  for (const CauseTally& cause : tally.causes) add(cause, words_of(cause));
  add(tally.unexplained, "no known mistake gives these numbers");
  return section(
      "Mistakes",
      "The likeliest cause of each student's failed checks; the last columns count the students by exercise.",
      "<div class=\"wide\"><table><thead><tr><th>mistake</th><th>students</th>" + head +
          "</tr></thead>\n<tbody>\n" + rows + "</tbody></table></div>\n");
}

// ---- the rest

std::string alike_pairs(const ClassResults& results) {
  if (results.alike.empty() && results.same.empty()) return "";
  const auto student = [&](const std::string& key, const std::string& exercise) {
    const auto found = std::ranges::find(results.students, key, &StudentResults::key);
    return found == results.students.end() ? isolated(key) : link_to(*found, anchor_of(exercise));
  };
  std::string rows;
  for (const Same& group : results.same) {
    std::string names;
    for (const std::string& key : group.students)
      names += (names.empty() ? "" : ", ") + student(key, group.exercise);
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"num\">{}</td></tr>\n", escaped(group.exercise),
                        names,
                        group.is_library ? "the library's own file, but for names and layout"
                                         : fmt::format("the same file, {} times", group.students.size()));
  }
  for (const Alike& pair : results.alike)
    rows += fmt::format(
        "<tr><td>{}</td><td>{} and {}</td><td class=\"num\"><a href=\"alike/{}\">{:.0f} %, side by "
        "side</a></td></tr>\n",
        escaped(pair.exercise), student(pair.one, pair.exercise), student(pair.other, pair.exercise),
        escaped(alike_file(pair)), 100 * pair.share);
  return section("Much alike",
                 "A hint for a person, and no verdict: short exercises have few right answers. The share is "
                 "of the shorter file, without what everybody was given, and what a third of the class has.",
                 "<table class=\"stack\"><tbody>\n" + rows + "</tbody></table>\n");
}

std::string layers(const ClassResults& results) {
  std::string rows;
  for (const Layer& layer : results.layers)
    rows +=
        fmt::format("<tr><td>{}<br><span class=\"dim\">{}</span></td><td class=\"{}</td></tr>\n",
                    escaped(layer.claim), escaped(layer.id),
                    layer.here ? "yes\">here"
                               : "no\">missing: " + escaped(layer.reason) +
                                     (layer.fallback.empty() ? "" : "; instead: " + escaped(layer.fallback)));
  const auto missing = std::ranges::count(results.layers, false, &Layer::here);
  return rows.empty() ? ""
                      : section("Layers between the files and this machine",
                                missing == 0 ? "Every layer was here."
                                             : "Some layers were missing while this class was graded.",
                                "<table class=\"stack\"><tbody>\n" + rows + "</tbody></table>\n");
}

std::string enrolment(const ClassResults& results) {
  if (!results.enrolment) return "";
  const Absences absences = absences_of(results);
  std::string absent, unknown;
  for (const std::string& name : absences.without_hand_in)
    absent += "<li>" + isolated(shown(name, kShortName)) + "</li>\n";
  for (const StudentResults* student : absences.without_line)
    unknown += "<li>" + link_to(*student) + "</li>\n";
  return (absent.empty() ? ""
                         : section("On the roster, without a hand-in",
                                   "Nothing in this class has the id, or the name, of these lines.",
                                   "<ul>\n" + absent + "</ul>\n")) +
         (unknown.empty() ? ""
                          : section("Handed in, and on no line of the roster",
                                    "No line has their id with their name, or several people fit one line: "
                                    "roster.csv lacks their points.",
                                    "<ul>\n" + unknown + "</ul>\n"));
}

std::string remarks(const ClassResults& results) {
  std::string items;
  for (const std::string& remark : results.remarks) items += "<li>" + isolated(remark) + "</li>\n";
  for (const StudentResults& student : results.students)
    for (const std::string& remark : student.remarks)
      items += "<li>" + link_to(student) + ": " + isolated(remark) + "</li>\n";
  return items.empty() ? "" : section("Passed over", "", "<ul>\n" + items + "</ul>\n");
}

}  // namespace

std::string student_file(const std::string& key) { return key + ".html"; }

std::string alike_file(const Alike& pair) {
  return pair.exercise + "+" + pair.one + "+" + pair.other + ".html";
}

std::string class_page(const ClassResults& results) {
  const Tally tally = tally_of(results);
  return framed(results.title, "<header>\n<p class=\"over\">A graded class</p>\n<h1>" +
                                   isolated(results.title) + "</h1>\n" + cards(results) + "</header>\n" +
                                   for_a_person(results) + enrolment(results) + odd_calls(results) +
                                   points_table(results) + stuck(results, tally) + mistakes(results, tally) +
                                   every_check(results, tally) + alike_pairs(results) + layers(results) +
                                   remarks(results));
}

}  // namespace ringcraft::grade
