// Judges the corpus. Exits 0 if every claim of every file holds; prints those that do not.
//   misconceptions LESSON            wrong files fail where they say so, with the first cause of the table
//                                    (every third, at most four; with RINGCRAFT_LONG=1 all);
//                                    and then as --equivalent
//   misconceptions --equivalent [LESSON]  the library's file and equivalent ones pass under 3 seeds (100)
//   misconceptions --attacks LESSON  attacks end in the verdicts that they name (every second; likewise all)
//   misconceptions --causes [LESSON] prints every wrong file's mistake and first cause
//   misconceptions --write [LESSON]  writes tests/misconceptions/tables/NNN_name.csv
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "corpus.hpp"
#include "edit.hpp"
#include "judge/tree/config.hpp"
#include "ringcraft/core/error.hpp"
#include "support/effort.hpp"
#include "table.hpp"

namespace ringcraft::judge {
namespace {

int complaints = 0;

void complain(const std::filesystem::path& path, const std::string& sentence) {
  ++complaints;
  std::printf("%s: %s\n", path.lexically_relative(kSourceRoot).c_str(), sentence.c_str());
  std::fflush(stdout);
}

Verdict verdict_of(int lesson, const std::filesystem::path& path, std::chrono::milliseconds per_call) {
  CheckOptions options;
  options.per_call = per_call;
  const HandedIn submission(lesson, path);
  return check(lesson, submission.file(), options);
}

const verify::ReportRow* row_of(const verify::Report& report, int lesson, const std::string& check) {
  const auto row =
      std::ranges::find(report.rows, std::to_string(lesson) + "." + check, &verify::ReportRow::id);
  return row == report.rows.end() ? nullptr : &*row;
}

// A worker under a sanitizer has no limit on memory, and the library is slow as well.
bool means_nothing_here(const WrongFile& file) {
  return kSanitized && std::ranges::any_of(file.fails, [](const Expected& each) {
           return each.check == "long-sequence" || each.check == "speed";
         });
}

// How long one call may take: a file that waits or spins without end costs that time, whatever it fails by.
std::chrono::seconds per_call(const WrongFile& file) {
  const bool hangs = std::ranges::any_of(file.fails, [](const Expected& each) {
    return each.fragment.find("did not come back") != std::string::npos ||
           each.fragment.find("the beginning of") != std::string::npos;
  });
  const bool attacks = file.id.empty();
  return std::chrono::seconds(hangs ? 2 : attacks && !kSanitized ? 5 : 20);
}

// The checks that a wrong file names failed, in the words that it quotes.
Verdict judge_wrong(const LessonInfo& lesson, const WrongFile& file) {
  Verdict verdict = verdict_of(lesson.number, file.path, per_call(file));
  const int before = complaints;
  for (const Expected& each : file.fails) {
    const verify::ReportRow* row = row_of(verdict.report, lesson.number, each.check);
    if (row == nullptr)
      complain(file.path, "no check is called " + each.check);
    else if (row->status != verify::Status::kFailed)
      complain(file.path, each.check + " must fail, and it " + std::string(name_of(row->status)));
    else if (row->sentence.find(each.fragment) == std::string::npos)
      complain(file.path, each.check + " must say \"" + each.fragment + "\", and says: " + row->sentence);
  }
  if (complaints != before) std::printf("%s", verify::text_of(verdict.report).c_str());
  return verdict;
}

// All checks of an equivalent file passed, but for those that it says: under 3 seeds of inputs, or 100.
void judge_right(const LessonInfo& lesson, const RightFile& file) {
  std::vector<std::uint64_t> seeds(testing::long_run() ? 100 : 3);
  std::iota(seeds.begin(), seeds.end(), kSeedOfCorpus);
  CheckOptions options;
  options.per_call = std::chrono::seconds(20);
  const HandedIn submission(lesson.number, file.path);
  const std::vector<Verdict> verdicts = check_under(seeds, lesson.number, submission.file(), options);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    bool good = true;
    for (const verify::ReportRow& row : verdicts[i].report.rows) {
      const std::string check = row.id.substr(row.id.find('.') + 1);
      const bool as_it_says = file.may_fail.contains(check) ? row.status == verify::Status::kFailed
                                                            : row.status == verify::Status::kPassed;
      if (!as_it_says)
        complain(file.path,
                 row.id + " " + std::string(name_of(row.status)) + " under seed " + std::to_string(seeds[i]));
      good = good && as_it_says;
    }
    if (!good) std::printf("%s", verify::text_of(verdicts[i].report).c_str());
  }
}

// The library's own file first.
void judge_equivalents(const LessonInfo& lesson) {
  judge_right(lesson, {original_file(lesson.number), {}});
  for (const RightFile& file : equivalents_of(lesson)) judge_right(lesson, file);
}

// Whether the table holds this row. A file that reads past the end of its memory leaves other traces from run
// to run, so a few checks may end in another way.
void compare_with_table(const WrongFile& file, const TableRow& row, const std::vector<TableRow>& table) {
  constexpr std::size_t kMayDiffer = 5;  // one check of so many
  const auto known = std::ranges::find(table, row.file, &TableRow::file);
  const auto differing = [&] {
    std::size_t count = row.checks.size() == known->checks.size() ? 0 : row.checks.size();
    for (std::size_t i = 0; count < row.checks.size() && i < row.checks.size(); ++i)
      count += row.checks[i] != known->checks[i];
    return count;
  };
  const auto checks = static_cast<std::size_t>(std::ranges::count(row.checks, '='));
  if (known == table.end() || known->id != row.id || known->sentence != row.sentence ||
      differing() * kMayDiffer > checks)
    complain(file.path, "its row in the table is stale: " + row.checks);
  else if (known->cause != row.cause)
    complain(file.path, "its first cause is \"" + row.cause + "\", and was \"" + known->cause + "\"");
}

void judge_lesson(const LessonInfo& lesson) {
  const std::vector<WrongFile> wrong = misconceptions_of(lesson);
  const std::vector<TableRow> table = read_table(table_file(lesson));
  if (wrong.empty()) complain(lesson.name, "a lesson without a known wrong implementation");
  if (table.size() != wrong.size())
    complain(table_file(lesson),
             std::to_string(table.size()) + " rows for " + std::to_string(wrong.size()) + " files");
  for (const WrongFile& file : looked_at(wrong)) {
    if (means_nothing_here(file)) continue;
    const Verdict verdict = judge_wrong(lesson, file);
    if (!kSanitized) compare_with_table(file, row_for(file, verdict), table);
  }
  judge_equivalents(lesson);
}

// Most attacks let the judge wait for a deadline: three at a time, each in a process of its own.
void judge_attacks(const LessonInfo& lesson) {
  constexpr int kAtOnce = 3;
  int running = 0;
  const auto wait_for_one = [&] {
    int status = 0;
    if (wait(&status) < 0 || status != 0) ++complaints;
    --running;
  };
  for (const WrongFile& file : tried_attacks(lesson)) {
    if (running == kAtOnce) wait_for_one();
    const pid_t child = fork();
    if (child < 0) throw Error("attacks", "a process for each", "none", "look at the limit of processes");
    if (child == 0) {
      complaints = 0;
      try {
        const double points = judge_wrong(lesson, file).report.points();
        if (points > file.earns) complain(file.path, "an attack earns " + std::to_string(points) + " points");
      } catch (const std::exception& error) {
        complain(file.path, error.what());
      }
      std::fflush(stdout);
      _exit(complaints == 0 ? 0 : 1);
    }
    ++running;
  }
  while (running > 0) wait_for_one();
}

// One line for each wrong file: its own statement, and its first cause.
void print_causes(const LessonInfo& lesson) {
  for (const WrongFile& file : misconceptions_of(lesson)) {
    const Verdict verdict = verdict_of(lesson.number, file.path, std::chrono::seconds(3));
    std::printf("%s/%s: %s\n", lesson.name.c_str(), file.path.stem().c_str(), file.sentence.c_str());
    const auto named =
        std::ranges::find_if(verdict.report.rows, [](const auto& row) { return !row.causes.empty(); });
    if (named == verdict.report.rows.end())
      std::printf("  no cause (%s)\n", row_for(file, verdict).checks.c_str());
    else
      std::printf("  %s: %s\n", named->causes[0].id.c_str(), named->causes[0].sentence.c_str());
    std::fflush(stdout);
  }
}

void write_table(const LessonInfo& lesson) {
  std::vector<TableRow> rows;
  for (const WrongFile& file : misconceptions_of(lesson))
    rows.push_back(row_for(file, judge_wrong(lesson, file)));
  std::ofstream(table_file(lesson)) << csv_of(rows);
}

int run(const std::vector<std::string>& arguments) {
  const bool option = !arguments.empty() && arguments[0].starts_with("--");
  const std::string mode = option ? arguments[0] : "";
  const int number = arguments.size() > (option ? 1 : 0) ? std::atoi(arguments[option ? 1 : 0].c_str()) : 0;
  int judged = 0, left_out = 0;
  for (const LessonInfo& lesson : lessons()) {
    if (number != 0 && lesson.number != number) continue;
    ++judged;
    if (!lesson.checkable) {
      std::printf("left out: this build does not run the kernel of lesson %d\n", lesson.number);
      ++left_out;
      continue;
    }
    if (mode == "--write")
      write_table(lesson);
    else if (mode == "--causes")
      print_causes(lesson);
    else if (mode == "--equivalent")
      judge_equivalents(lesson);
    else if (mode == "--attacks")
      judge_attacks(lesson);
    else
      judge_lesson(lesson);
  }
  if (judged == 0) complain("misconceptions", "no such lesson");
  constexpr int kSkipped = 77;
  return complaints > 0 ? 1 : left_out > 0 && left_out == judged ? kSkipped : 0;
}

}  // namespace
}  // namespace ringcraft::judge

int main(int argc, char** argv) {
  try {
    return ringcraft::judge::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
