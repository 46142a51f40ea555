// Gradients tile by tile with mistakes (see gradient_walk.hpp).
#include "verify/diagnose/kernels/gradient_walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Walk = GradientWalk;
constexpr Index kTile = 32;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool adds_up(Walk::Sum sum) { return sum == Walk::Sum::kAddsUp || sum == Walk::Sum::kAddsUpInHead; }

// One own row of one kernel, of rows (dq) or of keys (dk, dv), beside one query head.
class OwnRow {
 public:
  OwnRow(const GradientScene& x, const Walk& w, bool of_keys, Index batch, Index head, Index kv_head, Index own)
      : x_(x),
        p_(x.exhibit.problem),
        w_(w),
        of_keys_(of_keys),
        b_(batch),
        h_(head),
        g_(kv_head),
        own_(own),
        own0_(own / kTile * kTile),
        own_count_(static_cast<Index>(of_keys ? p_.keys.size() : p_.queries.size())),
        other_count_(static_cast<Index>(of_keys ? p_.queries.size() : p_.keys.size())),
        width_(columns()) {}

  // The first other rows of the tiles, in their order.
  std::vector<Index> visited() const {
    const KeyRanges& r = of_keys_ ? x_.by_key : x_.by_row;
    const Index tile0 = w_.visits == Walk::Visits::kOfFirstTile ? 0 : own0_;
    const auto first = static_cast<std::size_t>(tile0),
               last = static_cast<std::size_t>(std::min(tile0 + kTile, own_count_) - 1);
    const Index from = r.begin[w_.visits == Walk::Visits::kFromLast ? last : first],
                to = r.end[w_.visits == Walk::Visits::kToFirstEnd ? first : last];
    std::vector<Index> all;
    for (Index at = from / kTile * kTile; at < to && r.begin[first] < r.end[last]; at += kTile)
      if (w_.visits != Walk::Visits::kWholeAlone || at + kTile <= other_count_) all.push_back(at);
    if (all.empty()) return all;
    switch (w_.visits) {
      case Walk::Visits::kFirstAlone:
        return {all.front()};
      case Walk::Visits::kLastAlone:
        return {all.back()};
      case Walk::Visits::kSkipsFirst:
        all.erase(all.begin());
        return all;
      case Walk::Visits::kSkipsLast:
        all.pop_back();
        return all;
      case Walk::Visits::kEveryFourth:
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
  // What a pair weighs; size: dS without the signs of its terms.
  struct Pair {
    double p = 0, ds = 0, size = 0;
  };
  // Adds what this row gets of a tile; `earlier` are the sums of the tiles before, by place.
  void add(const std::vector<Index>& visits, std::size_t n, std::vector<std::vector<Sums>>& earlier,
           WalkedGradient& by_ds, WalkedGradient& by_p) const {
    const bool turned = w_.product == Walk::Product::kTurned;
    for (Index j = 0; j < kTile; ++j) {
      const Index own = turned ? own0_ + j : own_, other_place = turned ? own_ - own0_ : j;
      const Pair pair = weights(visits, n, own, other_place, earlier);
      if (pair.p == 0 && pair.ds == 0) continue;
      const Index from = w_.product == Walk::Product::kFirstTile ? visits.front() : data0(visits, n);
      if (from + j >= other_count_) continue;
      const bool other_tensor = w_.product == Walk::Product::kOtherTensor;
      const bool exchanged = w_.product == Walk::Product::kWeights;
      const Buffer& of_ds = of_keys_ ? (other_tensor ? x_.in.dout : x_.in.q) : (other_tensor ? x_.in.v : x_.in.k);
      sum(by_ds, pair, !exchanged && w_.product != Walk::Product::kPForDs, of_ds, from + j);
      if (of_keys_)
        sum(by_p, pair, exchanged || w_.product == Walk::Product::kDsForP,
            other_tensor ? x_.in.q : x_.in.dout, from + j);
    }
    if (adds_up(w_.scores) || adds_up(w_.dp)) remember(visits, n, earlier);
  }

 private:
  std::size_t columns() const {
    const Index d = p_.head_dim;
    switch (w_.columns) {
      case Walk::Columns::k64:
        return static_cast<std::size_t>(std::min<Index>(d, 64));
      case Walk::Columns::k32:
        return static_cast<std::size_t>(std::min<Index>(d, 32));
      case Walk::Columns::kFours:
        return static_cast<std::size_t>(d / 4 * 4);
      case Walk::Columns::kLastLost:
        return static_cast<std::size_t>(d - 1);
      case Walk::Columns::kAll:
        break;
    }
    return static_cast<std::size_t>(d);
  }

  Index data_head() const { return w_.heads == Walk::Heads::kOfFirst ? h_ / p_.group() * p_.group() : h_; }

  std::span<const double> other_row(const Buffer& tensor, Index other) const {
    return row_of(tensor, b_, of_keys_ ? data_head() : g_, other).first(width_);
  }
  std::span<const double> own_row(const Buffer& tensor, Index own) const {
    return row_of(tensor, b_, of_keys_ ? g_ : data_head(), own).first(width_);
  }

  void sum(WalkedGradient& to, const Pair& pair, bool of_ds, const Buffer& tensor, Index other) const {
    const auto row = other_row(tensor, other);
    const double weight = of_ds ? pair.ds : pair.p, size = of_ds ? pair.size : std::fabs(pair.p);
    for (std::size_t c = 0; c < row.size(); ++c)
      to.value[c] += weight * row[c], to.size[c] += size * std::fabs(row[c]);
  }

  Index data0(const std::vector<Index>& visits, std::size_t n) const {
    switch (w_.data) {
      case Walk::Data::kFirst:
        return visits.front();
      case Walk::Data::kBefore:
        return visits[n == 0 ? 0 : n - 1];
      case Walk::Data::kNext:
        return visits[std::min(n + 1, visits.size() - 1)];
      case Walk::Data::kLast:
        return visits.back();
      case Walk::Data::kZero:
        return 0;
      case Walk::Data::kRight:
        break;
    }
    return visits[n];
  }

  Sums products(Index own, Index other) const {
    if (other >= other_count_ || own >= own_count_) return {};
    const Buffer &q = x_.in.q, &k = x_.in.k, &v = x_.in.v, &dout = x_.in.dout;
    const bool s_exchanged = w_.scores == Walk::Sum::kExchanged, dp_exchanged = w_.dp == Walk::Sum::kExchanged;
    const Buffer &of_s = s_exchanged ? v : k, &of_dp = dp_exchanged ? k : v;
    return {of_keys_ ? dot(other_row(q, other), own_row(of_s, own)) : dot(own_row(q, own), other_row(of_s, other)),
            of_keys_ ? dot(other_row(dout, other), own_row(of_dp, own))
                     : dot(own_row(dout, own), other_row(of_dp, other))};
  }

  void remember(const std::vector<Index>& visits, std::size_t n, std::vector<std::vector<Sums>>& earlier) const {
    earlier.resize(1, std::vector<Sums>(static_cast<std::size_t>(kTile)));
    for (Index j = 0; j < kTile; ++j) {
      const Sums more = products(own_, data0(visits, n) + j);
      Sums& all = earlier.front()[static_cast<std::size_t>(j)];
      all.s += more.s, all.dp += more.dp;
    }
  }

  bool is_seen(Index own, Index other, Index other0) const {
    const bool turned = w_.masked == Walk::Masked::kTurned;
    const KeyRanges& r = of_keys_ != turned ? x_.by_key : x_.by_row;
    const Index asked = w_.masked == Walk::Masked::kOwnInTile ? own - own0_ : own;
    const Index number = w_.masked == Walk::Masked::kOtherInTile ? other - other0 : other;
    if (own >= own_count_ || other >= other_count_) return false;
    if (w_.masked == Walk::Masked::kNone) return true;
    const auto i = static_cast<std::size_t>(asked);
    if (i >= r.begin.size()) return false;
    const Index end = r.end[i] + (w_.masked == Walk::Masked::kEndLong    ? 1
                                  : w_.masked == Walk::Masked::kEndShort ? -1
                                                                         : 0);
    return (r.begin[i] <= number || w_.masked == Walk::Masked::kNoBegin) &&
           (number < end || w_.masked == Walk::Masked::kNoEnd);
  }

  // A number of a row, looked for at this place.
  double number(const std::vector<double>& all, Walk::Place place, Index row, Index row0, Index key,
                Index key0) const {
    Index at = row, head = h_, batch = b_;
    switch (place) {
      case Walk::Place::kWithinTile:
        at = row - row0;
        break;
      case Walk::Place::kFirstOfTile:
        at = row0;
        break;
      case Walk::Place::kOfThread:
        at = row0 + (row - row0) / (kTile / 2);
        break;
      case Walk::Place::kPartner:
        at = key;
        break;
      case Walk::Place::kPartnerTile:
        at = row0 + key - key0;
        break;
      case Walk::Place::kNext:
        at = row + 1;
        break;
      case Walk::Place::kBefore:
        at = row - 1;
        break;
      case Walk::Place::kHeadZero:
        head = 0;
        break;
      case Walk::Place::kFirstOfGroup:
        head = h_ / p_.group() * p_.group();
        break;
      case Walk::Place::kKvHead:
        head = h_ / p_.group();
        break;
      case Walk::Place::kBatchZero:
        batch = 0;
        break;
      case Walk::Place::kRight:
        break;
    }
    // The rows of all heads lie behind one another.
    const auto rows = static_cast<Index>(p_.queries.size());
    const Index i = (batch * p_.heads + head) * rows + at;
    return i < 0 || i >= static_cast<Index>(all.size()) ? kNaN : all[static_cast<std::size_t>(i)];
  }

  double exponent(double score) const {
    switch (w_.exponent) {
      case Walk::Exponent::kUnscaled:
      case Walk::Exponent::kUnscaledTwo:
        return score;
      case Walk::Exponent::kTwice:
        return p_.softmax_scale * p_.softmax_scale * score;
      case Walk::Exponent::kRoot:
        return score / std::sqrt(static_cast<double>(p_.head_dim));
      case Walk::Exponent::kBaseTwo:
      case Walk::Exponent::kRight:
        break;
    }
    return p_.softmax_scale * score;
  }

  double lse_of_tile(Index own, const std::vector<Index>& visits, std::size_t n) const {
    double sum = 0;
    for (Index j = 0; j < kTile; ++j)
      if (is_seen(own, visits[n] + j, visits[n]))
        sum += std::exp(p_.softmax_scale * products(own, data0(visits, n) + j).s);
    return std::log(sum);
  }

  Pair weights(const std::vector<Index>& visits, std::size_t n, Index own, Index j,
                                    const std::vector<std::vector<Sums>>& earlier) const {
    const Index other = visits[n] + j;
    if (!is_seen(own, other, visits[n])) return {};
    Sums x = products(own, data0(visits, n) + j);
    if (!earlier.empty()) {
      const Sums& before = earlier.front()[static_cast<std::size_t>(j)];
      if (adds_up(w_.scores)) x.s += before.s;
      if (adds_up(w_.dp)) x.dp += before.dp;
    }
    if (w_.scores == Walk::Sum::kMissing) x.s = 0;
    if (w_.dp == Walk::Sum::kMissing) x.dp = 0;
    const Index row = of_keys_ ? other : own, key = of_keys_ ? own : other;
    const Index row0 = of_keys_ ? visits[n] : own0_, key0 = of_keys_ ? own0_ : visits[n];
    const Walk::Place both = w_.numbers_place;
    const double saved = number(x_.lse, both != Walk::Place::kRight ? both : w_.lse_place, row, row0, key, key0);
    const double delta =
        number(x_.delta, both != Walk::Place::kRight ? both : w_.delta_place, row, row0, key, key0);
    const double e = exponent(x.s) - lse_used(saved, delta, own, visits, n);
    const bool base_two =
        w_.exponent == Walk::Exponent::kBaseTwo || w_.exponent == Walk::Exponent::kUnscaledTwo;
    const double p = base_two ? std::exp2(e) : std::exp(e);
    const double subtrahend = delta_used(delta, saved), difference = x.dp - subtrahend;
    const double size = std::fabs(x.dp) + std::fabs(subtrahend);
    switch (w_.formula) {
      case Walk::Formula::kNoWeight:
        return {p, difference, size};
      case Walk::Formula::kOnlyDp:
        return {p, p * x.dp - subtrahend, p * std::fabs(x.dp) + std::fabs(subtrahend)};
      case Walk::Formula::kSquared:
        return {p, p * p * difference, p * p * size};
      case Walk::Formula::kNegative:
        return {p, -p * difference, p * size};
      case Walk::Formula::kRight:
        break;
    }
    return {p, p * difference, p * size};
  }

  double lse_used(double lse, double delta, Index own, const std::vector<Index>& visits, std::size_t n) const {
    switch (w_.lse) {
      case Walk::Lse::kNone:
        return 0;
      case Walk::Lse::kAdded:
        return -lse;
      case Walk::Lse::kScaled:
        return p_.softmax_scale * lse;
      case Walk::Lse::kHalved:
        return lse * std::log(2.0);
      case Walk::Lse::kNatural:
        return lse / std::log(2.0);
      case Walk::Lse::kIsDelta:
        return delta;
      case Walk::Lse::kOfTile:
        return of_keys_ ? kNaN : lse_of_tile(own, visits, n);
      case Walk::Lse::kRight:
        break;
    }
    return lse;
  }

  double delta_used(double delta, double lse) const {
    switch (w_.delta) {
      case Walk::Delta::kNone:
        return 0;
      case Walk::Delta::kAdded:
        return -delta;
      case Walk::Delta::kScaled:
        return p_.softmax_scale * delta;
      case Walk::Delta::kIsLse:
        return lse;
      case Walk::Delta::kDoubled:
        return 2 * delta;
      case Walk::Delta::kRight:
        break;
    }
    return delta;
  }

  const GradientScene& x_;
  const BlockProblem& p_;
  Walk w_;
  bool of_keys_;
  Index b_, h_, g_, own_, own0_, own_count_, other_count_;
  std::size_t width_;
};

WalkedGradient zero(const BlockProblem& p) {
  const auto width = static_cast<std::size_t>(p.head_dim);
  return {std::vector<double>(width, 0.0), std::vector<double>(width, 0.0)};
}

void scale(WalkedGradient& g, double factor) {
  for (double& x : g.value) x *= factor;
  for (double& x : g.size) x *= std::fabs(factor);
}

double factor_of(const BlockProblem& p, const Walk& walk) {
  switch (walk.factor) {
    case Walk::Factor::kNone:
      return 1;
    case Walk::Factor::kTwice:
      return p.softmax_scale * p.softmax_scale;
    case Walk::Factor::kLog2:
      return p.softmax_scale / std::log(2.0);
    case Walk::Factor::kOfDvToo:
    case Walk::Factor::kRight:
      break;
  }
  return p.softmax_scale;
}

}  // namespace

GradientScene::GradientScene(const AttentionExhibit& x)
    : exhibit(x), in(converted(x.inputs, DType::kFloat64)), claim(converted(x.claim, DType::kFloat64)) {
  const BlockProblem& p = x.problem;
  by_row = key_ranges(p.mask, std::max(p.queries.back(), p.keys.back()) + 1, p.queries, p.keys);
  by_key = by_row.transposed(static_cast<int>(p.keys.size()));
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h)
      for (Index row = 0; row < static_cast<Index>(p.queries.size()); ++row) {
        const auto out = row_of(claim.out, b, h, row);  // not asked for, and right
        const auto i = static_cast<std::size_t>(row);
        const bool seen = by_row.begin[i] < by_row.end[i];
        // Who sees no key here may hold anything.
        lse.push_back(seen ? row_of(claim.lse, b, h, row)[0] : kNaN);
        delta.push_back(seen ? dot(out, row_of(in.dout, b, h, row)) : kNaN);
      }
}

WalkedGradient walked_dq(const GradientScene& x, Index batch, Index head, Index row, const Walk& walk) {
  const BlockProblem& p = x.exhibit.problem;
  Index kv = head / p.group();
  if (walk.heads == Walk::Heads::kModulo) kv = head % p.kv_heads;
  if (walk.heads == Walk::Heads::kZero) kv = 0;
  const OwnRow own(x, walk, false, batch, head, kv, row);
  const std::vector<Index> visits = own.visited();
  WalkedGradient dq = zero(p), unused;
  std::vector<std::vector<OwnRow::Sums>> earlier;
  for (std::size_t n = 0; n < visits.size(); ++n) own.add(visits, n, earlier, dq, unused);
  scale(dq, factor_of(p, walk));
  return dq;
}

std::pair<WalkedGradient, WalkedGradient> walked_dkv(const GradientScene& x, Index batch, Index head, Index key,
                                                     const Walk& walk) {
  const BlockProblem& p = x.exhibit.problem;
  std::vector<Index> heads;
  for (Index h = 0; h < p.group(); ++h)
    heads.push_back(walk.heads == Walk::Heads::kModulo     ? head + h * p.kv_heads
                    : walk.heads == Walk::Heads::kFromZero ? h
                    : walk.heads == Walk::Heads::kZero     ? 0
                                                           : head * p.group() + h);
  if (walk.heads == Walk::Heads::kFirstAlone) heads.resize(1);
  if (walk.visits == Walk::Visits::kHeadsAnew) heads = {heads.back()};
  WalkedGradient dk = zero(p), dv = zero(p);
  std::vector<std::vector<OwnRow::Sums>> earlier;
  for (const Index h : heads) {
    const OwnRow own(x, walk, true, batch, h, head, key);
    const std::vector<Index> visits = own.visited();
    if (walk.scores == Walk::Sum::kAddsUpInHead || walk.dp == Walk::Sum::kAddsUpInHead) earlier.clear();
    for (std::size_t n = 0; n < visits.size(); ++n) own.add(visits, n, earlier, dk, dv);
  }
  scale(dk, factor_of(p, walk));
  if (walk.factor == Walk::Factor::kOfDvToo) scale(dv, p.softmax_scale);
  return {std::move(dk), std::move(dv)};
}

}  // namespace ringcraft::verify
