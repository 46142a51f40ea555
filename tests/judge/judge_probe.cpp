// Judges one file from the command line: judge_probe [--json] LESSON FILE [SECONDS PER CALL [SEED]]. For
// people who write lessons and wrong implementations; exits 0 if every check passes. --json prints the report
// as JSON, and to stderr what `check` prints of it and the processor seconds that its causes cost.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>

#include "judge/verdict/diagnosis.hpp"

int main(int argc, char** argv) {
  using namespace ringcraft;
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  argv += json ? 1 : 0;
  argc -= json ? 1 : 0;
  if (argc < 3) {
    std::fputs("usage: judge_probe [--json] LESSON FILE [SECONDS [SEED]]\n", stderr);
    return 2;
  }
  try {
    judge::CheckOptions options;
    if (argc > 3) options.per_call = std::chrono::milliseconds(static_cast<int>(1000 * std::atof(argv[3])));
    if (argc > 4) options.seed = std::strtoull(argv[4], nullptr, 10);
    judge::Verdict verdict = judge::check(std::atoi(argv[1]), argv[2], options);
    const verify::Report report = verdict.report;
    std::fputs((json ? verify::json_of(report) : verify::text_of(report)).c_str(), stdout);
    if (json) {
      const verify::BriefText brief = verify::brief_text_of(report);
      const std::clock_t begin = std::clock();
      judge::explain(verdict);
      const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      std::fprintf(stderr, "%s%.4f\n", (brief.first + brief.others + brief.rest).c_str(), seconds);
    }
    return report.good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
