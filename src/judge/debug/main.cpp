// A program for debuggers and sanitizers: the checks of one lesson and the student's file in one process.
// Called as: check LESSON [SEED]. It prints the report that the judge would print, but its report is no
// verdict: the student's code runs in the same process. Useful places to stop: ringcraft_serve, and
// __cxa_throw for exceptions.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "judge/debug/thread_team.hpp"
#include "judge/verdict/judgement.hpp"

// Leaks are not checked: the leak checker does not work under a debugger.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }

int main(int argc, char** argv) {
  using namespace ringcraft::judge;
  try {
    CheckOptions options;
    if (argc > 2) options.seed = std::strtoull(argv[2], nullptr, 10);
    Judgement judgement(lesson_numbered(argc > 1 ? std::atoi(argv[1]) : 0), options);
    judgement.build([] { return BuildStep(); }, [] { return BuildStep(); });
    ThreadTeam team;
    judgement.check(team, team);
    const ringcraft::verify::Report report = std::move(judgement).verdict().report;
    std::fputs(ringcraft::verify::text_of(report).c_str(), stdout);
    return report.good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
