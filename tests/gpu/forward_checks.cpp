// The checks of the forward pass: every rung over every case that it takes. Results are judged by the oracle,
// under the rule for the rung's number type; refusals and bits that must stay are compared directly.
#include <cstring>
#include <utility>

#include "checks.hpp"
#include "direct.hpp"
#include "judged.hpp"
#include "kernel_cases.hpp"
#include "subjects.hpp"

namespace ringcraft::kernels {
namespace {

using verify::Inputs;

std::string name_of(const ForwardRung& rung) { return std::to_string(rung.number) + " " + rung.name; }

// The last 60 of 130 rows see nothing: they share a tile with rows that do, and have a tile of their own.
Verdict unseen_rows_keep_their_bits(const ForwardRung& rung) {
  CudaEngine engine(0, {.forward = &rung});
  const Small small(engine);
  RowState state = engine.begin(small.q);
  engine.forward(state, small.q, small.kv, key_ranges(causal_mask(), 130), 0.3);
  const auto out = numbers_of(state.out, engine.stream()), max = numbers_of(state.max, engine.stream()),
             sum = numbers_of(state.sum, engine.stream());

  KeyRanges ranges{std::vector<int>(130, 0), std::vector<int>(130, 100)};
  for (std::size_t row = 70; row < 130; ++row) ranges.begin[row] = ranges.end[row] = 100;
  engine.forward(state, small.q, small.kv, ranges, 0.3);
  const auto new_out = numbers_of(state.out, engine.stream()),
             new_max = numbers_of(state.max, engine.stream()),
             new_sum = numbers_of(state.sum, engine.stream());
  for (std::size_t row = 0; row < 4 * 130; ++row) {
    bool same =
        std::memcmp(&max[row], &new_max[row], 4) == 0 && std::memcmp(&sum[row], &new_sum[row], 4) == 0;
    same = same && std::memcmp(&out[24 * row], &new_out[24 * row], 24 * sizeof(float)) == 0;
    if (row % 130 >= 70 && !same) return {"row " + std::to_string(row % 130) + " saw no key and changed"};
    if (row % 130 < 70 && same) return {"row " + std::to_string(row % 130) + " saw keys and did not change"};
  }
  return {};
}

Verdict same_bits_twice(const ForwardRung& rung) {
  std::vector<float> first;
  for (int turn = 0; turn < 2; ++turn) {
    CudaEngine engine(0, {.forward = &rung});
    const Small small(engine);
    RowState state = engine.begin(small.q);
    engine.forward(state, small.q, small.kv, key_ranges(window_mask(40), 130), 0.3);
    const std::vector<float> out = numbers_of(engine.finish(std::move(state)).out, engine.stream());
    if (turn == 0) first = out;
    if (!same_bits(first, out)) return {"two runs on the same inputs differ"};
  }
  return {};
}

Verdict refusals(const ForwardRung& rung) {
  const CudaEngine engine(0, {.forward = &rung});
  const auto problem = [](Index head_dim) {
    return make_problem({1, 4, 2, 130, head_dim}, causal_mask(), Layout::kContiguous, 1);
  };
  engine.refuse(problem(rung.largest_head_dim), Pass::kForward);  // throws if that is refused
  const std::string most = "head_dim 1 to " + std::to_string(rung.largest_head_dim);
  for (const std::string& sentence : {
           unless_refused("head_dim above what the rung takes", most,
                          [&] { engine.refuse(problem(rung.largest_head_dim + 1), Pass::kForward); }),
           unless_refused(
               "a step of such a head_dim", most,
               [&] { run(rung, {.head_dim = rung.largest_head_dim + 1}, nullptr, engine.stream().get()); }),
           unless_refused("float64", "expected " + std::string(ringcraft::name_of(rung.dtype)),
                          [&] { refuse(rung, DType::kFloat64, rung.largest_head_dim); }),
       })
    if (!sentence.empty()) return {sentence};
  return {};
}

// These rungs with this way to answer.
template <class C, class Answerer>
void check_rungs(Runner& runner, std::span<const ForwardRung* const> rungs, const std::string& what,
                 const std::vector<C>& cases, Answerer answer) {
  std::vector<Candidate<C>> candidates;
  for (const ForwardRung* rung : rungs)
    candidates.push_back(
        {name_of(*rung), rung->dtype, rung->largest_head_dim,
         [=](const C& c, const Inputs& inputs) { return answer(CudaRungs{.forward = rung}, c, inputs); }});
  check_candidates(runner, what, cases, verify::Expect::kForward, candidates);
}

// Every tile size has masks, lengths and head_dim of its own to get wrong.
void check_tiles(Runner& runner) {
  std::vector<Candidate<verify::Case>> candidates;
  for (const ForwardRung* rung : forward_rungs())
    for (const TileTable& tiles : unusual_tiles(*rung))
      candidates.push_back(
          {name_of(*rung) + ", tile size " + std::to_string(tiles.place(*rung, 64)), rung->dtype,
           rung->largest_head_dim, [=](const verify::Case& c, const Inputs& inputs) {
             return block_by_block_answer({.forward = rung, .tiles = tiles}, c.problem, inputs);
           }});
  check_candidates(runner, "one shard of several tiles", tile_cases(), verify::Expect::kForward, candidates);
}

}  // namespace

void run_checks(Runner& runner, verify::CaseSet set) {
  run_engine_checks(runner);
  run_merge_checks(runner);
  for (const ForwardRung* rung : forward_rungs()) {
    const auto check = [&](const char* what, Verdict (*body)(const ForwardRung&)) {
      runner.check(what + (", " + name_of(*rung)), [&] { return body(*rung); });
    };
    check("rows without a visible key keep their bits", unseen_rows_keep_their_bits);
    check("the same call gives the same bits", same_bits_twice);
    check("refusals", refusals);
  }
  check_rungs(runner, forward_rungs(), "one shard against one block", verify::block_case_table(set),
              [](CudaRungs rungs, const verify::BlockCase& c, const Inputs& inputs) {
                return one_block_answer(rungs, c.problem, c.ranges, inputs);
              });
  const auto block_by_block = [](CudaRungs rungs, const verify::Case& c, const Inputs& inputs) {
    return block_by_block_answer(rungs, c.problem, inputs);
  };
  check_rungs(runner, forward_rungs(), "shards of several tiles, block by block", kernel_cases(set),
              block_by_block);
  // In bfloat16 one key too many among many is lost in the rounding, unless it is the one that counts.
  check_rungs(runner, forward_rungs(), "windows at the borders of tiles", window_cases(verify::Data::kHot, 8),
              block_by_block);
  check_tiles(runner);
  // The ring cannot tell one rung from another: in brief it is run with the engine's own alone.
  const ForwardRung* const own[] = {CudaRungs{}.forward};
  check_rungs(runner, set == verify::CaseSet::kFull ? forward_rungs() : own,
              "the ring on thread ranks, case table", ring_cases(set),
              [](CudaRungs rungs, const verify::Case& c, const Inputs& inputs) {
                return ring_answer(rungs, c.problem, inputs, Schedule::kReversed);
              });
}

}  // namespace ringcraft::kernels
