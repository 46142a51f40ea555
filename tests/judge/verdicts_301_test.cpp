// Lesson 301: known wrong and equivalent exchanges.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"301_all_send_first", "no-deadlock", "rank 1 waits to send 1 bytes to rank 0"},
    {"301_all_receive_first", "no-deadlock", "waits to receive 1 bytes from rank"},
    {"301_receives_from_next", "no-deadlock", "3 ranks, to the next one: deadlock"},
    {"301_rank_0_reversed", "phases", "4 ranks take 4 phases, and 2 are enough"},
    {"301_smaller_rank_first", "phases", "4 ranks take 4 phases, and 2 are enough"},
    {"301_both_at_once", "one-at-a-time", "a single phase"},
    {"301_to_itself", "one-rank", "a rank does not message itself"},
    {"301_computes_the_neighbours", "other-direction",
     "rank 0 holds the message of rank 2, and must hold the message of rank 1"},
    {"301_own_length", "uneven-lengths", "bytes to rank"},
    {"301_skips_when_empty", "empty-messages", "which has already ended"},
    {"301_extra_byte", "exact-bytes", "rank 0 sends 4 bytes to rank 1, and its message there has 3"},
    {"301_receives_into_out", "only-in-is-written", "rank 0 changed what it hands on"},
    {"301_does_not_wait", "received", "has a wrong byte 0 of 9"},
    {"301_hands_on_the_last", "received", "holds the message of rank"},
    {"301_calls_the_library", "belongs",
     "calls ringcraft::exchange_send_recv, which lesson 301 does not give you"},
};

const std::vector<RightFile> kRight{{"301_odd_first"}, {"301_started_and_waited"}, {"301_three_colours"}};

}  // namespace

TEST_CASE("wrong exchanges are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent exchanges pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 301 are whole") { require_listed(301, kWrong, kRight); }

}  // namespace ringcraft::judge
