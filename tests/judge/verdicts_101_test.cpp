// Lesson 101: known wrong and equivalent dense attentions.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"101_no_scale", "every-key", "out, batch 0"},
    {"101_scale_after_softmax", "mean-of-ones", "row 0, column 0 of out is 0.5"},
    {"101_divides_by_keys", "mean-of-ones", "and must be 1"},
    {"101_not_divided", "mean-of-ones", "and must be 1"},
    {"101_normalises_columns", "mean-of-ones", "and must be 1"},
    {"101_no_maximum", "extreme-scores", "scores huge"},
    {"101_masked_score_zero", "causal", "17 tokens, causal: 80 of 85 elements are wrong"},
    {"101_masks_after_softmax", "causal", "17 tokens, causal: 80 of 85 elements are wrong"},
    {"101_ends_one_early", "one-key", "each of 6 rows sees its own key"},
    {"101_begins_at_zero", "any-range", "a window of 3"},
    {"101_one_interval_for_all", "causal", "local row 1"},
    {"101_nan_without_a_key", "rows-without-a-key", "nan, expected 0"},
    {"101_mean_without_a_key", "rows-without-a-key",
     "of which 4 come before every key: 16 of 48 elements are wrong"},
    {"101_lse_without_log", "every-key", "4 of 20 elements are wrong; first on rank 0, local row 0: lse"},
    {"101_maximum_as_lse", "every-key", "4 of 20 elements are wrong; first on rank 0, local row 0: lse"},
    {"101_as_many_keys_as_rows", "every-key", "9 rows see all of 13 keys"},
    {"101_transposed_keys", "every-key", "4 rows see all of 4 keys"},
    {"101_rounds_to_float", "every-key", "4 rows see all of 4 keys"},
    {"101_adds_to_out", "one-key", "full of NaN before your function writes them"},
    {"101_scales_q_in_place", "inputs-unchanged", "changed q"},
    {"101_calls_blockwise", "belongs",
     "calls ringcraft::blockwise_forward, which lesson 101 does not give you"},
};

const std::vector<RightFile> kRight{
    {"101_plain_loops"}, {"101_powers_of_two"}, {"101_large_negative_scores"}, {"101_weights_from_lse"}};

}  // namespace

TEST_CASE("wrong dense attentions are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent dense attentions pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 101 are whole") { require_listed(101, kWrong, kRight); }

}  // namespace ringcraft::judge
