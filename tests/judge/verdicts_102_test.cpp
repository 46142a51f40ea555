// Lesson 102: known wrong and equivalent safe softmaxes.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"102_no_maximum", "high", "near 800: weight 0 of score"},
    {"102_maximum_from_zero", "low", "scores near -800"},
    {"102_smallest_positive", "low", "scores near -800"},
    {"102_sentinel", "low", "scores near -20000"},
    {"102_one_maximum_for_all", "low", "scores near -800"},
    {"102_largest_magnitude", "low", "scores near -800"},
    {"102_first_score", "gaps", "0 and then 800: weight 2"},
    {"102_mean_score", "gaps", "-20000 and then 20000: weight 2"},
    {"102_divides_by_count", "sums-to-one", "and must be 1"},
    {"102_not_divided", "sums-to-one", "and must be 1"},
    {"102_divides_while_adding", "ordinary", "2 scores: weight 0"},
    {"102_adds_an_epsilon", "one-score", "its scale; 1e-12 is allowed"},
    {"102_float_sum", "ordinary", "its scale; 1e-12 is allowed"},
    {"102_infinity_minus_infinity", "nothing-seen", "a weight is NaN, and must be 0"},
    {"102_zero_by_zero", "nothing-seen", "a weight is NaN, and must be 0"},
    {"102_leaves_the_last", "ordinary", "2 scores: weight 1"},
    {"102_reads_what_it_wrote", "drives-dense-attention", "elements are wrong"},
    {"102_writes_the_scores", "scores-unchanged", "changed the scores"},
    {"102_calls_online_softmax", "belongs",
     "calls ringcraft::online_softmax, which lesson 102 does not give you"},
};

const std::vector<RightFile> kRight{
    {"102_from_lse"}, {"102_powers_of_two"}, {"102_stores_exponentials"}, {"102_clamped_sum"}};

}  // namespace

TEST_CASE("wrong safe softmaxes are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent safe softmaxes pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 102 are whole") { require_listed(102, kWrong, kRight); }

}  // namespace ringcraft::judge
