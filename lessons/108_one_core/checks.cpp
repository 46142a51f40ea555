// Lesson 108: checks of the register kernel: the right product for every shape and stride, and as fast as the
// library's own. Whole numbers make the products exact; others may differ by 1e-12 of the sum of the absolute
// terms. Times are processor times of two workers that differ only in the student's object.
#include <algorithm>
#include <cmath>
#include <limits>

#include "exercise.hpp"
#include "judge/checks/block_trial.hpp"
#include "judge/checks/lesson.hpp"
#include "ringcraft/attention/fast/vector.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();
constexpr double kNobodys = 7e7;  // fills the gaps of c; a sum over foreign numbers may be NaN
constexpr double kSlowest = 2;    // times the library's time

// Widths of registers and tiles differ between machines. The sentences here do not: they count widths in
// tiles and registers, and the numbers of a column depend on its place in them.
struct Width {
  Index tiles, registers = 0;

  Index total() const { return tiles * kTileWide + registers; }
  std::string name() const {
    const std::string of_tiles = tiles > 0 ? counted(tiles, "tile") : "";
    const std::string of_registers = registers > 0 ? counted(registers, "register") : "";
    return of_tiles + (tiles > 0 && registers > 0 ? " and " : "") + of_registers + " wide";
  }
};
constexpr Width kTile{1}, kRegister{0, 1};

// The place of number w of a row.
template <class T>
struct Lane {
  Index tile, in_tile, lane;  // the register counted in its tile

  explicit Lane(Index w)
      : tile(w / kPanelWidth<T>), in_tile(w / kLanes<T> % kTileWide), lane(w % kLanes<T>) {}
  std::string name() const {
    return "lane " + std::to_string(lane) + " of register " + std::to_string(in_tile) +
           (tile > 0 ? " of tile " + std::to_string(tile) : "");
  }
  std::string half() const {
    return std::string(2 * in_tile < kTileWide ? "the first" : "the second") + " half of tile " +
           std::to_string(tile);
  }
  std::uint64_t number() const { return static_cast<std::uint64_t>((tile * 64 + in_tile) * 64 + lane); }
};

// Parameters of a call: shapes, and how far elements lie apart beyond what they must.
struct Product {
  Index depth, columns;
  Width width;
  Start start = Start::kZero;
  Index b_gap = 0, c_gap = 0;  // unused elements after each row
  bool b_transposed = false;   // element (k, n) of b at n * depth + k

  std::string name() const {
    return "depth " + std::to_string(depth) + ", " + counted(columns, "column") + ", " + width.name() +
           (start == Start::kKeep ? ", added" : "") +
           (b_transposed ? ", b transposed"
            : b_gap > 0  ? ", b with gaps"
                         : "") +
           (c_gap > 0 ? ", c with gaps" : "");
  }
};

enum class Numbers { kWhole, kNormal };

template <class T>
struct Arguments {
  Product p;
  Index width;  // numbers
  std::vector<T> panel, b, c;

  Arguments(std::uint64_t seed, const Product& product, Numbers numbers)
      : p(product), width(p.width.total() * kLanes<T>) {
    const auto draw = [&](Random& random) {
      return static_cast<T>(numbers == Numbers::kWhole ? static_cast<double>(random.integer(-9, 9))
                                                       : random.normal());
    };
    Random of_b(seed);
    b.resize(static_cast<std::size_t>(p.b_transposed ? p.columns * (p.depth + p.b_gap)
                                                     : p.depth * (p.columns + p.b_gap)));
    for (T& x : b) x = draw(of_b);
    // One unused tile after c: a write there is reported, and does not crash.
    const Index margin = kTileColumns * (width + p.c_gap) + kPanelWidth<T>;
    c.assign(static_cast<std::size_t>(p.columns * (width + p.c_gap) + margin), static_cast<T>(kNobodys));
    panel.resize(static_cast<std::size_t>(p.depth * width));
    for (Index w = 0; w < width; ++w) {
      Random of_column(seed + 1 + Lane<T>(w).number());
      for (Index k = 0; k < p.depth; ++k) panel[static_cast<std::size_t>(k * width + w)] = draw(of_column);
      for (Index n = 0; n < p.columns; ++n)
        at_c(n, w) = p.start == Start::kKeep ? draw(of_column) : static_cast<T>(kUnwritten);
    }
  }

  T& at_c(Index n, Index w) { return c[static_cast<std::size_t>(n * (width + p.c_gap) + w)]; }
  T at_b(Index k, Index n) const { return *view_b().at(k, n); }
  Matrix<const T> view_panel() const { return {panel, p.depth, width}; }
  Strided<const T> view_b() const {
    if (p.b_transposed) return {b, p.depth, p.columns, 1, p.depth + p.b_gap};
    return {b, p.depth, p.columns, p.columns + p.b_gap, 1};
  }
  Strided<T> view_c() { return {c, p.columns, width, width + p.c_gap, 1}; }
};

template <class T>
using KernelOf = std::conditional_t<std::is_same_v<T, double>, MultiplyPanel, MultiplyPanelFloat>;

// Calls the student's kernel and compares every element of c, the gaps included.
template <class T>
std::uint32_t require_product(Trial& trial, const Product& product, Numbers numbers = Numbers::kWhole) {
  Arguments<T> a(trial.seed(), product, numbers), before = a;
  const auto answer = trial.call<KernelOf<T>>(a.view_panel(), a.view_b(), product.start, a.view_c());
  const long double tolerance = std::is_same_v<T, double> ? 1e-12L : 1e-5L;
  const auto first_behind = a.c.begin() + product.columns * (a.width + product.c_gap);
  if (std::any_of(first_behind, a.c.end(), [](T x) { return x != static_cast<T>(kNobodys); }))
    throw Wrong(sign::kValues, "after-the-last-row",
                "{}: you wrote past the last row of c, outside of its elements", product.name());
  for (Index n = 0; n < product.columns; ++n)
    for (Index w = 0; w < a.width + product.c_gap; ++w) {
      const std::string where = product.name() + ": row " + std::to_string(n) + " of c, ";
      const double got = static_cast<double>(a.at_c(n, w));
      if (w >= a.width) {
        if (got != kNobodys)
          throw Wrong(sign::kValues, "after-the-last-number",
                      "{}{} past its last number: no element of c lies there, and you wrote there (here {})",
                      where, w - a.width + 1, text_of(got));
        continue;
      }
      long double want = product.start == Start::kKeep ? before.at_c(n, w) : T(0), scale = std::fabs(want);
      for (Index k = 0; k < product.depth; ++k) {
        const long double term = static_cast<long double>(a.view_panel()(k, w)) * a.at_b(k, n);
        want += term;
        scale += std::fabs(term);
      }
      const long double allowed = numbers == Numbers::kWhole ? 0 : tolerance * scale;
      if (std::isnan(got))
        throw Wrong(sign::kValues, "no-number", "{}{} is NaN (here {}, which must be {})", where,
                    Lane<T>(w).half(), Lane<T>(w).name(), text_of(static_cast<double>(want)))
            .knowing({2 * w / a.width});
      if (!(std::fabs(got - want) <= allowed))
        throw Wrong(sign::kValues, "number", "{}{} is {}, and must be {}", where, Lane<T>(w).name(),
                    digits_of(got), digits_of(static_cast<double>(want)));
    }
  return answer.changed;
}

// ---- the checks

const Check kOneProduct{
    .claim = "One full tile, one step: every number of the panel's row times every number of b's row.",
    .id = "one-product",
    .weight = 2,
    .hint = "Column n of the tile belongs to row n of c; which number of b multiplies all of it?",
    .run{[](Trial& trial) {
      require_product<double>(trial, {1, kTileColumns, kTile});
    }},
};

const Check kASum{
    .claim = "The products of all steps are added up.",
    .id = "a-sum",
    .weight = 2,
    .needs = {"one-product"},
    .hint = "After each step the panel moves on by panel_step, b by b_row, and c by nothing.",
    .run{[](Trial& trial) {
      for (const Index depth : {2, 3, 5, 64}) require_product<double>(trial, {depth, kTileColumns, kTile});
    }},
};

const Check kAnyColumns{
    .claim = "Any number of columns, 0 and 1 among them.",
    .id = "any-columns",
    .weight = 1,
    .needs = {"a-sum"},
    .hint = "The tile at the end has fewer columns: take their number from kColumns, not from kTileColumns.",
    .run{[](Trial& trial) {
      for (Index columns = 0; columns <= 2 * kTileColumns + 1; ++columns)
        require_product<double>(trial, {7, columns, kTile});
    }},
};

const Check kAnyWidth{
    .claim = "Any width of whole registers.",
    .id = "any-width",
    .weight = 1,
    .needs = {"a-sum"},
    .hint = "The tile at the end is narrower: take its width from kWide, not from kTileWide.",
    .run{[](Trial& trial) {
      for (Index registers = 1; registers <= 2 * kTileWide + 1; ++registers)
        require_product<double>(trial, {5, 8, {registers / kTileWide, registers % kTileWide}});
    }},
};

const Check kKeeps{
    .claim = "With kKeep the product is added to c, with kZero it overwrites c.",
    .id = "keeps",
    .weight = 1,
    .needs = {"a-sum"},
    .hint = "With which number does each sum start? Before it is overwritten, c may hold NaN.",
    .run{[](Trial& trial) {
      for (const Index columns : {1, 6, 13})
        require_product<double>(trial, {4, columns, {1, 1}, Start::kKeep});
    }},
};

const Check kStrides{
    .claim = "b may lie transposed, or with gaps between its rows.",
    .id = "strides",
    .weight = 1,
    .needs = {"a-sum"},
    .hint = "Element (k, n) of b lies b_row * k + b_col * n after the first one.",
    .run{[](Trial& trial) {
      require_product<double>(trial, {6, 7, kTile, Start::kZero, 0, 0, true});
      require_product<double>(trial, {6, 7, kTile, Start::kZero, 3, 0, false});
      require_product<double>(trial, {6, 13, kTile, Start::kKeep, 2, 0, true});
    }},
};

const Check kGaps{
    .claim = "Elements between the rows of c do not change.",
    .id = "gaps",
    .weight = 1,
    .needs = {"a-sum"},
    .hint =
        "Row n of c begins c_step * n after the first one, and the tile is kWide registers wide, no more.",
    .run{[](Trial& trial) {
      require_product<double>(trial, {6, 7, kTile, Start::kZero, 0, 5, false});
      require_product<double>(trial, {3, 6, kRegister, Start::kKeep, 0, kPanelWidth<double> + 1, false});
    }},
};

const Check kRealNumbers{
    .claim = "Long sums of real numbers keep the precision of T.",
    .id = "real-numbers",
    .weight = 1,
    .needs = {"a-sum"},
    .hint = "Sum in Vector<T>, all the way.",
    .run{[](Trial& trial) {
      for (const Index depth : {1, 33, 257})
        require_product<double>(trial, {depth, 11, kTile}, Numbers::kNormal);
    }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"any-columns", "any-width"},
    .hint = "The lanes differ: kLanes<T>.",
    .run{[](Trial& trial) {
      require_product<float>(trial, {9, 13, kTile});
      require_product<float>(trial, {9, 5, {1, 1}, Start::kKeep, 0, 3, true});
      require_product<float>(trial, {65, 6, kTile}, Numbers::kNormal);
    }},
};

const Check kInputsUnchanged{
    .claim = "Neither the panel nor b is written.",
    .id = "inputs-unchanged",
    .weight = 1,
    .needs = {"one-product"},
    .hint = "Move copies of the pointers, never what they point to.",
    .run{[](Trial& trial) {
      constexpr const char* kNames[] = {"panel", "b", "start", "c's extents"};
      const std::uint32_t changed = require_product<double>(trial, {5, kTileColumns, kTile});
      for (std::size_t i = 0; i < std::size(kNames); ++i)
        if ((changed >> i & 1) != 0)
          throw Wrong(sign::kInput, "argument-changed", "your kernel changed {}, which it may only read",
                      Name{kNames[i]});
    }},
};

const Check kDrivesAttention{
    .claim =
        "The library's fast attention, forward and backward, which calls your kernel, equals the oracle.",
    .id = "drives-attention",
    .weight = 2,
    .needs = {"any-columns", "any-width", "keeps", "strides", "gaps"},
    .hint =
        "It multiplies tiles of every size, transposed and not, into sums that continue: which of the checks "
        "above is closest?",
    .run{[](Trial& trial) {
      require_forward(some_blocks(trial, 0, 4), [&](const HeadForward& head) {
        std::vector<double> sum(static_cast<std::size_t>(head.q.rows), 0.0);
        std::ranges::fill(head.out.data, 0.0);
        std::ranges::fill(head.lse, -std::numeric_limits<double>::infinity());
        trial.call<FastForward>(head.q, head.k, head.v, head.ranges, head.softmax_scale,
                                Partial<double>{head.out, head.lse, sum});
        for (Index i = 0; i < head.out.rows; ++i) {  // (O, m, l) becomes (out, lse)
          const double l = sum[static_cast<std::size_t>(i)];
          if (l == 0) continue;
          for (double& x : head.out.row(i)) x /= l;
          head.lse[static_cast<std::size_t>(i)] += std::log(l);
        }
      });
      require_backward(some_blocks(trial, 1, 6), [&](const HeadBackward& head) {
        trial.call<FastBackward>(head.q, head.k, head.v, head.dout, head.lse, head.delta, head.ranges,
                                 head.softmax_scale, head.dq, head.dk, head.dv);
      });
    }},
};

// One panel that stays in the cache against very many columns, with new numbers and strides in every round.
// Rows of b overlap, so that a short message starts a long computation.
class Timed {
 public:
  explicit Timed(std::uint64_t seed) : random_(seed) {
    depth_ = 2048 - random_.integer(0, 31);
    columns_ = 20'000 - random_.integer(0, 99);
    b_row_ = random_.integer(1, 3);
    b_col_ = random_.integer(1, 3);
    c_step_ = kWidth + random_.integer(0, 2) * kLanes<double>;
    panel_ = numbers(depth_ * kWidth);
    b_ = numbers((depth_ - 1) * b_row_ + (columns_ - 1) * b_col_ + 1);
  }

  // c after a call, and the time of the call by this clock. A short depth: all but the sums.
  template <class Call, class Clock>
  double seconds(Call call, Clock clock, std::vector<double>& c, Index depth) const {
    c.assign(static_cast<std::size_t>(columns_ * c_step_), kNobodys);
    const Matrix<const double> panel{std::span(panel_).first(static_cast<std::size_t>(depth * kWidth)), depth,
                                     kWidth};
    const double start = clock();
    call(panel, Strided<const double>{b_, depth, columns_, b_row_, b_col_}, Start::kZero,
         Strided<double>{c, columns_, kWidth, c_step_, 1});
    return clock() - start;
  }
  Index depth() const { return depth_; }
  double operations() const { return 2.0 * static_cast<double>(depth_ * columns_ * kWidth); }

  void require_same(const std::vector<double>& got, const std::vector<double>& want) const {
    // Of the sum of absolute terms, of which there are depth, each about as large as the largest of b.
    double largest = 0;
    for (const double x : b_) largest = std::max(largest, std::fabs(x));
    const double allowed = 1e-12 * static_cast<double>(depth_) * largest;
    const auto differs =
        std::ranges::mismatch(got, want, [=](double a, double b) { return std::fabs(a - b) <= allowed; }).in1;
    if (differs == got.end()) return;
    const Index at = differs - got.begin(), w = at % c_step_;
    throw Wrong(sign::kValues, "timed-number", "depth {}, {}, timed: row {} of c, {} is {}, and must be {}",
                depth_, Shown{static_cast<double>(columns_), counted(columns_, "column")}, at / c_step_,
                w < kWidth ? Lane<double>(w).name() : "past its last number", digits_of(*differs),
                digits_of(want[static_cast<std::size_t>(at)]));
  }

 private:
  static constexpr Index kWidth = kPanelWidth<double>;

  std::vector<double> numbers(Index count) {
    std::vector<double> result(static_cast<std::size_t>(count));
    for (double& x : result) x = random_.normal();
    return result;
  }

  Random random_;
  Index depth_, columns_, b_row_, b_col_, c_step_;
  std::vector<double> panel_, b_;
};

// Processor time does not include other programs; their effect on caches and clock rates can only increase
// it, so the best of several rounds counts. A kernel that seems too slow gets more rounds, unless it is far
// too slow. The library goes first, while no process of the student's is alive. Both processes are new each
// time, and have received numbers once before they are timed.
const Check kSpeed{
    .claim = "At most twice the time of the library's kernel, measured in the same run.",
    .id = "speed",
    .weight = 4,
    .needs = {"real-numbers"},
    .hint =
        "Are all sums in registers while the depth runs? Loops with constant bounds become registers only "
        "when they are unrolled.",
    .run{[](Trial& trial) {
      constexpr int kRounds = 3, kMostRounds = 20;
      const auto own_call = [&](auto&&... arguments) { trial.call<MultiplyPanel>(arguments...); };
      const auto library_call = [&](auto&&... arguments) { trial.call_library<MultiplyPanel>(arguments...); };
      const auto own_clock = [&] { return trial.own_seconds(); };
      const auto library_clock = [&] { return trial.library_seconds(); };
      double own = std::numeric_limits<double>::infinity(), library = own;  // seconds per operation
      std::vector<double> got, want;
      for (int round = 0; round < kMostRounds; ++round) {
        const Timed timed(trial.seed() + static_cast<std::uint64_t>(round));
        trial.end_workers();
        for (const Index depth : {Index{1}, timed.depth()}) {
          const double seconds = timed.seconds(library_call, library_clock, want, depth);
          if (depth > 1) library = std::min(library, seconds / timed.operations());
        }
        for (const Index depth : {Index{1}, timed.depth()}) {
          const double seconds = timed.seconds(own_call, own_clock, got, depth);
          if (depth > 1) own = std::min(own, seconds / timed.operations());
        }
        timed.require_same(got, want);
        if (round + 1 >= kRounds && (own <= kSlowest * library || own > 3 * kSlowest * library)) break;
      }
      trial.note({"your kernel", 1e-9 / own, {}, "GFLOP/s"});
      trial.note({"the library's", 1e-9 / library, {}, "GFLOP/s"});
      if (!(own <= kSlowest * library))
        throw Wrong(
            sign::kCounts, "too-slow",
            "your kernel takes {} times as long as the library's, in the same run; {} times is allowed",
            text_of(std::round(10 * own / library) / 10), text_of(kSlowest));
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  constexpr Index kRealDepth = 33, kDeep = 510;  // its last piece is another one for each size
  verify::ProductExhibit products;
  for (const Product& product :
       {Product{5, 2 * kTileColumns + 1, {2, 1}}, Product{4, kTileColumns, kTile}, Product{1, 3, kTile},
        Product{3, kTileColumns + 2, {1, 1}, Start::kKeep}, Product{6, kTileColumns, kTile, Start::kKeep},
        Product{7, 1, kRegister}, Product{kRealDepth, 2, kTile}, Product{kDeep, 1, kRegister}}) {
    const bool real = product.depth == kRealDepth;  // whole numbers are as right in float
    Arguments<double> a(trial.seed(), product, real ? Numbers::kNormal : Numbers::kWhole);
    const Arguments<double> before = a;
    if (!trial.ask<MultiplyPanel>(a.view_panel(), a.view_b(), product.start, a.view_c())) continue;
    const auto c = [&](const Arguments<double>& arguments) {
      return std::vector<double>(arguments.c.begin(), arguments.c.begin() + product.columns * a.width);
    };
    products.calls.push_back({product.depth, product.columns, a.width, kTileColumns, kPanelWidth<double>,
                              kLanes<double>, product.start == Start::kKeep, a.panel, a.b, c(before), c(a)});
  }
  return exhibit_of(std::move(products));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneProduct,      kASum, kAnyColumns,  kAnyWidth, kKeeps,
                            kStrides,         kGaps, kRealNumbers, kFloats,   kInputsUnchanged,
                            kDrivesAttention, kSpeed};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
