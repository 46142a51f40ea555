// Lesson 103: known wrong and equivalent online scans.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"103_not_rescaled", "rising", "scores 1, 3: m + log l is 3.693147181, and must be 3.126928011"},
    {"103_maximum_first", "rising", "scores 1, 3: m + log l is 3.693147181"},
    {"103_factor_inverted", "rising", "scores 1, 3: m + log l is 5.126928011"},
    {"103_forgets_the_sum", "rising", "scores 1, 3: m + log l is 3, and"},
    {"103_stale_maximum", "rising", "scores 1, 3: m + log l is"},
    {"103_counts_twice", "one-score", "m + log l is 0.6931471806"},
    {"103_drops_the_maximum", "one-score", "m + log l is -inf"},
    {"103_begins_anew", "continues", "continued after the first 1"},
    {"103_begins_with_the_maximum", "continues", "continued after the first 1"},
    {"103_adds_the_states", "continues", "continued after the first 1"},
    {"103_maximum_from_zero", "low", "scores near -800: m + log l is -inf"},
    {"103_sentinel", "low", "scores near -20000: m + log l is -inf"},
    {"103_no_maximum", "high", "scores near 800: m + log l is inf"},
    {"103_infinity_minus_infinity", "partly-seen", "-inf comes first: m + log l is NaN"},
    {"103_float_sum", "rising", "its scale; 1e-12 is allowed"},
    {"103_leaves_the_last", "falling", "scores 5, 4, 2, 1, 0.5: m + log l is 5.361849039"},
    {"103_writes_the_scores", "scores-unchanged", "changed the scores"},
    {"103_calls_merged", "belongs", "calls ringcraft::merged, which lesson 103 does not give you"},
};

const std::vector<RightFile> kRight{
    {"103_one_line"}, {"103_powers_of_two"}, {"103_lse"}, {"103_maximum_of_the_piece"}};

}  // namespace

TEST_CASE("wrong online scans are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent online scans pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 103 are whole") { require_listed(103, kWrong, kRight); }

}  // namespace ringcraft::judge
