// The checks of the backward pass: every rung over every case that it takes, judged as the forward pass is.
// Every answer is that of a whole training step, forward and backward, on the engine.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "checks.hpp"
#include "direct.hpp"
#include "judged.hpp"
#include "kernel_cases.hpp"
#include "subjects.hpp"

namespace ringcraft::kernels {
namespace {

using verify::Inputs;

std::string name_of(const BackwardRung& rung) { return std::to_string(rung.number) + " " + rung.name; }

// ---- One step of a rung by itself

using Gradients = std::vector<std::vector<float>>;  // dq, dk, dv

// The gradients of a small problem, added to `before` of every number.
Gradients step_gradients(const BackwardRung& rung, const KeyRanges& ranges, float before) {
  CudaEngine engine(0, with_forward(rung));
  Small small(engine);
  const Buffer dout = normal_on_device(small.q.extents(), rung.dtype, small.random, engine.stream());
  RowState state = engine.begin(small.q);
  engine.forward(state, small.q, small.kv, ranges, 0.3);
  const Output output = engine.finish(std::move(state));
  // The lse and delta of a row that sees no key must not matter.
  const auto poisoned = [&](const Buffer& of_rows) {
    Buffer host = copied_to_host(of_rows, engine.stream());
    for (std::size_t i = 0; i < host.values<float>().size(); ++i)
      if (ranges.begin[i % 130] == ranges.end[i % 130])
        host.values<float>()[i] = std::numeric_limits<float>::quiet_NaN();
    return copied_to_device(host, engine.stream());
  };
  const Buffer lse = poisoned(output.lse), delta = poisoned(engine.delta(output.out, dout));

  const auto filled = [&](const Buffer& like) {
    Buffer host(like.extents(), DType::kFloat32);
    std::ranges::fill(host.values<float>(), before);
    return copied_to_device(host, engine.stream());
  };
  Buffer dq = filled(small.q), dk = filled(small.kv.k), dv = filled(small.kv.v);
  RangeUpload keys(engine.stream()), rows(engine.stream());
  const DeviceRanges of_rows = keys.upload(ranges), of_keys = rows.upload(ranges.transposed(130));
  const BackwardStep step{.q_gmem = device_numbers(small.q, rung.dtype),
                          .dout_gmem = device_numbers(dout, rung.dtype),
                          .lse_gmem = device_floats(lse),
                          .delta_gmem = device_floats(delta),
                          .k_gmem = device_numbers(small.kv.k, rung.dtype),
                          .v_gmem = device_numbers(small.kv.v, rung.dtype),
                          .key_begin_gmem = of_rows.begin_gmem,
                          .key_end_gmem = of_rows.end_gmem,
                          .row_begin_gmem = of_keys.begin_gmem,
                          .row_end_gmem = of_keys.end_gmem,
                          .dq_gmem = device_floats(dq),
                          .dk_gmem = device_floats(dk),
                          .dv_gmem = device_floats(dv),
                          .batch = 1,
                          .heads = 4,
                          .kv_heads = 2,
                          .rows = 130,
                          .keys = 130,
                          .head_dim = 24,
                          .softmax_scale = 0.3f};
  Buffer workspace({1, 1, workspace_of(rung, step), 1}, DType::kFloat32, device_memory());
  run(rung, step, workspace.empty() ? nullptr : device_floats(workspace), engine.stream().get());
  return {numbers_of(dq, engine.stream()), numbers_of(dk, engine.stream()), numbers_of(dv, engine.stream())};
}

// Rows from 70 on see no key; the keys from 100 on are seen by no row.
KeyRanges with_gaps() {
  KeyRanges ranges{std::vector<int>(130, 0), std::vector<int>(130, 100)};
  for (std::size_t row = 0; row < 130; ++row) {
    ranges.begin[row] = row < 70 ? static_cast<int>(row / 2) : 100;
    ranges.end[row] = row < 70 ? static_cast<int>(30 + row) : 100;
  }
  return ranges;
}

Verdict gradients_are_added(const BackwardRung& rung) {
  const Gradients from_zero = step_gradients(rung, with_gaps(), 0),
                  from_one = step_gradients(rung, with_gaps(), 1);
  for (std::size_t tensor = 0; tensor < 3; ++tensor)
    for (std::size_t i = 0; i < from_zero[tensor].size(); ++i) {
      const bool seen = i / 24 % 130 < (tensor == 0 ? 70u : 99u);
      const float gradient = from_zero[tensor][i];
      const std::string where =
          std::string(verify::kAnswerNames[2 + tensor]) + ", row " + std::to_string(i / 24 % 130);
      if (seen == (gradient == 0)) return {where + (seen ? ": nothing was added" : ": something was added")};
      if (!(std::fabs(from_one[tensor][i] - (1 + gradient)) <= 0x1p-20 * (1 + std::fabs(gradient))))
        return {where + ": the gradient was not added to what was there"};
    }
  return {};
}

// Of a rung that is not deterministic dk and dv have the same bits, too, and dq differs by its rounding.
Verdict same_bits_twice(const BackwardRung& rung) {
  const KeyRanges ranges = key_ranges(window_mask(40), 130);
  const Gradients first = step_gradients(rung, ranges, 0), second = step_gradients(rung, ranges, 0);
  for (std::size_t i = 0; i < first[0].size() && !rung.deterministic; ++i)
    if (!(std::fabs(first[0][i] - second[0][i]) <= 0x1p-20 * (1 + std::fabs(first[0][i]))))
      return {"two runs on the same inputs differ in dq by more than rounding"};
  for (std::size_t tensor = rung.deterministic ? 0 : 1; tensor < 3; ++tensor)
    if (!same_bits(first[tensor], second[tensor]))
      return {"two runs on the same inputs differ in " + std::string(verify::kAnswerNames[2 + tensor])};
  return {};
}

Verdict refusals(const BackwardRung& rung) {
  const CudaEngine engine(0, with_forward(rung));
  const auto problem = [](Index head_dim) {
    return make_problem({1, 4, 2, 130, head_dim}, causal_mask(), Layout::kContiguous, 1);
  };
  engine.refuse(problem(rung.largest_head_dim), Pass::kBackward);  // throws if that is refused
  const std::string most = "head_dim 1 to " + std::to_string(rung.largest_head_dim);
  for (const std::string& sentence : {
           unless_refused("head_dim above what the rung takes", most,
                          [&] { engine.refuse(problem(rung.largest_head_dim + 1), Pass::kBackward); }),
           unless_refused(
               "a step of such a head_dim", most,
               [&] { run(rung, {.head_dim = rung.largest_head_dim + 1}, nullptr, engine.stream().get()); }),
           unless_refused("float64", "expected " + std::string(ringcraft::name_of(rung.dtype)),
                          [&] { refuse(rung, DType::kFloat64, rung.largest_head_dim); }),
           unless_refused("a forward kernel of the other number type",
                          "expected " + std::string(ringcraft::name_of(rung.dtype)),
                          [&] {
                            const bool bf16 = rung.dtype == DType::kBFloat16;
                            CudaEngine(0, {bf16 ? &kOnlineSoftmax : &kPipeline, &rung})
                                .refuse(problem(1), Pass::kBackward);
                          }),
       })
    if (!sentence.empty()) return {sentence};
  return {};
}

// ---- Judged by the oracle

template <class C, class Answerer>
void check_rungs(Runner& runner, const std::string& what, const std::vector<C>& cases, Answerer answer) {
  std::vector<Candidate<C>> candidates;
  for (const BackwardRung* rung : backward_rungs())
    candidates.push_back(
        {name_of(*rung), rung->dtype, rung->largest_head_dim,
         [=](const C& c, const Inputs& inputs) { return answer(with_forward(*rung), c, inputs); }});
  check_candidates(runner, what, cases, verify::Expect::kAll, candidates);
}

// Every tile size has masks, lengths and head_dim of its own to get wrong.
void check_tiles(Runner& runner) {
  std::vector<Candidate<verify::Case>> candidates;
  for (const BackwardRung* rung : backward_rungs())
    for (const TileTable& tiles : unusual_tiles(*rung)) {
      CudaRungs rungs = with_forward(*rung);
      rungs.tiles = tiles;
      candidates.push_back({name_of(*rung) + ", tile size " + std::to_string(tiles.place(*rung, 64)),
                            rung->dtype, rung->largest_head_dim,
                            [=](const verify::Case& c, const Inputs& inputs) {
                              return block_by_block_answer(rungs, c.problem, inputs);
                            }});
    }
  check_candidates(runner, "one shard of several tiles", tile_cases(), verify::Expect::kAll, candidates);
}

// Both schedules of the ring, with the engine's own rung, and one whose elements travel in bf16.
void check_rings(Runner& runner, const std::string& what, const std::vector<verify::Case>& cases) {
  std::vector<Candidate<verify::Case>> candidates;
  const auto add = [&](const std::string& name, const BackwardRung& rung, Schedule schedule) {
    candidates.push_back({name, rung.dtype, rung.largest_head_dim,
                          [=, rungs = with_forward(rung)](const verify::Case& c, const Inputs& inputs) {
                            return ring_answer(rungs, c.problem, inputs, schedule);
                          }});
  };
  add("reversed", *CudaRungs{}.backward, Schedule::kReversed);
  add("forward", *CudaRungs{}.backward, Schedule::kForward);
  add("reversed, bf16", kFusedBackward, Schedule::kReversed);
  check_candidates(runner, what, cases, verify::Expect::kAll, candidates);
}

}  // namespace

void run_checks(Runner& runner, verify::CaseSet set) {
  for (const BackwardRung* rung : backward_rungs()) {
    const auto check = [&](const char* what, Verdict (*body)(const BackwardRung&)) {
      runner.check(what + (", " + name_of(*rung)), [&] { return body(*rung); });
    };
    check("gradients are added to what is there", gradients_are_added);
    check("the same call gives the same bits", same_bits_twice);
    check("refusals", refusals);
  }
  check_rungs(runner, "one shard against one block", verify::block_case_table(set),
              [](CudaRungs rungs, const verify::BlockCase& c, const Inputs& inputs) {
                return one_block_answer(rungs, c.problem, c.ranges, inputs);
              });
  const auto block_by_block = [](CudaRungs rungs, const verify::Case& c, const Inputs& inputs) {
    return block_by_block_answer(rungs, c.problem, inputs);
  };
  check_rungs(runner, "shards of several tiles, block by block", kernel_cases(set), block_by_block);
  check_rungs(runner, "windows at the borders of tiles", window_cases(verify::Data::kNormal, 1),
              block_by_block);
  check_tiles(runner);
  check_rings(runner, "the ring, shards of several tiles", kernel_cases(set));
  check_rings(runner, "the ring, case table", ring_cases(set));
}

}  // namespace ringcraft::kernels
