// Side exercises: the given file fails where it must, right submissions pass, each wrong one fails in its
// row. The files are in right/ID and wrong/ID; the tables below hold each of them once.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "judge/tree/config.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::Status;

const std::filesystem::path kHere = std::filesystem::path(RINGCRAFT_SOURCE_DIR) / "tests/puzzles";

// A wrong submission: the row that it fails, and a part of its sentence. File "": the given file.
struct Wrongly {
  const char *puzzle, *file, *row, *fragment;
};

const std::vector<Wrongly> kWrong{
    {"103.predict", "", "alone", "still to be filled in; 6 of 6 answers of this row are wrong or blank"},
    {"103.predict", "never_rescaled.txt", "states", "not so: 'after block 1:"},
    {"103.predict", "inverted.txt", "factors", "not so: 'block 1 comes:"},
    {"103.predict", "a_word.txt", "reads", "a_word.txt:9: expected a number instead of ___, got 'two'"},
    {"103.predict", "another_question.txt", "reads", "expected the line 'block 1 alone: m ___ l ___'"},
    {"301.deadlock", "", "301.no-deadlock", "3 ranks, to the next one: "},
    {"301.deadlock", "one_direction.cpp", "301.other-direction", "3 ranks, to the previous one: "},
    {"301.deadlock", "more_phases.cpp", "301.no-deadlock", "3 ranks, to the next one: "},
    {"301.deadlock", "rewritten.cpp", "kept", "differ from the given file, and 5 are more than enough"},
    {"303.break_it", "", "A", "ring A survives n=2 "},
    {"303.break_it", "no_remainder.txt", "B", "ring B survives n=3 "},
    {"303.break_it", "no_remainder.txt", "C", "ring C survives n=1 "},
    {"303.break_it", "no_remainder.txt", "E", "ring E survives n=2 "},
    {"303.break_it", "no_remainder.txt", "all", "ring B survives n=3 "},
    {"303.break_it", "too_large.txt", "A-smallest",
     "ranks x tokens x heads is 64, and a smaller product is enough"},
    {"303.break_it", "too_large.txt", "all-smallest", "a smaller product is enough"},
    {"303.break_it", "unknown_layout.txt", "reads",
     "unknown_layout.txt:1: expected layout contiguous, striped"},
    {"303.break_it", "too_many_ranks.txt", "reads",
     "too_many_ranks.txt:2: expected ranks from 1 to 8, got '99'"},
    {"303.schedule", "", "pairs", "rank 1 never computes its queries against K0"},
    {"303.schedule", "closed_ring.txt", "bytes", "a closed ring sends 48, and 24 are enough"},
    {"303.schedule", "one_buffer.txt", "memory", ""},
    {"303.schedule", "forgets_a_block.txt", "pairs", "rank 3 never computes its queries against K0"},
    {"303.schedule", "nobody_listens.txt", "progress", ""},
    {"303.schedule", "one_rank.txt", "reads", "the problem has changed"},
    {"303.schedule", "memory_for_all.txt", "buffers", "rank 3 has memory for 4 blocks"},
    {"303.schedule", "one_at_a_time.txt", "steps", "it takes 6 steps, and 4 are enough"},
    {"303.schedule", "one_at_a_time_in_one_step.txt", "steps", "it takes 7 steps, and 4 are enough"},
    {"303.schedule", "no_such_word.txt", "reads",
     "expected send, recv, compute, add or wait, got 'multiply'"},
    {"304.stale", "", "304.any-delivery", "bytes leave at wait"},
    {"304.stale", "adds_before_the_wait.cpp", "304.two-ranks", ""},
    {"304.stale", "waits_for_the_other.cpp", "304.any-delivery", "bytes leave at wait"},
    {"305.races", "", "races", "still to be filled in"},
    {"305.races", "late_wait_is_enough.txt", "races", "not so: 'program D, step: -1'"},
    {"305.races", "receive_overlaps.txt", "time", "not so: 'seconds: 16 16'"},
    {"305.races", "one_for_each_rank.txt", "buffers", "not so: 'ring buffers, at least: 4'"},
    {"305.hiding", "", "bytes", "still to be filled in; 3 of 3 answers of this row are wrong or blank"},
    {"305.hiding", "careless.txt", "bytes", "'; Is V missing, which travels with K? 1 of 3 answers"},
    {"305.hiding", "careless.txt", "computing", "'; Is one of the two products missing, or do a "},
    {"305.hiding", "careless.txt", "hidden", "not so: 'A, hidden, 1 or 0: 0'; 1 of 3 answers"},
    {"305.hiding", "careless.txt", "tokens", "'; Is that without the mask? 1 of 3 answers"},
    {"305.hiding", "careless.txt", "exposed", "'; Is that the whole time of the hops, and not what "},
    {"305.hiding", "careless.txt", "schedules", "'; Is that the other schedule? 2 of 6 answers"},
    {"305.hiding", "both_ways.txt", "bytes",
     "'; Is that what a rank sends and receives together, or are these the hops of the whole pass? 1 of 3"},
    {"305.hiding", "both_ways.txt", "tokens", "'; Is the latency missing? 1 of 3 answers"},
    {"305.hiding", "both_ways.txt", "exposed", "'; Are there as many hops as ranks? 1 of 3 answers"},
    {"305.hiding", "query_heads.txt", "bytes", "'; Are these the heads of the queries, which stay? "},
    {"305.hiding", "query_heads.txt", "computing", "'; Are these the heads of the keys, each of "},
    {"305.hiding", "query_heads.txt", "tokens", "Are these the heads of the queries, which stay? "},
    {"305.hiding", "in_bits.txt", "bytes", "'; Are these bits? 1 of 3 answers"},
    {"306.eager", "", "sizes", "still to be filled in"},
    {"306.eager", "without_header.txt", "sizes", "not so: 'messages of "},
    {"306.eager", "limit_excluded.txt", "limit", "not so: 'bytes: "},
    {"306.eager", "k_and_v.txt", "tokens", "not so: 'tokens: "},
    {"401.predict", "", "blocks", "still to be filled in"},
    {"401.predict", "wrong_way_round.txt", "blocks", "not so: 'rank 1 holds the blocks of ranks"},
    {"401.predict", "equal_shards.txt", "pairs", "not so: 'step 0, pairs:"},
    {"401.predict", "max_over_mean.txt", "time", "not so: 'imbalance, percent:"},
    {"403.halves", "", "calls", "still to be filled in"},
    {"403.halves", "early_rows_of_a_later_block.txt", "calls", "not so: 'step 2, block 2: rows 0 2"},
    {"403.halves", "mean_of_means.txt", "attend", "not so: 'after step 1, row 2: l 5 out 2.25'"},
    {"403.halves", "whole_blocks.txt", "pairs", "not so: 'pairs at steps 0 to 2: 6 9 9'"},
    {"404.corner", "", "reach", "still to be filled in"},
    {"404.corner", "hops_for_all.txt", "reach", "not so: 'reach: 3 3 3 3 3'"},
    {"404.corner", "one_convention.txt", "convention", "not so: 'keys with its own: 10'"},
    {"404.corner", "whole_corner.txt", "calls", "not so: 'step 3, block 1: rows 0 5 keys 0 5 left 0'"},
    {"404.corner", "no_damage.txt", "sums", "not so: 'wrong: 13 14'"},
    {"405.blocks", "", "keys", "still to be filled in"},
    {"405.blocks", "last_key.txt", "keys", "not so: 'position 1 sees"},
    {"405.blocks", "positions.txt", "ranges", "not so: 'rank 1, row 0, local keys of block 1"},
    {"405.blocks", "w_keys.txt", "window", "not so: 'position 6 sees"},
    {"405.blocks", "earlier_blocks_only.txt", "travel", "not so: 'hops:"},
    {"501.held", "", "steps", "still to be filled in"},
    {"501.held", "exchanges_of_own_blocks.txt", "steps", "not so: '4 ranks, 2 slices: steps"},
    {"501.held", "own_blocks_not_counted.txt", "held", "not so: '3 ranks, 2 slices, blocks held"},
    {"501.held", "exposed_for_held.txt", "promises", "not so: 'C, the promise that it breaks, 1 to 5: 4'"},
    {"501.held", "all_heads.txt", "seconds", "'; Are these blocks of all heads, and not of a slice"},
    {"502.parcels", "", "heads", "still to be filled in"},
    {"502.parcels", "round_robin.txt", "heads", "not so: 'rank 1, first query head"},
    {"502.parcels", "rank_after_rank.txt", "rows", "not so: 'rank 1, rows: 4 5 6 7'"},
    {"502.parcels", "positions.txt", "pairs-of-ranks", "not so: 'rank 2, rows: 4 5 10 11'"},
    {"502.parcels", "two_bytes.txt", "bytes", "not so: 'Ulysses, bytes that a rank sends: 3072'"},
    {"502.parcels", "query_heads_only.txt", "dealt", "not so: '4 ranks: 1'"},
    {"503.links", "", "groups", "still to be filled in"},
    {"503.links", "column_of_neighbours.txt", "groups", "not so: 'rank 5, column: 4 5 6 7'"},
    {"503.links", "numbers_for_ranks.txt", "translated", "not so: 'number 1 of this row"},
    {"503.links", "plain_ring.txt", "walk", "not so: 'step 3, block of rank"},
    {"503.links", "rows_for_nodes.txt", "links", "not so: 'the column of rank 5"},
    {"503.links", "one_at_the_border.txt", "leaving", "not so: 'double ring: 7'"},
    {"505.sums", "", "places", "still to be filled in"},
    {"505.sums", "slowest_first.txt", "places", "not so: 'tp-dp-cp-pp, rank 4"},
    {"505.sums", "side_by_side.txt", "groups", "not so: 'tp-dp-cp-pp, rank 4, along cp: 4 5'"},
    {"505.sums", "context_alone.txt", "sums", "not so: 'the gradient of a column of the projections"},
    {"505.sums", "each_rank_once.txt", "tokens", "not so: 'tokens of the whole batch: 32'"},
    {"505.sums", "tensor_on_one_node.txt", "nodes", "not so: 'dp-cp-tp, nodes under"},
};

// Right submissions; the predictions are written by hand, for seed 1.
struct Rightly {
  const char *puzzle, *file;
};
const std::vector<Rightly> kRight{
    {"103.predict", "by_hand.txt"},      {"301.deadlock", "listens_anyway.cpp"},
    {"301.deadlock", "third_phase.cpp"}, {"303.break_it", "smallest.txt"},
    {"303.schedule", "chain.txt"},       {"303.schedule", "straight_to_the_last.txt"},
    {"304.stale", "waits_first.cpp"},    {"304.stale", "third_buffer.cpp"},
    {"305.races", "by_hand.txt"},        {"305.hiding", "by_hand.txt"},
    {"306.eager", "by_hand.txt"},        {"401.predict", "by_hand.txt"},
    {"403.halves", "by_hand.txt"},       {"404.corner", "by_hand.txt"},
    {"405.blocks", "by_hand.txt"},       {"501.held", "by_hand.txt"},
    {"502.parcels", "by_hand.txt"},      {"503.links", "by_hand.txt"},
    {"505.sums", "by_hand.txt"},
};

class Workspace {  // a folder that removes itself
 public:
  explicit Workspace(const char* name) : path_(std::filesystem::path(RINGCRAFT_BINARY_DIR) / name) {
    std::filesystem::remove_all(path_);
  }
  ~Workspace() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

const verify::ReportRow& row_of(const Report& report, const std::string& puzzle, const std::string& row) {
  const std::string id = row.find('.') == row.npos ? puzzle + "." + row : row;
  const auto found = std::ranges::find(report.rows, id, &verify::ReportRow::id);
  REQUIRE(found != report.rows.end());
  return *found;
}

Report report_on(const Wrongly& wrong) {
  if (*wrong.file != '\0')
    return check_puzzle_file(wrong.puzzle, kHere / "wrong" / wrong.puzzle / wrong.file);
  const Workspace workspace("given");
  start_puzzle(wrong.puzzle, workspace.path());
  return check_puzzle(wrong.puzzle, workspace.path());
}

std::set<std::string> files_below(const char* folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kHere / folder))
    if (entry.is_regular_file()) files.insert(std::filesystem::relative(entry.path(), kHere / folder));
  return files;
}

}  // namespace

TEST_CASE("wrong submissions of side exercises fail in their row, and so does the given file") {
  const Wrongly wrong = GENERATE(from_range(kWrong));
  INFO(wrong.puzzle << " " << wrong.file);
  const Report report = report_on(wrong);
  INFO(verify::text_of(report));
  CHECK_FALSE(report.good());
  CHECK(all_points(puzzle_named(wrong.puzzle)) == report.all_points());
  const verify::ReportRow& row = row_of(report, wrong.puzzle, wrong.row);
  CHECK(row.status == Status::kFailed);
  CHECK(testing::contains(row.sentence, wrong.fragment));
  CHECK(row.hint != "");
}

TEST_CASE("right submissions of side exercises pass every row") {
  const Rightly right = GENERATE(from_range(kRight));
  INFO(right.puzzle << " " << right.file);
  const Report report = check_puzzle_file(right.puzzle, kHere / "right" / right.puzzle / right.file);
  INFO(verify::text_of(report));
  CHECK(report.good());
  CHECK(report.points() == report.all_points());
  CHECK(all_points(puzzle_named(right.puzzle)) == report.all_points());
  CHECK(report.count(Status::kPassed) == static_cast<int>(report.rows.size()));
}

TEST_CASE("the file given in 304.stale is wrong only when bytes leave at wait") {
  const Workspace workspace("stale");
  start_puzzle("304.stale", workspace.path());
  const Report report = check_puzzle("304.stale", workspace.path());
  INFO(verify::text_of(report));
  for (const auto& row : report.rows)
    CHECK((row.status == Status::kFailed) == (row.id == "304.any-delivery"));
}

TEST_CASE("the tables of side exercises are whole") {
  std::set<std::string> wrong, right, given;
  for (const Wrongly& each : kWrong) {
    if (*each.file == '\0') CHECK(given.insert(each.puzzle).second);
    if (*each.file != '\0') wrong.insert(std::string(each.puzzle) + "/" + each.file);
  }
  for (const Rightly& each : kRight) right.insert(std::string(each.puzzle) + "/" + each.file);
  CHECK(wrong == files_below("wrong"));
  CHECK(right == files_below("right"));
  for (const Puzzle& puzzle : puzzles()) {
    INFO(puzzle.id);
    CHECK(given.contains(puzzle.id));
    CHECK(lesson_numbered(puzzle.lesson()).number == puzzle.lesson());
    CHECK(std::filesystem::exists(puzzle_folder(puzzle) / "README.md"));
  }
  CHECK(given.size() == puzzles().size());
}

TEST_CASE("side exercises are started once, and asked for by name") {
  const Workspace workspace("starts");
  const auto file = start_puzzle("301.deadlock", workspace.path());
  CHECK(file == workspace.path() / "301_exchange" / "deadlock.cpp");
  testing::check_refused([&] { start_puzzle("301.deadlock", workspace.path()); },
                         "continue with it, or move it away");
  testing::check_refused([&] { start_puzzle("301.nothing", workspace.path()); },
                         "one of 103.predict, 301.deadlock");
  testing::check_refused([&] { check_puzzle("304.stale", workspace.path()); }, "./ringcraft start 304.stale");
  testing::check_refused([&] { start_puzzle("401.predict", workspace.path(), 0); }, "a seed from 1 to");
  std::ofstream(file) << std::string(300 << 10, ' ');
  testing::check_refused([&] { check_puzzle("301.deadlock", workspace.path()); }, "at most 262144 bytes");
}

TEST_CASE("changed lines are counted without comments, blanks and empty lines") {
  const std::string before = "a;\nb;\nc;\n";
  CHECK(changed_lines(before, before) == 0);
  CHECK(changed_lines(before, "// said\n  a;\n\nb;  // why\nc;") == 0);
  CHECK(changed_lines(before, "a;\nx;\nc;\n") == 1);
  CHECK(changed_lines(before, "a;\nc;\n") == 1);
  CHECK(changed_lines(before, "a;\nb;\nx;\ny;\nc;\n") == 2);
  CHECK(changed_lines(before, "b;\na;\nc;\n") == 1);
  CHECK(changed_lines(before, "") == 3);
}

}  // namespace ringcraft::judge
