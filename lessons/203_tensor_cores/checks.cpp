// Lesson 203: checks of the two products of a warp. They look at single elements first: a row that sees one
// key has its score as m, and that key's row of v as O. Every number is unique, so a wrong one says which
// element was taken instead. Beside the values they count mma and the loads of fragments.
#include <cmath>
#include <functional>
#include <sstream>

#include "judge/checks/kernel_checks.hpp"
#include "judge/checks/kernel_interview.hpp"
#include "judge/checks/lesson.hpp"

namespace ringcraft::judge {
namespace {

constexpr Index kTile = 64;     // rows, and keys, of a tile
constexpr Index kColumns = 16;  // of one step of a product

KernelRung tensor_cores(Trial& trial) {
  return {[&trial](const KernelStep& step) { return trial.call<TensorCoreKernel>(step).result; },
          no_workspace, DType::kBFloat16};
}

// The keys that each row sees; neither end decreases.
using Seen = std::function<std::pair<Index, Index>(Index row)>;
Seen single(const std::function<Index(Index row)>& key) {
  return [key](Index a) { return std::pair(key(a), key(a) + 1); };
}

// A head in which every row sees the keys of `seen`.
HeadCase head_that_sees(Trial& trial, const HeadShape& shape, const std::string& what, const Seen& seen) {
  HeadCase head = make_head(trial, shape, full_mask());
  head.name = std::to_string(shape.rows) + " queries, " + std::to_string(shape.keys) + " keys, head_dim " +
              std::to_string(shape.head_dim) + ", " + what;
  for (Index a = 0; a < shape.rows; ++a) {
    head.ranges.begin[static_cast<std::size_t>(a)] = static_cast<int>(seen(a).first);
    head.ranges.end[static_cast<std::size_t>(a)] = static_cast<int>(seen(a).second);
  }
  return head;
}

void fill(Buffer& tensor, const std::function<double(Index row, Index column)>& number) {
  const auto matrix = head_of<double>(tensor, 0, 0);
  for (Index i = 0; i < matrix.rows; ++i)
    for (Index j = 0; j < matrix.cols; ++j) matrix(i, j) = number(i, j);
}

KernelHead after_step(Trial& trial, const HeadCase& head, std::uint64_t order = 0) {
  KernelHead run = kernel_head(tensor_cores(trial), head);
  run.step(tensor_cores(trial).call, {.order = order});
  return run;
}

// ---- one tile of 64 rows and 64 keys with 16 columns, whose every element has a number of its own

// 128 to 255 times a power of two: exact in bf16, and all 1024 different.
double named(Index row, Index column) {
  const auto n = static_cast<int>(kColumns * row + column);
  return std::ldexp(128 + n % 128, n / 128);
}

// "k[9][13]", the element that this number names.
std::string whose(const std::string& array, double got) {
  for (Index row = 0; row < kTile; ++row)
    for (Index column = 0; column < kColumns; ++column)
      if (std::fabs(got / named(row, column) - 1) < 1e-5)
        return array + "[" + std::to_string(row) + "][" + std::to_string(column) + "]";
  return std::isnan(got) ? "NaN" : std::to_string(got) + ", no element of " + array;
}

// "row 5, key 9 (warp 0, lane 20, accumulator 1, element 1)": the holder of this element of C.
std::string place(Index row, const std::string& name, Index column) {
  std::ostringstream text;
  text << "row " << row << ", " << name << " " << column << " (warp " << row / 16 << ", lane "
       << row % 8 * 4 + column % 8 / 2 << ", accumulator " << column / 8 << ", element "
       << row % 16 / 8 * 2 + column % 2 << ")";
  return text.str();
}

// The key that row `a` sees in round `turn`, 0 to 19: first every key of the warp's own 16, then one for all.
constexpr Index kTurns = 20;
Index key_in_turn(Index turn, Index a) { return turn < 16 ? a / 16 * 16 + turn : 21 * (turn - 16); }

// Passes every row, and the key that it has seen, after a step of each round; `set` writes q, k or v.
void for_turns(Trial& trial, const std::function<void(HeadCase&)>& set,
               const std::function<void(KernelHead&, Index row, Index key)>& look) {
  for (Index turn = 0; turn < kTurns; ++turn) {
    const auto key = [turn](Index a) { return key_in_turn(turn, a); };
    HeadCase head = head_that_sees(trial, {kTile, kTile, kColumns}, "each row sees one key", single(key));
    set(head);
    KernelHead run = after_step(trial, head, static_cast<std::uint64_t>(turn));
    for (Index a = 0; a < kTile; ++a) look(run, a, key(a));
  }
}

// ---- the checks

// The column in which a row of q has its 1, different for each row of a warp, and for the same row of another
// warp. A Gray code, so that no two quarters of A are alike.
Index column_of(Index row) {
  const Index r = row % 16;
  return ((r ^ r / 2) + 5 + 3 * (row / 16)) % kColumns;
}

const Check kScores{
    .claim = "Every element of S of one tile with 16 columns belongs to its row and key.",
    .id = "scores",
    .weight = 3,
    .hint = "Which 8 x 8 matrix does lane 17 name a row of, and in which register does that matrix arrive?",
    .run{[](Trial& trial) {
      const auto set = [](HeadCase& head) {
        head.problem.softmax_scale = 1;
        fill(head.in.q, [](Index a, Index d) { return d == column_of(a) ? 1.0 : 0.0; });
        fill(head.in.k, named);
      };
      for_turns(trial, set, [](KernelHead& run, Index a, Index b) {
        const std::string got = whose("k", run.max()[static_cast<std::size_t>(a)]),
                          want = whose("k", named(b, column_of(a)));
        if (got != want)
          throw Wrong(sign::kValues, "place-of-score",
                      "{}: S of {} is {}, and must be {}: row {} of q is 1 in column {} and 0 elsewhere",
                      run.name(), place(a, "key", b), got, want, a, column_of(a))
              .knowing({b, run.max()[static_cast<std::size_t>(a)]});
      });
    }},
};

const Check kAllColumns{
    .claim = "S is a sum over all columns, in float32, for many tiles of rows and of keys.",
    .id = "all-columns",
    .weight = 3,
    .needs = {"scores"},
    .hint = "Each step of 16 columns needs its own fragments and adds to the same accumulators.",
    .run{[](Trial& trial) {
      std::uint64_t order = 0;
      for (const HeadShape& shape :
           {HeadShape{64, 64, 64}, {64, 64, 128}, {20, 9, 40}, {70, 150, 64}, {130, 140, 104}}) {
        const Index rows = shape.rows, keys = shape.keys;
        const auto key = [=](Index a) { return rows == 1 ? 0 : a * (keys - 1) / (rows - 1); };
        KernelHead run =
            after_step(trial, head_that_sees(trial, shape, "each row sees one key", single(key)), order++);
        require_single_scores(run);
      }
    }},
};

const Check kValues{
    .claim = "A row that sees one key has that key's row of v as its O, to the bit.",
    .id = "values",
    .weight = 3,
    .needs = {"scores"},
    .hint = "A B whose columns are columns in memory: which of the two ldmatrix gives a lane one of them?",
    .run{[](Trial& trial) {
      const auto set = [](HeadCase& head) { fill(head.in.v, named); };
      for_turns(trial, set, [](KernelHead& run, Index a, Index b) {
        for (Index d = 0; d < kColumns; ++d) {
          const double got = run.out()[static_cast<std::size_t>(a * kColumns + d)];
          if (got != named(b, d))
            throw Wrong(sign::kValues, "place-of-output",
                        "{}: O of {} is {}, and must be {}: row {} sees key {} alone", run.name(),
                        place(a, "column", d), whose("v", got), whose("v", named(b, d)), a, b)
                .knowing({d, got});
        }
      });
      for (const HeadShape& shape : {HeadShape{64, 64, 64}, {70, 150, 128}, {20, 9, 40}}) {
        const Index width = shape.head_dim;
        const auto key = [&](Index a) { return a * (shape.keys - 1) / (shape.rows - 1); };
        KernelHead run =
            after_step(trial, head_that_sees(trial, shape, "each row sees one key", single(key)), 1);
        const auto v = head_of<float>(run.inputs().v, 0, 0);
        for (Index i = 0; i < shape.rows * width; ++i)
          if (run.out()[static_cast<std::size_t>(i)] != v(key(i / width), i % width))
            throw Wrong(sign::kValues, "row-of-output",
                        "{}: O of {} is {}, and must be {}, that of v's row {}", run.name(),
                        place(i / width, "column", i % width), run.out()[static_cast<std::size_t>(i)],
                        v(key(i / width), i % width), key(i / width))
                .knowing({i / width, i % width});
      }
    }},
};

// A key's weight is 2^-n but for a factor of 0.9987, or 1 over it, where one of two keys is `near`: rounded
// to the nearest bf16 all of them are 2^-n, truncated they are not. Only in a single tile: when the maximum
// grows from one tile to the next, the factor stays.
struct Power {
  int n;
  bool near;
};
Power power(Index key, Index keys) { return {static_cast<int>(key % 4), keys <= kTile && key % 3 == 1}; }

void require_powers(Trial& trial, const HeadShape& shape, const Seen& seen) {
  HeadCase head = head_that_sees(trial, shape, "weights 1, 1/2, 1/4 and 1/8", seen);
  head.problem.softmax_scale = std::log(2.0);
  fill(head.in.q, [](Index, Index d) { return d < 2 ? 1.0 : 0.0; });
  fill(head.in.k, [&](Index b, Index d) {
    return d == 0                                ? -static_cast<double>(power(b, shape.keys).n)
           : d == 1 && power(b, shape.keys).near ? -0x1p-9
                                                 : 0.0;
  });
  const auto seed = static_cast<Index>(trial.seed() % 17);
  fill(head.in.v, [=](Index b, Index d) { return static_cast<double>((7 * b + 3 * d + seed) % 17) - 8; });
  KernelHead run = after_step(trial, head);
  for (Index a = 0; a < shape.rows; ++a) {
    const auto [first, last] = seen(a);
    int largest = 3;
    for (Index b = first; b < last; ++b) largest = std::min(largest, power(b, shape.keys).n);
    for (Index d = 0; d < shape.head_dim; ++d) {
      double want = 0;
      for (Index b = first; b < last; ++b)
        want += std::ldexp(head.v()(b, d), largest - power(b, shape.keys).n);
      const double got = run.out()[static_cast<std::size_t>(a * shape.head_dim + d)];
      if (!(std::fabs(got - want) <= 1e-3))
        throw Wrong(sign_of(got), "powers-of-two",
                    "{}: O of {} is {}, and must be {}: the weights of keys {} to {}, rounded to bf16, are "
                    "powers of two",
                    run.name(), place(a, "column", d), got, want, first, last - 1);
    }
  }
}

const Check kWeights{
    .claim = "Known weights of neighbouring keys meet their rows of v, rounded to the nearest bf16.",
    .id = "weights",
    .weight = 3,
    .needs = {"values"},
    .hint = "Of C a register holds one number, of A two: which two of P go together, and in which order?",
    .run{[](Trial& trial) {
      require_powers(trial, {kTile, kTile, kColumns},
                     [](Index a) { return std::pair(a / 2, std::min<Index>(a + 4, kTile)); });
      require_powers(trial, {40, 150, 72}, [](Index a) { return std::pair(3 * a, 3 * a + 30); });
    }},
};

const Check kFloat32Sums{
    .claim = "O is added up in float32, over hundreds of keys.",
    .id = "float32-sums",
    .weight = 2,
    .needs = {"values"},
    .hint = "Only operands are bf16. What does 256 + 1 give where a number has 8 bits?",
    .run{[](Trial& trial) {
      constexpr Index kRows = 3, kKeys = 600;
      constexpr double kValue = 1.0078125;  // 1 + 2^-7: exact in bf16
      HeadCase head = head_that_sees(trial, {kRows, kKeys, 8}, "equal weights",
                                     [](Index) { return std::pair(Index{0}, Index{kKeys}); });
      fill(head.in.q, [](Index, Index) { return 0.0; });
      fill(head.in.v, [](Index, Index) { return kValue; });
      KernelHead run = after_step(trial, head);
      for (const float got : run.out())
        if (got != kKeys * kValue)
          throw Wrong(sign::kValues, "not-exact",
                      "{}: O, the sum of {} times {}, is {}, and float32 has {} exactly", run.name(), kKeys,
                      kValue, got, kKeys * kValue);
    }},
};

const Check kAnySize{
    .claim = "Any number of rows and keys, and any head_dim from 1 to 128.",
    .id = "any-size",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "The tile in shared memory has kHeadDim columns and kTile rows, for every size of the matrix.",
    .run{[](Trial& trial) {
      require_shapes(
          trial, tensor_cores(trial),
          {{1, 1, 1}, {5, 3, 8}, {20, 9, 15}, {33, 31, 17}, {64, 64, 64}, {31, 65, 65}, {17, 70, 128}});
      require_scales(trial, tensor_cores(trial));
    }},
};

const Check kMasks{
    .claim = "Causal, windowed, two-sided and packed masks.",
    .id = "masks",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "mask() looks for the score of a row and a key where the accumulators of C are to have it.",
    .run{[](Trial& trial) { require_masks(trial, tensor_cores(trial), 90); }},
};

const Check kBlindRows{
    .claim = "A row that sees no key of the block keeps O, m and l to the bit.",
    .id = "blind-rows",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "What do the rows of your warp that see nothing contribute to the product?",
    .run{[](Trial& trial) { require_blind_rows(trial, tensor_cores(trial), 8); }},
};

const Check kHotScores{
    .claim = "Scores of hundreds and of +-20000 neither overflow nor vanish.",
    .id = "hot-scores",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "q and k are exact in bf16, and their products in float32. Is S rounded anywhere?",
    .run{[](Trial& trial) { require_hot_scores(trial, tensor_cores(trial)); }},
};

const Check kHeadsAndBatch{
    .claim = "Many heads, many batch entries, and query heads that share a KV head.",
    .id = "heads-and-batch",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "QueryTile knows where the rows and keys of this head begin; your products need not.",
    .run{[](Trial& trial) { require_heads(trial, tensor_cores(trial)); }},
};

const Check kAddsToTheState{
    .claim = "Keys that come in several steps, in any order, give what one step gives.",
    .id = "adds-to-the-state",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "softmax() has rescaled O before P v is added: what must your product do with the old O?",
    .run{[](Trial& trial) { require_state(trial, tensor_cores(trial), 5); }},
};

const Check kCaseTable{
    .claim =
        "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of data.",
    .id = "case-table",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "Look at the case's name: which of its words do your products not handle?",
    .run{[](Trial& trial) { require_table(trial, tensor_cores(trial), 25); }},
};

const Check kTensorCores{
    .claim = "The products use mma, and each fragment is loaded once for each tile of keys.",
    .id = "tensor-cores",
    .weight = 2,
    .needs = {"all-columns", "weights"},
    .hint = "How many multiply-adds does one mma make, and which loads does the inner loop repeat?",
    .run{[](Trial& trial) {
      constexpr Index kWarps = kTile / 16, kKeyTiles = 2, kWidth = 64, kBytes = 2;
      KernelHead head =
          kernel_head(trial, tensor_cores(trial), {kTile, kKeyTiles * kTile, kWidth}, full_mask());
      std::uint64_t products = 0, bytes = 0;
      for (const MovedByLine& line : head.step(tensor_cores(trial).call, {.count_traffic = true}).moved) {
        products += line.products;
        if (line.shared && !line.writes) bytes += line.bytes;
      }
      // S and O, in steps of 16 x 8 x 16; q once by its own warp, K and V by all of them.
      constexpr std::uint64_t kProducts = 2 * kTile * kKeyTiles * kTile * kWidth / (16 * 8 * 16);
      constexpr std::uint64_t kNeeded = kKeyTiles * (1 + 2 * kWarps) * kTile * kWidth * kBytes;
      trial.note({"mma of the kernel", static_cast<double>(products), static_cast<double>(kProducts), ""});
      trial.note({"bytes that it reads of shared memory", static_cast<double>(bytes),
                  static_cast<double>(kNeeded), "B"});
      if (products != kProducts)
        throw Wrong(
            sign::kCounts, "products",
            "{}: the two products take {} mma of a warp, 16 x 8 x 16 each, and your kernel makes {}{}",
            head.name(), kProducts, products,
            products < kProducts ? ": the rest is multiplied without tensor cores" : ": some are made twice");
      if (bytes > kNeeded)
        throw Wrong(sign::kCounts, "too-many-bytes",
                    "{}: your kernel reads {} bytes of shared memory; {} are enough, where each fragment is "
                    "loaded once for each tile of keys",
                    head.name(), bytes, kNeeded);
      constexpr std::uint64_t kOfKeys = kKeyTiles * 2 * kWarps * kTile * kWidth * kBytes;
      if (bytes < kOfKeys)
        throw Wrong(sign::kCounts, "too-few-bytes",
                    "{}: your kernel reads {} bytes of shared memory, and the fragments of K and V have {}: "
                    "it multiplies numbers that ldmatrix has not loaded",
                    head.name(), bytes, kOfKeys);
    }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kScores,         kAllColumns,  kValues,    kWeights,   kFloat32Sums,
                            kAnySize,        kMasks,       kBlindRows, kHotScores, kHeadsAndBatch,
                            kAddsToTheState, kTensorCores, kCaseTable};
  for (Check& check : checks)
    check.interview = [](Trial& trial) { return tile_interview(trial, tensor_cores(trial)); };
  return checks;
}

}  // namespace ringcraft::judge
