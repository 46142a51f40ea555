// Lesson 402: checks of layouts that deal single tokens. The answers come from dealing the tokens one by one,
// round by round; then the functions place the rows of real rings.
#include <algorithm>
#include <numeric>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

// ---- the answers

// The ranks that get the tokens 0, 1, 2, ... of so many rounds.
std::vector<int> dealt(Layout layout, int ranks, int rounds) {
  std::vector<int> order(static_cast<std::size_t>(ranks)), owners;
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < rounds; ++round) {
    owners.insert(owners.end(), order.begin(), order.end());
    if (layout == Layout::kZigzagToken) std::ranges::reverse(order);
  }
  return owners;
}

// ---- calls and comparisons

std::string place(Layout layout, int ranks) {
  return std::string(name_of(layout)) + ", " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

void require_position(Trial& trial, Layout layout, int ranks, int rank, Index row, Position want) {
  const Position got = trial.call<TokenPosition>(layout, ranks, rank, row).result;
  if (got != want)
    throw Wrong(sign::kValues, "position", "{}: row {} of rank {} is put at position {}, and it is token {}",
                place(layout, ranks), row, rank, got, want);
}

void require_owner(Trial& trial, Layout layout, int ranks, Position position, int want) {
  const int got = trial.call<TokenOwner>(layout, ranks, position).result;
  if (got != want)
    throw Wrong(sign::kValues, "owner", "{}: position {} is given to rank {}, and rank {} gets it",
                place(layout, ranks), position, got, want);
}

void require_positions(Trial& trial, Layout layout, int ranks, int rounds) {
  const std::vector<int> owners = dealt(layout, ranks, rounds);
  for (std::size_t p = 0; p < owners.size(); ++p)
    require_position(trial, layout, ranks, owners[p], static_cast<Index>(p) / ranks,
                     static_cast<Position>(p));
}

void require_owners(Trial& trial, Layout layout, int ranks, int rounds) {
  const std::vector<int> owners = dealt(layout, ranks, rounds);
  for (std::size_t p = 0; p < owners.size(); ++p)
    require_owner(trial, layout, ranks, static_cast<Position>(p), owners[p]);
}

// The same for some tokens that the seed chooses, on many ranks or, with one rank, in many rounds.
enum class About : bool { kPositions, kOwners };
void require_some(Trial& trial, Layout layout, bool alone, int rounds, About asked) {
  if (trial.inputs_are_known()) return;
  Random random(trial.seed());
  const int ranks = alone ? 1 : static_cast<int>(random.integer(50, 250));
  const std::vector<int> owners = dealt(layout, ranks, alone ? 100'000 : rounds);
  for (int times = 0; times < 10; ++times) {
    const Position p = random.integer(0, static_cast<Index>(owners.size()) - 1);
    const int rank = owners[static_cast<std::size_t>(p)];
    if (asked == About::kPositions)
      require_position(trial, layout, ranks, rank, p / ranks, p);
    else
      require_owner(trial, layout, ranks, p, rank);
  }
}

constexpr Layout kTokenLayouts[] = {Layout::kStriped, Layout::kZigzagToken};

// ---- the checks

const Check kStriped{
    .claim = "Striped: row a of rank r is token N a + r.",
    .id = "striped",
    .weight = 1,
    .hint =
        "How many tokens have been dealt when round `row` begins, and where in the round does the rank sit?",
    .run{[](Trial& trial) {
      require_positions(trial, Layout::kStriped, 4, 4);
      require_some(trial, Layout::kStriped, false, 4, About::kPositions);
    }},
};

const Check kStripedOwner{
    .claim = "Striped: the owner of every token.",
    .id = "striped-owner",
    .weight = 1,
    .hint = "After how many tokens does the deal begin again with rank 0?",
    .run{[](Trial& trial) {
      require_owners(trial, Layout::kStriped, 4, 4);
      require_some(trial, Layout::kStriped, false, 4, About::kOwners);
    }},
};

const Check kFirstRounds{
    .claim = "Token zig-zag: the second round runs backwards.",
    .id = "first-rounds",
    .weight = 1,
    .hint = "Which rank comes first when the round runs backwards, and which last? There is no rank N.",
    .run{[](Trial& trial) {
      require_positions(trial, Layout::kZigzagToken, 4, 2);
      require_some(trial, Layout::kZigzagToken, false, 2, About::kPositions);
    }},
};

const Check kZigzag{
    .claim = "Token zig-zag: the third round runs forwards again, and so on.",
    .id = "zigzag",
    .weight = 2,
    .needs = {"first-rounds"},
    .hint = "Every second round is reversed, counted from the first: which property of the row tells?",
    .run{[](Trial& trial) { require_positions(trial, Layout::kZigzagToken, 4, 5); }},
};

const Check kZigzagOwner{
    .claim = "Token zig-zag: the owner of every token.",
    .id = "zigzag-owner",
    .weight = 2,
    .hint = "Two questions, one after another: in which round is the token, and at which seat of it?",
    .run{[](Trial& trial) {
      require_owners(trial, Layout::kZigzagToken, 4, 5);
      require_some(trial, Layout::kZigzagToken, false, 5, About::kOwners);
    }},
};

const Check kOneRank{
    .claim = "One rank gets every token in order.",
    .id = "one-rank",
    .weight = 1,
    .hint = "With one rank a reversed round is the same round.",
    .run{[](Trial& trial) {
      for (const Layout layout : kTokenLayouts) {
        require_positions(trial, layout, 1, 5);
        require_owners(trial, layout, 1, 5);
        require_some(trial, layout, true, 0, About::kPositions);
      }
    }},
};

const Check kAnyRanks{
    .claim = "2, 3, 5, 7 and 8 ranks.",
    .id = "any-ranks",
    .weight = 2,
    .needs = {"zigzag", "zigzag-owner", "striped", "striped-owner"},
    .hint = "Is there a 4 in your code, or a test whether the number of ranks is even?",
    .run{[](Trial& trial) {
      for (const Layout layout : kTokenLayouts)
        for (const int ranks : {2, 3, 5, 7, 8}) {
          require_positions(trial, layout, ranks, 4);
          require_owners(trial, layout, ranks, 4);
        }
    }},
};

const Check kThereAndBack{
    .claim = "token_owner undoes token_position.",
    .id = "there-and-back",
    .weight = 1,
    .needs = {"striped", "striped-owner"},
    .hint =
        "A token of round f is row f of its owner; which of your two functions reverses a round that the "
        "other does not?",
    .run{[](Trial& trial) {
      for (const Layout layout : kTokenLayouts)
        for (const Position p : {29, 30, 31, 1000, 1001, 12345}) {
          const int owner = trial.call<TokenOwner>(layout, 6, p).result;
          const Position back = trial.call<TokenPosition>(layout, 6, owner, p / 6).result;
          if (back != p)
            throw Wrong(sign::kValues, "round-trip",
                        "{}: you give position {} to rank {}, and there row {} is position {}",
                        place(layout, 6), p, owner, p / 6, back);
        }
    }},
};

// The causal work of a rank is the sum over its rows of position + 1.
const Check kBalance{
    .claim = "Token zig-zag: even rounds give every rank equal causal work, odd ones differ by N - 1 pairs.",
    .id = "balance",
    .weight = 2,
    .needs = {"one-rank"},
    .hint =
        "Row a of rank r sees all tokens up to itself: what do two neighbouring rounds add up to for each "
        "rank?",
    .run{[](Trial& trial) {
      for (const int ranks : {3, 4})
        for (const Index rounds : {4, 5}) {
          std::vector<Index> work;
          for (int rank = 0; rank < ranks; ++rank) {
            work.push_back(0);
            for (Index row = 0; row < rounds; ++row)
              work.back() += 1 + trial.call<TokenPosition>(Layout::kZigzagToken, ranks, rank, row).result;
          }
          const Index apart = *std::ranges::max_element(work) - *std::ranges::min_element(work);
          const Index want = rounds % 2 == 0 ? 0 : ranks - 1;
          if (apart != want)
            throw Wrong(sign::kValues, "balance",
                        "{}, {} rounds: under a causal mask the busiest rank has {} more pairs than the "
                        "idlest, and it must be {}",
                        place(Layout::kZigzagToken, ranks), rounds, apart, want);
        }
    }},
};

// Rows that cannot be counted in 32 bits, and positions that cannot.
const Check kFarAway{
    .claim = "Rows and positions beyond 32 bits.",
    .id = "far-away",
    .weight = 1,
    .needs = {"zigzag", "zigzag-owner"},
    .hint = "Where does your code put a row or a position into an int?",
    .run{[](Trial& trial) {
      const Index round = 12345678900;  // an even one, and no multiple of 2^32
      for (const Layout layout : kTokenLayouts) {
        require_position(trial, layout, 7, 2, round, 7 * round + 2);
        require_owner(trial, layout, 7, 7 * round + 2, 2);
        const int turned = layout == Layout::kZigzagToken ? 4 : 2;
        require_position(trial, layout, 7, 2, round + 1, 7 * round + 7 + turned);
        require_owner(trial, layout, 7, 7 * round + 7 + turned, 2);
      }
    }},
};

void ring(Trial& trial, Layout layout, int ranks, Mask mask, Position seqlen) {
  const Problem problem = make_problem({1, 2, 1, seqlen, 4}, std::move(mask), layout, ranks);
  require_driven_ring(trial, verify::make_case(problem, verify::Data::kNormal, trial.seed()));
}

const Check kDrivesStriped{
    .claim = "The library's ring, dealt by your functions, equals the oracle: striped.",
    .id = "drives-striped",
    .weight = 2,
    .needs = {"striped"},
    .hint = "Each row's mask follows from its position: all ranks must agree on the owner of each token.",
    .run{[](Trial& trial) {
      ring(trial, Layout::kStriped, 3, causal_mask(), 17);
      ring(trial, Layout::kStriped, 4, window_mask(5), 22);
    }},
};

const Check kDrivesZigzag{
    .claim = "The same for the token zig-zag, with windows and packed sequences.",
    .id = "drives-zigzag",
    .weight = 2,
    .needs = {"zigzag"},
    .hint = "Each row's mask follows from its position: all ranks must agree on the owner of each token.",
    .run{[](Trial& trial) {
      ring(trial, Layout::kZigzagToken, 3, causal_mask(), 17);
      ring(trial, Layout::kZigzagToken, 4, causal_mask(), 24);
      Mask packed = window_mask(6);
      packed.cu_seqlens = {0, 5, 6, 26};
      ring(trial, Layout::kZigzagToken, 4, packed, 26);
    }},
};

// The last round is not complete; with fewer tokens than ranks not even the first is.
const Check kRagged{
    .claim = "Rings whose last round is not complete, and shards without a row.",
    .id = "ragged",
    .weight = 2,
    .needs = {"striped"},
    .hint =
        "The library counts a rank's rows by asking where its next one would lie: at seqlen or after it, "
        "there is none.",
    .run{[](Trial& trial) {
      for (const Layout layout : kTokenLayouts) {
        ring(trial, layout, 5, causal_mask(), 13);
        ring(trial, layout, 4, causal_mask(), 11);
        ring(trial, layout, 5, causal_mask(), 3);
      }
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::DealExhibit deal;
  const auto ask = [&](Layout layout, int ranks, int rank, Index row) {
    if (!trial.asks()) return;
    deal.placed.push_back({layout, ranks, rank, row, trial.ask<TokenPosition>(layout, ranks, rank, row)});
    const Position position = row * ranks + rank;  // every position occurs once
    deal.owned.push_back({layout, ranks, position, trial.ask<TokenOwner>(layout, ranks, position)});
  };
  for (const Layout layout : kTokenLayouts) {
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (Index row = 0; row < 7; ++row)
        for (int rank = 0; rank < ranks; ++rank) ask(layout, ranks, rank, row);
    for (const Index far : {Index{700'000'000}, Index{3'000'000'000}, Index{12'345'678'900}})
      for (const Index row : {far, far + 1}) ask(layout, 7, 2, row);
  }
  return exhibit_of(std::move(deal));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kStriped,       kStripedOwner, kThereAndBack, kFirstRounds, kZigzag,
                            kZigzagOwner,   kOneRank,      kAnyRanks,     kBalance,     kFarAway,
                            kDrivesStriped, kDrivesZigzag, kRagged};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
