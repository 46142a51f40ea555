// Lesson 106: known wrong and equivalent backward functions.
#include "judge/config.hpp"
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"106_maximum_for_lse", "dv", "dv of key 0, column 0 is"},
    {"106_dv_from_p", "dv", "dv of key 0, column 0 is"},
    {"106_dk_dv_swapped", "dv", "dv of key 0, column 0 is"},
    {"106_delta_forgotten", "dq", "dq of row 0, column 0 is"},
    {"106_sign", "dq", "dq of row 0, column 0 is"},
    {"106_dq_scaled_twice", "dq", "dq of row 0, column 0 is"},
    {"106_dk_without_scale", "dk", "dk of key 0, column 0 is"},
    {"106_delta_of_the_tile", "any-tile", "tiles of 16 x 4"},
    {"106_lse_of_the_tile", "any-tile", "tiles of 16 x 4"},
    {"106_dq_of_the_last_keys", "any-tile", "tiles of 16 x 4: dq of"},
    {"106_dk_of_the_last_rows", "any-tile", "tiles of 4 x 16: dk of"},
    {"106_mask_forgotten", "masks", "causal"},
    {"106_nan_for_blind_rows", "blind-rows", "is NaN, and must be 0"},
    {"106_begins_at_zero", "adds", "of dq held 1.000000 and grew by"},
    {"106_exp_divided_by_exp", "hot-scores", "is NaN, and must be"},
    {"106_whole_matrix", "long-sequence", "each process may take 192 MB in this check"},
    {"106_calls_the_library", "belongs",
     "calls ringcraft::dense_backward, which lesson 106 does not give you"},
};

const std::vector<RightFile> kRight{{"106_plain_loops"}, {"106_keys_outside"}, {"106_base_two"}};

}  // namespace

TEST_CASE("wrong backward functions are caught") {
  const WrongFile wrong = GENERATE(from_range(looked_at(kWrong)));
  if (kSanitized && std::string(wrong.check) == "long-sequence") return;  // no limit on memory there
  require_caught(wrong);
}
TEST_CASE("equivalent backward functions pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 106 are whole") { require_listed(106, kWrong, kRight); }

}  // namespace ringcraft::judge
