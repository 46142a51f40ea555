// The solves of rings: the rows, blocks and factors that a wrong ring has used, its merges, and its messages.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "ringcraft/core/matrix.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/first_cause.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

// How a ring deviates: functions of a query row and a key, by their positions.
struct Slip {
  using Row = std::function<Index(Index row, Index key)>;
  std::function<bool(Index row, Index key)> sees = {};
  Row lse_row = {}, delta_row = {}, key_row = {};
  std::function<double(double p, double dp, double delta)> ds = {};
  std::function<double(Index row, Index key)> factor = {};  // of the parts of dq and dk
  double received_scale = 0;                                // of the scores with other ranks' blocks
};

// A ring of 4 ranks with 6 tokens each (or another layout), and its results with a slip.
class Scene {
 public:
  explicit Scene(Mask mask = causal_mask(), Layout layout = Layout::kContiguous)
      : problem_(make_problem({1, 4, 2, 24, 8}, std::move(mask), layout, 4)),
        in_(make_inputs(Case{.name = "ring", .problem = problem_, .data = Data::kNormal, .seed = 5},
                        DType::kFloat64)),
        right_(oracle(problem_, in_)) {}

  int rank(Index position) const { return problem_.sharding().owner_of(position); }
  // The token at the same place of another rank's shard.
  Index on_rank(Index position, int other) const {
    const Sharding sharding = problem_.sharding();
    return sharding.global_from_local((other % 4 + 4) % 4, sharding.local_from_global(position));
  }
  bool visible_by_mask(Index row, Index key) const { return visible(problem_.mask, row, key); }

  std::vector<Cause> causes(const Answer& claim) const {
    const Expect expect = claim.dq.empty() ? Expect::kForward : Expect::kAll;
    return diagnose(problem_, in_, claim, right_, compare_exact(claim, right_, expect)).causes();
  }
  Answer right() const { return clone(right_.value); }

  // Forward with the slip: out and lse.
  std::vector<Cause> forward(const Slip& slip) const {
    Answer claim = right();
    for (Buffer* gradient : {&claim.dq, &claim.dk, &claim.dv}) *gradient = Buffer();
    for (Index h = 0; h < 4; ++h)
      for (Index row = 0; row < 24; ++row) {
        double sum = 0;
        std::vector<double> out(8, 0.0);
        for (Index key = 0; key < 24; ++key) {
          if (!seen(slip, row, key)) continue;
          const double p = std::exp(score(slip, h, row, key));
          sum += p;
          for (Index c = 0; c < 8; ++c)
            out[static_cast<std::size_t>(c)] += p * head_of<double>(in_.v, 0, h / 2)(key, c);
        }
        head_of<double>(claim.lse, 0, h)(row, 0) = std::log(sum);
        for (Index c = 0; c < 8; ++c)
          head_of<double>(claim.out, 0, h)(row, c) = sum > 0 ? out[static_cast<std::size_t>(c)] / sum : 0;
      }
    return causes(claim);
  }

  // Backward with the slip, from right out and lse.
  std::vector<Cause> backward(const Slip& slip) const {
    Answer claim = right();
    for (Buffer* gradient : {&claim.dq, &claim.dk, &claim.dv})
      std::ranges::fill(gradient->values<double>(), 0.0);
    for (Index h = 0; h < 4; ++h)
      for (Index row = 0; row < 24; ++row)
        for (Index key = 0; key < 24; ++key)
          if (seen(slip, row, key)) add(slip, claim, h, row, key);
    return causes(claim);
  }

  // Results of the blocks, joined one after another by `join`.
  struct State {
    std::vector<double> out;
    double lse;
  };
  std::vector<Cause> folded(const std::function<State(const State&, const State&)>& join) const {
    Answer claim = right();
    for (Buffer* gradient : {&claim.dq, &claim.dk, &claim.dv}) *gradient = Buffer();
    for (Index h = 0; h < 4; ++h)
      for (Index row = 0; row < 24; ++row) {
        State state;
        for (int t = 0; t < 4; ++t) {
          const State block = block_of(h, row, rank(row) - t);
          if (block.out.empty()) continue;
          state = state.out.empty() ? block : join(state, block);
        }
        head_of<double>(claim.lse, 0, h)(row, 0) = state.lse;
        for (Index c = 0; c < 8; ++c)
          head_of<double>(claim.out, 0, h)(row, c) = state.out[static_cast<std::size_t>(c)];
      }
    return causes(claim);
  }

 private:
  bool seen(const Slip& slip, Index row, Index key) const {
    return slip.sees ? slip.sees(row, key) : visible_by_mask(row, key);
  }

  double score(const Slip& slip, Index h, Index row, Index key) const {
    const Index k = slip.key_row ? slip.key_row(row, key) : key;
    const bool received = slip.received_scale != 0 && rank(row) != rank(key);
    return (received ? slip.received_scale : problem_.softmax_scale) *
           product(head_of<double>(in_.q, 0, h).row(row), head_of<double>(in_.k, 0, h / 2).row(k));
  }

  void add(const Slip& slip, Answer& claim, Index h, Index row, Index key) const {
    const Index k = slip.key_row ? slip.key_row(row, key) : key,
                of_lse = slip.lse_row ? slip.lse_row(row, key) : row,
                of_delta = slip.delta_row ? slip.delta_row(row, key) : row;
    const auto head = [&](const Buffer& tensor, Index i) -> std::span<const double> {
      return head_of<double>(tensor, 0, h).row(i);
    };
    const double p = std::exp(score(slip, h, row, key) - head_of<double>(right_.value.lse, 0, h)(of_lse, 0));
    const double dp = product(head(in_.dout, row), head_of<double>(in_.v, 0, h / 2).row(key)),
                 delta = product(head(in_.dout, of_delta), head(right_.value.out, of_delta));
    const double ds = problem_.softmax_scale * (slip.ds ? slip.ds(p, dp, delta) : p * (dp - delta)) *
                      (slip.factor ? slip.factor(row, key) : 1);
    for (Index c = 0; c < 8; ++c) {
      head_of<double>(claim.dq, 0, h)(row, c) += ds * head_of<double>(in_.k, 0, h / 2)(k, c);
      head_of<double>(claim.dk, 0, h / 2)(key, c) += ds * head_of<double>(in_.q, 0, h)(row, c);
      head_of<double>(claim.dv, 0, h / 2)(key, c) += p * head_of<double>(in_.dout, 0, h)(row, c);
    }
  }

  State block_of(Index h, Index row, int owner) const {
    State state{{}, 0};
    double sum = 0;
    for (Index key = 0; key < 24; ++key) {
      if (rank(key) != (owner + 4) % 4 || !visible_by_mask(row, key)) continue;
      const double p = std::exp(score({}, h, row, key));
      state.out.resize(8, 0.0);
      sum += p;
      for (Index c = 0; c < 8; ++c)
        state.out[static_cast<std::size_t>(c)] += p * head_of<double>(in_.v, 0, h / 2)(key, c);
    }
    for (double& x : state.out) x /= sum;
    state.lse = std::log(sum);
    return state;
  }

  Problem problem_;
  Inputs in_;
  Oracle right_;
};

TEST_CASE("a right ring has no cause") {
  const Scene scene;
  CHECK(scene.causes(scene.right()).empty());
  CHECK(scene.forward({}).empty());
  CHECK(scene.backward({}).empty());
}

TEST_CASE("backward: the rows of lse and D, and the block at hand, are solved for") {
  const Scene scene(full_mask());
  const Slip::Row owner = [&](Index row, Index key) { return scene.on_rank(row, scene.rank(key)); };
  CHECK(first_of(scene.backward({.lse_row = owner})) == "solved-lse-owner");
  CHECK(first_of(scene.backward({.delta_row = owner})) == "solved-D-owner");
  const Slip::Row next = [&](Index row, Index) { return scene.on_rank(row, scene.rank(row) + 1); };
  CHECK(first_of(scene.backward({.delta_row = next})) == "solved-D-next-rank");
  const Slip::Row before = [&](Index row, Index key) {
    return scene.rank(row) == scene.rank(key) ? key : scene.on_rank(key, scene.rank(key) + 1);
  };
  CHECK(first_of(scene.backward({.key_row = before})) == "solved-back-k-before");
}

TEST_CASE("backward: other formulas of dS and factors of its parts are solved for") {
  const Scene scene;
  CHECK(first_of(scene.backward({.ds = [](double, double dp, double delta) { return dp - delta; }})) ==
        "solved-dS-without-P");
  CHECK(first_of(scene.backward({.ds = [](double p, double dp, double) { return p * (1 - p) * dp; }})) ==
        "solved-dS-diagonal");
  CHECK(first_of(scene.backward({.ds = [](double p, double dp, double delta) {
          return p * (dp - 0.3 * delta);
        }})) == "solved-factor-D");
  CHECK(first_of(scene.backward({.factor = [&](Index row, Index key) {
          return scene.rank(row) == scene.rank(key) ? 1.0 : 0.7;
        }})) == "solved-factor-steps");
}

TEST_CASE("the joining of normalised results is solved for") {
  const Scene scene(full_mask());
  using State = Scene::State;
  const auto join = [](double of_old, double of_new, double lse) {
    return [=](const State& a, const State& b) {
      const double right = std::log(std::exp(a.lse) + std::exp(b.lse));
      State joined{a.out, std::isnan(lse) ? right : lse};
      for (std::size_t c = 0; c < joined.out.size(); ++c)
        joined.out[c] = (of_old == 0 ? std::exp(a.lse - right) : of_old) * a.out[c] +
                        (of_new == 0 ? std::exp(b.lse - right) : of_new) * b.out[c];
      return joined;
    };
  };
  CHECK(scene.folded(join(0, 0, NAN)).empty());
  const std::vector<Cause> kept = scene.folded(join(1, 0, NAN));
  CHECK(first_of(kept) == "solved-fold");
  REQUIRE(!kept.empty());
  CHECK(kept[0].sentence.find("the weight of the old out is 1") != std::string::npos);
  CHECK(first_of(scene.folded([&](const State& a, const State& b) {
          return join(0, 0, std::max(a.lse, b.lse))(a, b);
        })) == "solved-fold");
  const std::vector<Cause> turned = scene.folded([&](const State& a, const State& b) {
    const double weight = 1 / (1 + std::exp(a.lse - b.lse));
    return join(1 - weight, weight, a.lse + std::log(1 + std::exp(a.lse - b.lse)))(a, b);
  });
  CHECK(first_of(turned) == "solved-fold");
  REQUIRE(!turned.empty());
  CHECK(turned[0].sentence.find("the difference has the wrong sign") != std::string::npos);
  const std::vector<Cause> late = scene.folded([&](const State& a, const State& b) {
    const double joined = std::log(std::exp(a.lse) + std::exp(b.lse)), w = 1 / (1 + std::exp(joined - b.lse));
    return join(1 - w, w, NAN)(a, b);
  });
  CHECK(first_of(late) == "solved-fold");
  REQUIRE(!late.empty());
  CHECK(late[0].sentence.find("lse is updated before out is") != std::string::npos);
}

TEST_CASE("masks of the cases of zig-zag, of windows and of borders are solved for") {
  const Scene zigzag(causal_mask(), Layout::kZigzag);
  const auto late = [](Index position) { return position >= 12; };
  CHECK(first_of(zigzag.forward({.sees = [&](Index row, Index key) {
          const int r = zigzag.rank(row), a = zigzag.rank(key);
          return a == r ? zigzag.visible_by_mask(row, key) : a < r ? late(row) : !late(key);
        }})) == "solved-mask-zigzag-swapped");
  CHECK(first_of(zigzag.forward({.sees = [&](Index row, Index key) {
          return zigzag.visible_by_mask(row, key) &&
                 (zigzag.rank(row) != zigzag.rank(key) || late(row) == late(key));
        }})) == "solved-mask-quarter");
  const Scene window(window_mask(8));
  CHECK(first_of(window.forward({.sees = [](Index row, Index key) {
          return key <= row && row - key <= 4;
        }})) == "solved-mask-window-of");
  Mask packs = causal_mask();
  packs.cu_seqlens = {0, 5, 14, 24};
  const Scene packed(packs);
  const auto pack = [](Index p) { return p <= 5 ? (p == 0 ? -1 : 0) : p <= 14 ? 1 : 2; };
  CHECK(first_of(packed.forward({.sees = [&](Index row, Index key) {
          return key <= row && pack(row) == pack(key);
        }})) == "VL2");
}

TEST_CASE("a scale that is wrong with received blocks alone, and keys that are a step late") {
  const Scene scene;
  CHECK(first_of(scene.forward({.received_scale = 1})) == "solved-scale");
  const Slip late{.key_row = [&](Index row, Index key) {
    return scene.rank(row) == scene.rank(key) ? key : scene.on_rank(key, scene.rank(key) + 1);
  }};
  CHECK(first_of(scene.forward(late)) == "solved-keys-of");
}

TEST_CASE("rows, heads and ranks at wrong places, lost sums and blocks that are no numbers") {
  const Scene scene;
  Answer heads = scene.right(), dropped = scene.right(), unread = scene.right();
  for (Index row = 0; row < 24; ++row)
    for (Index c = 0; c < 8; ++c) {
      std::swap(head_of<double>(heads.out, 0, 1)(row, c), head_of<double>(heads.out, 0, 2)(row, c));
      for (Index h = 0; h < 2; ++h)
        if (scene.rank(row) > 0)
          head_of<double>(dropped.dk, 0, h)(row, c) = head_of<double>(dropped.dv, 0, h)(row, c) = 0;
      for (Index h = 0; h < 4; ++h)
        if (scene.rank(row) > 0) head_of<double>(unread.out, 0, h)(row, c) = NAN;
    }
  CHECK(first_of(scene.causes(heads)) == "solved-places-law");
  CHECK(first_of(scene.causes(dropped)) == "solved-sum-dropped");
  CHECK(first_of(scene.causes(unread)) == "solved-received-nan");
}

// ---- messages

using Message = TravelExhibit::Message;

TravelExhibit stuck(const std::function<std::vector<Message>(int)>& started,
                    const std::vector<bool>& ended = {}) {
  TravelExhibit x{3, 2};
  x.block = {20, 20, 20};
  for (int rank = 0; rank < 3; ++rank)
    x.parties.push_back({started(rank), !ended.empty() && ended[static_cast<std::size_t>(rank)]});
  return x;
}

TEST_CASE("rings that do not end are diagnosed by the operations that each rank has started") {
  const auto next = [](int r) { return (r + 1) % 3; };
  const auto previous = [](int r) { return (r + 2) % 3; };
  using Started = std::vector<Message>;
  CHECK(first_of(causes_of(stuck([&](int r) { return Started{{true, next(r), 10}}; }))) == "travel-all-send");
  CHECK(first_of(causes_of(stuck([&](int r) {
          return Started{{false, previous(r), 10}};
        }))) == "travel-all-receive");
  CHECK(first_of(causes_of(stuck([&](int r) {
          return Started{{true, next(r), 10}, {false, next(r), 10}};
        }))) == "travel-directions");
  CHECK(first_of(causes_of(stuck([&](int r) {
          return Started{{true, next(r), 10}, {false, previous(r), 20}};
        }))) == "travel-double");
  TravelExhibit leaves = stuck(
      [&](int r) {
        return r == 0 ? Started{} : Started{{true, next(r), 10}, {false, previous(r), 10}};
      },
      {true, false, false});
  CHECK(first_of(causes_of(leaves)) == "travel-leaves");
  leaves.sees = {true, false, false, true, true, false, true, true, true};
  CHECK(first_of(causes_of(leaves)) == "travel-skips");
  const std::pair<Refusal, const char*> causes[] = {{Refusal::kNoSuchRank, "travel-modulo"},
                                                    {Refusal::kItself, "travel-itself"},
                                                    {Refusal::kStillSending, "travel-one-buffer"},
                                                    {Refusal::kAlreadyReceiving, "travel-received-twice"}};
  for (const auto& [refused, cause] : causes) {
    TravelExhibit thrown{3, 2};
    thrown.refused = refused;
    CHECK(first_of(causes_of(thrown)) == cause);
  }
  CHECK(first_of(causes_of(TravelExhibit{.turn = TravelExhibit::Turn::kLate})) == "travel-overwritten");
  CHECK(first_of(causes_of(TravelExhibit{.turn = TravelExhibit::Turn::kAgain})) == "travel-remembers");
}

TEST_CASE("backward traffic is diagnosed by hops of blocks, sums and queries, and by the way home") {
  // 3 ranks, one hop, schedule forward: a block, a sum, and one message home to rank - 1.
  TravelExhibit x{3, 1};
  x.block = {10, 12, 14}, x.query = {30, 36, 42}, x.direction = 1;
  x.sent.assign(9, 0);
  for (int r = 0; r < 3; ++r) {
    const auto to = [&](int rank) -> Index& {
      return x.sent[static_cast<std::size_t>(r * 3 + (rank + 3) % 3)];
    };
    to(r + 1) += 2 * x.block[static_cast<std::size_t>(r)];
    to(r - 1) += x.block[static_cast<std::size_t>((r + 2) % 3)];
  }
  x.theory = x.sent;
  CHECK(causes_of(x).empty());
  TravelExhibit queries = x, home = x;
  for (int r = 0; r < 3; ++r) {
    queries.sent[static_cast<std::size_t>(r * 3 + (r + 1) % 3)] += x.query[static_cast<std::size_t>(r)];
    home.sent[static_cast<std::size_t>(r * 3 + (r + 2) % 3)] = 0;
  }
  REQUIRE(!causes_of(queries).empty());
  CHECK(causes_of(queries)[0].sentence.find("as large as q") != std::string::npos);
  REQUIRE(!causes_of(home).empty());
  CHECK(causes_of(home)[0].sentence.find("no message brings the sums") != std::string::npos);
}

}  // namespace
}  // namespace ringcraft::verify
