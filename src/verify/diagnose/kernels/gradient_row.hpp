#pragma once
/// @file
/// One own row of a backward kernel with mistakes (see gradient_walk.hpp for "own" and "other"); internal to
/// the harness.

#include <algorithm>
#include <cmath>

#include "verify/diagnose/kernels/gradient_walk.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {

/// Own rows, and other rows, of a tile.
inline constexpr Index kGradientTile = 32;

/// Whether a product of scores accumulates those of earlier tiles, too.
inline bool adds_up_tiles(GradientWalk::Sum sum) {
  return sum == GradientWalk::Sum::kAddsUp || sum == GradientWalk::Sum::kAddsUpInHead;
}

/// One own row of one kernel, of rows (dq) or of keys (dk, dv), for one query head.
class OwnGradientRow {
 public:
  OwnGradientRow(const GradientScene& x, const GradientWalk& w, bool of_keys, Index batch, Index head,
                 Index kv_head, Index own)
      : x_(x),
        p_(x.exhibit.problem),
        w_(w),
        of_keys_(of_keys),
        b_(batch),
        h_(head),
        g_(kv_head),
        own_(own),
        own0_(own / kGradientTile * kGradientTile),
        own_count_(static_cast<Index>(of_keys ? p_.keys.size() : p_.queries.size())),
        other_count_(static_cast<Index>(of_keys ? p_.queries.size() : p_.keys.size())),
        width_(columns()) {}

  // The first other rows of the tiles, in visiting order.
  std::vector<Index> visited() const {
    const KeyRanges& r = of_keys_ ? x_.by_key : x_.by_row;
    const Index tile0 = w_.visits == GradientWalk::Visits::kOfFirstTile ? 0 : own0_;
    const auto first = static_cast<std::size_t>(tile0),
               last = static_cast<std::size_t>(std::min(tile0 + kGradientTile, own_count_) - 1);
    const Index from = r.begin[w_.visits == GradientWalk::Visits::kFromLast ? last : first],
                to = r.end[w_.visits == GradientWalk::Visits::kToFirstEnd ? first : last];
    std::vector<Index> all;
    for (Index at = from / kGradientTile * kGradientTile; at < to && r.begin[first] < r.end[last];
         at += kGradientTile)
      if (w_.visits != GradientWalk::Visits::kWholeAlone || at + kGradientTile <= other_count_)
        all.push_back(at);
    if (all.empty()) return all;
    switch (w_.visits) {
      case GradientWalk::Visits::kFirstAlone:
        return {all.front()};
      case GradientWalk::Visits::kLastAlone:
        return {all.back()};
      case GradientWalk::Visits::kSkipsFirst:
        all.erase(all.begin());
        return all;
      case GradientWalk::Visits::kSkipsLast:
        all.pop_back();
        return all;
      case GradientWalk::Visits::kEveryFourth:
        for (std::size_t i = 1; i < all.size(); ++i)
          if (i % 4 != 0) all[i] = -1;
        std::erase(all, -1);
        return all;
      default:
        return all;
    }
  }

  struct Sums {
    double s = 0, dp = 0;
  };
  // The weights of a pair; size: dS without the signs of its terms.
  struct Pair {
    double p = 0, ds = 0, size = 0;
  };
  // Adds this row's contribution from a tile; `earlier` are the sums of the tiles before, by place.
  void add(const std::vector<Index>& visits, std::size_t n, std::vector<std::vector<Sums>>& earlier,
           WalkedGradient& by_ds, WalkedGradient& by_p) const {
    const bool turned = w_.product == GradientWalk::Product::kTurned;
    for (Index j = 0; j < kGradientTile; ++j) {
      const Index own = turned ? own0_ + j : own_, other_place = turned ? own_ - own0_ : j;
      const Pair pair = weights(visits, n, own, other_place, earlier);
      if (pair.p == 0 && pair.ds == 0) continue;
      const Index from = w_.product == GradientWalk::Product::kFirstTile ? visits.front() : data0(visits, n);
      if (from + j >= other_count_) continue;
      const bool other_tensor = w_.product == GradientWalk::Product::kOtherTensor;
      const bool exchanged = w_.product == GradientWalk::Product::kWeights;
      const Buffer& of_ds =
          of_keys_ ? (other_tensor ? x_.in.dout : x_.in.q) : (other_tensor ? x_.in.v : x_.in.k);
      const double times =
          w_.visits == GradientWalk::Visits::kSumsAgain ? static_cast<double>(visits.size() - n) : 1;
      sum(by_ds, pair, times, !exchanged && w_.product != GradientWalk::Product::kPForDs, of_ds, from + j);
      if (of_keys_)
        sum(by_p, pair, times, exchanged || w_.product == GradientWalk::Product::kDsForP,
            other_tensor ? x_.in.q : x_.in.dout, from + j);
    }
    if (adds_up_tiles(w_.scores) || adds_up_tiles(w_.dp)) remember(visits, n, earlier);
  }

 private:
  std::size_t columns() const {
    const Index d = p_.head_dim;
    switch (w_.columns) {
      case GradientWalk::Columns::k64:
        return static_cast<std::size_t>(std::min<Index>(d, 64));
      case GradientWalk::Columns::k32:
        return static_cast<std::size_t>(std::min<Index>(d, 32));
      case GradientWalk::Columns::kFours:
        return static_cast<std::size_t>(d / 4 * 4);
      case GradientWalk::Columns::kLastLost:
        return static_cast<std::size_t>(d - 1);
      case GradientWalk::Columns::kAll:
        break;
    }
    return static_cast<std::size_t>(d);
  }

  Index data_head() const {
    return w_.heads == GradientWalk::Heads::kOfFirst ? h_ / p_.group() * p_.group() : h_;
  }

  Index batch_of_rows() const { return w_.heads == GradientWalk::Heads::kFromZeroOfAll ? 0 : b_; }

  std::span<const double> other_row(const Buffer& tensor, Index other) const {
    return row_of(tensor, of_keys_ ? batch_of_rows() : b_, of_keys_ ? data_head() : g_, other).first(width_);
  }
  std::span<const double> own_row(const Buffer& tensor, Index own) const {
    return row_of(tensor, b_, of_keys_ ? g_ : data_head(), own).first(width_);
  }

  void sum(WalkedGradient& to, const Pair& pair, double times, bool of_ds, const Buffer& tensor,
           Index other) const {
    const auto row = other_row(tensor, other);
    const double weight = times * (of_ds ? pair.ds : pair.p),
                 size = times * (of_ds ? pair.size : std::fabs(pair.p));
    for (std::size_t c = 0; c < row.size(); ++c)
      to.value[c] += weight * row[c], to.size[c] += size * std::fabs(row[c]);
  }

  Index data0(const std::vector<Index>& visits, std::size_t n) const {
    switch (w_.data) {
      case GradientWalk::Data::kFirst:
        return visits.front();
      case GradientWalk::Data::kBefore:
        return visits[n == 0 ? 0 : n - 1];
      case GradientWalk::Data::kNext:
        return visits[std::min(n + 1, visits.size() - 1)];
      case GradientWalk::Data::kLast:
        return visits.back();
      case GradientWalk::Data::kZero:
        return 0;
      case GradientWalk::Data::kRight:
        break;
    }
    return visits[n];
  }

  Sums products(Index own, Index other) const {
    if (other >= other_count_ || own >= own_count_) return {};
    const Buffer &q = x_.in.q, &k = x_.in.k, &v = x_.in.v, &dout = x_.in.dout;
    const bool s_exchanged = w_.scores == GradientWalk::Sum::kExchanged,
               dp_exchanged = w_.dp == GradientWalk::Sum::kExchanged;
    const Buffer &of_s = s_exchanged ? v : k, &of_dp = dp_exchanged ? k : v;
    const Buffer &row_of_s = w_.scores == GradientWalk::Sum::kOfOtherRow ? dout : q,
                 &row_of_dp = w_.dp == GradientWalk::Sum::kOfOtherRow ? q : dout;
    return {of_keys_ ? dot(other_row(row_of_s, other), own_row(of_s, own))
                     : dot(own_row(row_of_s, own), other_row(of_s, other)),
            of_keys_ ? dot(other_row(row_of_dp, other), own_row(of_dp, own))
                     : dot(own_row(row_of_dp, own), other_row(of_dp, other))};
  }

  void remember(const std::vector<Index>& visits, std::size_t n,
                std::vector<std::vector<Sums>>& earlier) const {
    earlier.resize(1, std::vector<Sums>(static_cast<std::size_t>(kGradientTile)));
    for (Index j = 0; j < kGradientTile; ++j) {
      const Sums more = products(own_, data0(visits, n) + j);
      Sums& all = earlier.front()[static_cast<std::size_t>(j)];
      all.s += more.s, all.dp += more.dp;
    }
  }

  bool is_seen(Index own, Index other, Index other0) const {
    const bool turned = w_.masked == GradientWalk::Masked::kTurned;
    const KeyRanges& r = of_keys_ != turned ? x_.by_key : x_.by_row;
    const Index asked = w_.masked == GradientWalk::Masked::kOwnInTile ? own - own0_ : own;
    const Index number = w_.masked == GradientWalk::Masked::kOtherInTile ? other - other0
                         : w_.masked == GradientWalk::Masked::kEarly     ? other + 1
                         : w_.masked == GradientWalk::Masked::kLate      ? other - 1
                                                                         : other;
    if (own >= own_count_ || other >= other_count_) return false;
    if (w_.masked == GradientWalk::Masked::kNone) return true;
    const auto i = static_cast<std::size_t>(asked);
    if (i >= r.begin.size()) return false;
    const Index end = r.end[i] + (w_.masked == GradientWalk::Masked::kEndLong    ? 1
                                  : w_.masked == GradientWalk::Masked::kEndShort ? -1
                                                                                 : 0);
    return (r.begin[i] <= number || w_.masked == GradientWalk::Masked::kNoBegin) &&
           (number < end || w_.masked == GradientWalk::Masked::kNoEnd);
  }

  // A number of a row, read from this place.
  double number(const std::vector<double>& all, GradientWalk::Place place, Index row, Index row0, Index key,
                Index key0) const;
  double exponent(double score) const;
  double lse_of_tile(Index own, const std::vector<Index>& visits, std::size_t n) const;
  // The sum of P dP over the tile's keys.
  double delta_of_tile(Index own, const std::vector<Index>& visits, std::size_t n, double lse) const;
  Pair weights(const std::vector<Index>& visits, std::size_t n, Index own, Index j,
               const std::vector<std::vector<Sums>>& earlier) const;
  double lse_used(double lse, double delta, Index own, const std::vector<Index>& visits, std::size_t n) const;
  double delta_used(double delta, double lse, Index own, const std::vector<Index>& visits,
                    std::size_t n) const;

  const GradientScene& x_;
  const BlockProblem& p_;
  GradientWalk w_;
  bool of_keys_;
  Index b_, h_, g_, own_, own0_, own_count_, other_count_;
  std::size_t width_;
};

}  // namespace ringcraft::verify
