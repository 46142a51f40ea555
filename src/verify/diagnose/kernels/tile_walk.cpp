// Computes a row of attention tile by tile with the mistakes of a walk: masks, data, visits, skipped tiles,
// carried state and columns.
#include "verify/diagnose/kernels/tile_walk.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using MaskedAs = TileWalk::Masked;
using TileData = TileWalk::Data;
using TileVisits = TileWalk::Visits;

constexpr Index kOwnRows = 64, kWarpRows = 16;

using Ends = WalkHead::Ends;

struct State {
  double max = -HUGE_VAL, sum = 0;
  std::vector<double> out, size;  // size: the terms of out without their signs
};

// (O, m, l) of the keys [first, last) for one row.
class Walker {
 public:
  Walker(const WalkHead& x, Index batch, Index head, Index row, const TileWalk& walk)
      : x_(x), p_(x.exhibit.problem), b_(batch), h_(head), row_(row), w_(walk), width_(columns()) {}

  State step(std::size_t step) {
    const std::vector<Index>& block = x_.exhibit.place.blocks[step];
    ends_ = x_.ends[step];
    first_ = block.front(), keys_ = static_cast<Index>(block.size());
    own_ = ends_at(row_);
    const Index row0 = row_ / kOwnRows * kOwnRows;
    head_ = ends_at(row0);
    tail_ = ends_at(std::min(row0 + kOwnRows, static_cast<Index>(p_.queries.size())) - 1);
    State s{-HUGE_VAL, 0, std::vector<double>(full_width(), 0.0), std::vector<double>(full_width(), 0.0)};
    const std::vector<Index> visits = visited();
    for (std::size_t n = 0; n < visits.size(); ++n)
      if (!is_skipped(visits, n)) add(s, visits, n);
    return s;
  }

 private:
  Ends ends_at(Index row) const { return ends_[static_cast<std::size_t>(row)]; }
  std::size_t full_width() const { return static_cast<std::size_t>(p_.head_dim); }
  std::size_t columns() const {
    const Index d = p_.head_dim;
    switch (w_.columns) {
      case TileWalk::Columns::kPieces:
        return static_cast<std::size_t>(d / 8 * 8);
      case TileWalk::Columns::kFours:
        return static_cast<std::size_t>(d / 4 * 4);
      case TileWalk::Columns::kSteps:
        return static_cast<std::size_t>(d / 16 * 16);
      case TileWalk::Columns::kLastLost:
        return static_cast<std::size_t>(d - 1);
      case TileWalk::Columns::kAll:
        break;
    }
    return static_cast<std::size_t>(d);
  }

  // The first keys of the tiles, in visiting order.
  std::vector<Index> visited() const {
    std::vector<Index> all;
    const Index from = w_.visits == TileVisits::kFromLast ? tail_.begin : head_.begin;
    const Index to = w_.visits == TileVisits::kToFirstEnd ? head_.end : tail_.end;
    for (Index key0 = from / w_.tile * w_.tile; key0 < to; key0 += w_.tile)
      if (w_.visits != TileVisits::kWholeAlone || key0 + w_.tile <= keys_) all.push_back(key0);
    if (all.empty()) return all;
    if (w_.visits == TileVisits::kSkipsFirst) all.erase(all.begin());
    if (w_.visits == TileVisits::kSkipsLast) all.pop_back();
    if (w_.visits == TileVisits::kFirstAlone) all.resize(1);
    if (w_.visits == TileVisits::kLastAlone) all = {all.back()};
    if (w_.visits == TileVisits::kLastTwice) all.push_back(all.back());
    if (w_.visits == TileVisits::kEverySecond)
      for (std::size_t i = 1; i < all.size(); ++i) all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    return all;
  }

  bool meets(const Ends& e, Index key0) const { return e.begin < key0 + w_.tile && key0 < e.end; }

  bool is_skipped(const std::vector<Index>& visits, std::size_t n) const {
    using Skips = TileWalk::Skips;
    if (w_.skips == Skips::kNone) return false;
    const Index asked = w_.skips == Skips::kByFirst  ? visits.front()
                        : w_.skips == Skips::kByZero ? 0
                                                     : visits[n];
    const Index warp0 = row_ / kWarpRows * kWarpRows;
    const Index last = std::min(warp0 + kWarpRows, static_cast<Index>(p_.queries.size())) - 1;
    const auto sees = [&](Index row) { return meets(ends_at(row), asked); };
    if (w_.skips == Skips::kByFirstRow) return !sees(warp0);
    if (w_.skips == Skips::kByLastRow) return !sees(last);
    bool all = true, any = false;
    for (Index row = warp0; row <= last; ++row) {
      const bool seen = sees(row);
      all = all && seen, any = any || seen;
    }
    return w_.skips == Skips::kSomeUnseen ? !all : !any;
  }

  Index key_of_data(TileData data, const std::vector<Index>& visits, std::size_t n) const {
    switch (data) {
      case TileData::kBefore:
        return visits[n == 0 ? 0 : n - 1];
      case TileData::kNext:
        return visits[std::min(n + 1, visits.size() - 1)];
      case TileData::kVisited:
        return visits.front();
      case TileData::kLast:
        return visits.back();
      case TileData::kFromZero:
        return static_cast<Index>(n) * w_.tile;
      case TileData::kZero:
        return 0;
      case TileData::kFirstZero:
        return n == 0 ? 0 : visits[n];
      case TileData::kHalves:
        return visits[n % 2];
      case TileData::kPartLost:
        return visits[n] + w_.tile <= keys_ ? visits[n] : keys_;
      case TileData::kRight:
        break;
    }
    return visits[n];
  }

  Index masked_as(const std::vector<Index>& visits, std::size_t n) const {
    switch (w_.masked) {
      case MaskedAs::kFromZero:
        return static_cast<Index>(n) * w_.tile;
      case MaskedAs::kAsFirst:
        return 0;
      case MaskedAs::kAsVisited:
        return visits.front();
      case MaskedAs::kAsBefore:
        return visits[n] - w_.tile;
      case MaskedAs::kAsNext:
        return visits[n] + w_.tile;
      default:
        return visits[n];
    }
  }

  bool is_full(Index key0) const { return tail_.begin <= key0 && key0 + w_.tile <= head_.end; }

  bool is_seen(const std::vector<Index>& visits, std::size_t n, Index j) const {
    const Index as = masked_as(visits, n), key = as + j;
    if (w_.masked == MaskedAs::kNot) return true;
    if (w_.masked == MaskedAs::kBorder) return visits[n] + j < keys_;
    if (w_.masked == MaskedAs::kLastOnly && n + 1 < visits.size()) return true;
    if (w_.masked == MaskedAs::kFirstOnly && n > 0) return true;
    if (w_.masked == MaskedAs::kBehindFirst && visits[n] + w_.tile <= head_.end) return true;
    if (w_.masked == MaskedAs::kBehindLast && visits[n] + w_.tile <= tail_.end) return true;
    if (w_.masked == MaskedAs::kBeforeLast && visits[n] >= tail_.begin) return true;
    if (as != visits[n] && w_.full == TileWalk::Full::kRight && is_full(visits[n])) return true;
    if (as != visits[n] && w_.full == TileWalk::Full::kByMask && is_full(as)) return true;
    const Index end = own_.end + (w_.masked == MaskedAs::kEndLong && own_.end > 0    ? 1
                                  : w_.masked == MaskedAs::kEndShort && own_.end > 0 ? -1
                                                                                     : 0);
    return (own_.begin <= key || w_.masked == MaskedAs::kNoBegin) &&
           (key < end || w_.masked == MaskedAs::kNoEnd);
  }

  std::span<const double> row_at(const Buffer& tensor, Index key) const {
    if (key < 0 || key >= keys_) return {};
    return row_of(tensor, b_, h_ / p_.group(), first_ + key).first(width_);
  }

  void add(State& s, const std::vector<Index>& visits, std::size_t n) const {
    const Index keys0 = key_of_data(w_.keys, visits, n), values0 = key_of_data(w_.values, visits, n);
    std::vector<std::pair<Index, double>> seen;
    double larger = w_.carry == TileWalk::Carry::kNothing ? -HUGE_VAL : s.max;
    for (Index j = 0; j < w_.tile; ++j) {
      if (!is_seen(visits, n, j)) continue;
      const auto k = row_at(x_.in.k, keys0 + j);
      seen.emplace_back(
          j, k.empty() ? 0.0 : p_.softmax_scale * dot(row_of(x_.in.q, b_, h_, row_).first(width_), k));
      larger = std::max(larger, seen.back().second);
    }
    rescale(s, larger == -HUGE_VAL ? 1.0 : std::exp(s.max - larger));
    s.max = larger;
    for (const auto& [j, score] : seen) {
      const double weight = std::exp(score - larger);
      s.sum += weight;
      const auto v = row_at(x_.in.v, values0 + j);
      for (std::size_t d = 0; d < v.size(); ++d)
        s.out[d] += weight * v[d], s.size[d] += weight * std::fabs(v[d]);
    }
  }

  void rescale(State& s, double factor) const {
    using Carry = TileWalk::Carry;
    const bool anew = w_.carry == Carry::kNothing, last_half = row_ % kWarpRows >= kWarpRows / 2;
    const double of_sum = anew || w_.carry == Carry::kNoSum ? 0
                          : w_.carry == Carry::kSumUnscaled ? 1
                                                            : factor;
    const bool kept = w_.carry == Carry::kOutUnscaled || (w_.carry == Carry::kNotLastHalf && last_half) ||
                      (w_.carry == Carry::kNotFirstHalf && !last_half);
    const double of_out = anew || w_.carry == Carry::kNoOut ? 0 : kept ? 1 : factor;
    s.sum *= of_sum;
    for (double& x : s.out) x *= of_out;
    for (double& x : s.size) x *= of_out;
  }

  const WalkHead& x_;
  const BlockProblem& p_;
  Index b_, h_, row_;
  TileWalk w_;
  std::size_t width_;
  std::span<const Ends> ends_;
  Index first_ = 0, keys_ = 0;
  Ends own_{}, head_{}, tail_{};
};

}  // namespace

WalkHead::WalkHead(const AttentionExhibit& x)
    : exhibit(x), in(converted(x.inputs, DType::kFloat64)), claim(converted(x.claim, DType::kFloat64)) {
  const BlockProblem& p = x.problem;
  const KeyRanges ranges =
      ranges_of(p.mask, std::max(p.queries.back(), p.keys.back()) + 1, p.queries, p.keys);
  for (const std::vector<Index>& block : x.place.blocks) {
    const Index first = block.front(), keys = static_cast<Index>(block.size());
    std::vector<Ends> rows;
    for (std::size_t row = 0; row < ranges.begin.size(); ++row)
      rows.push_back({std::clamp<Index>(ranges.begin[row] - first, 0, keys),
                      std::clamp<Index>(ranges.end[row] - first, 0, keys)});
    ends.push_back(std::move(rows));
  }
}

WalkedRow walked(const WalkHead& x, Index batch, Index head, Index row, const TileWalk& walk) {
  Walker walker(x, batch, head, row, walk);
  const auto width = static_cast<std::size_t>(x.exhibit.problem.head_dim);
  State all{-HUGE_VAL, 0, std::vector<double>(width, 0.0), std::vector<double>(width, 0.0)};
  for (std::size_t step = 0; step < x.ends.size(); ++step) {
    const State s = walker.step(step);
    if (s.max == -HUGE_VAL) continue;
    const double larger = std::max(all.max, s.max), a = std::exp(all.max - larger),
                 b = std::exp(s.max - larger);
    all.max = larger;
    all.sum = a * all.sum + b * s.sum;
    for (std::size_t d = 0; d < width; ++d) {
      all.out[d] = a * all.out[d] + b * s.out[d];
      all.size[d] = a * all.size[d] + b * s.size[d];
    }
  }
  const double divisor = all.sum == 0 ? 1 : all.sum;
  for (std::size_t d = 0; d < width; ++d) all.out[d] /= divisor, all.size[d] /= divisor;
  return {std::move(all.out), std::move(all.size), all.sum == 0 ? all.max : all.max + std::log(all.sum)};
}

}  // namespace ringcraft::verify
