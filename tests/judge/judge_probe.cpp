// Judges one file from the command line: judge_probe [--json] LESSON FILE [SECONDS PER CALL [SEED]]. For
// people who write lessons and wrong implementations; exits 0 if every check passes. --json prints the report
// as JSON, and what `check` prints of it to stderr.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "judge/verdict/judge.hpp"

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
    const auto report = judge::check(std::atoi(argv[1]), argv[2], options).report;
    std::fputs((json ? verify::json_of(report) : verify::text_of(report)).c_str(), stdout);
    if (json) {
      const verify::BriefText brief = verify::brief_text_of(report);
      std::fputs((brief.first + brief.others + brief.rest).c_str(), stderr);
    }
    return report.good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
