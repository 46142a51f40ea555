// Searches the mistakes of a backward kernel for those that explain several heads: single ones, then pairs
// about different topics.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/kernels/gradient_walk.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Walk = GradientWalk;
constexpr double kOfTerms = 3e-5, kLeast = 1e-6;

bool is_gradient(std::span<const double> got, const WalkedGradient& want) {
  for (std::size_t c = 0; c < got.size(); ++c)
    if (got[c] != want.value[c] && !(!std::isfinite(got[c]) && std::isnan(want.value[c])) &&
        !(std::fabs(got[c] - want.value[c]) <= kOfTerms * want.size[c] + kLeast))
      return false;
  return true;
}

// The answers of one kernel to several problems.
class OneKernel {
 public:
  OneKernel(const std::vector<GradientScene>& scenes, bool of_keys) : scenes_(scenes), of_keys_(of_keys) {
    for (const GradientScene& scene : scenes)
      for (const TensorComparison& tensor : scene.exhibit.comparison.tensors)
        if (tensor.name == "dq" ? !of_keys : of_keys && (tensor.name == "dk" || tensor.name == "dv"))
          for (const auto& [row, difference] : tensor.wrong_rows)
            if (wrong_.empty() || row % 11 == 0)
              wrong_.push_back({&scene, {difference.batch, difference.head, row}});
  }
  bool is_wrong() const { return !wrong_.empty(); }

  bool is(const Walk& walk) const {
    for (const auto& [scene, at] : wrong_)
      if (!is_row(*scene, at, walk)) return false;
    for (const GradientScene& scene : scenes_)
      if (!all_rows(scene, walk)) return false;
    return true;
  }

 private:
  bool is_row(const GradientScene& x, const RowPlace& at, const Walk& walk) const {
    if (!of_keys_)
      return is_gradient(row_of(x.claim.dq, at.batch, at.head, at.row),
                         walked_dq(x, at.batch, at.head, at.row, walk));
    const auto [dk, dv] = walked_dkv(x, at.batch, at.head, at.row, walk);
    return is_gradient(row_of(x.claim.dk, at.batch, at.head, at.row), dk) &&
           is_gradient(row_of(x.claim.dv, at.batch, at.head, at.row), dv);
  }
  bool all_rows(const GradientScene& x, const Walk& walk) const {
    const Extents& e = of_keys_ ? x.in.k.extents() : x.in.q.extents();
    for (Index b = 0; b < e.batch; ++b)
      for (Index h = 0; h < e.heads; ++h)
        for (Index row = 0; row < e.rows; ++row)
          if (!is_row(x, {b, h, row}, walk)) return false;
    return true;
  }

  const std::vector<GradientScene>& scenes_;
  bool of_keys_;
  std::vector<std::pair<const GradientScene*, RowPlace>> wrong_;
};

template <class Value, Value Walk::*kField>
void append_gradients(std::vector<std::vector<Walk>>& all, Value last) {
  std::vector<Walk> walks;
  for (int i = 1; i <= static_cast<int>(last); ++i) {
    Walk walk;
    walk.*kField = static_cast<Value>(i);
    walks.push_back(walk);
  }
  all.push_back(std::move(walks));
}

// Mistakes grouped by topic, the more common first.
std::vector<std::vector<Walk>> gradient_topics() {
  std::vector<std::vector<Walk>> all;
  append_gradients<Walk::Factor, &Walk::factor>(all, Walk::Factor::kOfDvToo);
  append_gradients<Walk::Exponent, &Walk::exponent>(all, Walk::Exponent::kUnscaledTwo);
  append_gradients<Walk::Lse, &Walk::lse>(all, Walk::Lse::kNatural);
  append_gradients<Walk::Delta, &Walk::delta>(all, Walk::Delta::kOfTile);
  append_gradients<Walk::Place, &Walk::numbers_place>(all, Walk::Place::kFirstOfAll);
  append_gradients<Walk::Place, &Walk::lse_place>(all, Walk::Place::kFirstOfAll);
  append_gradients<Walk::Place, &Walk::delta_place>(all, Walk::Place::kFirstOfAll);
  append_gradients<Walk::Formula, &Walk::formula>(all, Walk::Formula::kNegative);
  append_gradients<Walk::Sum, &Walk::scores>(all, Walk::Sum::kOfOtherRow);
  append_gradients<Walk::Sum, &Walk::dp>(all, Walk::Sum::kOfOtherRow);
  append_gradients<Walk::Product, &Walk::product>(all, Walk::Product::kPForDs);
  append_gradients<Walk::Data, &Walk::data>(all, Walk::Data::kZero);
  append_gradients<Walk::Masked, &Walk::masked>(all, Walk::Masked::kTurned);
  append_gradients<Walk::Visits, &Walk::visits>(all, Walk::Visits::kSumsAgain);
  append_gradients<Walk::Heads, &Walk::heads>(all, Walk::Heads::kOfFirst);
  append_gradients<Walk::Columns, &Walk::columns>(all, Walk::Columns::kLastLost);
  return all;
}

Walk both(Walk a, const Walk& b) {
  const Walk right;
  const auto take = [&](auto... fields) {
    ((b.*fields != right.*fields ? void(a.*fields = b.*fields) : void()), ...);
  };
  take(&Walk::lse_place, &Walk::delta_place, &Walk::numbers_place, &Walk::lse, &Walk::delta, &Walk::exponent,
       &Walk::masked, &Walk::scores, &Walk::dp, &Walk::formula, &Walk::factor, &Walk::data, &Walk::visits,
       &Walk::product, &Walk::heads, &Walk::columns);
  return a;
}

std::optional<Cause> cause_of_kernel(const OneKernel& kernel, bool of_keys) {
  const std::vector<std::vector<Walk>> all = gradient_topics();
  for (const auto& topic : all)
    for (const Walk& walk : topic)
      if (kernel.is(walk)) return causes_of_walk(walk, of_keys).front();
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b)
      for (const Walk& first : all[a])
        for (const Walk& second : all[b]) {
          const Walk walk = both(first, second);
          if (!kernel.is(walk)) continue;
          const std::vector<Cause> causes = causes_of_walk(walk, of_keys);
          if (causes.size() < 2) continue;
          Cause cause = causes.front();
          cause.sentence += "; and " + causes[1].sentence;
          return cause;
        }
  return {};
}

}  // namespace

std::optional<Cause> cause_of_gradients(const std::vector<const AttentionExhibit*>& exhibits) {
  std::vector<GradientScene> scenes;
  for (const AttentionExhibit* x : exhibits) scenes.emplace_back(*x);
  std::vector<Cause> causes;
  std::vector<bool> which;
  for (const bool of_keys : {false, true}) {
    const OneKernel kernel(scenes, of_keys);
    if (!kernel.is_wrong()) continue;
    const auto cause = cause_of_kernel(kernel, of_keys);
    if (!cause) continue;
    causes.push_back(*cause);
    which.push_back(of_keys);
  }
  if (causes.empty()) return {};
  const auto name = [](bool of_keys) { return std::string(of_keys ? "dk and dv: " : "dq: "); };
  if (causes.size() == 2 && causes[0].sentence == causes[1].sentence)
    return Cause{causes[0].id, "dq, dk and dv: " + causes[0].sentence, causes[0].question};
  Cause cause = causes[0];
  cause.sentence = name(which[0]) + cause.sentence;
  if (causes.size() == 2) cause.sentence += "; and " + name(which[1]) + causes[1].sentence;
  return cause;
}

}  // namespace ringcraft::verify
