// Tests masks of other laws, cut blocks, rounded state and early D: each is named by its own numbers.
#include <cmath>
#include <set>
#include <string>

#include "support/catch.hpp"
#include "verify/claims/claim.hpp"
#include "verify/diagnose/first_cause.hpp"
#include "verify/diagnose/suspects.hpp"
#include "verify/suspects_support.hpp"

namespace ringcraft::verify {
namespace {

Problem uneven(Layout layout, Mask mask = causal_mask(), int ranks = 4, Position seqlen = 43) {
  return make_problem({1, 2, 1, seqlen, 4}, std::move(mask), layout, ranks);
}

Mask packed(Mask mask = causal_mask()) {
  mask.cu_seqlens = {0, 9, 17, 31, 43};
  return mask;
}

// The sentences of all laws whose wrong rings are diagnosed with exactly this sentence.
std::set<std::string> told(const Problem& problem) {
  const Scene scene(problem);
  std::set<std::string> sentences;
  for (const Suspect& law : pair_law_suspects(whole(problem), problem)) {
    const bool one_mistake = law.cause.sentence.find("; and ") == std::string::npos;
    if (!one_mistake) continue;
    const std::vector<Cause> causes =
        scene.of(twisted_forward(problem, scene.inputs, scene.right.value, law.twist)).causes();
    if (!causes.empty() && causes[0].sentence.starts_with(law.cause.sentence))
      sentences.insert(law.cause.sentence);
  }
  return sentences;
}

bool any_with(const std::set<std::string>& sentences, std::string_view words) {
  return std::ranges::any_of(sentences,
                             [=](const std::string& s) { return s.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("positions that a mask computes by another law are told") {
  auto plain = told(uneven(Layout::kContiguous, window_mask(12), 4, 41));
  plain.merge(told(uneven(Layout::kContiguous, window_mask(12))));
  for (const char* words : {"ceil(seqlen / ranks)", "floor(seqlen / ranks)", "length of its own shard",
                            "length of the queries' shard", "t shards before the queries", "modulo seqlen",
                            "distance without its sign"}) {
    INFO(words);
    CHECK(any_with(plain, words));
  }
}

TEST_CASE("packed sequences that are looked up by another number are told") {
  auto all = told(uneven(Layout::kContiguous, packed()));
  all.merge(told(uneven(Layout::kStriped, packed())));
  for (const char* words :
       {"from 0", "divided by the number of ranks", "rounded up", "instead of by the position",
        "of its first row", "of its first key", "looked up, too", "one hop ahead", "one hop late"}) {
    INFO(words);
    CHECK(any_with(all, words));
  }
}

TEST_CASE("positions that restart where a shard begins are told") {
  const auto all = told(uneven(Layout::kContiguous, packed()));
  CHECK(any_with(all, "those of the queries also"));
  CHECK(any_with(all, "those of the keys also"));
}

TEST_CASE("tests of the corners of a block that are off are told") {
  auto all = told(uneven(Layout::kContiguous, window_mask(9), 4, 48));
  all.merge(told(uneven(Layout::kContiguous, packed(), 4, 43)));
  all.merge(told(uneven(Layout::kZigzag, packed(), 3, 43)));
  for (const char* words :
       {"first query - last key >= window instead of >", "first query - first key > window",
        "last query - last key > window", "first key > first query", "last key > last query",
        "of its first key alone", "of its last key alone", "tiles of 4", "whole shards"}) {
    INFO(words);
    CHECK(any_with(all, words));
  }
}

TEST_CASE("hidden scores that are finite are solved for their amount") {
  const Problem problem = uneven(Layout::kZigzag, window_mask(14));
  const Scene scene(problem);
  const double scale = whole(problem).softmax_scale;
  for (const bool replaced : {false, true}) {
    Answer claim = clone(scene.right.value);
    for_each_row(claim.out.extents(), [&](const RowPlace& row) {
      const auto of = [&](const Buffer& b, Index head, Index i) {
        return head_of<double>(b, row.batch, head).row(i);
      };
      std::vector<double> out(4, 0.0);
      double sum = 0;
      for (Index key = 0; key < 43; ++key) {
        double score = 0;
        for (std::size_t c = 0; c < 4; ++c)
          score += scale * of(scene.inputs.q, row.head, row.row)[c] * of(scene.inputs.k, 0, key)[c];
        if (!visible(problem.mask, row.row, key)) score = (replaced ? 0 : score) - 10 * scale;
        sum += std::exp(score);
        for (std::size_t c = 0; c < 4; ++c) out[c] += std::exp(score) * of(scene.inputs.v, 0, key)[c];
      }
      for (double& x : out) x /= sum;
      put(claim.out, row, out);
      put(claim.lse, row, {std::log(sum)});
    });
    const auto causes = scene.of(claim).forward;
    CHECK(first_of(causes) == "solved-mask-finite");
    REQUIRE(!causes.empty());
    CHECK(causes[0].sentence.find("-10 before it") != std::string::npos);
  }
}

TEST_CASE("a window that counts local rows is told") {
  const auto all = told(uneven(Layout::kStriped, window_mask(9)));
  CHECK(any_with(all, "times as far"));
  CHECK(any_with(all, "W / ranks"));
}

TEST_CASE("blocks that are cut or aligned at the wrong row are told") {
  auto zigzag = told(uneven(Layout::kZigzag));
  zigzag.merge(told(uneven(Layout::kZigzag, causal_mask(), 4, 42)));
  const auto striped = told(uneven(Layout::kStriped));
  CHECK(any_with(zigzag, "at half its rows"));
  CHECK(any_with(zigzag, "that of rank 0"));
  CHECK(any_with(striped, "instead of at the top left"));
  CHECK(any_with(striped, "strict in all blocks but the own"));
}

TEST_CASE("masks that are aligned at a corner of the keys that were gathered are told") {
  const auto causal = told(uneven(Layout::kZigzag));
  const auto windows = told(uneven(Layout::kContiguous, window_mask(13)));
  const auto chunks = told(uneven(Layout::kZigzag, window_mask(13)));
  const std::string_view last = "last ones of the sequence", first = "first ones of the keys from W before";
  for (const std::string_view part : {"shard", "chunk"}) {
    INFO(part);
    const std::string rows = "the rows of a " + std::string(part) + " for the ";
    CHECK(any_with(causal, rows + std::string(last)));
    CHECK(any_with(chunks, rows + std::string(first)));
  }
  CHECK(any_with(causal, "neighbours that end with its last token"));
  CHECK(any_with(causal, "first ones of the sequence"));
  CHECK(any_with(windows, last));
  CHECK(any_with(windows, first));
  CHECK(any_with(windows, "misses the farthest key of its window"));
}

TEST_CASE("a mask that counts the ranks of a double ring wrongly is told") {
  const auto all = told(uneven(Layout::kContiguous, causal_mask(), 6, 48));
  CHECK(any_with(all, "nodes of 3 ranks: blocks move within a node"));
  CHECK(any_with(all, "nodes of 2 ranks: blocks move on one flat ring"));
  CHECK(any_with(all, "seat by seat"));
}

TEST_CASE("a gradient after a mask of another law has its own mistake told, too") {
  const Problem problem = uneven(Layout::kZigzag);
  const Scene scene(problem);
  const Twist halves{.law = {.cut = PairLaw::Cut::kHalf}};
  Answer claim = twisted_forward(problem, scene.inputs, scene.right.value, halves);
  Twist unscaled = halves;
  unscaled.dq_scales = 0;
  const Answer gradients = twisted_backward(problem, scene.inputs, claim, unscaled);
  for (const auto& [to, from] :
       {std::pair{&claim.dq, &gradients.dq}, {&claim.dk, &gradients.dk}, {&claim.dv, &gradients.dv}})
    *to = from->clone();
  const Diagnosis diagnosis = scene.of(claim, Ranks::kKnown, Expect::kAll);
  CHECK(first_of(diagnosis.forward) == "mask-halves");
  CHECK(first_of(diagnosis.backward) == "BW7-dq");
}

TEST_CASE("lse that is rounded between the steps is told, though no row of 16 bits tells it") {
  const Problem problem = make_problem({1, 4, 2, 96, 16}, full_mask(), Layout::kStriped, 6);
  const Case c = make_case(problem, Data::kNormal, 3);
  const Rounding rounding = rounding_of(DType::kBFloat16);
  const Inputs inputs = converted(make_inputs(c, DType::kBFloat16), DType::kFloat64);
  const Oracle right = oracle(problem, inputs, {.rounding = rounding});
  for (const MergeTwist merge : {MergeTwist::kLseInBFloat16, MergeTwist::kNewInBFloat16}) {
    const Answer claim =
        converted(twisted_forward(problem, inputs, right.value, {.merge = merge}), DType::kBFloat16);
    Comparison comparison = compare_exact(converted(claim, DType::kFloat64), right, Expect::kForward);
    const Diagnosis diagnosis = diagnose(problem, inputs, claim, right, comparison);
    CHECK(first_of(diagnosis.forward) == "RF12-lse");
  }
}

TEST_CASE("a mistake that rounded scores may hide in out is told by the gradients that follow from it") {
  const Problem problem = make_problem({1, 2, 1, 24, 32}, causal_mask(), Layout::kStriped, 3);
  const StoredInputs stored =
      stored_inputs(make_inputs(make_case(problem, Data::kNegative, 3), DType::kBFloat16), {});
  const Inputs exact = converted(stored.inputs, DType::kFloat64);
  const Answer right = oracle(problem, exact).value;
  int told = 0;
  for (const Suspect& suspect : forward_suspects()) {
    const std::string& id = suspect.cause.id;
    if (id != "BL4" && id != "BL5" && id != "CM-skip" && id != "RF1") continue;
    const Answer forward = twisted_forward(problem, exact, right, suspect.twist);
    Answer claim = converted(twisted_backward(problem, exact, forward, {}), DType::kBFloat16);
    claim.lse = {};
    const ClaimVerdict verdict = judge_claim({.problem = problem,
                                              .stored = stored,
                                              .answer = std::move(claim),
                                              .unjudged = {},
                                              .key_width = 32,
                                              .value_width = 32,
                                              .diagnose = {.ranks = Ranks::kKnown}});
    CAPTURE(id);
    std::vector<std::string> causes;
    for (const ReportRow& row : verdict.report.rows) {
      if (row.id == "out") CHECK(row.status == Status::kPassed);
      for (const Cause& cause : row.causes) causes.push_back(cause.id);
    }
    CHECK((!causes.empty() && causes.front() == id));
    ++told;
  }
  CHECK(told == 4);
}

}  // namespace ringcraft::verify
