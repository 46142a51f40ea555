// Lesson 104: known wrong and equivalent merges, and the ways in which a submission misbehaves beyond wrong
// values.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"104_average", "two-halves", "m + log l is"},
    {"104_unshifted", "extreme-maxima", "near 1000: row 0: m + log l is inf"},
    {"104_weights_swapped", "two-halves", "m + log l is"},
    {"104_maximum_forgotten", "two-halves", "m + log l is"},
    {"104_relative_to_acc", "extreme-maxima", "800 above the first"},
    {"104_divides_early", "two-halves", "O / l is"},
    {"104_maxima_added", "two-halves", "m + log l is"},
    {"104_denominator_forgotten", "two-halves", "m + log l is"},
    {"104_nan_for_nothing", "nothing-with-nothing", "l is NaN in place of 0"},
    {"104_rounds_to_float", "two-halves", "1e-12 is allowed"},
    {"104_first_maximum", "one-sided-rows", "has seen no key, and its m is"},
    {"104_fixed_head_dim", "odd-sizes", "head_dim 64: row 0, column 32"},
    {"104_writes_block", "block-unchanged", "changed block"},
    {"104_counts_calls", "two-halves", "m + log l is"},
    {"104_returns_nan", "two-halves", "is NaN, and must be"},
    {"104_exits", "two-halves", "ended itself with exit code 0 in the middle of call 1 of merge"},
    {"104_exits_before_main", "two-halves", "ended itself with exit code 0 in the middle of call 1 of merge"},
    {"104_crashes", "two-halves", "crashed (segmentation fault) in call 1 of merge"},
    {"104_aborts", "two-halves", "crashed (aborted) in call 1 of merge"},
    {"104_out_of_bounds", "two-halves", "its last words: \"Assertion '"},
    {"104_hangs", "two-halves", "did not come back within 2 s in call 1 of merge"},
    {"104_floods", "two-halves", "printed more than 64 KB in call 1 of merge"},
    {"104_throws", "two-halves", "threw \"not ?[31mtoday\" in call 1 of merge"},
    {"104_throws_a_number", "two-halves", "threw \"something that is no std::exception\""},
    {"104_calls_the_library", "belongs", "calls ringcraft::finish, which lesson 104 does not give you"},
    {"104_defines_main", "belongs", "defines main"},
    {"104_syntax_error", "compiles", "error:"},
    {"104_open_helper", "belongs", "defines ringcraft::larger, which the lesson's file does not"},
    {"104_takes_a_library_name", "belongs",
     "defines ringcraft::float_from_bfloat16, which the library defines"},
    {"104_renamed", "belongs", "no longer defines ringcraft::merge"},
    {"104_stray_bytes", "two-halves", "wrote bytes of its own"},
    {"104_claims_an_absurd_length", "two-halves", "claims to send 1152921504606846976 bytes"},
    {"104_sends_half_a_frame", "two-halves", "the beginning of a message and not its end"},
    {"104_forges_a_reply", "two-halves", "the answer cannot be read"},
    {"104_hangs_up", "two-halves", "closed its connection to the judge"},
};

const std::vector<RightFile> kRight{{"104_branches"}, {"104_lse"}, {"104_powers_of_two"}};

}  // namespace

TEST_CASE("wrong merges are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent merges pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 104 are whole") { require_listed(104, kWrong, kRight); }

}  // namespace ringcraft::judge
