// Lists the stages of the ladder in the order of the lessons, each with its function, its memory and its
// predecessor. A new stage is one entry of the table.
#include "verify/ladder/ladder.hpp"

#include <algorithm>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "verify/ladder/rows_over_ranks.hpp"
#include "verify/ladder/rowwise.hpp"
#include "verify/ladder/single_device_cost.hpp"

namespace ringcraft::verify {
namespace {

using Run = std::function<Answer(const Problem&, const Inputs&, Measurement&)>;

Run on_one_device(Algorithm algorithm) {
  return [=](const Problem& problem, const Inputs& inputs, Measurement& cost) {
    return run_single_device(algorithm, problem, inputs, {}, &cost);
  };
}

Run row_by_row(RowSoftmax softmax) {
  return [=](const Problem& problem, const Inputs& inputs, Measurement& cost) {
    return run_rowwise(softmax, problem, inputs, &cost);
  };
}

Stage over_ranks(const char* name, int lesson, const char* predecessor, Expect expect, const OverRanks& how,
                 std::vector<int> lessons) {
  // A visible pair is the unit of virtual time, and links are free: the clocks then show nothing but balance.
  const Run run = [=](const Problem& problem, const Inputs& inputs, Measurement& cost) {
    const MethodOptions options = how.choose != nullptr ? how.choose(problem) : how.options;
    return run_over_ranks(problem, inputs, {.options = options, .seconds_per_pair = 1, .method = how.method},
                          &cost);
  };
  return {name, lesson, predecessor, expect, how, nullptr, run, std::move(lessons)};
}

// A window of a shard and a half: a ring of four needs two hops of three. Sequences stay packed.
Mask window_over_shards(const Problem& shared) {
  Mask mask = shared.mask;
  const Index rows = Sharding{Layout::kContiguous, shared.shape.seqlen, shared.world_size}.largest_rows();
  mask.left = std::min(mask.left, rows + rows / 2);
  mask.right = 0;
  return mask;
}

// Sequences of uneven lengths, one of a single token; their borders lie beside those of ranks. Those that are
// packed already stay.
Mask packed_sequences(const Problem& shared) {
  Mask mask = shared.mask;
  const Position s = shared.shape.seqlen;
  for (const Position border : {Position{0}, s / 11, s / 11 + 1, s / 4 + 2, s * 5 / 7, s})
    if (shared.mask.cu_seqlens.empty() && border <= s &&
        (mask.cu_seqlens.empty() || border > mask.cu_seqlens.back()))
      mask.cu_seqlens.push_back(border);
  return mask;
}

// The smallest number of neighbours, more than one and not all, that divides the ranks; 0 if there is none.
int some_neighbours(const Problem& problem) {
  for (int neighbours = 2; neighbours < problem.world_size; ++neighbours)
    if (problem.world_size % neighbours == 0) return neighbours;
  return 0;
}

MethodOptions with_rows(const Problem& problem) { return {.ulysses = some_neighbours(problem)}; }
MethodOptions with_nodes(const Problem& problem) { return {.node = some_neighbours(problem)}; }

Stage under(Mask (*mask)(const Problem&), Stage stage) {
  stage.mask = mask;
  return stage;
}

// Additionally the memory wall: the scores of one head, and in backward their gradients.
Index dense_peak(const Shape& s, bool backward, RoleBytes bytes) {
  return blockwise_peak(s, backward, bytes) + bytes_of(bytes, 0, (backward ? 2 : 1) * s.seqlen * s.seqlen);
}

// q, k, v, out, lse.
Index rowwise_peak(const Shape& s, bool, RoleBytes bytes) {
  return bytes_of(bytes, q_elements(s) + 2 * kv_elements(s), q_elements(s) + row_elements(s));
}

// Additionally, for one head, a second O, two sums and a second maximum.
Index merge_peak(const Shape& s, bool backward, RoleBytes bytes) {
  return rowwise_peak(s, backward, bytes) + bytes_of(bytes, 0, s.seqlen * (s.head_dim + 3));
}

// Every stage asks which keys its rows see (lesson 405).
std::vector<Stage> with_ranges(std::vector<Stage> stages) {
  for (Stage& stage : stages) stage.lessons.push_back(405);
  return stages;
}

const std::vector<Stage>& stages() {
  constexpr auto kAll = Expect::kAll, kForward = Expect::kForward;
  constexpr auto kContiguous = Layout::kContiguous;
  const MethodOptions travelling{.schedule = Schedule::kForward}, by_heads{.gather_heads = 1};
  static const std::vector<Stage> all = with_ranges({
      // clang-format off
      // name, lesson, predecessor, tensors, over ranks, peak on one device, function, lessons whose files it runs
      {"dense", 101, "", kAll, {}, dense_peak, on_one_device(Algorithm::kDense), {101, 102, 103}},
      {"safe softmax", 102, "dense", kForward, {}, rowwise_peak, row_by_row(RowSoftmax::kSafe), {102}},
      {"online softmax", 103, "safe softmax", kForward, {}, rowwise_peak, row_by_row(RowSoftmax::kOnline), {103}},
      {"merge", 104, "online softmax", kForward, {}, merge_peak, row_by_row(RowSoftmax::kMerged), {103, 104}},
      {"blockwise forward", 105, "merge", kForward, {}, blockwise_peak, on_one_device(Algorithm::kBlockwise), {105, 107}},
      {"blockwise backward", 106, "dense", kAll, {}, blockwise_peak, on_one_device(Algorithm::kBlockwise), {105, 106, 107}},
      {"fast forward", 108, "blockwise forward", kForward, {}, blockwise_peak, on_one_device(Algorithm::kFast), {104, 108}},
      {"fast backward", 108, "blockwise backward", kAll, {}, blockwise_peak, on_one_device(Algorithm::kFast), {104, 108}},
      over_ranks("distributed softmax", 302, "online softmax", kForward, {kContiguous, &kRowsOverRanks}, {103, 302, 403}),
      over_ranks("ring forward", 303, "fast forward", kForward, {kContiguous}, {104, 108, 303, 403, 404}),
      over_ranks("ring backward, reversed", 304, "fast backward", kAll, {kContiguous}, {104, 108, 303, 304, 403, 404}),
      over_ranks("ring backward, forward", 304, "ring backward, reversed", kAll, {kContiguous, &kRing, travelling}, {104, 108, 303, 304, 403, 404}),
      over_ranks("striped ring", 402, "ring backward, reversed", kAll, {Layout::kStriped}, {104, 108, 303, 304, 402, 404}),
      over_ranks("token zig-zag ring", 402, "striped ring", kAll, {Layout::kZigzagToken}, {104, 108, 303, 304, 402, 404}),
      over_ranks("zig-zag ring", 403, "token zig-zag ring", kAll, {Layout::kZigzag}, {104, 108, 303, 304, 403, 404}),
      under(window_over_shards, over_ranks("windowed ring", 404, "fast backward", kAll, {kContiguous}, {104, 108, 303, 304, 403, 404})),
      under(packed_sequences, over_ranks("packed ring", 405, "fast backward", kAll, {.layout = Layout::kZigzag, .per_sequence = true}, {104, 108, 303, 304, 403, 404})),
      over_ranks("all-gather", 501, "zig-zag ring", kAll, {Layout::kZigzag, &kAllGather}, {104, 108, 403, 501}),
      over_ranks("all-gather by heads", 501, "all-gather", kAll, {Layout::kZigzag, &kAllGather, by_heads}, {104, 108, 403, 501}),
      over_ranks("Ulysses", 502, "fast backward", kAll, {kContiguous, &kUlysses}, {104, 108, 303, 304, 403, 404, 502, 503}),
      over_ranks("hybrid", 503, "zig-zag ring", kAll, {.layout = Layout::kZigzag, .method = &kHybrid, .choose = with_rows}, {104, 108, 303, 304, 403, 404, 502, 503}),
      over_ranks("double ring", 503, "zig-zag ring", kAll, {.layout = Layout::kZigzag, .method = &kDoubleRing, .choose = with_nodes}, {104, 108, 403, 503}),
      // clang-format on
  });
  return all;
}

// Removes dout: a stage without gradients is not charged for them.
Inputs forward_only(const Inputs& inputs) {
  return {inputs.q.clone(), inputs.k.clone(), inputs.v.clone(), Buffer()};
}

}  // namespace

std::span<const Stage> ladder() { return stages(); }

const Stage& stage_named(const std::string& name) {
  std::string names;
  for (const Stage& stage : stages()) {
    if (stage.name == name) return stage;
    names += (names.empty() ? "" : ", ") + stage.name;
  }
  throw Error("stage", "one of: " + names, name, "check the spelling");
}

Problem problem_of(const Stage& stage, const Problem& shared) {
  Problem problem = shared;
  problem.layout = stage.over_ranks ? stage.over_ranks->layout : Layout::kContiguous;
  if (stage.mask != nullptr) problem.mask = stage.mask(shared);
  if (stage.over_ranks && stage.over_ranks->per_sequence) problem.per_sequence = true;
  if (!stage.over_ranks) problem.world_size = 1;
  return problem;
}

MethodOptions options_of(const Stage& stage, const Problem& problem) {
  const OverRanks& how = *stage.over_ranks;
  return how.choose != nullptr ? how.choose(problem) : how.options;
}

std::string refusal(const Stage& stage, const Problem& shared) {
  if (!stage.over_ranks) return "";
  const Problem problem = problem_of(stage, shared);
  try {
    refuse(*stage.over_ranks->method, problem, options_of(stage, problem));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

StageResult climb(const Stage& stage, const Problem& shared, const Inputs& inputs) {
  StageResult result;
  const Problem problem = problem_of(stage, shared);
  result.answer = stage.expect == Expect::kForward && inputs.has_backward()
                      ? stage.run(problem, forward_only(inputs), result.measurement)
                      : stage.run(problem, inputs, result.measurement);
  return result;
}

}  // namespace ringcraft::verify
