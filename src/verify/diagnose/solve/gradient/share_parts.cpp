// Computes the parts of a gradient separately, for every shard, block, head and half, if the problem is small
// enough.
#include "verify/diagnose/solve/gradient/share_parts.hpp"

#include <algorithm>

#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kMostSharedPairs = 2e6;  // of row and key, over all heads: larger problems are skipped
constexpr double kMostNumbers = 2e7;      // of all parts

class Builder {
 public:
  Builder(const Evidence& e, GradientName name, const Recipe& recipe, const PairFilter& filter)
      : e_(e),
        name_(name),
        filter_(filter),
        weights_(e, recipe),
        claim_(named(e.claim)[tensor()].tensor),
        halves_(has_halves(e) ? 2 : 1) {}

  std::vector<ShareSum> all() const {
    std::vector<ShareSum> sums;
    const auto& owners = of_keys() ? e_.place.blocks : e_.place.shards;
    for (Index b = 0; b < claim_.extents().batch; ++b)
      for (Index h = 0; h < claim_.extents().heads; ++h)
        for (int owner = 0; owner < e_.place.count(); ++owner)
          for (int half = 0; half < halves_; ++half) {
            const Range rows = range(owners, owner, half);
            if (rows.begin < rows.end) sums.push_back(sum(b, h, owner, half));
          }
    return sums;
  }

 private:
  struct Range {
    Index begin, end;
  };
  using Owners = std::vector<std::vector<Index>>;

  std::size_t tensor() const { return 2 + static_cast<std::size_t>(name_); }
  bool of_keys() const { return name_ != GradientName::kDq; }

  Range range(const Owners& owners, int owner, int half) const {
    const auto size = static_cast<Index>(owners[static_cast<std::size_t>(owner)].size()),
               middle = halves_ == 1 ? size : (size + 1) / 2;
    return half == 0 ? Range{0, middle} : Range{middle, size};
  }

  ShareSum sum(Index b, Index h, int owner, int half) const {
    ShareSum result;
    const Owners& owners = of_keys() ? e_.place.blocks : e_.place.shards;
    const Range rows = range(owners, owner, half);
    for (Index i = rows.begin; i < rows.end; ++i) {
      const Index row = owners[static_cast<std::size_t>(owner)][static_cast<std::size_t>(i)];
      const auto came = row_of(claim_, b, h, row);
      result.claimed.insert(result.claimed.end(), came.begin(), came.end());
      const auto off = tolerance_of(e_, claim_, named(e_.units())[tensor()].tensor,
                                    named(e_.oracle.scale)[tensor()].tensor, b, h, row);
      result.tolerance.insert(result.tolerance.end(), off.begin(), off.end());
    }
    const Index group = e_.problem.group(), first = of_keys() ? h * group : h;
    for (int step = 0; step < e_.place.count(); ++step)
      for (Index head = first; head < (of_keys() ? first + group : first + 1); ++head)
        for (int other = 0; other < halves_; ++other) {
          const int shard = of_keys() ? e_.place.wrapped(owner + step) : owner,
                    block = of_keys() ? owner : e_.place.wrapped(owner - step);
          Share share{.batch = b, .head = head, .shard = shard, .block = block, .step = step};
          share.row_half = of_keys() ? other : half, share.key_half = of_keys() ? half : other;
          result.parts.push_back(part(share, result.claimed.size()));
        }
    return result;
  }

  ShareSum::Part part(Share share, std::size_t size) const {
    const Range rows = range(e_.place.shards, share.shard, share.row_half),
                keys = range(e_.place.blocks, share.block, share.key_half);
    const Index kv_head = share.head / e_.problem.group();
    std::vector<double> values(size, 0.0);
    share.seen = false;
    for (Index i = rows.begin; i < rows.end; ++i)
      for (Index n = keys.begin; n < keys.end; ++n) {
        if (!sees(e_.problem, e_.place, {}, share.shard, i, share.block, n)) continue;
        share.seen = true;
        if (filter_ && !filter_(share.shard, i, share.block, n)) continue;
        const Index key = e_.place.at(share.block, n),
                    row = e_.place.shards[static_cast<std::size_t>(share.shard)][static_cast<std::size_t>(i)];
        const Weights::Pair pair = weights_(share.batch, share.head, row, key);
        const double weight = name_ == GradientName::kDv ? pair.p : pair.ds;
        const auto with = name_ == GradientName::kDq ? row_of(e_.inputs.k, share.batch, kv_head, key)
                          : name_ == GradientName::kDk
                              ? weights_.query(share.batch, share.head, row, share.block)
                              : weights_.dout(share.batch, share.head, row, share.block);
        const auto at = static_cast<std::size_t>(of_keys() ? n - keys.begin : i - rows.begin) * with.size();
        for (std::size_t c = 0; c < with.size(); ++c) values[at + c] += weight * with[c];
      }
    if (!share.seen) values.clear();
    return {share, std::move(values)};
  }

  const Evidence& e_;
  GradientName name_;
  const PairFilter& filter_;
  Weights weights_;
  const Buffer& claim_;
  int halves_;
};

}  // namespace

bool has_halves(const Evidence& e) { return e.ring != nullptr && e.ring->layout == Layout::kZigzag; }

std::vector<Recipe> share_recipes(const Evidence& e, const Setting& forward) {
  std::vector<Recipe> all{{.setting = forward}};
  if (e.is_wrong("out") || e.is_wrong("lse"))
    all.push_back(
        {.setting = settings_of(e).front(), .lse = Recipe::Lse::kRight, .delta = Recipe::Delta::kRight});
  return all;
}

std::vector<ShareSum> share_sums(const Evidence& e, GradientName name, const Recipe& recipe,
                                 const PairFilter& filter) {
  const BlockProblem& p = e.problem;
  const double heads = static_cast<double>(p.batch * p.heads), n = e.place.count();
  const double pairs = static_cast<double>(p.queries.size()) * static_cast<double>(p.keys.size()) * heads,
               numbers = 2 * n * static_cast<double>(p.keys.size()) * heads * static_cast<double>(p.head_dim);
  if (e.ring == nullptr || n < 2 || pairs > kMostSharedPairs || numbers > kMostNumbers) return {};
  return Builder(e, name, recipe, filter).all();
}

}  // namespace ringcraft::verify
