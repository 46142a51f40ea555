// Computes one row of a merge kernel with given mistakes: the block's row, both weights, O, l and lse, and
// the columns that are written.
#include "verify/diagnose/kernels/merge_walk.hpp"

#include <algorithm>
#include <cmath>

namespace ringcraft::verify {
namespace {

using Merge = MergeWalk;
constexpr double kUnseenMax = -HUGE_VAL, kSentinel = -10000;

std::size_t at_row(Index i) { return static_cast<std::size_t>(i); }

Index row_of_block(const MergeExhibit& x, Index row, Merge::Row which) {
  switch (which) {
    case Merge::Row::kFirst:
      return 0;
    case Merge::Row::kNext:
      return std::min(row + 1, x.rows - 1);
    case Merge::Row::kBefore:
      return std::max<Index>(row - 1, 0);
    case Merge::Row::kOfSixteen:
      return row % 16;
    case Merge::Row::kHalf:
      return row / 2;
    case Merge::Row::kOfPair:
      return row / 2 * 2;
    case Merge::Row::kRight:
      break;
  }
  return row;
}

double largest_of(double a, double b, Merge::Largest which) {
  switch (which) {
    case Merge::Largest::kAcc:
      return a;
    case Merge::Largest::kBlock:
      return b;
    case Merge::Largest::kSmaller:
      return std::min(a, b);
    case Merge::Largest::kAtLeast:
      return std::max({a, b, kSentinel});
    case Merge::Largest::kAtLeastZero:
      return std::max({a, b, 0.0});
    case Merge::Largest::kNone:
      return 0;
    case Merge::Largest::kRight:
      break;
  }
  return std::max(a, b);
}

// exp with the range of float.
double power(double exponent, const Merge& w) {
  constexpr double kLargest = 88.72, kSmallest = -103.97, kLn2 = 0.6931471805599453;
  const double natural = w.exponent == Merge::Exponent::kBaseTwo ? exponent * kLn2 : exponent;
  return natural > kLargest ? HUGE_VAL : natural < kSmallest ? 0 : std::exp(natural);
}

double weight_of(double max, double largest, const Merge& w) {
  switch (w.exponent) {
    case Merge::Exponent::kInverse:
      return power(largest - max, w);
    case Merge::Exponent::kHalf:
      return power((max - largest) / 2, w);
    case Merge::Exponent::kDoubled:
      return power(2 * (max - largest), w);
    case Merge::Exponent::kBaseTwo:
    case Merge::Exponent::kRight:
      break;
  }
  return power(max - largest, w);
}

// Both weights.
using Weights2 = std::pair<double, double>;
Weights2 weights_of(double a, double b, double largest, const Merge& w) {
  const bool one = w.empty == Merge::Empty::kWeightOne, acc_one = one || w.empty == Merge::Empty::kAccOne;
  return {a == kUnseenMax ? (acc_one ? 1 : 0) : weight_of(a, largest, w),
          b == kUnseenMax ? (one ? 1 : 0) : weight_of(b, largest, w)};
}

// The two weights with this mistake.
Weights2 changed(const Weights2& right, Merge::Weight how) {
  const auto [mine, other] = right;
  switch (how) {
    case Merge::Weight::kAccOne:
      return {1, other};
    case Merge::Weight::kBlockOne:
      return {mine, 1};
    case Merge::Weight::kAccZero:
      return {0, other};
    case Merge::Weight::kBlockZero:
      return {mine, 0};
    case Merge::Weight::kExchanged:
      return {other, mine};
    case Merge::Weight::kBoth:
      return {other, other};
    case Merge::Weight::kBothOld:
      return {mine, mine};
    default:
      return right;
  }
}

// The same for mistakes that concern O alone, or l and lse alone.
Weights2 of_out(const Weights2& right, Merge::Weight how) {
  if (how <= Merge::Weight::kOut) return changed(right, how);
  return changed(right,
                 static_cast<Merge::Weight>(static_cast<int>(how) - static_cast<int>(Merge::Weight::kOut)));
}

double sum_of(double mine, double other, double a, double b, Merge::Sum sum) {
  switch (sum) {
    case Merge::Sum::kAccTwice:
      return 2 * mine * a;
    case Merge::Sum::kBlockTwice:
      return 2 * other * b;
    case Merge::Sum::kAccAlone:
      return mine * a;
    case Merge::Sum::kBlockAlone:
      return other * b;
    case Merge::Sum::kAccSixteen:
      return 16 * mine * a + other * b;
    case Merge::Sum::kBlockSixteen:
      return mine * a + 16 * other * b;
    case Merge::Sum::kAllSixteen:
      return 16 * (mine * a + other * b);
    case Merge::Sum::kAccUnweighted:
      return a + other * b;
    case Merge::Sum::kBlockUnweighted:
      return mine * a + b;
    case Merge::Sum::kUnweighted:
      return a + b;
    case Merge::Sum::kAccKept:
      return a;
    case Merge::Sum::kExchanged:
      return other * a + mine * b;
    case Merge::Sum::kRight:
      break;
  }
  return mine * a + other * b;
}

double lse_of(double a, double b, double largest, double norm, Merge::Lse lse) {
  switch (lse) {
    case Merge::Lse::kTimes:
      return largest * std::log(norm);
    case Merge::Lse::kAlone:
      return std::log(norm);
    case Merge::Lse::kMinus:
      return largest - std::log(norm);
    case Merge::Lse::kBaseTwo:
      return largest + std::log2(norm);
    case Merge::Lse::kLarger:
      return largest;
    case Merge::Lse::kAccPlus:
      return a + std::log(norm);
    case Merge::Lse::kBlockPlus:
      return b + std::log(norm);
    case Merge::Lse::kAccKept:
      return a;
    case Merge::Lse::kRight:
      break;
  }
  return largest + std::log(norm);
}

// Divides the two weights of results that are already normalised.
std::pair<double, double> divided(double mine, double other, double norm, Merge::Norm how) {
  switch (how) {
    case Merge::Norm::kNone:
      return {mine, other};
    case Merge::Norm::kAccNot:
      return {mine, other / norm};
    case Merge::Norm::kBlockNot:
      return {mine / norm, other};
    case Merge::Norm::kTimes:
      return {mine * norm, other * norm};
    case Merge::Norm::kTwo:
      return {0.5, 0.5};
    case Merge::Norm::kProduct:
    case Merge::Norm::kRight:
      break;
  }
  return {mine / norm, other / norm};
}

bool is_merged(Index column, Index width, Merge::Columns columns) {
  switch (columns) {
    case Merge::Columns::kFours:
      return column < width / 4 * 4;
    case Merge::Columns::k64:
      return column < 64;
    case Merge::Columns::kWhole64:
      return column < width / 64 * 64;
    case Merge::Columns::k16:
      return column < 16;
    case Merge::Columns::kLastLost:
      return column < width - 1;
    case Merge::Columns::kFirstGroup:
      return column < 4;
    case Merge::Columns::kAll:
      break;
  }
  return true;
}

double most_below(Merge::Dropped dropped) {
  constexpr double kBelow[] = {HUGE_VAL, 1, 4, 5, 8, 10, 16, 20};
  return kBelow[static_cast<std::size_t>(dropped)];
}

}  // namespace

MergedRow merged_row(const MergeExhibit& x, Index row, const Merge& w) {
  const Index other_row = row_of_block(x, row, w.row);
  const auto from = [&](Merge::Of part) {
    const bool taken =
        w.of == Merge::Of::kAll || w.of == part || (w.of == Merge::Of::kNumbers && part != Merge::Of::kOut);
    return at_row(taken ? other_row : row);
  };
  const bool normalized = x.normalized(), second = row % 2 == 1;
  const std::size_t i = at_row(row), i_weights = w.pair == Merge::Pair::kFirstWeights && second ? i - 1 : i;
  const double a = x.acc.max[w.pair == Merge::Pair::kFirstMax && second ? i - 1 : i_weights],
               b = x.block
                       .max[w.pair == Merge::Pair::kFirstWeights && second ? i - 1 : from(Merge::Of::kMax)];
  const double l_a = normalized ? 1 : x.acc.sum[i], l_b = normalized ? 1 : x.block.sum[from(Merge::Of::kSum)];
  MergedRow result{.out = {}, .size = {}, .max = x.acc.max[i], .sum = l_a};
  const auto of_acc = [&](Index c) { return x.acc.out[at_row(row * x.cols + c)]; };
  const auto of_block = [&](Index c) {
    return x.block.out[from(Merge::Of::kOut) * at_row(x.cols) + at_row(c)];
  };
  for (Index c = 0; c < x.cols; ++c) {
    result.out.push_back(of_acc(c));
    result.size.push_back(std::fabs(of_acc(c)) + std::fabs(of_block(c)));
  }
  const bool wiped = w.empty == Merge::Empty::kWiped && b == kUnseenMax;
  if (wiped) {
    std::ranges::fill(result.out, 0.0);
    result.sum = 0;
    return result;
  }
  const bool unseen_acc_kept = w.empty == Merge::Empty::kEitherKept || w.empty == Merge::Empty::kAccKept;
  if (b == kUnseenMax && w.empty != Merge::Empty::kWeightOne && w.empty != Merge::Empty::kAccKept)
    return result;
  if (a == kUnseenMax && unseen_acc_kept) return result;
  if (b == kUnseenMax && a == kUnseenMax) return result;
  const double largest = largest_of(a, b, w.largest);
  if (b < largest - most_below(w.dropped)) return result;
  const Weights2 weights = weights_of(a, b, largest, w);
  const auto [mine, other] = w.weight < Merge::Weight::kOut ? changed(weights, w.weight) : weights;
  const auto [out_mine, out_other] = of_out(weights, w.weight);
  const double norm = w.norm == Merge::Norm::kProduct ? mine * other : mine + other;
  const auto [p, q] =
      normalized ? divided(out_mine, out_other, norm, w.norm) : std::pair{out_mine, out_other};
  for (Index c = 0; c < x.cols; ++c) {
    if (!is_merged(c, x.cols, w.columns)) continue;
    result.out[at_row(c)] = p * of_acc(c) + q * of_block(c);
    result.size[at_row(c)] = std::fabs(p * of_acc(c)) + std::fabs(q * of_block(c));
  }
  const bool kept = w.pair == Merge::Pair::kOutAlone || (w.pair == Merge::Pair::kKeepsNumbers && second) ||
                    (w.empty == Merge::Empty::kNumbersKept && a == kUnseenMax);
  if (kept) return result;
  result.max = normalized ? lse_of(a, b, largest, norm, w.lse) : largest;
  if (!normalized) result.sum = sum_of(mine, other, l_a, l_b, w.sum);
  return result;
}

}  // namespace ringcraft::verify
