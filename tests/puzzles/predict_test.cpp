// Predictions: for every seed the answers are those that plain counting gives, the filled form passes, and
// the form of another seed does not.
#include <cmath>
#include <fstream>

#include "305_overlap/puzzles/hiding/figures.hpp"
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
