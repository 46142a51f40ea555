// The checks of CudaEngine's forward pass (see checks.hpp). Everything that has a right answer is judged by
// the oracle, under the rule for float32; what has none (refusals, bits that stay) is compared directly.
#include "checks.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "engine/cuda_engine.hpp"
#include "kernel_cases.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/random.hpp"
#include "subjects.hpp"
#include "verify/compare.hpp"
#include "verify/oracle.hpp"
#include "verify/plain_dense.hpp"

namespace ringcraft::kernels {
namespace {

using verify::Answer;
using verify::Comparison;
using verify::FloatRule;
using verify::Inputs;

// ---- Judged by the oracle

Inputs forward_inputs(const auto& c) {
  Inputs inputs = verify::make_inputs(c, DType::kFloat32);
  inputs.dout = Buffer();
  return inputs;
}

std::string failure_of(const FloatRule& rule, const std::string& first) {
  if (rule.good()) return "";
  if (!first.empty()) return std::to_string(rule.broken()) + " cases are wrong; the first: " + first;
  return "the RMS of the errors is above 1.5 times that of plain dense attention";
}

// Judges `answer(case, inputs)` over a table of cases.
template <class Cases, class Answerer>
Verdict judged(const Cases& cases, Answerer answer) {
  FloatRule rule(DType::kFloat32);
  std::string first;
  for (const auto& c : cases) {
    const Inputs inputs = forward_inputs(c);
    const Comparison found = rule.add(answer(c, inputs), verify::plain_dense<float>(c.problem, inputs),
                                      verify::oracle(c.problem, inputs), verify::Expect::kForward);
    if (found.good || !first.empty()) continue;
    first = c.name + ": " + (found.first ? verify::described(*found.first) : found.complaint);
  }
  return {failure_of(rule, first),
          {{"cases", static_cast<double>(rule.cases())},
           {"RMS to dense", rule.worst_rms_ratio()},
           {"share of bound", rule.worst_share()}}};
}

// ---- Compared directly

std::vector<float> numbers_of(const Buffer& device, const Stream& stream) {
  const Buffer host = copied_to_host(device, stream);
  const auto values = host.values<float>();
  return {values.begin(), values.end()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Verdict new_memory_is_nan() {
  CudaEngine engine;
  for (const float x : numbers_of(engine.allocate({1, 2, 3, 4}, Role::kElement), engine.stream()))
    if (!std::isnan(x))
      return {"an element of new device memory is a number, so unwritten output could pass"};
  return {};
}

Verdict begin_is_identity() {
  CudaEngine engine;
  const RowState state = engine.begin(engine.allocate({2, 3, 70, 5}, Role::kElement));
  for (const float x : numbers_of(state.out, engine.stream()))
    if (!(x == 0)) return {"O is not 0"};
  for (const float x : numbers_of(state.max, engine.stream()))
    if (!(x == -std::numeric_limits<float>::infinity())) return {"m is not -inf"};
  for (const float x : numbers_of(state.sum, engine.stream()))
    if (!(x == 0)) return {"l is not 0"};
  return {};
}

// A small problem on the device: one shard of 130 rows against a block of 130 keys.
struct Small {
  explicit Small(const CudaEngine& engine, std::uint64_t seed = 3) : random(seed) {
    const auto normal = [&](Extents extents) {
      return copied_to_device(random_normal(extents, DType::kFloat32, random), engine.stream());
    };
    q = normal({1, 4, 130, 24});
    kv = {normal({1, 2, 130, 24}), normal({1, 2, 130, 24})};
  }
  Random random;
  Buffer q;
  KvBlock kv;
};

// The last 60 of 130 rows see nothing: they share a tile with rows that do, and have a tile of their own.
Verdict unseen_rows_keep_their_bits() {
  CudaEngine engine;
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

Verdict same_bits_twice() {
  std::vector<float> first;
  for (int turn = 0; turn < 2; ++turn) {
    CudaEngine engine;
    const Small small(engine);
    RowState state = engine.begin(small.q);
    engine.forward(state, small.q, small.kv, key_ranges(window_mask(40), 130), 0.3);
    const std::vector<float> out = numbers_of(engine.finish(std::move(state)).out, engine.stream());
    if (turn == 0) first = out;
    if (!same_bits(first, out)) return {"two runs on the same inputs differ"};
  }
  return {};
}

Verdict sums_are_right() {
  CudaEngine engine;
  Small small(engine);
  const Buffer other = Small(engine, 4).q;
  const auto a = numbers_of(small.q, engine.stream()), b = numbers_of(other, engine.stream());
  const auto delta = numbers_of(engine.delta(small.q, other), engine.stream());
  for (std::size_t row = 0; row < delta.size(); ++row) {
    double want = 0, scale = 0;
    for (std::size_t i = 24 * row; i < 24 * (row + 1); ++i) {
      want += double{a[i]} * double{b[i]};
      scale += std::fabs(double{a[i]} * double{b[i]});
    }
    if (!(std::fabs(double{delta[row]} - want) <= 0x1p-20 * scale))
      return {"delta is wrong in row " + std::to_string(row)};
  }

  const auto k = numbers_of(small.kv.k, engine.stream());
  const KvBlock more = std::move(Small(engine, 5).kv);
  const auto more_k = numbers_of(more.k, engine.stream());
  engine.add(small.kv, more);
  const auto sum = numbers_of(small.kv.k, engine.stream());
  for (std::size_t i = 0; i < k.size(); ++i)
    if (!(sum[i] == k[i] + more_k[i])) return {"add is wrong in element " + std::to_string(i)};

  engine.set_zero(small.kv.v);
  for (const float x : numbers_of(small.kv.v, engine.stream()))
    if (!(x == 0)) return {"set_zero left a number"};
  return {};
}

template <class Body>
std::string unless_refused(const std::string& what, const std::string& expected, Body body) {
  try {
    body();
  } catch (const Error& error) {
    const std::string sentence = error.what();
    return sentence.find(expected) != std::string::npos ? ""
                                                        : what + " is refused with other words: " + sentence;
  }
  return what + " is not refused";
}

Verdict refusals() {
  CudaEngine engine;
  const Small small(engine);
  const Problem good = make_problem({1, 4, 2, 130, 24}, causal_mask(), Layout::kContiguous, 1);
  const Problem wide = make_problem({1, 4, 2, 130, 129}, causal_mask(), Layout::kContiguous, 1);
  engine.refuse(good, Pass::kForward);  // throws if a good problem is refused
  const Buffer on_host({1, 4, 130, 24}, DType::kFloat32);
  for (const std::string& sentence : {
           unless_refused("the backward pass", "backward kernels",
                          [&] { engine.refuse(good, Pass::kBackward); }),
           unless_refused("head_dim 129", "at most 128", [&] { engine.refuse(wide, Pass::kForward); }),
           unless_refused("a host buffer", "a device buffer",
                          [&] {
                            RowState state = engine.begin(small.q);
                            engine.forward(state, on_host, small.kv, key_ranges(full_mask(), 130), 1);
                          }),
           unless_refused("device 4096", "CUDA device", [] { CudaEngine engine_4096(4096); }),
       })
    if (!sentence.empty()) return {sentence};
  return {};
}

}  // namespace

void run_checks(Runner& runner, verify::CaseSet set) {
  runner.check("new device memory is NaN", new_memory_is_nan);
  runner.check("begin gives (0, -inf, 0)", begin_is_identity);
  runner.check("rows without a visible key keep their bits", unseen_rows_keep_their_bits);
  runner.check("the same call gives the same bits", same_bits_twice);
  runner.check("delta, add, set_zero", sums_are_right);
  runner.check("refusals", refusals);
  runner.check("one shard against one block", [&] {
    return judged(verify::block_case_table(set), [](const verify::BlockCase& c, const Inputs& inputs) {
      return one_block_answer(c.problem, c.ranges, inputs);
    });
  });
  runner.check("shards of several tiles, block by block", [&] {
    return judged(kernel_cases(set), [](const verify::Case& c, const Inputs& inputs) {
      return block_by_block_answer(c.problem, inputs);
    });
  });
  runner.check("the ring on thread ranks, case table", [&] {
    return judged(verify::case_table(set),
                  [](const verify::Case& c, const Inputs& inputs) { return ring_answer(c.problem, inputs); });
  });
}

}  // namespace ringcraft::kernels
