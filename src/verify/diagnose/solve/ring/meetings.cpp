// Lists the laws of ranks and steps, with their wording, from "all blocks" to single steps.
#include "verify/diagnose/solve/ring/meetings.hpp"

namespace ringcraft::verify {

std::vector<MeetingLaw> meeting_laws(int n) {
  std::vector<MeetingLaw> all;
  const auto add = [&](std::string words, std::function<bool(const Meeting&)> holds) {
    all.push_back({std::move(words), std::move(holds)});
  };
  add("every block", [](const Meeting&) { return true; });
  add("the blocks that arrive", [](const Meeting& m) { return m.step > 0; });
  add("the own block", [](const Meeting& m) { return m.step == 0; });
  add("the blocks of odd steps", [](const Meeting& m) { return m.step % 2 == 1; });
  add("the blocks of even steps (but for the own one)",
      [](const Meeting& m) { return m.step > 0 && m.step % 2 == 0; });
  add("the blocks that have passed from the last rank to the first",
      [](const Meeting& m) { return m.slot > m.rank; });
  for (int node = 2; node < n; ++node)
    if (n % node == 0) {
      const std::string size = std::to_string(node);
      add("the blocks of other nodes of " + size + " ranks",
          [=](const Meeting& m) { return m.slot / node != m.rank / node; });
      add("the blocks of the other ranks of a node of " + size,
          [=](const Meeting& m) { return m.slot / node == m.rank / node && m.step > 0; });
    }
  for (int step = 1; step < n; ++step) {
    add("the blocks of step " + std::to_string(step), [=](const Meeting& m) { return m.step == step; });
    add("the blocks from step " + std::to_string(step) + " on",
        [=](const Meeting& m) { return m.step >= step; });
  }
  return all;
}

}  // namespace ringcraft::verify
