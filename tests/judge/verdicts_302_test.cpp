// Lesson 302: known wrong and equivalent distributed softmaxes.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"302_all_send_first", "no-deadlock", "deadlock: rank"},
    {"302_sends_its_columns", "no-deadlock", "rank 1 sends 32 bytes to rank 0, which expects 16"},
    {"302_rounds_to_float", "one-rank", "row 0, column 0: the weight is"},
    {"302_own_columns_only", "weights", "2 ranks with 4, 4 columns of 5 rows: rank 0, row 0"},
    {"302_sums_added", "weights", "the weight is"},
    {"302_divides_by_ranks", "weights", "2 ranks with 4, 4 columns of 5 rows: rank 0, row 0"},
    {"302_one_hop_short", "weights", "2 ranks with 4, 4 columns"},
    {"302_one_hop_more", "states", "m + log l is"},
    {"302_no_broadcast", "states", "rank 0, row 0: m + log l is"},
    {"302_nan_for_nothing", "hidden", "row 1, column 0: the weight is NaN"},
    {"302_unshifted", "extreme", "scores near 1000 and 1000: rank 0, row 0, column 0: the weight is NaN"},
    {"302_maximum_from_zero", "extreme", "scores near -1000 and -1000"},
    {"302_one_maximum", "extreme", "row 2, column 0: the weight is 0"},
    {"302_chain_order", "same-bits", "has another state on rank 0 than on rank"},
    {"302_writes_scores", "scores-unchanged", "rank 0 changed its scores"},
    {"302_sends_the_scores", "only-states", "a rank sends 7200 bytes for 3 rows"},
    {"302_row_by_row", "together", "1 row takes 2 phases, 20 rows take 40"},
};

const std::vector<RightFile> kRight{
    {"302_chain_then_broadcast"}, {"302_two_reductions"}, {"302_ring_gather"}, {"302_through_lse"}};

}  // namespace

TEST_CASE("wrong distributed softmaxes are caught") {
  require_caught(GENERATE(from_range(looked_at(kWrong))));
}
TEST_CASE("equivalent distributed softmaxes pass") {
  require_accepted(GENERATE(from_range(looked_at(kRight))));
}
TEST_CASE("the tables of lesson 302 are whole") { require_listed(302, kWrong, kRight); }

}  // namespace ringcraft::judge
