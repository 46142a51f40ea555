// No false alarm: the library's own functions pass every check under other seeds, too, in this process.
// Workers are judged over fewer seeds in tests/misconceptions; a lesson that compares times, and one whose
// exercise is a kernel, are judged there alone.
//   seeds_test [SEEDS [LESSON]]    default 10 of every lesson; RINGCRAFT_LONG=1: 1000
#include <cstdio>
#include <cstdlib>

#include "judge/debug/thread_team.hpp"
#include "judge/verdict/judgement.hpp"
#include "support/effort.hpp"

namespace {

using namespace ringcraft::judge;

ringcraft::verify::Report report_on(const Lesson& lesson, std::uint64_t seed) {
  CheckOptions options;
  options.seed = seed;
  Judgement judgement(lesson, options);
  judgement.build([] { return BuildStep(); }, [] { return BuildStep(); });
  ThreadTeam team;
  judgement.check(team, team);
  return std::move(judgement).verdict().report;
}

// How many reports on the lesson are not full of passes, each printed.
int false_alarms(const Lesson& lesson, int seeds) {
  int alarms = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto report = report_on(lesson, 100 + static_cast<std::uint64_t>(seed));
    if (report.good() && report.points() == report.all_points()) continue;
    ++alarms;
    std::printf("seed %d: %s", 100 + seed, ringcraft::verify::text_of(report).c_str());
  }
  return alarms;
}

}  // namespace

int main(int argc, char** argv) {
  const int asked = argc > 1 ? std::atoi(argv[1]) : 10, only = argc > 2 ? std::atoi(argv[2]) : 0;
  const int seeds = ringcraft::testing::long_run() ? 1000 : asked;
  int reports = 0, alarms = 0;
  for (const Lesson& lesson : all_lessons()) {
    if (lesson.timed || lesson.is_kernel() || (only != 0 && lesson.number != only)) continue;
    const int found = false_alarms(lesson, seeds);
    std::printf("%d: %d seeds, %d false alarms\n", lesson.number, seeds, found);
    std::fflush(stdout);
    reports += seeds;
    alarms += found;
  }
  return alarms == 0 && reports > 0 ? 0 : 1;
}
