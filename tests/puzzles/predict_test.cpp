// Predictions: for every seed the answers are those that plain counting gives, the filled form passes, and
// the form of another seed does not.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "305_overlap/puzzles/hiding/figures.hpp"
#include "501_all_gather/puzzles/held/promises.hpp"
#include "judge/build/toolchain.hpp"
#include "judge/puzzle/puzzle.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

verify::Report report_on(const std::string& puzzle, const std::string& text, std::uint64_t seed) {
  const WorkFolder folder;  // tests run side by side
  const auto file = folder.path() / "prediction.txt";
  std::ofstream(file) << text;
  CheckOptions options;
  options.seed = seed;
  return check_puzzle_file(puzzle, file, options);
}

}  // namespace

TEST_CASE("a filled form passes for every seed, and for no other seed") {
  const std::uint64_t last = testing::long_run() ? 100 : 20;
  WARN("seeds 1 to " << last << (testing::long_run() ? "" : " (to 100 with RINGCRAFT_LONG=1)"));
  for (const Puzzle& puzzle : puzzles()) {
    if (!puzzle.seeded) continue;
    for (std::uint64_t seed = 1; seed <= last; ++seed) {
      INFO(puzzle.id << " seed " << seed);
      const std::string solved = puzzle.solved(seed);
      CHECK(solved.find("___", solved.find("\nseed ")) == solved.npos);
      const verify::Report report = report_on(puzzle.id, solved, seed);
      INFO(verify::text_of(report));
      CHECK(report.points() == report.all_points());
      const verify::Report neighbours = report_on(puzzle.id, solved, seed + 1);
      CHECK(neighbours.points() == 0);
      CHECK(testing::contains(neighbours.rows[0].sentence,
                              "expected the line 'seed " + std::to_string(seed + 1) +
                                  "' of the form that you were given, got 'seed " + std::to_string(seed)));
      CHECK(puzzle.given(seed) == puzzle.given(seed));
    }
    CHECK(puzzle.given(1) != puzzle.given(2));
  }
}

TEST_CASE("305.hiding: a hop hides from the shard length on that is asked for, and from no shorter one") {
  RingFigures ring{.flops = 200e12,
                   .beta = 100e9,
                   .alpha = 5e-6,
                   .ranks = 3,
                   .heads = 12,
                   .kv_heads = 4,
                   .head_dim = 64,
                   .bytes = {2, 4},
                   .causal = false};
  for (const bool causal : {false, true})
    for (const double alpha : {0.0, 5e-6, 1e-3}) {
      ring.causal = causal, ring.alpha = alpha;
      const double border = least_tokens(ring);
      INFO("causal " << causal << ", alpha " << alpha << ", border " << border);
      const Index even = 2 * std::llround(border / 2);  // chunks of a zig-zag are alike
      CHECK(hides(ring.with(even + 2)));
      CHECK_FALSE(hides(ring.with(even - 2)));
      CHECK(exposed_seconds(ring.with(even - 2)) > 0);
      if (!causal) CHECK(exposed_seconds(ring.with(even + 2)) == 0);
    }
}

TEST_CASE("501.held: a right schedule breaks no promise, holds N + 1 blocks, and exposes the first slice") {
  using Held = std::vector<int>;
  CHECK(blocks_held(gather_steps(3, 1), 3, 1) == Held{2, 3, 3, 2, 1});
  CHECK(blocks_held(gather_steps(4, 2), 4, 2) == Held{2, 3, 4, 4, 5, 5, 5, 4, 3, 2, 1});  // of the lesson
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int slices = 1; slices <= 4; ++slices) {
      const GatherSchedule steps = gather_steps(ranks, slices);
      INFO(ranks << " ranks, " << slices << " slices");
      CHECK(broken_promises(steps, ranks, slices).empty());
      CHECK(std::ranges::max(blocks_held(steps, ranks, slices)) == (ranks == 1    ? 1
                                                                    : slices == 1 ? ranks
                                                                                  : ranks + 1));
      for (const double hop : {3.0, 7.0}) {  // the formulas of the lesson, a block computes in 5 seconds
        const auto [all, exposed] = gather_seconds(steps, hop / slices, 5.0 / slices);
        const double later = (slices - 1.0) / slices;
        CHECK(all == Approx((ranks - 1) * hop / slices + 5 +
                            (ranks - 1) * (later * std::max(hop, 5.0) + 5.0 / slices)));
        CHECK(exposed == Approx((ranks - 1) * (hop / slices + later * std::max(0.0, hop - 5))));
      }
    }
}

TEST_CASE("501.held: every wrong list breaks one promise, and each of the five is asked about") {
  std::set<std::string> asked;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::istringstream lines(puzzle_named("501.held").solved(seed));
    for (std::string line; std::getline(lines, line);) {
      const std::string words = ", the promise that it breaks, 1 to 5:";
      if (const auto at = line.find(words); at != line.npos) {
        const std::string answer = line.substr(at + words.size());
        INFO("seed " << seed << ": " << line);
        CHECK(answer.size() == 2);  // a blank, and one number
        asked.insert(answer);
      }
    }
  }
  CHECK(asked == std::set<std::string>{" 1", " 2", " 3", " 4", " 5"});
}

TEST_CASE("503.links: the blocks that leave a node are those of the lesson") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string text = puzzle_named("503.links").solved(seed);
    int ranks = 0, nodes = 0, node = 0, row = 0;
    const auto at = text.find(" ranks on ");
    REQUIRE(std::sscanf(
                text.c_str() + text.rfind('#', at),
                "# %d ranks on %d nodes of %d, filled one after another. A hybrid deals heads in rows of %d.",
                &ranks, &nodes, &node, &row) == 4);
    INFO(text);
    CHECK(ranks == nodes * node);
    CHECK(testing::contains(text, "\nplain ring: " + std::to_string(ranks - 1) + "\n"));
    CHECK(testing::contains(text, "\ndouble ring: " + std::to_string(ranks - node) + "\n"));
    CHECK(testing::contains(text,
                            "\ncolumns of the hybrid: " + std::to_string(row * (ranks / row - 1)) + "\n"));
  }
}

TEST_CASE("a wrong answer that two mistakes lead to is asked about in one question") {
  const Puzzle& puzzle = puzzle_named("305.hiding");
  std::string text = puzzle.solved(8261);  // 5 query heads for each of the keys, and 5 hops
  const std::string right = "B, bytes of a hop: 655360";
  REQUIRE(testing::contains(text, right));
  text.replace(text.find(right), right.size(), "B, bytes of a hop: 3276800");
  const verify::Report report = report_on(puzzle.id, text, 8261);
  CHECK(testing::contains(
      verify::text_of(report),
      "Are these the heads of the queries, which stay, or are these the hops of the whole pass?"));
  CHECK(testing::contains(text, "C, microseconds of computing in a step, forward: "));
}

TEST_CASE("a sentence about a prediction never tells the right number") {
  const Puzzle& puzzle = puzzle_named("401.predict");
  std::string text = puzzle.given(3);
  for (std::size_t at = text.find("\nseed "); (at = text.find("___", at)) != text.npos;)
    text.replace(at, 3, "987654");
  const verify::Report report = report_on(puzzle.id, text, 3);
  for (const auto& row : report.rows) {
    INFO(row.sentence);
    if (row.weight > 0) CHECK(row.status == verify::Status::kFailed);
    if (row.weight > 0) CHECK(testing::contains(row.sentence, "not so: '"));
    std::size_t digits = 0;  // place, counts, step numbers and the student's own numbers
    for (const char c : row.sentence) digits += c >= '0' && c <= '9' ? 1 : 0;
    CHECK(digits < 60);
  }
}

}  // namespace ringcraft::judge
