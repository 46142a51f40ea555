// Lesson 107: known wrong and equivalent loops over grouped heads.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"107_one_kv_head", "equal-heads", "out of head 1, row 0"},
    {"107_divides_by_kv_heads", "equal-heads", "out of head 1, row 0"},
    {"107_keys_as_values", "equal-heads", "out of head 0, row 0"},
    {"107_modulo", "grouped", "8 heads on 2"},
    {"107_first_of_the_group", "one-kv-head", "out of head 1, row 0, column 0 is 0"},
    {"107_batch_forgotten", "batch", "out of batch 1, head 0"},
    {"107_first_batch_entry", "batch", "out of batch 1, head 0, row 0, column 0 is 0"},
    {"107_begins_anew", "adds-to-the-state", "keys 4 to 6, then 0 to 3"},
    {"107_dk_dv_swapped", "gradients-equal-heads", "dk of KV head 0, key 0"},
    {"107_delta_of_the_kv_head", "gradients-of-queries", "dq of head 1"},
    {"107_last_head_wins", "gradients-of-keys", "dk of KV head 0"},
    {"107_average_of_the_group", "gradients-of-keys", "dk of KV head 0"},
    {"107_modulo_on_the_way_back", "gradients-of-keys", "8 heads on 2"},
    {"107_begins_at_zero", "adds-gradients", "dq held 1"},
    {"107_repeats_kv_heads", "kv-heads-once", "each process may take 128 MB in this check"},
};

const std::vector<RightFile> kRight{{"107_kv_heads_outside"}, {"107_flat_index"}, {"107_sums_apart"}};

}  // namespace

TEST_CASE("wrong loops over grouped heads are caught") {
  require_caught(GENERATE(from_range(looked_at(kWrong))));
}
TEST_CASE("equivalent loops over grouped heads pass") {
  require_accepted(GENERATE(from_range(looked_at(kRight))));
}
TEST_CASE("the tables of lesson 107 are whole") { require_listed(107, kWrong, kRight); }

}  // namespace ringcraft::judge
