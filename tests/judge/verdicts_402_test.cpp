// Lesson 402: known wrong and equivalent deals of tokens.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"402_turns_both", "striped", "row 1 of rank 0 is put at position 7, and it is token 4"},
    {"402_runs_of_neighbours", "striped", "row 0 of rank 1 is put at position 4, and it is token 1"},
    {"402_counts_from_one", "striped", "row 0 of rank 0 is put at position 1, and it is token 0"},
    {"402_asks_sharding", "striped", "crashed (segmentation fault) in call 1 of token_position"},
    {"402_never_turned", "balance", "the busiest rank has 8 pairs more than the idlest, and it must be 0"},
    {"402_turns_the_first", "first-rounds", "row 0 of rank 0 is put at position 3, and it is token 0"},
    {"402_seat_off_by_one", "first-rounds", "row 1 of rank 3 is put at position 5, and it is token 4"},
    {"402_negative_remainder", "first-rounds", "row 1 of rank 2 is put at position 1, and it is token 5"},
    {"402_turned_once", "zigzag", "row 3 of rank 3 is put at position 15, and it is token 12"},
    {"402_owner_not_turned", "zigzag-owner", "position 4 is given to rank 0, and rank 3 gets it"},
    {"402_turns_by_position", "there-and-back",
     "you give position 29 to rank 0, and there row 4 is position 24"},
    {"402_four_ranks", "any-ranks",
     "striped, 2 ranks: row 1 of rank 0 is put at position 4, and it is token 2"},
    {"402_even_worlds_only", "any-ranks", "zigzag-token, 3 ranks: row 1 of rank 2"},
    {"402_rows_in_int", "far-away", "is put at position"},
    {"402_positions_in_int", "far-away", "is given to rank"},
};

const std::vector<RightFile> kRight{{"402_period"}, {"402_one_helper"}, {"402_without_branches"}};

}  // namespace

TEST_CASE("wrong deals of tokens are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent deals of tokens pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 402 are whole") { require_listed(402, kWrong, kRight); }

}  // namespace ringcraft::judge
