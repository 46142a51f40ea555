// Lesson 401: known wrong and equivalent ledgers.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"401_one_step_short", "one-rank", "pairs has 0 steps, and a ring over this problem makes 1"},
    {"401_whole_blocks", "one-rank", "step 0, rank 0: 49 pairs, and counting one by one gives 28"},
    {"401_without_the_diagonal", "one-rank", "step 0, rank 0: 21 pairs, and counting one by one gives 28"},
    {"401_negative_rank", "full", "n=2 contiguous full s=12: step 1, rank 0: 0 pairs"},
    {"401_skips_later_ranks", "full", "step 1, rank 0: 0 pairs, and counting one by one gives 36"},
    {"401_label_forwards", "causal", "n=4 contiguous causal s=16: step 1, rank 1: 0 pairs"},
    {"401_own_block", "causal", "step 1, rank 0: 10 pairs, and counting one by one gives 0"},
    {"401_transposed", "causal", "step 0, rank 1: 0 pairs, and counting one by one gives 10"},
    {"401_every_step", "windows", "window 0 s=20: pairs has 5 steps, and a ring over this problem makes 1"},
    {"401_sums_of_steps", "by-rank",
     "by_rank is [40, 48, 32, 16], and the columns of the table add up to [10, 26, 42, 58]"},
    {"401_skipped_by_rank", "skipped", "skipped is"},
    {"401_cost_of_the_busiest", "cost",
     "synchronous_cost is 86, and the largest entries of the steps add up to 105"},
    {"401_integer_mean", "imbalance",
     "imbalance is 1, and 1 - mean / max of [10, 26, 42, 58] is 0.4137931034"},
    {"401_max_over_mean", "imbalance", "imbalance is 0.7058823529"},
    {"401_busiest_and_idlest", "imbalance", "imbalance is 0.8275862069"},
    {"401_all_heads", "one-head", "step 0, rank 0: 240 pairs, and counting one by one gives 15"},
    {"401_counts_in_int", "long", "the table must be [[1800030000, 1800030000], [0, 3600000000]]"},
    {"401_calls_the_library", "belongs",
     "calls ringcraft::forward_theory, which lesson 401 does not give you"},
};

const std::vector<RightFile> kRight{{"401_walks_around"}, {"401_cuts_the_end"}, {"401_from_positions"}};

}  // namespace

TEST_CASE("wrong ledgers are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent ledgers pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("other seeds of lesson 401 pass") {
  for (const std::uint64_t seed : {7u, 8u, 9u, 10u}) {
    CheckOptions options;
    options.seed = seed;
    const auto report = check_file(401, kRoot / "src/ringcraft/ring/work.cpp", options);
    INFO(verify::text_of(report));
    CHECK(report.good());
  }
}
TEST_CASE("the tables of lesson 401 are whole") { require_listed(401, kWrong, kRight); }

}  // namespace ringcraft::judge
