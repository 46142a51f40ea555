// Properties of the whole ring, for any problem: its results do not depend on the distribution of tokens, a
// token reaches exactly the rows that may see it, out is linear in v, and its costs can be counted by hand.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/property.hpp"
#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/core/matrix.hpp"
#include "ringcraft/ring/theory.hpp"
#include "support/compare.hpp"
#include "support/predicate.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::testing {
namespace {

using verify::Answer;
using verify::Inputs;

Schedule schedule_of(const Recipe& recipe) {
  return recipe.seed % 2 == 0 ? Schedule::kForward : Schedule::kReversed;
}

Inputs inputs_of(const Recipe& recipe) { return verify::make_inputs(case_of(recipe), DType::kFloat64); }

Answer ring(const Recipe& recipe, const Inputs& inputs) {
  return verify::run_over_ranks(
      problem_of(recipe), inputs,
      {.options = {.schedule = schedule_of(recipe)}, .board = {.delivery_seed = recipe.seed % 3}});
}

// Two answers agree as well as an exact one agrees with the oracle.
void require_close(const Answer& a, const Answer& b, const Problem& problem, const Inputs& inputs) {
  verify::Oracle other = verify::oracle(problem, inputs);
  other.value = verify::clone(b);
  const verify::Comparison found = verify::compare_exact(a, other);
  RC_LOG() << described(found, problem.sharding()) << "\n";
  RC_ASSERT(found.good);
}

std::vector<double> row_of(const Buffer& buffer, Index batch, Index head, Position row) {
  const auto values = head_of<double>(buffer, batch, head).row(row);
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("property: number of ranks, layout and schedule do not matter") {
  check_property(150, [](const Recipe& recipe) {
    Recipe other = recipe;
    other.ranks = *rc::gen::inRange(1, 9);
    other.layout = *rc::gen::elementOf(std::vector<Layout>(std::begin(kLayouts), std::end(kLayouts)));
    const Inputs inputs = inputs_of(recipe);
    const Answer theirs = verify::run_over_ranks(
        problem_of(other), inputs,
        {.options = {.schedule = schedule_of(recipe) == Schedule::kForward ? Schedule::kReversed
                                                                           : Schedule::kForward}});
    require_close(ring(recipe, inputs), theirs, problem_of(recipe), inputs);
  });
}

TEST_CASE("property: an engine may take the blocks of a shard in any order") {
  check_property(150, [](const Recipe& recipe) {
    const Problem p = problem_of(recipe);
    const Inputs inputs = inputs_of(recipe);
    const int rank = *rc::gen::inRange(0, p.world_size);
    std::vector<int> order(static_cast<std::size_t>(p.world_size));
    std::iota(order.begin(), order.end(), 0);
    Random random(recipe.seed);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i) - 1))]);
    HostEngine<double> engine;
    const Sharding sharding = p.sharding();
    const Buffer q = scatter(inputs.q, sharding, rank);
    RowState state = engine.begin(q);
    for (const int source : order)
      engine.forward(state, q, {scatter(inputs.k, sharding, source), scatter(inputs.v, sharding, source)},
                     key_ranges(p, rank, source), p.softmax_scale);
    const Output shuffled = engine.finish(std::move(state));
    Answer whole = ring(recipe, inputs), with_shuffled = verify::clone(whole);
    gather(with_shuffled.out, shuffled.out, sharding, rank);
    gather(with_shuffled.lse, shuffled.lse, sharding, rank);
    require_close(with_shuffled, whole, p, inputs);
  });
}

TEST_CASE("property: a token's key and value reach exactly the rows that may see it") {
  check_property(150, [](Recipe recipe) {
    recipe.data = verify::Data::kNormal;  // no weight is so small that rounding hides a change
    const Problem p = problem_of(recipe);
    const Position token = *rc::gen::inRange<Position>(0, recipe.seqlen);
    const bool key = *rc::gen::arbitrary<bool>();
    const Inputs inputs = inputs_of(recipe);
    Inputs changed = verify::clone(inputs);
    const Index batch = recipe.batch - 1, group = recipe.kv_heads - 1;
    for (double& x : head_of<double>(key ? changed.k : changed.v, batch, group).row(token)) x += 1.5;
    const Answer before = ring(recipe, inputs), after = ring(recipe, changed);
    for (Index b = 0; b < recipe.batch; ++b)
      for (Index h = 0; h < p.shape.heads; ++h)
        for (Position row = 0; row < recipe.seqlen; ++row) {
          const bool may_see = b == batch && h / recipe.group == group && sees(p.mask, row, token);
          const bool same_out = row_of(before.out, b, h, row) == row_of(after.out, b, h, row);
          const bool same_lse = row_of(before.lse, b, h, row) == row_of(after.lse, b, h, row);
          RC_LOG() << "batch " << b << ", head " << h << ", row " << row << ", token " << token << "\n";
          if (!may_see) RC_ASSERT((same_out && same_lse));  // bit for bit
          if (may_see) RC_ASSERT((key ? !same_lse : !same_out && same_lse));
        }
  });
}

TEST_CASE("property: a row's upstream gradient reaches exactly its own dq and the tokens that it may see") {
  check_property(150, [](Recipe recipe) {
    recipe.data = verify::Data::kNormal;
    const Problem p = problem_of(recipe);
    const Position row = *rc::gen::inRange<Position>(0, recipe.seqlen);
    const Index batch = recipe.batch - 1, head = p.shape.heads - 1;
    const Inputs inputs = inputs_of(recipe);
    Inputs changed = verify::clone(inputs);
    for (double& x : head_of<double>(changed.dout, batch, head).row(row)) x += 1.5;
    const Answer before = ring(recipe, inputs), after = ring(recipe, changed);
    RC_ASSERT(identical(before.out, after.out));
    RC_ASSERT(identical(before.lse, after.lse));
    for (Index b = 0; b < recipe.batch; ++b)
      for (Position t = 0; t < recipe.seqlen; ++t) {
        for (Index h = 0; h < p.shape.heads; ++h)
          if (b != batch || h != head || t != row)
            RC_ASSERT(row_of(before.dq, b, h, t) == row_of(after.dq, b, h, t));
        for (Index g = 0; g < recipe.kv_heads; ++g) {
          const bool seen = b == batch && g == head / recipe.group && sees(p.mask, row, t);
          RC_LOG() << "batch " << b << ", KV head " << g << ", token " << t << ", row " << row << "\n";
          if (seen) RC_ASSERT(row_of(before.dv, b, g, t) != row_of(after.dv, b, g, t));
          if (!seen) RC_ASSERT(row_of(before.dv, b, g, t) == row_of(after.dv, b, g, t));
          if (!seen) RC_ASSERT(row_of(before.dk, b, g, t) == row_of(after.dk, b, g, t));
        }
      }
  });
}

TEST_CASE("property: out is linear in v, and dv in dout") {
  check_property(150, [](const Recipe& recipe) {
    const double a = *rc::gen::elementOf(std::vector<double>{0, 1, -0.5, 3}),
                 b = *rc::gen::elementOf(std::vector<double>{1, -2, 0.25});
    const Problem p = problem_of(recipe);
    Recipe second_recipe = recipe;
    second_recipe.seed += 1'000'003;
    const Inputs first = inputs_of(recipe);
    Inputs second = verify::clone(first), both = verify::clone(first);
    const Inputs fresh = inputs_of(second_recipe);
    second.v = fresh.v.clone();
    second.dout = fresh.dout.clone();
    const auto mix = [&](Buffer& to, const Buffer& x, const Buffer& y) {
      std::transform(x.values<double>().begin(), x.values<double>().end(), y.values<double>().begin(),
                     to.values<double>().begin(), [&](double s, double t) { return a * s + b * t; });
    };
    mix(both.v, first.v, second.v);
    mix(both.dout, first.dout, second.dout);
    const Answer one = ring(recipe, first), two = ring(recipe, second), got = ring(recipe, both);
    // Rounding is measured by the scale of the terms: |a| times the first's and |b| times the second's.
    const verify::Oracle scale_one = verify::oracle(p, first), scale_two = verify::oracle(p, second);
    const auto require_linear = [&](const Buffer& sum, const Buffer& x, const Buffer& y, const Buffer& sx,
                                    const Buffer& sy) {
      for (std::size_t i = 0; i < sum.values<double>().size(); ++i) {
        const double want = a * x.values<double>()[i] + b * y.values<double>()[i];
        const double scale = std::fabs(a) * sx.values<double>()[i] + std::fabs(b) * sy.values<double>()[i];
        RC_ASSERT(std::fabs(sum.values<double>()[i] - want) <= 1e-12 * scale + 1e-300);
      }
    };
    require_linear(got.out, one.out, two.out, scale_one.scale.out, scale_two.scale.out);
    require_linear(got.dv, one.dv, two.dv, scale_one.scale.dv, scale_two.scale.dv);
    RC_ASSERT(identical(got.lse, one.lse));  // v has no part in it
  });
}

TEST_CASE("property: where all values are one, out is one") {
  check_property(150, [](const Recipe& recipe) {
    Inputs inputs = inputs_of(recipe);
    std::ranges::fill(inputs.v.values<double>(), 1.0);
    const Answer answer = ring(recipe, inputs);
    for (const double x : answer.out.values<double>()) RC_ASSERT(std::fabs(x - 1) <= 1e-14);
  });
}

TEST_CASE("property: pairs, hops, bytes and messages equal a count") {
  check_property(200, [](const Recipe& recipe) {
    const Problem p = problem_of(recipe);
    const Sharding sharding = p.sharding();
    const int n = p.world_size;
    verify::Measurement cost;
    verify::run_over_ranks(p, inputs_of(recipe), {.options = {.schedule = schedule_of(recipe)}}, &cost);
    const auto pairs = counted_pairs(p.mask, sharding);
    const int hops_counted = counted_hops(pairs);
    RC_ASSERT(hops(p) == hops_counted);
    for (int rank = 0; rank < n; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      Index all_pairs = 0, bytes = 0, messages = 0;
      for (int t = 0; t < n; ++t) all_pairs += pairs[static_cast<std::size_t>(t)][r];
      for (int t = 0; t < hops_counted; ++t) {  // at step t the rank hands on the block of rank - t
        const int source = (rank - t + n) % n;
        bool needed = false;  // by a rank further along
        for (int later = t + 1; later < n; ++later)
          needed = needed ||
                   pairs[static_cast<std::size_t>(later)][static_cast<std::size_t>((source + later) % n)] > 0;
        const Index rows = needed ? static_cast<Index>(sharding.positions(source).size()) : 0;
        bytes += 2 * recipe.batch * recipe.kv_heads * rows * recipe.head_dim * 8;
        messages += rows > 0 ? 2 : 0;
      }
      RC_ASSERT(cost.forward.work[r].pairs == all_pairs);
      RC_ASSERT(cost.backward.work[r].pairs == all_pairs);
      RC_ASSERT(cost.forward.traffic[r].bytes_sent == bytes);
      RC_ASSERT(cost.forward.traffic[r].messages_sent == messages);
    }
    Index received = 0, sent = 0;
    for (const Traffic& traffic : cost.backward.traffic) {
      received += traffic.bytes_received;
      sent += traffic.bytes_sent;
    }
    RC_ASSERT(received == sent);
  });
}

}  // namespace ringcraft::testing
