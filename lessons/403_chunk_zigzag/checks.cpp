// Lesson 403: checks of layouts that deal chunks. The answers come from writing down every token's chunk, one
// by one; then the functions place the rows of real rings.
#include <algorithm>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

// ---- the answers

// The chunks of a sequence, by giving one more token to each chunk, from the first on, until none is left.
std::vector<Chunk> cut(Position seqlen, int chunks) {
  std::vector<Index> rows(static_cast<std::size_t>(chunks), 0);
  for (Position token = 0; token < seqlen; ++token) ++rows[static_cast<std::size_t>(token % chunks)];
  std::vector<Chunk> result;
  Position begin = 0;
  for (const Index count : rows) {
    result.push_back({begin, begin + count});
    begin += count;
  }
  return result;
}

// ---- calls and comparisons

std::string text(const Chunk& chunk) {
  return "[" + std::to_string(chunk.begin) + ", " + std::to_string(chunk.end) + ")";
}

void require_chunk(const std::string& where, const Chunk& got, const Chunk& want) {
  if (want.rows() == 0 && got.rows() == 0) return;  // an empty chunk has no place
  if (got != want)
    throw Wrong(sign::kValues, "chunk", "{} is {}, and must be {}", where, Name{text(got)}, Name{text(want)});
}

void require_cut(Trial& trial, Position seqlen, int chunks) {
  const std::vector<Chunk> want = cut(seqlen, chunks);
  for (int g = 0; g < chunks; ++g)
    require_chunk("chunk " + std::to_string(g) + " of " + std::to_string(chunks) + " over " +
                      std::to_string(seqlen) + " tokens",
                  trial.call<NthChunk>(seqlen, chunks, g).result, want[static_cast<std::size_t>(g)]);
}

// The same for some of the chunks.
void require_some(Trial& trial, Position seqlen, int chunks, Random& random) {
  const std::vector<Chunk> want = cut(seqlen, chunks);
  for (int times = 0; times < 10; ++times) {
    const Index g = random.integer(0, chunks - 1);
    require_chunk("chunk " + std::to_string(g) + " of " + std::to_string(chunks) + " over " +
                      std::to_string(seqlen) + " tokens",
                  trial.call<NthChunk>(seqlen, chunks, static_cast<int>(g)).result,
                  want[static_cast<std::size_t>(g)]);
  }
}

std::string deal(Position seqlen, int ranks) {
  return std::to_string(seqlen) + " tokens on " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

std::string owner(Position seqlen, int ranks, int rank) {
  return deal(seqlen, ranks) + ": rank " + std::to_string(rank);
}

void require_pairs(Trial& trial, Position seqlen, int ranks) {
  const std::vector<Chunk> chunks = cut(seqlen, 2 * ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const ChunkPair got = trial.call<ZigzagChunks>(seqlen, ranks, rank).result;
    const std::string where = owner(seqlen, ranks, rank);
    require_chunk(where + ", early chunk", got.early, chunks[static_cast<std::size_t>(rank)]);
    require_chunk(where + ", late chunk", got.late, chunks[static_cast<std::size_t>(2 * ranks - 1 - rank)]);
  }
}

std::vector<ChunkPair> all_pairs(Trial& trial, Position seqlen, int ranks) {
  std::vector<ChunkPair> pairs;
  for (int rank = 0; rank < ranks; ++rank)
    pairs.push_back(trial.call<ZigzagChunks>(seqlen, ranks, rank).result);
  return pairs;
}

// ---- the checks

const Check kEvenCut{
    .claim = "A sequence that the number of chunks divides is cut into equal chunks.",
    .id = "even-cut",
    .weight = 1,
    .hint =
        "Where does chunk g begin if every chunk before it has seqlen / chunks tokens? It ends where the "
        "next one begins.",
    .run{[](Trial& trial) {
      require_cut(trial, 12, 4);
      require_cut(trial, 10, 5);
      Random random(trial.seed());
      const int chunks = static_cast<int>(random.integer(50, 250));
      require_some(trial, chunks * random.integer(2, 99), chunks, random);
    }},
};

const Check kOneChunk{
    .claim = "One chunk is the whole sequence.",
    .id = "one-chunk",
    .weight = 1,
    .hint = "Neither the first chunk nor the last one is a special case.",
    .run{[](Trial& trial) {
      for (const Position seqlen : {1, 7}) require_cut(trial, seqlen, 1);
      Random random(trial.seed());
      require_cut(trial, random.integer(1000, 999'999), 1);
    }},
};

const Check kUnevenCut{
    .claim = "The remainder goes to the first chunks, one token each.",
    .id = "uneven-cut",
    .weight = 2,
    .needs = {"even-cut"},
    .hint =
        "How many of the chunks before chunk g are longer? At most g, and at most as many as there are at "
        "all.",
    .run{[](Trial& trial) {
      for (const Position seqlen : {7, 8, 11, 13, 14}) require_cut(trial, seqlen, 3);
      require_cut(trial, 23, 8);
      require_cut(trial, 24, 10);
    }},
};

const Check kFewTokens{
    .claim = "With fewer tokens than chunks the last chunks are empty.",
    .id = "few-tokens",
    .weight = 1,
    .needs = {"even-cut"},
    .hint = "An empty chunk begins where it ends; do not divide by the number of its tokens.",
    .run{[](Trial& trial) {
      require_cut(trial, 2, 4);
      require_cut(trial, 1, 6);
    }},
};

const Check kFirstWithLast{
    .claim =
        "16 tokens on 4 ranks: rank 0 has the first and the last of 8 chunks, rank 3 the two in the middle.",
    .id = "first-with-last",
    .weight = 2,
    .hint = "There are 2N chunks, numbered from 0: which number has the last, and which the one before it?",
    .run{[](Trial& trial) {
      require_pairs(trial, 16, 4);
      if (trial.inputs_are_known()) return;
      Random random(trial.seed());
      const int ranks = static_cast<int>(random.integer(20, 99));
      require_pairs(trial, 2 * ranks * random.integer(2, 99), ranks);
    }},
};

const Check kOneRank{
    .claim = "One rank has both of two chunks.",
    .id = "one-rank",
    .weight = 1,
    .hint = "With one rank there are still two chunks.",
    .run{[](Trial& trial) {
      require_pairs(trial, 8, 1);
      require_pairs(trial, 2, 1);
      Random random(trial.seed());
      require_pairs(trial, 2 * random.integer(1000, 499'999), 1);
    }},
};

const Check kAnyRanks{
    .claim = "2, 3, 5, 6, 7 and 8 ranks.",
    .id = "any-ranks",
    .weight = 2,
    .needs = {"first-with-last"},
    .hint = "Is there an 8 or a 7 in your code that should be 2N or 2N - 1?",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 5, 6, 7, 8}) require_pairs(trial, 6 * ranks, ranks);
    }},
};

const Check kUnevenPairs{
    .claim = "Lengths that 2N does not divide.",
    .id = "uneven-pairs",
    .weight = 2,
    .needs = {"uneven-cut", "any-ranks"},
    .hint = "The two chunks of a rank may differ in length; cut first, then choose.",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 4, 5})
        for (const Position seqlen : {11, 17, 18, 23}) require_pairs(trial, seqlen, ranks);
    }},
};

const Check kEmptyChunks{
    .claim = "Fewer tokens than chunks, or than ranks.",
    .id = "empty-chunks",
    .weight = 1,
    .needs = {"few-tokens", "any-ranks"},
    .hint = "Late chunks run out of tokens first: a rank may have an early chunk only, or nothing.",
    .run{[](Trial& trial) {
      require_pairs(trial, 5, 4);
      require_pairs(trial, 1, 3);
    }},
};

// Every position once, early before late, and no shard more than one token longer than another.
const Check kEveryoneOnce{
    .claim = "Every position has one owner, and shards differ by at most one token.",
    .id = "everyone-once",
    .weight = 2,
    .hint = "Write down the chunk numbers of all ranks: does each of 0 to 2N - 1 occur once?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const int ranks : {1, 3, 4, static_cast<int>(random.integer(10, 40))})
        for (const Position seqlen :
             {Position{4}, Position{9}, Position{14}, Position{21}, random.integer(100, 999)}) {
          std::vector<int> owners(static_cast<std::size_t>(seqlen), -1);
          const std::vector<ChunkPair> pairs = all_pairs(trial, seqlen, ranks);
          Index least = seqlen, most = 0;
          for (int rank = 0; rank < ranks; ++rank) {
            const ChunkPair& pair = pairs[static_cast<std::size_t>(rank)];
            if (pair.early.end > pair.late.begin && pair.early.rows() > 0 && pair.late.rows() > 0)
              throw Wrong(sign::kValues, "order", "{} has the late chunk {} before the early one {}",
                          owner(seqlen, ranks, rank), Name{text(pair.late)}, Name{text(pair.early)});
            for (const Chunk& chunk : {pair.early, pair.late})
              for (Position p = chunk.begin; p < chunk.end; ++p) {
                if (p < 0 || p >= seqlen)
                  throw Wrong(sign::kValues, "outside", "{} owns position {}", owner(seqlen, ranks, rank), p);
                int& holder = owners[static_cast<std::size_t>(p)];
                if (holder >= 0)
                  throw Wrong(sign::kValues, "owned-twice", "{} owns position {}, and so does rank {}",
                              owner(seqlen, ranks, rank), p, holder);
                holder = rank;
              }
            least = std::min(least, pair.early.rows() + pair.late.rows());
            most = std::max(most, pair.early.rows() + pair.late.rows());
          }
          if (const auto nobody = std::ranges::find(owners, -1); nobody != owners.end())
            throw Wrong(sign::kValues, "nobody", "{}: no rank owns position {}", deal(seqlen, ranks),
                        nobody - owners.begin());
          if (most > least + 1)
            throw Wrong(sign::kValues, "shard-sizes", "{}: shards of {} and of {} tokens",
                        deal(seqlen, ranks), least, most);
        }
    }},
};

// The causal work of a chunk is the sum over its positions of position + 1.
const Check kBalance{
    .claim = "Under a causal mask all ranks have equal work when 2N divides the length.",
    .id = "balance",
    .weight = 2,
    .hint =
        "Early chunks see little and late ones much: what do the numbers of a rank's two chunks add up to?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const int ranks : {2, 3, 4, static_cast<int>(random.integer(20, 99))}) {
        const Position seqlen = 10 * ranks;
        const Index want = seqlen * (seqlen + 1) / (2 * ranks);
        for (int rank = 0; rank < ranks; ++rank) {
          const ChunkPair pair = trial.call<ZigzagChunks>(seqlen, ranks, rank).result;
          Index work = 0;
          for (const Chunk& chunk : {pair.early, pair.late})
            for (Position p = std::max<Position>(chunk.begin, 0); p < std::min(chunk.end, seqlen); ++p)
              work += p + 1;
          if (work != want)
            throw Wrong(sign::kValues, "causal-share",
                        "{} has {} pairs under a causal mask, and an equal share is {}",
                        owner(seqlen, ranks, rank), work, want);
        }
      }
    }},
};

const Check kFarAway{
    .claim = "Positions beyond 32 bits.",
    .id = "far-away",
    .weight = 1,
    .needs = {"uneven-cut", "any-ranks"},
    .hint = "Where does your code put a position or a product of them into an int?",
    .run{[](Trial& trial) {
      const Position rows = Position{5} << 32;
      require_chunk("the last of 6 chunks of a sequence of 2^32 * 30 + 1 tokens",
                    trial.call<NthChunk>(6 * rows + 1, 6, 5).result, {5 * rows + 1, 6 * rows + 1});
      const ChunkPair got = trial.call<ZigzagChunks>(6 * rows + 1, 3, 0).result;
      require_chunk("its early chunk on rank 0 of 3", got.early, {0, rows + 1});
      require_chunk("its late chunk on rank 0 of 3", got.late, {5 * rows + 1, 6 * rows + 1});
    }},
};

void ring(Trial& trial, Layout layout, int ranks, Mask mask, Position seqlen) {
  const Problem problem = make_problem({1, 2, 1, seqlen, 4}, std::move(mask), layout, ranks);
  require_driven_ring(trial, verify::make_case(problem, verify::Data::kNormal, trial.seed()));
}

const Check kDrivesContiguous{
    .claim = "The library's contiguous ring, cut by your nth_chunk, equals the oracle.",
    .id = "drives-contiguous",
    .weight = 1,
    .needs = {"even-cut"},
    .hint = "All ranks must agree on where each shard begins and ends.",
    .run{[](Trial& trial) {
      ring(trial, Layout::kContiguous, 3, causal_mask(), 17);
      ring(trial, Layout::kContiguous, 4, window_mask(5), 22);
    }},
};

const Check kDrivesZigzag{
    .claim = "The library's zig-zag ring, dealt by your functions, equals the oracle.",
    .id = "drives-zigzag",
    .weight = 3,
    .needs = {"first-with-last"},
    .hint = "All ranks must agree on the owner of each chunk, and where it begins.",
    .run{[](Trial& trial) {
      ring(trial, Layout::kZigzag, 3, causal_mask(), 24);
      ring(trial, Layout::kZigzag, 4, causal_mask(), 23);
      ring(trial, Layout::kZigzag, 5, causal_mask(), 4);
      Mask packed = window_mask(6);
      packed.cu_seqlens = {0, 5, 6, 26};
      ring(trial, Layout::kZigzag, 4, packed, 26);
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::ChunkExhibit chunks;
  const auto ask_cut = [&](Position seqlen, int count) {
    for (int index = 0; index < count && trial.asks(); ++index)
      chunks.cuts.push_back({seqlen, count, index, trial.ask<NthChunk>(seqlen, count, index)});
  };
  const auto ask_pairs = [&](Position seqlen, int ranks) {
    for (int rank = 0; rank < ranks && trial.asks(); ++rank)
      chunks.dealt.push_back({seqlen, ranks, rank, trial.ask<ZigzagChunks>(seqlen, ranks, rank)});
  };
  for (const Position seqlen : {40, 24, 16, 30, 23, 18, 17, 14, 13, 11, 8, 7, 5, 4, 3, 1}) {
    for (const int count : {1, 2, 3, 4, 5, 6, 8, 10}) ask_cut(seqlen, count);
    for (int ranks = 1; ranks <= 5; ++ranks) ask_pairs(seqlen, ranks);
  }
  for (const Position far : {Position{3'000'000'001}, (Position{30} << 32) + 1, (Position{31} << 32) + 1}) {
    ask_cut(far, 6);
    ask_pairs(far, 3);
  }
  return exhibit_of(std::move(chunks));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kEvenCut, kOneChunk, kUnevenCut,        kFewTokens,   kFirstWithLast,
                            kOneRank, kAnyRanks, kUnevenPairs,      kEmptyChunks, kEveryoneOnce,
                            kBalance, kFarAway,  kDrivesContiguous, kDrivesZigzag};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
