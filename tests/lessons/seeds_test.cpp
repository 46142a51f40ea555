// No false alarm: the library's own functions pass every check under other seeds, too, in this process.
// Workers are judged over fewer seeds in tests/judge; a lesson that compares times, and one whose exercise is
// a kernel, are judged there alone.
//   seeds_test [SEEDS]    default 20; RINGCRAFT_LONG=1: 1000
#include <cstdio>
#include <cstdlib>

#include "judge/debug/thread_team.hpp"
#include "judge/judgement.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  const int asked = argc > 1 ? std::atoi(argv[1]) : 20;
  const int seeds = std::getenv("RINGCRAFT_LONG") != nullptr ? 1000 : asked;
  int reports = 0, alarms = 0;
  for (const Lesson& lesson : all_lessons()) {
    if (lesson.timed || lesson.is_kernel()) continue;
    for (int seed = 1; seed <= seeds; ++seed, ++reports) {
      const auto report = report_on(lesson, 100 + static_cast<std::uint64_t>(seed));
      if (report.good() && report.points() == report.all_points()) continue;
      ++alarms;
      std::printf("seed %d: %s", 100 + seed, ringcraft::verify::text_of(report).c_str());
    }
  }
  std::printf("%d reports of %d seeds, %d false alarms\n", reports, seeds, alarms);
  return alarms == 0 && reports > 0 ? 0 : 1;
}
