// Every known mistake: its own numbers are diagnosed as itself.
#include "verify/diagnose/suspects.hpp"

#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "support/effort.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/suspects_support.hpp"

namespace ringcraft::verify {
namespace {

// Problems that each show some mistakes; together they show all.
std::vector<Case> scenes() {
  Mask packed = causal_mask();
  packed.cu_seqlens = {0, 5, 24, 35, 48};
  std::vector<Case> all;
  const auto add = [&](Index heads, Index kv_heads, Position seqlen, Mask mask, Layout layout, int ranks,
                       Data data = Data::kNormal, Index batch = 1) {
    all.push_back(make_case(make_problem({batch, heads, kv_heads, seqlen, 4}, std::move(mask), layout, ranks),
                            data, 11));
  };
  add(6, 3, 24, causal_mask(), Layout::kContiguous, 3);
  add(4, 2, 24, full_mask(), Layout::kContiguous, 4, Data::kNormal, 2);
  add(2, 1, 32, causal_mask(), Layout::kZigzag, 4);
  add(2, 2, 24, causal_mask(), Layout::kStriped, 3);
  add(2, 1, 48, packed, Layout::kContiguous, 4);
  add(2, 2, 36, window_mask(5), Layout::kContiguous, 4);
  add(2, 2, 26, {.left = 6, .right = 3}, Layout::kContiguous, 3);
  add(2, 1, 25, full_mask(), Layout::kZigzag, 3);
  add(2, 2, 50, window_mask(6), Layout::kZigzag, 5);
  add(8, 2, 37, full_mask(), Layout::kZigzagToken, 4);
  add(1, 1, 245, full_mask(), Layout::kContiguous, 4, Data::kPeaked);
  add(2, 2, 24, causal_mask(), Layout::kContiguous, 8, Data::kHuge);
  add(2, 2, 24, full_mask(), Layout::kContiguous, 3, Data::kGap);
  // Scores of some hundreds: exp overflows in some rows and not in others.
  all.push_back(make_case(make_problem({1, 2, 2, 24, 4}, causal_mask(), Layout::kContiguous, 3, 300.0),
                          Data::kNormal, 11));
  return all;
}

struct Score {
  int possible = 0, shown = 0, listed = 0, first = 0;
};

Score score_of(const Suspect& suspect, bool forward, const std::vector<Scene>& scenes) {
  Score score;
  for (const auto& [c, inputs, right] : scenes) {
    const BlockProblem block = whole(c.problem);
    if (!TwistedRing(block, inputs, right.value, ring_arrangement(c.problem)).can_be(suspect.twist)) continue;
    ++score.possible;
    const Answer claim = forward ? twisted_forward(c.problem, inputs, right.value, suspect.twist)
                                 : twisted_backward(c.problem, inputs, right.value, suspect.twist);
    const Comparison comparison = compare_exact(claim, right);
    if (comparison.good) continue;
    const Diagnosis diagnosis = diagnose(c.problem, inputs, claim, right, comparison);
    const std::vector<Cause> causes = diagnosis.causes();
    const bool without_numbers = !has_numbers(claim.out) && !has_numbers(claim.lse);
    if ((without_numbers || suspect.twist.scan != ScanTwist{}) && !causes.empty() && causes[0].id == "NaN")
      continue;  // as many others leave
    ++score.shown;
    const auto found = std::find_if(causes.begin(), causes.end(),
                                    [&](const Cause& cause) { return cause.id == suspect.cause.id; });
    INFO(c.name << ": " << suspect.cause.id << ", diagnosed as "
                << (causes.empty() ? "nothing" : causes[0].id + ": " + causes[0].sentence));
    CHECK(found != causes.end());
    score.listed += found != causes.end();
    score.first += !causes.empty() && found == causes.begin();
  }
  return score;
}

void judge_all(const std::vector<Suspect>& suspects, bool forward) {
  int shown = 0, listed = 0, first = 0;
  const std::vector<Case> cases = scenes();
  const std::vector<Scene> all_scenes(cases.begin(), cases.end());
  for (const Suspect& suspect : testing::fewer_under_sanitizer(suspects, 5)) {
    const Score score = score_of(suspect, forward, all_scenes);
    INFO(suspect.cause.id << ": wrong on " << score.shown << " problems, listed on " << score.listed
                          << ", first on " << score.first);
    // A rank's own block always has a visible key; a scan's behaviour at the rarer places shows in few
    // numbers.
    if (suspect.cause.id != "OS8" && suspect.twist.scan == ScanTwist{} && score.possible > 0)
      CHECK(score.shown > 0);
    shown += score.shown;
    listed += score.listed;
    first += score.first;
  }
  INFO(shown << " wrong claims, " << listed << " diagnosed, " << first << " first");
  CHECK(listed == shown);
  CHECK(first * 10 >= shown * 8);
}

}  // namespace

TEST_CASE("every mistake of the forward pass is diagnosed as itself within three, mostly first") {
  judge_all(forward_suspects(), true);
}

TEST_CASE("every mistake of the backward pass is diagnosed as itself within three, mostly first") {
  judge_all(backward_suspects(), false);
}

TEST_CASE("a mistake has one id, a sentence and a question") {
  std::set<std::string> sentences;
  for (const auto* all : {&forward_suspects(), &backward_suspects()})
    for (const Suspect& suspect : *all) {
      INFO(suspect.cause.id);
      CHECK(sentences.insert(suspect.cause.sentence).second);
      CHECK(suspect.cause.question.back() != '.');
      CHECK(suspect_named(suspect.cause.id).cause.id == suspect.cause.id);
    }
  CHECK_THROWS(suspect_named("no such mistake"));
}

TEST_CASE("tiles of one device are tried where no flag says what computed the claim") {
  // A window whose first tiles hold no visible key: a running maximum of -inf - (-inf).
  const Case c =
      make_case(make_problem({1, 2, 1, 80, 4}, window_mask(9), Layout::kZigzag, 4), Data::kNormal, 2);
  const Inputs inputs = make_inputs(c, DType::kFloat64);
  const Oracle right = oracle(c.problem, inputs);
  const Answer claim = twisted_forward(c.problem, inputs, right.value, suspect_named("OS8").twist,
                                       tiled_arrangement(80, 80, 16));
  const Comparison comparison = compare_exact(claim, right);
  REQUIRE_FALSE(comparison.good);
  const std::vector<Cause> causes =
      diagnose(c.problem, inputs, claim, right, comparison, {.ranks = Ranks::kUnknown}).causes();
  REQUIRE(!causes.empty());
  CHECK(causes[0].id == "OS8");
  CHECK(causes[0].sentence.find("one device with tiles of 16 keys") != std::string::npos);
}

TEST_CASE("a twist without a mistake is right attention, in every layout, mask and grouping") {
  for (const Case& c : scenes()) {
    const Inputs inputs = make_inputs(c, DType::kFloat64);
    const Oracle right = oracle(c.problem, inputs);
    Answer claim = twisted_backward(c.problem, inputs, right.value, {});
    Answer forward = twisted_forward(c.problem, inputs, right.value, {});
    claim.out = std::move(forward.out);
    claim.lse = std::move(forward.lse);
    INFO(c.name);
    CHECK(compare_exact(claim, right).good);
  }
}

TEST_CASE("a known mistake must explain more rows than it contradicts") {
  const Scene scene(make_problem({1, 1, 1, 50, 8}, causal_mask(), Layout::kContiguous, 4));
  const auto ids = [&](const Answer& claim) {
    std::vector<std::string> all;
    for (const Cause& cause : scene.of(claim).forward) all.push_back(cause.id);
    return all;
  };
  // The last two keys are lost, by which the last two rows are wrong.
  Answer claim =
      twisted_forward(scene.c.problem, scene.inputs, scene.right.value, suspect_named("BL1").twist);
  const std::vector<std::string> both = ids(claim);
  REQUIRE_FALSE(both.empty());
  CHECK(both[0] == "BL1");
  // One of them is right: the mistake then explains a row and contradicts another.
  const Answer& right = scene.right.value;
  const auto mend = [](Buffer& to, const Buffer& from) {
    const auto row = head_of<double>(from, 0, 0).row(48);
    put(to, {0, 0, 48}, {row.begin(), row.end()});
  };
  mend(claim.out, right.out);
  mend(claim.lse, right.lse);
  CHECK(std::ranges::count(ids(claim), "BL1") == 0);
}

}  // namespace ringcraft::verify
