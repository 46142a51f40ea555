// Lesson 303: known wrong and equivalent rings.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"303_all_send_first", "no-deadlock", "deadlock: rank"},
    {"303_receives_from_next", "no-deadlock", "n=3 contiguous full s=12 h=2/1 d=4 normal: deadlock"},
    {"303_wrong_label", "causal", "n=3 contiguous causal"},
    {"303_label_self", "causal", "elements are wrong"},
    {"303_one_step_short", "full-two", "elements are wrong"},
    {"303_own_block_twice", "full-two", "elements are wrong"},
    {"303_forgets_a_block", "full-two", "elements are wrong"},
    {"303_starts_anew", "full-two", "elements are wrong"},
    {"303_receives_into_the_callers_block", "inputs-unchanged", "rank 0 changed its argument kv"},
    {"303_computes_on_arriving", "full-two", "read before its wait is full of NaN"},
    {"303_overwrites_the_sent", "any-delivery", "bytes leave at wait"},
    {"303_one_buffer", "no-deadlock", "receives into a buffer that it is still sending from"},
    {"303_own_length", "ragged", "bytes to rank"},
    {"303_largest_length", "exact-bytes", "theory says"},
    {"303_skips_masked", "no-deadlock", "n=4 contiguous causal"},
    {"303_keys_and_values_crossed", "full-two", "elements are wrong"},
    {"303_values_stay", "full-two", "elements are wrong"},
    {"303_sends_twice", "exact-bytes", "sends 1024 bytes to rank 1, and theory says 512"},
    {"303_rotates_once_more", "exact-bytes", "sends 1024 bytes to rank 1, and theory says 512"},
    {"303_extra_bytes", "exact-bytes", "sends 520 bytes to rank 1, and theory says 512"},
    {"303_never_stops_early", "window-exchanges", "theory says 0"},
    {"303_window_one_short", "windows", "window 3"},
    {"303_self_message", "one-rank", "a rank does not message itself"},
    {"303_no_last_block", "last-block", "must return the block of rank"},
    {"303_heads_of_q", "no-deadlock", "which expects"},
    {"303_absurd_length", "no-deadlock", "expects 1099511627776 bytes in one message"},
    {"303_exits_on_one_rank", "no-deadlock", "rank 1 ended itself with exit code 0 in the middle of call 1"},
    {"303_crashes_on_one_rank", "no-deadlock",
     "rank 1 crashed (segmentation fault) in call 1 of ring_forward"},
    {"303_hangs_on_one_rank", "no-deadlock", "rank 1 did not come back within 2 s in call 1 of ring_forward"},
    {"303_throws_on_one_rank", "no-deadlock", "rank 1 threw \"my own assertion\""},
    {"303_disagrees_about_a_length", "no-deadlock", "sends 96 bytes to rank 0, which expects 128"},
    {"303_posts_without_end", "no-deadlock", "sends messages without end"},
    {"303_calls_the_library", "belongs",
     "calls ringcraft::ring_backward, which lesson 303 does not give you"},
    {"303_returns_wrong_extents", "one-rank",
     "returns out as [1, 2, 15, 4] float64, and it must be [1, 2, 16, 4]"},
};

const std::vector<RightFile> kRight{{"303_one_message"},
                                    {"303_odd_even"},
                                    {"303_exchange_functions"},
                                    {"303_new_buffers"},
                                    {"303_other_direction", {"303.last-block", "303.window-exchanges"}}};

}  // namespace

TEST_CASE("wrong rings are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent rings pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 303 are whole") { require_listed(303, kWrong, kRight); }

}  // namespace ringcraft::judge
