// Any text as a schedule: an Error with file and line, or a proof whose sentences can be shown; the same text
// has the same proof every time, and a right schedule stays right when nothing but comments are added.
#include <algorithm>

#include "fuzz/target.hpp"
#include "verify/schedule/schedule_text.hpp"

namespace ringcraft::fuzz {
namespace {

std::string verdict_of(const std::string& text) {
  const verify::WrittenSchedule schedule = verify::parse_schedule(text, "s");
  const verify::ScheduleProof proof =
      verify::prove_schedule(schedule.trace, schedule.problem, schedule.goal, schedule.notes);
  std::string all;
  for (const verify::Violation& violation : proof.violations) {
    require(!violation.sentence.empty() && violation.sentence.find('\n') == std::string::npos,
            "a violation without a sentence");
    all += violation.sentence + "\n";
  }
  require(proof.good() || !all.empty(), "a fault without a sentence");
  require(proof.replay.complete || !proof.good(), "a schedule that is stuck and good");
  return all;
}

// Large problems only cost time.
bool is_small(const std::string& text) {
  return text.size() < 4000 && std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; }) < 600;
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      "ranks 3\ncosts ring\nstep 0\n0: send K0 to 1, recv K2 from 2 into A, compute q0 k0, wait\n1: send K1 "
      "to 2, recv K0 "
      "from 0 into A, compute q1 k1, wait\n2: send K2 to 0, recv K1 from 1 into A, compute q2 k2, wait\nstep "
      "1\n0: send K2 to "
      "1, recv K1 from 2 into B, compute q0 k2, wait\n1: send K0 to 2, recv K2 from 0 into B, compute q1 k0, "
      "wait\n2: send K1 "
      "to 0, recv K0 from 1 into B, compute q2 k1, wait\nstep 2\n0: compute q0 k1\n1: compute q1 k2\n2: "
      "compute q2 k0\n",
      "ranks 2\npass backward\nstep 0\n0: send K0 to 1, recv K1 from 1, compute q0 k0, add dK0, wait, send "
      "dK0 to 1, recv dK1 "
      "from 1\n1: send K1 to 0, recv K0 from 0, compute q1 k1, add dK1, wait, send dK1 to 0, recv dK0 from "
      "0\nstep 1\n0: "
      "compute q0 k1, wait, add dK1, send dK1 to 1, recv dK0 from 1, wait\n1: compute q1 k0, wait, add dK0, "
      "send dK0 to 0, "
      "recv dK1 from 0, wait\n",
      "ranks 2 # two\ntokens 9\nlayout zigzag\nmask window 3\npacked 0,4,9\nstep 0\n0: compute q0 k0\n1: "
      "wait\n",
      "ranks 2\npass backward reversed\nstep 0\n0: compute q0 k1 into P, add dK1\n1: compute q1 k0, add "
      "dK0\n"};
}

std::vector<std::string> words() {
  return {"ranks 3\n",
          "tokens 7\n",
          "layout striped\n",
          "mask causal\n",
          "mask window 2\n",
          "packed 0,2,7\n",
          "pass backward\n",
          "pass backward reversed\n",
          "costs ring\n",
          "step 1\n",
          "0: ",
          "1: ",
          "2: ",
          "send K0 to 1, ",
          "recv K2 from 2, ",
          "recv dK1 from 1 into A, ",
          "compute q0 k0, ",
          "compute q1 k0 into B, ",
          "add dK0, ",
          "wait, ",
          "wait K2, ",
          "wait dK1",
          ",",
          "\n",
          "#",
          ":",
          "-1",
          "64",
          "99999999999999999999",
          " into share0",
          "into K0"};
}

}  // namespace ringcraft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringcraft;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!fuzz::is_small(text)) return 0;
  try {
    const std::string verdict = fuzz::verdict_of(text);
    fuzz::require(fuzz::verdict_of(text) == verdict, "another verdict the second time");
    fuzz::require(fuzz::verdict_of(text + "\n# the end\n") == verdict, "another verdict with a comment");
  } catch (const Error& error) {
    fuzz::require_sentence(error);
    fuzz::require(std::string_view(error.what()).starts_with("s:"), "an error without its place");
  }
  return 0;
}
