// Which mistakes of a walk explain several heads (see tile_walk.hpp): one, or two about different things.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/kernels/tile_walk.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kOfWeights = 0x1p-7, kOfFloat = 1e-4;

// A head with its numbers in double.
struct Looked {
  const AttentionExhibit* exhibit;
  Inputs in;
  Answer claim;
};

bool same(double got, double want, double bound) {
  return got == want || (std::isnan(got) && std::isnan(want)) || std::fabs(got - want) <= bound;
}

bool is_row(const Looked& x, Index b, Index h, Index row, const TileWalk& walk) {
  const WalkedRow want = walked(*x.exhibit, x.in, b, h, row, walk);
  const double lse = row_of(x.claim.lse, b, h, row)[0];
  if (!same(lse, want.lse, kOfFloat * (1 + std::fabs(want.lse)))) return false;
  const auto out = row_of(x.claim.out, b, h, row);
  for (std::size_t d = 0; d < out.size(); ++d)
    if (!same(out[d], want.out[d], kOfWeights * want.bound[d] + kOfFloat)) return false;
  return true;
}

// Whether every stride-th row of all heads is that of the walk.
bool explains(const std::vector<Looked>& heads, const TileWalk& walk, Index stride) {
  for (const Looked& x : heads) {
    const BlockProblem& p = x.exhibit->problem;
    const auto rows = static_cast<Index>(p.queries.size());
    for (Index b = 0; b < p.batch; ++b)
      for (Index h = 0; h < p.heads; ++h)
        for (Index row = (rows - 1) % stride; row < rows; row += stride)
          if (!is_row(x, b, h, row, walk)) return false;
  }
  return true;
}

// Whether this walk leaves any other number than the right one.
bool differs(const std::vector<Looked>& heads, const TileWalk& walk) {
  for (const Looked& x : heads)
    for (Index row = 0; row < static_cast<Index>(x.exhibit->problem.queries.size()); row += 3)
      if (const WalkedRow a = walked(*x.exhibit, x.in, 0, 0, row, walk),
          b = walked(*x.exhibit, x.in, 0, 0, row, {.tile = walk.tile});
          a.out != b.out || !same(a.lse, b.lse, 0))
        return true;
  return false;
}


template <class Value, Value TileWalk::*kField>
void append(std::vector<std::vector<TileWalk>>& all, int last) {
  std::vector<TileWalk> walks;
  for (int i = 1; i <= last; ++i) {
    TileWalk walk;
    walk.*kField = static_cast<Value>(i);
    walks.push_back(walk);
  }
  all.push_back(std::move(walks));
}

// Mistakes by what they are about.
std::vector<std::vector<TileWalk>> topics() {
  std::vector<std::vector<TileWalk>> all;
  append<TileWalk::Masked, &TileWalk::masked>(all, static_cast<int>(TileWalk::Masked::kEndLong));
  for (const auto full : {TileWalk::Full::kAll, TileWalk::Full::kByMask})
    for (std::size_t i = 0; i < 5; ++i) {  // the wrong numbers
      TileWalk walk = all.front()[i];
      walk.full = full;
      all.front().push_back(walk);
    }
  append<TileWalk::Data, &TileWalk::values>(all, static_cast<int>(TileWalk::Data::kPartLost));
  append<TileWalk::Data, &TileWalk::keys>(all, static_cast<int>(TileWalk::Data::kPartLost));
  for (std::size_t i = all.back().size(); i-- > 0;) {  // K and V alike, which is the more usual
    TileWalk walk = all.back()[i];
    walk.values = walk.keys;
    all.back().insert(all.back().begin(), walk);
  }
  append<TileWalk::Visits, &TileWalk::visits>(all, static_cast<int>(TileWalk::Visits::kLastTwice));
  append<TileWalk::Skips, &TileWalk::skips>(all, static_cast<int>(TileWalk::Skips::kByLastRow));
  append<TileWalk::Carry, &TileWalk::carry>(all, static_cast<int>(TileWalk::Carry::kNotLastHalf));
  append<TileWalk::Columns, &TileWalk::columns>(all, static_cast<int>(TileWalk::Columns::kLastLost));
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

bool explains_all(const std::vector<Looked>& heads, const TileWalk& walk) {
  return explains(heads, walk, 37) && explains(heads, walk, 1);
}

}  // namespace

std::optional<Cause> cause_of_walk(const std::vector<const AttentionExhibit*>& exhibits) {
  std::vector<Looked> heads;
  bool wrong = false;
  for (const AttentionExhibit* x : exhibits) {
    heads.push_back({x, converted(x->inputs, DType::kFloat64), converted(x->claim, DType::kFloat64)});
    wrong = wrong || !x->comparison.good;
  }
  if (!wrong) return {};
  const std::vector<std::vector<TileWalk>> all = topics();
  for (const auto& topic : all)
    for (const TileWalk& walk : topic)
      if (explains_all(heads, walk) && differs(heads, walk)) return causes_of_walk(walk).front();
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b)
      for (const TileWalk& first : all[a])
        for (const TileWalk& second : all[b]) {
          const TileWalk walk = both(first, second);
          if (!explains_all(heads, walk) || !differs(heads, walk)) continue;
          const std::vector<Cause> causes = causes_of_walk(walk);
          if (causes.size() < 2) continue;
          Cause cause = causes.front();
          cause.sentence += "; and " + causes[1].sentence;
          return cause;
        }
  return {};
}

}  // namespace ringcraft::verify
