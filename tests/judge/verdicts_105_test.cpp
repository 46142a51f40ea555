// Lesson 105: known wrong and equivalent blockwise functions.
#include "judge/config.hpp"
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"105_scale_forgotten", "one-tile", "6 queries, 9 keys, head_dim 4"},
    {"105_stale_weights", "one-tile", "out of row 0, column 0 is"},
    {"105_divides_at_the_end", "one-tile", "out of row 0, column 0 is"},
    {"105_divides_in_the_loop", "one-tile", "out of row 0, column 0 is"},
    {"105_l_not_rescaled", "rising-maximum", "scores that rise from key to key"},
    {"105_o_not_rescaled", "rising-maximum", "scores that rise from key to key"},
    {"105_rescales_by_one", "rising-maximum", "scores that rise from key to key"},
    {"105_factor_inverted", "rising-maximum", "scores that rise from key to key"},
    {"105_first_rows", "row-tiles", "tiles of 1 x 16"},
    {"105_tail_dropped", "any-tile", "tiles of 4 x 5"},
    {"105_zero_scores_vote", "masks", "causal"},
    {"105_nan_for_blind_rows", "blind-rows", "sees no key, and its l is"},
    {"105_maximum_at_least_zero", "hot-scores", "huge"},
    {"105_maximum_of_the_tile", "hot-scores", "is NaN, and must be"},
    {"105_one_maximum", "hot-scores", "huge"},
    {"105_begins_anew", "adds-to-the-state", "keys 0 to 6, then 7 to 13"},
    {"105_scales_the_queries", "inputs-unchanged", "changed its argument q"},
    {"105_whole_matrix", "long-sequence", "each process may take 192 MB in this check"},
    {"105_calls_the_library", "belongs",
     "calls ringcraft::dense_forward, which lesson 105 does not give you"},
};

const std::vector<RightFile> kRight{{"105_plain_loops"}, {"105_merges"}, {"105_lse"}};

}  // namespace

TEST_CASE("wrong blockwise functions are caught") {
  const WrongFile wrong = GENERATE(from_range(looked_at(kWrong)));
  if (kSanitized && std::string(wrong.check) == "long-sequence") return;  // no limit on memory there
  require_caught(wrong);
}
TEST_CASE("equivalent blockwise functions pass") {
  require_accepted(GENERATE(from_range(looked_at(kRight))));
}
TEST_CASE("the tables of lesson 105 are whole") { require_listed(105, kWrong, kRight); }

}  // namespace ringcraft::judge
