// Tests laws of the parts of a gradient: rings whose parts are right, and are lost or changed on the way into
// the sums.
#include <algorithm>
#include <cmath>
#include <functional>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/core/matrix.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

// A pair of a query row and a key, by positions.
struct PairAt {
  Index batch, head, row, key;
};

Buffer zeros_like(const Buffer& like) {
  Buffer zeros(like.extents(), DType::kFloat64);
  std::ranges::fill(zeros.values<double>(), 0.0);
  return zeros;
}

struct Parts {
  Buffer dq, dk, dv;
};

// A ring, its right answer, and the contribution of each shard's rows to each block.
class Ring {
 public:
  explicit Ring(Layout layout = Layout::kContiguous, Mask mask = {}, Index seqlen = 32, Index batch = 1)
      : problem(make_problem({batch, 4, 2, seqlen, 6}, std::move(mask), layout, kRanks)),
        in_(make_inputs(Case{.name = "ring", .problem = problem, .data = Data::kNormal, .seed = 5},
                        DType::kFloat64)),
        right_(oracle(problem, in_)) {}

  Answer right() const { return clone(right_.value); }
  Parts zeros() const {
    return {zeros_like(right_.value.dq), zeros_like(right_.value.dk), zeros_like(right_.value.dv)};
  }
  std::vector<Position> rows(int rank) const { return problem.sharding().positions(rank); }
  bool sees(int shard, int block) const {
    return std::ranges::any_of(rows(shard), [&](Position row) {
      return std::ranges::any_of(rows(block), [&](Position key) { return visible(problem.mask, row, key); });
    });
  }

  // Of those pairs that count; without D if it is left out.
  Parts part(int shard, int block, const std::function<bool(const PairAt&)>& counts = {}, bool has_d = true,
             const std::function<Index(Index)>& query_row = {}) const {
    Parts parts = zeros();
    for (Index b = 0; b < problem.shape.batch; ++b)
      for (Index h = 0; h < 4; ++h)
        for (const Position row : rows(shard))
          for (const Position key : rows(block))
            if (visible(problem.mask, row, key) && (!counts || counts({b, h, row, key})))
              add_pair(parts, {b, h, row, key}, has_d, query_row ? query_row(row) : row);
    return parts;
  }

  std::vector<Cause> causes(const Answer& claim) const {
    return diagnose(problem, in_, claim, right_, compare_exact(claim, right_)).causes();
  }
  std::string first(const Answer& claim) const {
    const std::vector<Cause> all = causes(claim);
    return all.empty() ? "" : all[0].id;
  }

  Problem problem;
  static constexpr int kRanks = 4;

 private:
  void add_pair(Parts& to, const PairAt& p, bool has_d, Index query_row) const {
    const auto dot = [&](const Buffer& a, Index head_a, Index i, const Buffer& b, Index head_b, Index j) {
      double sum = 0;
      for (Index c = 0; c < 6; ++c)
        sum += head_of<double>(a, p.batch, head_a)(i, c) * head_of<double>(b, p.batch, head_b)(j, c);
      return sum;
    };
    const double scale = problem.softmax_scale;
    const Index kv = p.head / 2;
    const double lse = head_of<double>(right_.value.lse, p.batch, p.head)(p.row, 0);
    const double weight = std::exp(scale * dot(in_.q, p.head, p.row, in_.k, kv, p.key) - lse);
    const double d = has_d ? dot(in_.dout, p.head, p.row, right_.value.out, p.head, p.row) : 0;
    const double ds = scale * weight * (dot(in_.dout, p.head, p.row, in_.v, kv, p.key) - d);
    for (Index c = 0; c < 6; ++c) {
      head_of<double>(to.dq, p.batch, p.head)(p.row, c) += ds * head_of<double>(in_.k, p.batch, kv)(p.key, c);
      head_of<double>(to.dk, p.batch, kv)(p.key, c) +=
          ds * head_of<double>(in_.q, p.batch, p.head)(query_row, c);
      head_of<double>(to.dv, p.batch, kv)(p.key, c) +=
          weight * head_of<double>(in_.dout, p.batch, p.head)(p.row, c);
    }
  }

  Inputs in_;
  Oracle right_;
};

// to = kept * to + factor * more
void add(Buffer& to, const Buffer& more, double factor = 1, double kept = 1) {
  auto values = to.values<double>();
  const auto others = more.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = kept * values[i] + factor * others[i];
}

// dq, dk and dv as sums of all parts with a factor each; 0: lost.
struct Factors {
  std::function<double(int shard, int block)> dq, dkv;
};
Answer summed(const Ring& ring, const Factors& factors) {
  Answer claim = ring.right();
  Parts sums = ring.zeros();
  for (int r = 0; r < Ring::kRanks; ++r)
    for (int a = 0; a < Ring::kRanks; ++a) {
      const Parts part = ring.part(r, a);
      add(sums.dq, part.dq, factors.dq ? factors.dq(r, a) : 1);
      add(sums.dk, part.dk, factors.dkv ? factors.dkv(r, a) : 1);
      add(sums.dv, part.dv, factors.dkv ? factors.dkv(r, a) : 1);
    }
  claim.dq = std::move(sums.dq), claim.dk = std::move(sums.dk), claim.dv = std::move(sums.dv);
  return claim;
}

bool says(const Ring& ring, const Answer& claim, const std::string& id, const std::string& words) {
  const std::vector<Cause> causes = ring.causes(claim);
  const std::string found = causes.empty() ? "nothing" : causes[0].id + ": " + causes[0].sentence;
  UNSCOPED_INFO(found);
  return !causes.empty() && causes[0].id == id && causes[0].sentence.find(words) != std::string::npos;
}

TEST_CASE("right parts give the right answer") {
  const Ring ring(Layout::kZigzag, causal_mask());
  CHECK(ring.causes(summed(ring, {})).empty());
}

TEST_CASE("parts that are lost by node, parity or step are told by their law") {
  const Ring ring;
  const auto lost = [&](auto which) {
    return summed(ring, {.dkv = [which](int r, int a) { return which(r, a) ? 0.0 : 1.0; }});
  };
  const auto step = [](int r, int a) { return (r - a + 4) % 4; };
  CHECK(says(ring, lost([](int r, int a) { return r / 2 != a / 2; }), "solved-share-lost", "other nodes"));
  CHECK(says(ring, lost([&](int r, int a) { return step(r, a) == 1 || step(r, a) == 2; }),
             "solved-share-lost", "all steps but the first and the last"));
  CHECK(
      says(ring, lost([&](int r, int a) { return step(r, a) % 2 == 1; }), "solved-share-lost", "odd steps"));
  CHECK(says(ring, lost([](int r, int a) { return r == 3 && a != 3; }), "solved-share-lost",
             "rank 3 computes"));
  CHECK(says(ring, summed(ring, {.dq = [](int r, int a) { return r / 2 != a / 2 ? 0.0 : 1.0; }}),
             "solved-share-lost", "other nodes"));
}

TEST_CASE("sums that fade, repeat or are averaged are told from the factors of their parts") {
  const Ring ring;
  const double scale = ring.problem.softmax_scale;
  const auto step = [](int r, int a) { return (r - a + 4) % 4; };
  CHECK(says(ring, summed(ring, {.dq = [&](int r, int a) { return std::pow(scale, 3 - step(r, a)); }}),
             "solved-share-fades", "softmax scale"));
  CHECK(says(ring,
             summed(ring, {.dkv = [&](int r, int a) { return std::pow(0.5, std::min(3, 4 - step(r, a))); }}),
             "solved-share-fades", "averaged"));
  CHECK(says(ring, summed(ring, {.dq = [&](int r, int a) { return 4.0 - step(r, a); }}),
             "solved-share-repeated", "added again"));
  const Ring causal(Layout::kContiguous, causal_mask());
  CHECK(says(causal, summed(causal, {.dkv = [](int, int a) { return 1 / (4.0 - a); }}),
             "solved-share-counted", "mean"));
  CHECK(says(ring, summed(ring, {.dkv = [](int r, int a) { return r == a ? 0.5 : 1; }}),
             "solved-share-factor", "own block"));
}

TEST_CASE("a part that is stored over the sum is told from one that is added") {
  const Ring ring(Layout::kZigzag, causal_mask());
  Answer claim = ring.right();
  Parts sums = ring.zeros();
  for (int t = 0; t < 4; ++t)
    for (int r = 0; r < 4; ++r) {
      const int a = (r - t + 4) % 4;
      const Parts part = ring.part(r, a);
      for (Index h = 0; h < 4 && a > r; ++h)
        for (std::size_t i = 4; i < 8; ++i)  // the late half
          std::ranges::fill(head_of<double>(sums.dq, 0, h).row(ring.rows(r)[i]), 0.0);
      add(sums.dq, part.dq);
    }
  claim.dq = std::move(sums.dq);
  CHECK(says(ring, claim, "solved-share-assigned", "blocks of later ranks"));
}

TEST_CASE("parts that are lost in some heads, batch entries, tiles or tails are told") {
  const auto with = [](const Ring& ring, const std::function<bool(int r, int a, const PairAt&)>& counts) {
    Answer claim = ring.right();
    Parts sums = ring.zeros();
    for (int r = 0; r < Ring::kRanks; ++r)
      for (int a = 0; a < Ring::kRanks; ++a)
        add(sums.dk, ring.part(r, a, [&](const PairAt& p) { return counts(r, a, p); }).dk);
    claim.dk = std::move(sums.dk);
    return claim;
  };
  const Ring ring, pair(Layout::kContiguous, {}, 32, 2), ragged(Layout::kContiguous, {}, 30);
  CHECK(says(ring, with(ring, [](int r, int a, const PairAt& p) { return r != a || p.head % 2 == 1; }),
             "solved-share-lost", "last head's share"));
  CHECK(says(pair, with(pair, [](int r, int a, const PairAt& p) { return r == a || p.batch == 0; }),
             "solved-share-lost", "batch entries"));
  CHECK(says(ring, with(ring, [](int, int, const PairAt& p) { return p.row % 8 >= 4; }), "solved-share-tiles",
             "4 rows"));
  CHECK(says(ragged,
             with(ragged, [](int r, int a, const PairAt& p) { return r == a || a > 1 || p.key % 8 < 7; }),
             "solved-shortest", "first 7"));
}

TEST_CASE("a law and a factor of the whole are told together, and a wrong recipe where it is used") {
  const Ring ring(Layout::kStriped, causal_mask());
  Answer claim = ring.right();
  claim.dk =
      summed(ring, {.dkv = [&](int r, int a) { return r == a ? 0 : 1 / ring.problem.softmax_scale; }}).dk;
  CHECK(says(ring, claim, "solved-share-lost", "and all parts are added without the softmax scale"));
  Answer on_rank = ring.right();
  Parts sums = ring.zeros();
  for (int r = 0; r < 4; ++r)
    for (int a = 0; a < 4; ++a) add(sums.dq, ring.part(r, a, {}, r != 0).dq);
  on_rank.dq = std::move(sums.dq);
  CHECK(says(ring, on_rank, "BW1", "rank 0 computes"));
}

TEST_CASE("q of the other half in the product of dk alone is told") {
  const Ring ring(Layout::kZigzag, causal_mask());
  Answer claim = ring.right();
  Parts sums = ring.zeros();
  for (int r = 0; r < 4; ++r)
    for (int a = 0; a < 4; ++a)
      add(sums.dk, ring.part(r, a, {}, true,
                             [&](Index row) {
                               const auto rows = ring.rows(r);
                               const auto at =
                                   static_cast<std::size_t>(std::ranges::find(rows, row) - rows.begin());
                               return a > r ? static_cast<Index>(rows[(at + 4) % 8]) : row;
                             })
                       .dk);
  claim.dk = std::move(sums.dk);
  CHECK(says(ring, claim, "solved-q-later-halves", "alone"));
}

TEST_CASE("a running sum that is rounded between steps is told by its type") {
  const Ring ring;
  const auto rounded = [&](bool parts) {
    Answer claim = ring.right();
    Parts sums = ring.zeros();
    for (int t = 0; t < 4; ++t)
      for (int r = 0; r < 4; ++r) {
        Parts part = ring.part(r, (r - t + 4) % 4);
        const auto round = [](Buffer& all) {
          for (double& x : all.values<double>()) x = float_from_bfloat16(bfloat16_from(x));
        };
        if (parts) round(part.dq);
        add(sums.dq, part.dq);
        if (!parts) round(sums.dq);
      }
    claim.dq = std::move(sums.dq);
    return claim;
  };
  CHECK(says(ring, rounded(false), "solved-sum-rounded", "kept in bfloat16"));
  CHECK(says(ring, rounded(true), "solved-part-rounded", "bfloat16"));
}

TEST_CASE("sums that a skipping rank does not hand on, and buffers that keep a part, are told by a walk") {
  const Ring causal(Layout::kContiguous, causal_mask()), whole;
  const auto landed = [](const Ring& ring, Buffer& to, const Buffer& from, int block, int on) {
    for (Index h = 0; h < 2; ++h)
      for (std::size_t i = 0; i < 8; ++i)
        for (Index c = 0; c < 6; ++c)
          head_of<double>(to, 0, h)(ring.rows(on)[i], c) +=
              head_of<double>(from, 0, h)(ring.rows(block)[i], c);
  };
  // Which parts each rank ends with where a skipping rank sends its last sum once more.
  std::vector<std::vector<std::pair<int, int>>> hand(4), sent(4);
  for (int t = 0; t < 4; ++t) {
    for (int r = 0; r < 4; ++r)
      if (const int a = (r - t + 4) % 4; a <= r)
        sent[static_cast<std::size_t>(r)] = hand[static_cast<std::size_t>(r)],
        sent[static_cast<std::size_t>(r)].emplace_back(r, a);
    for (std::size_t r = 0; r < 4; ++r) hand[(r + 1) % 4] = sent[r];
  }
  Answer old_sum = causal.right(), kept = whole.right();
  Parts sums = causal.zeros();
  for (int rank = 0; rank < 4; ++rank)
    for (const auto& [r, a] : hand[static_cast<std::size_t>(rank)])
      landed(causal, sums.dv, causal.part(r, a).dv, a, rank);
  old_sum.dv = std::move(sums.dv);
  CHECK(says(causal, old_sum, "solved-sum-skipped", "once more"));
  Parts more = whole.zeros();
  for (int r = 0; r < 4; ++r)
    for (int t = 0; t < 4; ++t)
      for (int before = 0; before <= t; ++before)
        landed(whole, more.dv, whole.part(r, (r - before + 4) % 4).dv, (r - before + 4) % 4, (r - t + 4) % 4);
  kept.dv = std::move(more.dv);
  CHECK(says(whole, kept, "solved-buffer-kept", "not set to zero"));
}

TEST_CASE("the own part of a rank that sees nothing else is told as lost") {
  const Ring ring(Layout::kContiguous, causal_mask());
  CHECK(says(ring, summed(ring, {.dq = [](int r, int) { return r == 0 ? 0.0 : 1.0; }}), "solved-missing-own",
             "rank 0"));
}

TEST_CASE("right rows in another layout, and heads in another order, are told by their law") {
  const Ring ring(Layout::kZigzag, causal_mask(), 32, 2), ragged(Layout::kContiguous, {}, 30);
  const auto moved = [](const Ring& in, const Buffer& from, auto row_to) {
    Buffer to = zeros_like(from);
    for (Index b = 0; b < from.extents().batch; ++b)
      for (Index h = 0; h < from.extents().heads; ++h)
        for (int r = 0; r < Ring::kRanks; ++r)
          for (std::size_t i = 0; i < in.rows(r).size(); ++i)
            if (const Index row = row_to(r, i); row < from.extents().rows)
              std::ranges::copy(head_of<double>(from, b, h).row(in.rows(r)[i]),
                                head_of<double>(to, b, h).row(row).begin());
    return to;
  };
  Answer striped = ring.right(), late = ring.right(), padded = ragged.right(), heads = ring.right();
  striped.dq = moved(ring, striped.dq, [](int r, std::size_t i) { return static_cast<Index>(i) * 4 + r; });
  late.dv = moved(ring, late.dv, [](int r, std::size_t i) {
    return static_cast<Index>(i < 4 ? 4 * static_cast<std::size_t>(r) + i
                                    : 16 + 4 * static_cast<std::size_t>(r) + i - 4);
  });
  padded.dk = moved(ragged, padded.dk, [](int r, std::size_t i) { return static_cast<Index>(i) + 8 * r; });
  const Answer right = ring.right();
  for (Index b = 0; b < 2; ++b)
    for (Index h = 0; h < 4; ++h)
      std::ranges::copy(head_of<double>(right.dq, b, 3 - h).data,
                        head_of<double>(heads.dq, b, h).data.begin());
  CHECK(says(ring, striped, "solved-places-law", "striped"));
  CHECK(says(ring, late, "solved-places-law", "ascending order"));
  CHECK(says(ragged, padded, "solved-places-law", "longest"));
  CHECK(says(ring, heads, "solved-places-law", "opposite order"));
}

}  // namespace
}  // namespace ringcraft::verify
