// Asks failed kernels for single elements and for problems of several tiles, for a diagnosis.
#include "judge/checks/kernel_interview.hpp"

#include <algorithm>

#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

constexpr Index kTile = 64;

std::vector<double> wide(std::span<const float> numbers) { return {numbers.begin(), numbers.end()}; }

// Runs `ask`; a run that ends with a finding, or changes its arguments, is ignored.
template <class Ask>
void unless_wrong(Ask ask) {
  try {
    ask();
  } catch (const Wrong&) {
  }
}

// Repeats one tile of rows, once for each key: each time it sees the next of them alone.
HeadCase single_keys(const HeadCase& tile, const std::vector<Index>& seen) {
  const auto times = static_cast<Index>(seen.size());
  HeadCase head{tile.name, tile.problem, {}, {}};
  head.problem.queries.clear();
  head.in = {Buffer({1, 1, times * kTile, tile.head_dim()}, DType::kFloat64), tile.in.k.clone(),
             tile.in.v.clone(), Buffer()};
  const auto q = head_of<double>(head.in.q, 0, 0);
  for (Index row = 0; row < times * kTile; ++row) {
    std::ranges::copy(tile.q().row(row % kTile), q.row(row).begin());
    const Index key = seen[static_cast<std::size_t>(row / kTile)];
    head.problem.queries.push_back(row);
    head.ranges.begin.push_back(static_cast<int>(key));
    head.ranges.end.push_back(static_cast<int>(key) + 1);
  }
  return head;
}

verify::TileExhibit tile_of(const Trial& trial, const KernelRung& rung, Index width, Index every) {
  const HeadCase tile = make_head(trial, {kTile, kTile, width}, full_mask());
  std::vector<Index> seen;
  for (Index key = 0; key < kTile; key += every) seen.push_back(key);
  KernelHead single = kernel_head(rung, single_keys(tile, seen)), whole = kernel_head(rung, tile);
  single.step(rung.call);
  whole.step(rung.call);
  verify::TileExhibit x{.rows = kTile,
                        .keys = kTile,
                        .width = width,
                        .scale = static_cast<float>(tile.problem.softmax_scale),
                        .q = wide(whole.inputs().q.values<float>()),
                        .k = wide(whole.inputs().k.values<float>()),
                        .v = wide(whole.inputs().v.values<float>()),
                        .seen = seen,
                        .scores = wide(single.max()),
                        .values = {},
                        .out = wide(whole.out())};
  for (std::size_t n = 0; n < seen.size(); ++n) {
    const std::vector<double> row = wide(
        rows_between(single.out(), static_cast<Index>(n) * kTile, static_cast<Index>(n) * kTile + 1, width));
    x.values.insert(x.values.end(), row.begin(), row.end());
  }
  for (std::size_t i = 0; i < x.out.size(); ++i) x.out[i] /= whole.sum()[i / static_cast<std::size_t>(width)];
  return x;
}

// Several tiles, under masks that begin late and end early, of many heads, and with columns that fill no
// piece of eight.
std::vector<HeadCase> heads_of(const Trial& trial) {
  Mask packed = causal_mask();
  packed.cu_seqlens = {0, 30, 140, 280};
  std::vector<HeadCase> heads;
  const auto add = [&](const HeadShape& shape, const Mask& mask) {
    heads.push_back(make_head(trial, shape, mask));
  };
  add({20, 28, 16}, full_mask());
  add({40, 192, 24}, full_mask());
  add({160, 200, 20, 40, 0}, window_mask(20));
  add({100, 170, 8, 170, 0}, packed);
  add({.rows = 70, .keys = 150, .head_dim = 12, .first_query = 60, .heads = 4, .kv_heads = 2}, causal_mask());
  return heads;
}

}  // namespace

verify::Exhibit tile_interview(const Trial& trial, const KernelRung& rung) {
  verify::KernelExhibit all;
  for (const Index width : {16, 64, 128})
    unless_wrong([&] { all.tiles.push_back(tile_of(trial, rung, width, width == 16 ? 1 : 9)); });
  verify::RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  const std::vector<HeadCase> heads = heads_of(trial);
  for (const HeadCase& each : heads)
    unless_wrong([&] {
      KernelHead head = kernel_head(rung, each);
      if (&each == &heads.front())  // a state is carried
        for (const auto& [first, last] : {std::pair<Index, Index>{0, 9}, {9, 19}, {19, 28}})
          head.step(rung.call, first, last);
      else
        head.step(rung.call);
      all.heads.push_back(head.exhibit(rule));
    });
  return exhibit_of(std::move(all));
}

verify::Exhibit gradient_interview(const Trial& trial, const GradientCall& call) {
  verify::KernelExhibit all;
  verify::RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
  const auto ask = [&](const HeadShape& shape, const Mask& mask) {
    HeadCase head = make_head(trial, shape, mask);
    head.problem.softmax_scale = 0.4;
    unless_wrong([&] {
      GradientHead asked(head);
      asked.step(call);
      all.heads.push_back(asked.exhibit(rule));
    });
  };
  ask({64, 96, 10}, full_mask());  // tiles are full: no row index lies outside the tensors
  ask({96, 64, 10}, full_mask());
  ask({.rows = 32, .keys = 64, .head_dim = 5, .heads = 2, .kv_heads = 1}, full_mask());
  ask({70, 100, 10}, full_mask());
  ask({.rows = 40, .keys = 50, .head_dim = 6, .first_query = 10, .batch = 2, .heads = 4, .kv_heads = 2},
      causal_mask());
  ask({110, 100, 72, 0, 20}, window_mask(35));
  unless_wrong([&] {
    Random random(trial.seed());
    GradientHead begun(make_head(trial, {20, 30, 4}, full_mask()));
    begun.begin_with(random);
    begun.step(call);
    all.begun.push_back(begun.exhibit(rule));
  });
  return exhibit_of(std::move(all));
}

verify::Exhibit merge_interview(const Trial& trial, const std::vector<MergeKernelCall>& kernels) {
  verify::KernelExhibit all;
  Random random(trial.seed());
  const auto ask = [&](const MergeKernelCall& kernel, Index rows, Index width, double acc_level,
                       double block_level, bool empty = false) {
    PartialRows acc = random_rows(kernel.form, rows, width, acc_level, random);
    PartialRows block = random_rows(kernel.form, rows, width, block_level, random);
    for (Index row = 0; empty && row < rows; ++row) {
      if (row % 3 == 0 || row % 7 == 3) forget(acc, row);
      if (row % 5 == 0 || row % 7 == 3) forget(block, row);
    }
    const PartialRows before = acc;
    unless_wrong([&] {
      merge_rows(kernel, "", acc, block);
      all.merges.push_back(exhibit_of_merge(before, block, acc));
    });
  };
  for (const MergeKernelCall& kernel : kernels) {
    ask(kernel, 1, 64, 0, 0);
    ask(kernel, 37, 64, 0, 2);
    ask(kernel, 5, 66, 3, 0);
    ask(kernel, 4, 3, 0, 0);
    ask(kernel, 3, 132, 12, 0);
    ask(kernel, 3, 20, 0, 7);
    ask(kernel, 3, 20, -20000, -20003);
    ask(kernel, 3, 20, 90, 0);
    ask(kernel, 21, 20, 0, 0, true);
  }
  return exhibit_of(std::move(all));
}

}  // namespace ringcraft::judge
