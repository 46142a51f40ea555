// Lesson 108: known wrong, slow and equivalent register kernels.
#include "judge/config.hpp"
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"108_forgets_what_c_held", "keeps", ", added: c(0, 0) is"},
    {"108_always_adds", "one-product", "is NaN, and must be"},
    {"108_one_step_only", "a-sum", "depth 2"},
    {"108_one_step_short", "a-sum", "depth 2"},
    {"108_full_height", "any-columns", "depth 7, 1 columns"},
    {"108_full_width", "any-width", "depth 5, 8 columns"},
    {"108_columns_side_by_side", "strides", "b transposed"},
    {"108_rows_side_by_side", "a-sum", "depth 2"},
    {"108_closes_the_gaps", "gaps", "c with gaps: c("},
    {"108_sums_in_float", "real-numbers", "and must be"},
    {"108_lanes_of_double", "floats", "and must be"},
    {"108_plain_loops", "speed", "times as long as the library's"},
    {"108_sums_in_memory", "speed", "times as long as the library's"},
    {"108_writes_the_panel", "inputs-unchanged", "your kernel changed panel"},
    {"108_calls_the_library", "belongs",
     "calls ringcraft::multiply_transposed, which lesson 108 does not give you"},
};

const std::vector<RightFile> kRight{{"108_indices"}, {"108_adds_at_the_end"}, {"108_one_row_at_a_time"}};

}  // namespace

TEST_CASE("wrong register kernels are caught") {
  const WrongFile wrong = GENERATE(from_range(looked_at(kWrong)));
  if (kSanitized && std::string(wrong.check) == "speed") return;  // there the library is slow as well
  require_caught(wrong);
}
TEST_CASE("equivalent register kernels pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 108 are whole") { require_listed(108, kWrong, kRight); }

}  // namespace ringcraft::judge
