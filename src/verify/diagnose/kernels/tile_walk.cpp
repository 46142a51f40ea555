// A walk over tiles of keys with mistakes (see tile_walk.hpp).
#include "verify/diagnose/kernels/tile_walk.hpp"

#include <algorithm>
#include <cmath>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Masked = TileWalk::Masked;
using Data = TileWalk::Data;
using Visits = TileWalk::Visits;

constexpr Index kOwnRows = 64, kWarpRows = 16;

struct Ends {
  Index begin, end;
};

// The keys of a row among [first, last), counted from `first`.
Ends ends_of(const BlockProblem& p, Index row, Index first, Index last) {
  Ends e{last - first, 0};
  for (Index key = first; key < last; ++key)
    if (visible(p.mask, p.queries[static_cast<std::size_t>(row)], p.keys[static_cast<std::size_t>(key)]))
      e.begin = std::min(e.begin, key - first), e.end = key - first + 1;
  if (e.end == 0) e.begin = 0;
  return e;
}

struct State {
  double max = -HUGE_VAL, sum = 0;
  std::vector<double> out, size;  // size: the terms of out without their signs
};

// (O, m, l) of the keys [first, last) for one row.
class Walker {
 public:
  Walker(const AttentionExhibit& x, const Inputs& in, Index batch, Index head, Index row, const TileWalk& walk)
      : p_(x.problem), in_(in), b_(batch), h_(head), row_(row), w_(walk), width_(columns()) {}

  State step(Index first, Index last) {
    first_ = first, keys_ = last - first;
    own_ = ends_of(p_, row_, first, last);
    const Index row0 = row_ / kOwnRows * kOwnRows;
    const auto rows = static_cast<Index>(p_.queries.size());
    head_ = ends_of(p_, row0, first, last);
    tail_ = ends_of(p_, std::min(row0 + kOwnRows, rows) - 1, first, last);
    // Rows without a key begin where the others do.
    for (Index r = row0; head_.end == 0 && r < std::min(row0 + kOwnRows, rows); ++r)
      head_ = ends_of(p_, r, first, last);
    for (Index r = std::min(row0 + kOwnRows, rows) - 1; tail_.end == 0 && r >= row0; --r)
      tail_ = ends_of(p_, r, first, last);
    State s{-HUGE_VAL, 0, std::vector<double>(full_width(), 0.0), std::vector<double>(full_width(), 0.0)};
    const std::vector<Index> visits = visited();
    for (std::size_t n = 0; n < visits.size(); ++n)
      if (!is_skipped(visits, n)) add(s, visits, n);
    return s;
  }

 private:
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

  // The first keys of the tiles, in their order.
  std::vector<Index> visited() const {
    std::vector<Index> all;
    const Index from = w_.visits == Visits::kFromLast ? tail_.begin : head_.begin;
    const Index to = w_.visits == Visits::kToFirstEnd ? head_.end : tail_.end;
    for (Index key0 = from / w_.tile * w_.tile; key0 < to; key0 += w_.tile)
      if (w_.visits != Visits::kWholeAlone || key0 + w_.tile <= keys_) all.push_back(key0);
    if (all.empty()) return all;
    if (w_.visits == Visits::kSkipsFirst) all.erase(all.begin());
    if (w_.visits == Visits::kSkipsLast) all.pop_back();
    if (w_.visits == Visits::kFirstAlone) all.resize(1);
    if (w_.visits == Visits::kLastAlone) all = {all.back()};
    if (w_.visits == Visits::kLastTwice) all.push_back(all.back());
    if (w_.visits == Visits::kEverySecond)
      for (std::size_t i = 1; i < all.size(); ++i) all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    return all;
  }

  bool meets(const Ends& e, Index key0) const { return e.begin < key0 + w_.tile && key0 < e.end; }

  bool is_skipped(const std::vector<Index>& visits, std::size_t n) const {
    using Skips = TileWalk::Skips;
    if (w_.skips == Skips::kUnseen) return false;  // a tile that no row of the warp sees adds nothing
    const Index asked = w_.skips == Skips::kByFirst ? visits.front()
                        : w_.skips == Skips::kByZero ? 0
                                                     : visits[n];
    const Index warp0 = row_ / kWarpRows * kWarpRows;
    const Index last = std::min(warp0 + kWarpRows, static_cast<Index>(p_.queries.size())) - 1;
    const auto sees = [&](Index row) { return meets(ends_of(p_, row, first_, first_ + keys_), asked); };
    if (w_.skips == Skips::kByFirstRow) return !sees(warp0);
    if (w_.skips == Skips::kByLastRow) return !sees(last);
    bool all = true, any = false;
    for (Index row = warp0; row <= last; ++row) {
      const bool seen = sees(row);
      all = all && seen, any = any || seen;
    }
    return w_.skips == Skips::kSomeUnseen ? !all : !any;
  }

  Index key_of_data(Data data, const std::vector<Index>& visits, std::size_t n) const {
    switch (data) {
      case Data::kBefore:
        return visits[n == 0 ? 0 : n - 1];
      case Data::kNext:
        return visits[std::min(n + 1, visits.size() - 1)];
      case Data::kVisited:
        return visits.front();
      case Data::kLast:
        return visits.back();
      case Data::kFromZero:
        return static_cast<Index>(n) * w_.tile;
      case Data::kZero:
        return 0;
      case Data::kFirstZero:
        return n == 0 ? 0 : visits[n];
      case Data::kHalves:
        return visits[n % 2];
      case Data::kPartLost:
        return visits[n] + w_.tile <= keys_ ? visits[n] : keys_;
      case Data::kRight:
        break;
    }
    return visits[n];
  }

  Index masked_as(const std::vector<Index>& visits, std::size_t n) const {
    switch (w_.masked) {
      case Masked::kFromZero:
        return static_cast<Index>(n) * w_.tile;
      case Masked::kAsFirst:
        return 0;
      case Masked::kAsVisited:
        return visits.front();
      case Masked::kAsBefore:
        return visits[n] - w_.tile;
      case Masked::kAsNext:
        return visits[n] + w_.tile;
      default:
        return visits[n];
    }
  }

  bool is_full(Index key0) const { return tail_.begin <= key0 && key0 + w_.tile <= head_.end; }

  bool is_seen(const std::vector<Index>& visits, std::size_t n, Index j) const {
    const Index as = masked_as(visits, n), key = as + j;
    if (w_.masked == Masked::kNot) return true;
    if (w_.masked == Masked::kBorder) return visits[n] + j < keys_;
    if (w_.masked == Masked::kLastOnly && n + 1 < visits.size()) return true;
    if (w_.masked == Masked::kFirstOnly && n > 0) return true;
    if (as != visits[n] && w_.full == TileWalk::Full::kRight && is_full(visits[n])) return true;
    if (as != visits[n] && w_.full == TileWalk::Full::kByMask && is_full(as)) return true;
    const Index end = own_.end + (w_.masked == Masked::kEndLong && own_.end > 0    ? 1
                                  : w_.masked == Masked::kEndShort && own_.end > 0 ? -1
                                                                                   : 0);
    return (own_.begin <= key || w_.masked == Masked::kNoBegin) && (key < end || w_.masked == Masked::kNoEnd);
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
      const auto k = row_at(in_.k, keys0 + j);
      seen.emplace_back(j, k.empty() ? 0.0 : p_.softmax_scale * dot(row_of(in_.q, b_, h_, row_).first(width_), k));
      larger = std::max(larger, seen.back().second);
    }
    rescale(s, larger == -HUGE_VAL ? 1.0 : std::exp(s.max - larger));
    s.max = larger;
    for (const auto& [j, score] : seen) {
      const double weight = std::exp(score - larger);
      s.sum += weight;
      const auto v = row_at(in_.v, values0 + j);
      for (std::size_t d = 0; d < v.size(); ++d) s.out[d] += weight * v[d], s.size[d] += weight * std::fabs(v[d]);
    }
  }

  void rescale(State& s, double factor) const {
    using Carry = TileWalk::Carry;
    const bool anew = w_.carry == Carry::kNothing, last_half = row_ % kWarpRows >= kWarpRows / 2;
    const double of_sum = anew || w_.carry == Carry::kNoSum      ? 0
                          : w_.carry == Carry::kSumUnscaled ? 1
                                                            : factor;
    const bool kept = w_.carry == Carry::kOutUnscaled || (w_.carry == Carry::kNotLastHalf && last_half) ||
                      (w_.carry == Carry::kNotFirstHalf && !last_half);
    const double of_out = anew || w_.carry == Carry::kNoOut ? 0 : kept ? 1 : factor;
    s.sum *= of_sum;
    for (double& x : s.out) x *= of_out;
    for (double& x : s.size) x *= of_out;
  }

  const BlockProblem& p_;
  const Inputs& in_;
  Index b_, h_, row_;
  TileWalk w_;
  std::size_t width_;
  Index first_ = 0, keys_ = 0;
  Ends own_{}, head_{}, tail_{};
};

}  // namespace

WalkedRow walked(const AttentionExhibit& x, const Inputs& in, Index batch, Index head, Index row,
                 const TileWalk& walk) {
  Walker walker(x, in, batch, head, row, walk);
  const auto width = static_cast<std::size_t>(x.problem.head_dim);
  State all{-HUGE_VAL, 0, std::vector<double>(width, 0.0), std::vector<double>(width, 0.0)};
  for (const std::vector<Index>& block : x.place.blocks) {
    if (block.empty()) continue;
    const State s = walker.step(block.front(), block.back() + 1);
    if (s.max == -HUGE_VAL) continue;
    const double larger = std::max(all.max, s.max), a = std::exp(all.max - larger), b = std::exp(s.max - larger);
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
