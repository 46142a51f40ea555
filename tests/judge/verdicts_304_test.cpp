// Lesson 304: known wrong and equivalent backward rings.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"304_keys_and_values_swapped", "one-rank", "local row 0: dk"},
    {"304_no_delta", "one-rank", "144 of 312 elements are wrong; first on rank 0, local row 0: dq"},
    {"304_mask_forgotten", "one-rank", "n=1 contiguous causal"},
    {"304_dq_not_begun", "one-rank", "new buffers are full of NaN"},
    {"304_skips_masked", "no-deadlock", "n=4 contiguous causal"},
    {"304_one_sum", "no-deadlock", "receives into a buffer that it is still sending from"},
    {"304_dq_overwritten", "query-gradients", "local row 1: dq"},
    {"304_wrong_label", "query-gradients", "n=3 contiguous causal s=12 h=2/1 d=4 normal, schedule forward"},
    {"304_reversed_from_own", "query-gradients", "schedule reversed"},
    {"304_gradients_stay", "two-ranks", "96 of 312 elements are wrong; first on rank 0, local row 0: dk"},
    {"304_not_home", "two-ranks", "schedule forward: 96 of 312 elements are wrong"},
    {"304_divides_by_ranks", "two-ranks", "local row 0: dk"},
    {"304_adds_before_arrival", "two-ranks", "local row 0: dk"},
    {"304_opposite_direction", "full-forward", "n=3 contiguous full"},
    {"304_own_rows", "ragged", "which expects"},
    {"304_receives_into_first", "inputs-unchanged", "rank 0 changed its argument first"},
    {"304_remembers", "repeatable", "a second call with the same arguments gives other gradients"},
    {"304_clears_the_sent", "any-delivery", "bytes leave at wait"},
    {"304_one_exchange_more", "exact-bytes", "sends 1536 bytes to rank 1, and theory says 1152"},
    {"304_sends_dq", "exact-bytes", "sends 1536 bytes to rank 1, and theory says 1152"},
    {"304_never_stops_early", "window-bytes", "theory says 0"},
    {"304_home_hop_by_hop", "window-bytes", "sends 1920 bytes to rank 1, and theory says 640"},
};

const std::vector<RightFile> kRight{{"304_waits_at_once"},    {"304_exchange_functions"},
                                    {"304_adds_to_the_part"}, {"304_new_buffers"},
                                    {"304_one_start"},        {"304_other_direction", {"304.window-bytes"}}};

}  // namespace

TEST_CASE("wrong backward rings are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent backward rings pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 304 are whole") { require_listed(304, kWrong, kRight); }

}  // namespace ringcraft::judge
