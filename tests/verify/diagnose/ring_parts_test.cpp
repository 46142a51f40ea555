// Rings in which a part of the numbers is wrong in its own way: blocks of another batch entry or head, sums
// of few bits, states of several ranks, and mistakes of one head, batch entry or rank alone.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>

#include "ringcraft/core/matrix.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kBatch = 2, kHeads = 4, kTokens = 24, kWidth = 8;
constexpr int kRanks = 4;

// A row as its rank has it while the keys come.
struct RowState {
  std::vector<double> out = std::vector<double>(kWidth, 0.0);
  double max = -HUGE_VAL, sum = 0;

  void take(double score, std::span<const double> v) {
    const double top = std::max(max, score), factor = std::exp(max - top), weight = std::exp(score - top);
    max = top, sum = sum * factor + weight;
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = out[c] * factor + weight * v[c];
  }
};

struct RowOf {
  Index batch, head, row;
};

// Deviations of a ring, given a row, a key, and the number of steps that the key's block has made.
struct Otherwise {
  std::function<std::pair<Index, Index>(const RowOf&, Index kv_head, int step)> entry = {};
  std::function<double(const RowOf&, int step)> scale = {};
  std::function<RowOf(RowOf, int step)> query = {};
  std::function<double(double, int step)> score = {};
  std::function<bool(const RowOf&, Index key)> sees = {};
  std::function<void(RowState&)> after_key = {};
  std::function<void(RowState&, int step, int source)> after_block = {};
  std::function<double(double)> in_transit = {};  // of each number of k and v
  std::function<double(const RowOf&, double lse)> lse = {};
};

class PartScene {
 public:
  explicit PartScene(Mask mask = causal_mask(), Index tokens = kTokens)
      : problem_(
            make_problem({kBatch, kHeads, 2, tokens, kWidth}, std::move(mask), Layout::kContiguous, kRanks)),
        in_(make_inputs(Case{.name = "parts", .problem = problem_, .data = Data::kNormal, .seed = 7},
                        DType::kFloat64)),
        right_(oracle(problem_, in_)) {}

  static int rank(Index token) { return static_cast<int>(token / (kTokens / kRanks)); }

  RowState state(const Otherwise& o, const RowOf& at) const {
    RowState state;
    const int own = owner(at.row);
    for (int step = 0; step < kRanks; ++step) {
      const int source = (own - step + kRanks) % kRanks;
      for (Index key = 0; key < problem_.shape.seqlen; ++key) {
        if (owner(key) != source) continue;
        if (!(o.sees ? o.sees(at, key) : visible(problem_.mask, at.row, key))) continue;
        const auto [b, h] = o.entry ? o.entry(at, at.head / 2, step) : std::pair{at.batch, at.head / 2};
        const auto taken = [&](const Buffer& tensor) {
          const auto row = head_of<double>(tensor, b, h).row(key);
          std::vector<double> numbers(row.begin(), row.end());
          if (o.in_transit && step > 0)
            for (double& x : numbers) x = o.in_transit(x);
          return numbers;
        };
        const std::vector<double> k = taken(in_.k), v = taken(in_.v);
        const RowOf of = o.query ? o.query(at, step) : at;
        const auto q = head_of<double>(in_.q, of.batch, of.head).row(of.row);
        double score = 0;
        for (std::size_t c = 0; c < k.size(); ++c) score += q[c] * k[c];
        score *= (o.scale ? o.scale(at, step) : 1) * problem_.softmax_scale;
        state.take(o.score ? o.score(score, step) : score, v);
        if (o.after_key) o.after_key(state);
      }
      if (o.after_block) o.after_block(state, step, source);
    }
    return state;
  }

  // The causes for rows whose O, l and maximum come from rows of other ranks.
  std::vector<Cause> causes(const Otherwise& o, int out_from = 0, int sum_from = 0) const {
    Answer claim = clone(right_.value);
    for (Buffer* gradient : {&claim.dq, &claim.dk, &claim.dv}) *gradient = Buffer();
    for (Index b = 0; b < kBatch; ++b)
      for (Index h = 0; h < kHeads; ++h)
        for (Index row = 0; row < problem_.shape.seqlen; ++row) {
          const auto on = [&](int ranks) {
            return state(o, {b, h, (row + ranks * (kTokens / kRanks)) % problem_.shape.seqlen});
          };
          const RowState own = on(0), out = on(out_from), sum = on(sum_from);
          const double lse = own.max + std::log(sum.sum);
          head_of<double>(claim.lse, b, h)(row, 0) = o.lse ? o.lse({b, h, row}, lse) : lse;
          for (Index c = 0; c < kWidth; ++c)
            head_of<double>(claim.out, b, h)(row, c) = out.out[static_cast<std::size_t>(c)] / sum.sum;
        }
    return diagnose(problem_, in_, claim, right_, compare_exact(claim, right_, Expect::kForward)).causes();
  }

 private:
  int owner(Index token) const { return problem_.sharding().owner_of(token); }

  Problem problem_;
  Inputs in_;
  Oracle right_;
};

// Whether the first cause has this id and these words.
bool says(const std::vector<Cause>& causes, const std::string& id, const std::string& words) {
  if (causes.empty()) return false;
  UNSCOPED_INFO(causes[0].id << ": " << causes[0].sentence);
  return causes[0].id == id && causes[0].sentence.find(words) != std::string::npos;
}

// Rounds to so many bits, or truncates.
double short_of(double x, int bits, bool cut) {
  int exponent = 0;
  const double part = std::ldexp(std::frexp(x, &exponent), bits);
  return std::ldexp(cut ? std::trunc(part) : std::nearbyint(part), exponent - bits);
}

TEST_CASE("a ring that does nothing otherwise has no cause") { CHECK(PartScene().causes({}).empty()); }

TEST_CASE("blocks of another batch entry or key head are told by a law of steps and entries") {
  const PartScene scene;
  const auto entry = [&](auto source) { return scene.causes({.entry = source}); };
  CHECK(says(entry([](const RowOf& at, Index h, int step) {
               return std::pair{step > 0 ? Index{0} : at.batch, h};
             }),
             "solved-entries",
             "in the blocks that arrive, k and v are read from a wrong entry: every batch entry "
             "reads those of entry 0"));
  CHECK(says(entry([](const RowOf& at, Index h, int step) {
               return step % 2 == 1 ? std::pair{h, at.batch} : std::pair{at.batch, h};
             }),
             "solved-entries", "the two axes are exchanged"));
  CHECK(says(entry([](const RowOf& at, Index h, int step) {
               return std::pair{step > PartScene::rank(at.row) ? 1 - at.batch : at.batch, h};
             }),
             "solved-entries", "") == false);  // under a causal mask those are not seen
  const PartScene full(full_mask());
  CHECK(says(full.causes({.entry =
                              [](const RowOf& at, Index h, int step) {
                                return std::pair{step > PartScene::rank(at.row) ? 1 - at.batch : at.batch, h};
                              }}),
             "solved-entries", "have passed from the last rank to the first"));
}

TEST_CASE("sums of few bits, short keys and values, and states of several ranks are told") {
  const PartScene scene(full_mask());
  for (const bool cut : {false, true})
    CHECK(says(scene.causes({.after_key = [=](RowState& s) { s.sum = short_of(s.sum, 8, cut); }}),
               "solved-rounded-sum",
               cut ? "l of the weights is kept in bfloat16: cut off after every key"
                   : "l of the weights is kept in bfloat16: rounded after every key"));
  CHECK(says(scene.causes({.in_transit =
                               [](double x) {
                                 const int step = std::max(std::ilogb(x) - 3, -9);
                                 return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
                               }}),
             "RF12", "k and v of the blocks that arrive are rounded to an 8-bit float (e4m3)"));
  CHECK(says(scene.causes({}, 1, 0), "solved-traded-state", "O is that of rank r + 1"));
  CHECK(says(scene.causes({}, 0, 3), "solved-traded-state", "l is that of rank r - 1"));
}

TEST_CASE("padding that counts in the blocks that arrive, and scores of other queries, factors and caps") {
  const PartScene uneven(full_mask(), 22);
  const std::vector<double> zeros(kWidth, 0.0);
  CHECK(says(uneven.causes({.after_block =
                                [&](RowState& s, int step, int source) {
                                  if (step > 0 && source >= 2) s.take(0, zeros);
                                }}),
             "padding-counts", "in the blocks that arrive, those that are shorter than the longest one"));
  const PartScene scene(full_mask());
  CHECK(says(scene.causes({.scale = [](const RowOf&, int step) { return step > 0 ? 0.7 : 1; }}),
             "solved-scale", "with the blocks that arrive, the scores are multiplied by 0.247"));
  CHECK(says(scene.causes({.query =
                               [](RowOf at, int step) {
                                 if (step % 2 == 1) at.head = 0;
                                 return at;
                               }}),
             "solved-queries",
             "with the blocks of odd steps, the scores of a row are made of the q of another one: "
             "that of head 0"));
  CHECK(says(scene.causes({.score = [](double x, int step) { return step > 0 ? 3 * std::tanh(x / 3) : x; }}),
             "solved-score-cap", "c = 3"));
}

TEST_CASE("a rank without numbers has no cause of its own: many mistakes leave none") {
  const auto nan_on_rank_2 = [](const RowOf& at, int) { return PartScene::rank(at.row) == 2 ? NAN : 1.0; };
  const auto base_2_on_rank_1 = [](const RowOf& at, double lse) {
    return PartScene::rank(at.row) == 1 ? lse / std::numbers::ln2 : lse;
  };
  const PartScene scene;
  CHECK(says(scene.causes({.scale = nan_on_rank_2, .lse = base_2_on_rank_1}), "NaN", "rank 2"));
}

TEST_CASE("a mistake of one head, batch entry or rank is told beside another one") {
  const PartScene scene;
  const auto base_2 = [](const RowOf&, double lse) { return lse / std::numbers::ln2; };
  const auto strict = [](const RowOf& at, Index key) {
    return key < at.row || (key == at.row && PartScene::rank(key) != 2);
  };
  const std::vector<Cause> both = scene.causes({.sees = strict, .lse = base_2});
  CHECK(says(both, "LSE-base2", "lse is to the base 2"));
  REQUIRE(both.size() > 1);
  CHECK(both[1].sentence.find("only on rank 2") != std::string::npos);
  const auto twice = [](const RowOf& at, int) { return at.head == 3 ? 1 / std::sqrt(8.0) : 1; };
  const std::vector<Cause> heads = scene.causes({.scale = twice});
  REQUIRE(!heads.empty());
  CHECK(heads[0].sentence.find("head 3") != std::string::npos);
  const auto open = [](const RowOf& at, Index key) { return key <= at.row || at.batch == 1; };
  CHECK(says(scene.causes({.sees = open, .lse = base_2}), "LSE-base2", "lse is to the base 2"));
}

}  // namespace
}  // namespace ringcraft::verify
