// Searches the mistakes of a tile walk for those that explain several heads: one, or two about different
// topics.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/kernels/tile_walk.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kOfWeights = 0x1p-7, kOfFloat = 1e-4;

bool same(double got, double want, double bound) {
  return got == want || (std::isnan(got) && std::isnan(want)) || std::fabs(got - want) <= bound;
}

bool is_row(const WalkHead& x, const RowPlace& at, const TileWalk& walk) {
  const WalkedRow want = walked(x, at.batch, at.head, at.row, walk);
  const double lse = row_of(x.claim.lse, at.batch, at.head, at.row)[0];
  if (!same(lse, want.lse, kOfFloat * (1 + std::fabs(want.lse)))) return false;
  const auto out = row_of(x.claim.out, at.batch, at.head, at.row);
  for (std::size_t d = 0; d < out.size(); ++d)
    if (!same(out[d], want.out[d], kOfWeights * want.bound[d] + kOfFloat)) return false;
  return true;
}

// Several heads, with the rows to compare first.
class Heads {
 public:
  explicit Heads(const std::vector<const AttentionExhibit*>& exhibits) {
    for (const AttentionExhibit* x : exhibits) {
      heads_.emplace_back(*x);
      for (const TensorComparison& tensor : x->comparison.tensors)
        if (tensor.name == "out" || tensor.name == "lse")
          for (const auto& [row, difference] : tensor.wrong_rows)
            if (wrong_.empty() || row % 13 == 0)
              wrong_.emplace_back(heads_.size() - 1, RowPlace{difference.batch, difference.head, row});
    }
  }
  bool any_wrong() const { return !wrong_.empty(); }

  bool are(const TileWalk& walk) const {
    for (const auto& [head, row] : wrong_)
      if (!is_row(heads_[head], row, walk)) return false;
    return for_rows([&](const WalkHead& x, const RowPlace& at) { return is_row(x, at, walk); });
  }
  // Whether this walk gives any number that the right one does not.
  bool differ(const TileWalk& walk) const {
    return !for_rows([&](const WalkHead& x, const RowPlace& at) {
      const WalkedRow a = walked(x, at.batch, at.head, at.row, walk),
                      b = walked(x, at.batch, at.head, at.row, {});
      return a.out == b.out && same(a.lse, b.lse, 0);
    });
  }

 private:
  template <class Body>
  bool for_rows(Body body) const {
    for (const WalkHead& x : heads_) {
      const BlockProblem& p = x.exhibit.problem;
      for (Index b = 0; b < p.batch; ++b)
        for (Index h = 0; h < p.heads; ++h)
          for (Index row = 0; row < static_cast<Index>(p.queries.size()); ++row)
            if (!body(x, RowPlace{b, h, row})) return false;
    }
    return true;
  }

  std::vector<WalkHead> heads_;
  std::vector<std::pair<std::size_t, RowPlace>> wrong_;
};

// Whether a walk explains everything; a warp may skip tiles that it does not see or not: neither is a
// mistake.
bool explains(const Heads& heads, TileWalk walk) {
  if (heads.are(walk)) return heads.differ(walk);
  if (walk.skips != TileWalk::Skips::kUnseen) return false;
  walk.skips = TileWalk::Skips::kNone;
  return heads.are(walk) && heads.differ(walk);
}

template <class Value, Value TileWalk::*kField>
void append_walks(std::vector<std::vector<TileWalk>>& all, int last) {
  std::vector<TileWalk> walks;
  for (int i = 1; i <= last; ++i) {
    TileWalk walk;
    walk.*kField = static_cast<Value>(i);
    walks.push_back(walk);
  }
  all.push_back(std::move(walks));
}

// Mistakes grouped by topic.
std::vector<std::vector<TileWalk>> walk_topics() {
  std::vector<std::vector<TileWalk>> all;
  append_walks<TileWalk::Masked, &TileWalk::masked>(all, static_cast<int>(TileWalk::Masked::kBeforeLast));
  for (const auto full : {TileWalk::Full::kAll, TileWalk::Full::kByMask})
    for (std::size_t i = 0; i < 5; ++i) {  // the wrong numbers
      TileWalk walk = all.front()[i];
      walk.full = full;
      all.front().push_back(walk);
    }
  append_walks<TileWalk::Data, &TileWalk::values>(all, static_cast<int>(TileWalk::Data::kPartLost));
  append_walks<TileWalk::Data, &TileWalk::keys>(all, static_cast<int>(TileWalk::Data::kPartLost));
  for (std::size_t i = all.back().size(); i-- > 0;) {  // K and V alike, which is more common
    TileWalk walk = all.back()[i];
    walk.values = walk.keys;
    all.back().insert(all.back().begin(), walk);
  }
  append_walks<TileWalk::Visits, &TileWalk::visits>(all, static_cast<int>(TileWalk::Visits::kLastTwice));
  append_walks<TileWalk::Skips, &TileWalk::skips>(all, static_cast<int>(TileWalk::Skips::kByLastRow));
  append_walks<TileWalk::Carry, &TileWalk::carry>(all, static_cast<int>(TileWalk::Carry::kNotLastHalf));
  append_walks<TileWalk::Columns, &TileWalk::columns>(all, static_cast<int>(TileWalk::Columns::kLastLost));
  return all;
}

TileWalk both(TileWalk a, const TileWalk& b) {
  const TileWalk right;
  const auto take = [&](auto field) {
    if (b.*field != right.*field) a.*field = b.*field;
  };
  take(&TileWalk::masked), take(&TileWalk::full), take(&TileWalk::keys), take(&TileWalk::values);
  take(&TileWalk::visits), take(&TileWalk::skips), take(&TileWalk::carry), take(&TileWalk::columns);
  return a;
}

}  // namespace

std::optional<Cause> cause_of_walk(const std::vector<const AttentionExhibit*>& exhibits) {
  const Heads heads(exhibits);
  if (!heads.any_wrong()) return {};
  const std::vector<std::vector<TileWalk>> all = walk_topics();
  for (const auto& topic : all)
    for (const TileWalk& walk : topic)
      if (explains(heads, walk)) return causes_of_walk(walk).front();
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b)
      for (const TileWalk& first : all[a])
        for (const TileWalk& second : all[b]) {
          const TileWalk walk = both(first, second);
          const std::vector<Cause> causes = causes_of_walk(walk);
          if (causes.size() < 2 || !explains(heads, walk)) continue;
          Cause cause = causes.front();
          cause.sentence += "; and " + causes[1].sentence;
          return cause;
        }
  return {};
}

}  // namespace ringcraft::verify
