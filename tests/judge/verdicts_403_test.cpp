// Lesson 403: known wrong and equivalent deals of chunks.
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

const std::vector<WrongFile> kWrong{
    {"403_inclusive_end", "even-cut", "chunk 0 of 4 over 12 tokens is [0, 2), and must be [0, 3)"},
    {"403_drops_the_rest", "everyone-once", "nobody owns position"},
    {"403_rest_to_the_last", "everyone-once", "4 tokens on 3 ranks: shards of 0 and of 4 tokens"},
    {"403_rest_to_the_last_ones", "uneven-cut", "is [0, 2), and must be [0, 3)"},
    {"403_rounded_up", "uneven-cut", "chunk 1 of 3 over 7 tokens is [3, 6), and must be [3, 5)"},
    {"403_proportional", "uneven-cut", "is [0, 2), and must be [0, 3)"},
    {"403_divides_by_rows", "few-tokens", "an integer was divided by zero) in call 1 of nth_chunk"},
    {"403_not_flipped", "balance", "pairs under a causal mask, and an equal share is 105"},
    {"403_off_by_one", "first-with-last", "rank 0, late chunk is [16, 18), and must be [14, 16)"},
    {"403_neighbours", "first-with-last", "rank 0, late chunk is [2, 4), and must be [14, 16)"},
    {"403_late_first", "first-with-last", "rank 0, early chunk is [14, 16), and must be [0, 2)"},
    {"403_asks_sharding", "first-with-last", "crashed (segmentation fault) in call 1 of zigzag_chunks"},
    {"403_eight_chunks", "any-ranks",
     "12 tokens on 2 ranks: rank 0, early chunk is [0, 2), and must be [0, 3)"},
    {"403_equal_lengths", "uneven-pairs",
     "11 tokens on 2 ranks: rank 0, late chunk is [9, 12), and must be [9, 11)"},
    {"403_halves_of_shards", "uneven-pairs",
     "18 tokens on 2 ranks: rank 1, early chunk is [5, 9), and must be [5, 10)"},
    {"403_in_int", "far-away", "and must be [107374182401, 128849018881)"},
};

const std::vector<RightFile> kRight{{"403_adds_up"}, {"403_from_the_end"}, {"403_empty_at_zero"}};

}  // namespace

TEST_CASE("wrong deals of chunks are caught") { require_caught(GENERATE(from_range(looked_at(kWrong)))); }
TEST_CASE("equivalent deals of chunks pass") { require_accepted(GENERATE(from_range(looked_at(kRight)))); }
TEST_CASE("the tables of lesson 403 are whole") { require_listed(403, kWrong, kRight); }

}  // namespace ringcraft::judge
