// Lesson 107: checks of the loops over batch entries and grouped heads. Forward fails if a head reads the
// wrong KV head; backward fails also if dk and dv are not sums over the group. Expected values are the
// oracle's, which has neither groups of states nor sums of parts.
#include <cmath>
#include <limits>
#include <numeric>

#include "exercise.hpp"
#include "judge/checks/block_trial.hpp"
#include "judge/checks/head_trial.hpp"
#include "judge/checks/lesson.hpp"

namespace ringcraft::judge {
namespace {

constexpr TileSize kTile{4, 3};

std::string text(const Extents& e) {
  return "[" + std::to_string(e.batch) + ", " + std::to_string(e.heads) + ", " + std::to_string(e.rows) +
         ", " + std::to_string(e.width) + "]";
}

// The returned numbers may be anything.
void require_extents(const HeadCase& head, const char* name, const Buffer& got, const Extents& want) {
  if (got.extents() != want || got.dtype() != DType::kFloat64)
    throw Wrong(sign::kValues, "extents", "{}: {} comes back as {} {}, and it was {} float64", head.name,
                Name{name}, Name{text(got.extents())}, Name{std::string(name_of(got.dtype()))}, text(want));
}

Buffer filled(const Extents& extents, double value) {
  Buffer buffer(extents, DType::kFloat64);
  std::ranges::fill(buffer.values<double>(), value);
  return buffer;
}

HeadCase heads(const Trial& trial, Index count, Index kv_heads, Index batch = 1,
               const Mask& mask = causal_mask()) {
  return make_head(trial, {7, 7, 3, 0, 0, batch, count, kv_heads}, mask);
}

// The keys [first, last) of every KV head.
KvBlock keys_of(const HeadCase& head, Index first, Index last) {
  const Extents& e = head.in.k.extents();
  KvBlock part{Buffer({e.batch, e.heads, last - first, e.width}, DType::kFloat64),
               Buffer({e.batch, e.heads, last - first, e.width}, DType::kFloat64)};
  for (Index b = 0; b < e.batch; ++b)
    for (Index g = 0; g < e.heads; ++g) {
      std::ranges::copy(head_of<double>(head.in.k, b, g).slice(first, last - first).data,
                        head_of<double>(part.k, b, g).data.begin());
      std::ranges::copy(head_of<double>(head.in.v, b, g).slice(first, last - first).data,
                        head_of<double>(part.v, b, g).data.begin());
    }
  return part;
}

RowState identity(const HeadCase& head) {
  return {filled(head.problem.q_extents(), 0),
          filled(head.problem.row_extents(), -std::numeric_limits<double>::infinity()),
          filled(head.problem.row_extents(), 0)};
}

// The student's forward function adds the keys [first, last) to a state. Returns which of its constant
// arguments it changed.
std::uint32_t add_keys(Trial& trial, const HeadCase& head, RowState& state, Index first, Index last) {
  const auto answer =
      trial.call<GroupedForward>(head.in.q, keys_of(head, first, last), part_of(head.ranges, first, last),
                                 head.problem.softmax_scale, state, kTile);
  require_extents(head, "state.out", state.out, head.problem.q_extents());
  require_extents(head, "state.max", state.max, head.problem.row_extents());
  require_extents(head, "state.sum", state.sum, head.problem.row_extents());
  return answer.changed;
}

// O / l and m + log l.
verify::Answer ended(RowState state) {
  const Index width = state.out.extents().width;
  const auto out = state.out.values<double>(), max = state.max.values<double>(),
             sum = state.sum.values<double>();
  for (std::size_t row = 0; row < sum.size(); ++row) {
    if (sum[row] == 0) continue;
    for (double& x : out.subspan(row * static_cast<std::size_t>(width), static_cast<std::size_t>(width)))
      x /= sum[row];
    max[row] += std::log(sum[row]);
  }
  verify::Answer answer;
  answer.out = std::move(state.out);
  answer.lse = std::move(state.max);
  return answer;
}

verify::Answer attended(Trial& trial, const HeadCase& head) {
  RowState state = identity(head);
  add_keys(trial, head, state, 0, head.keys());
  return ended(std::move(state));
}

void require_forward(Trial& trial, const HeadCase& head) {
  require_head(head.name, head, attended(trial, head), {"out", "lse"});
}

// delta = rowsum(dout * out) of every head, by a plain loop.
Buffer delta_of(const Buffer& out, const Buffer& dout) {
  const Extents& e = out.extents();
  Buffer delta({e.batch, e.heads, e.rows, 1}, DType::kFloat64);
  for (Index b = 0; b < e.batch; ++b)
    for (Index h = 0; h < e.heads; ++h)
      std::ranges::copy(plain_delta(head_of<double>(out, b, h), head_of<double>(dout, b, h)),
                        head_of<double>(delta, b, h).data.begin());
  return delta;
}

struct Gradients {
  Buffer dq;
  KvBlock dkv;
};

// The student's backward function adds the gradients of a head to the ones that it gets.
std::uint32_t add_gradients(Trial& trial, const HeadCase& head, Gradients& gradients) {
  const verify::Oracle forward = verify::oracle(head.problem, head.in);
  const auto answer =
      trial.call<GroupedBackward>(head.in.q, keys_of(head, 0, head.keys()), head.in.dout, forward.value.lse,
                                  delta_of(forward.value.out, head.in.dout), head.ranges,
                                  head.problem.softmax_scale, gradients.dq, gradients.dkv, kTile);
  require_extents(head, "dq", gradients.dq, head.problem.q_extents());
  require_extents(head, "dkv.k", gradients.dkv.k, head.problem.kv_extents());
  require_extents(head, "dkv.v", gradients.dkv.v, head.problem.kv_extents());
  return answer.changed;
}

Gradients gradients_from(Trial& trial, const HeadCase& head, double start) {
  Gradients gradients{filled(head.problem.q_extents(), start),
                      {filled(head.problem.kv_extents(), start), filled(head.problem.kv_extents(), start)}};
  add_gradients(trial, head, gradients);
  return gradients;
}

void require_backward(Trial& trial, const HeadCase& head,
                      const std::vector<std::string_view>& only = {"dq", "dk", "dv"}) {
  Gradients gradients = gradients_from(trial, head, 0);
  verify::Answer answer;
  answer.dq = std::move(gradients.dq);
  answer.dk = std::move(gradients.dkv.k);
  answer.dv = std::move(gradients.dkv.v);
  require_head(head.name, head, answer, only);
}

// ---- forward

const Check kEqualHeads{
    .claim = "Forward, as many KV heads as heads: head h reads KV head h.",
    .id = "equal-heads",
    .weight = 1,
    .hint = "head_of gives the matrix of one head of one batch entry: which ones belong together?",
    .run{[](Trial& trial) { require_forward(trial, heads(trial, 3, 3)); }},
};

const Check kGrouped{
    .claim = "Forward, 8 heads on 2, 6 on 3 and 6 on 2: neighbours share a KV head.",
    .id = "grouped",
    .weight = 3,
    .needs = {"equal-heads"},
    .hint = "How many query heads share one KV head, and are they neighbours or spaced at equal distances?",
    .run{[](Trial& trial) {
      for (const auto& [count, kv_heads] : {std::pair<Index, Index>{8, 2}, {6, 3}, {6, 2}})
        require_forward(trial, heads(trial, count, kv_heads));
    }},
};

const Check kOneKvHead{
    .claim = "Forward, 4 heads on 1: all read the same KV head.",
    .id = "one-kv-head",
    .weight = 1,
    .needs = {"equal-heads"},
    .hint = "What is the group when there is one KV head, and what do your divisions give then?",
    .run{[](Trial& trial) { require_forward(trial, heads(trial, 4, 1)); }},
};

const Check kBatch{
    .claim = "Forward, several batch entries: each has its own keys and values.",
    .id = "batch",
    .weight = 2,
    .needs = {"equal-heads"},
    .hint = "A batch entry is a sequence of its own: do all five tensors of a head come from the same one?",
    .run{[](Trial& trial) {
      require_forward(trial, heads(trial, 2, 2, 3));
      require_forward(trial, heads(trial, 3, 3, 2));
    }},
};

const Check kAddsToTheState{
    .claim = "Forward adds to the state that it gets.",
    .id = "adds-to-the-state",
    .weight = 1,
    .needs = {"grouped", "batch"},
    .hint = "The state may have seen other keys: do not initialise it, and do not divide by l.",
    .run{[](Trial& trial) {
      const HeadCase head = heads(trial, 6, 3, 2, full_mask());
      RowState state = identity(head);
      add_keys(trial, head, state, 4, 7);
      add_keys(trial, head, state, 0, 4);
      require_head(head.name + ", keys 4 to 6, then 0 to 3", head, ended(std::move(state)), {"out", "lse"},
                   in_tiles(head, {head.rows(), head.keys()}, {{4, 7}, {0, 4}}));
    }},
};

// ---- backward

const Check kGradientsEqualHeads{
    .claim = "Backward, as many KV heads as heads.",
    .id = "gradients-equal-heads",
    .weight = 1,
    .hint = "q, dout, lse, delta and dq belong to the query head; k, v, dk and dv to the KV head.",
    .run{[](Trial& trial) { require_backward(trial, heads(trial, 3, 3)); }},
};

const Check kGradientsOfQueries{
    .claim = "Backward, grouped: dq of every query head.",
    .id = "gradients-of-queries",
    .weight = 2,
    .needs = {"gradients-equal-heads"},
    .hint = "dq of a head comes from this head alone; is it read with the right KV head?",
    .run{[](Trial& trial) {
      for (const auto& [count, kv_heads] : {std::pair<Index, Index>{8, 2}, {6, 3}, {4, 1}})
        require_backward(trial, heads(trial, count, kv_heads), {"dq"});
    }},
};

const Check kGradientsOfKeys{
    .claim = "Backward, grouped: dk and dv are sums over the heads of the group.",
    .id = "gradients-of-keys",
    .weight = 3,
    .needs = {"gradients-equal-heads"},
    .hint =
        "Each KV head was read by the whole group: what do the heads of the group do to its dk and dv, one "
        "after the other?",
    .run{[](Trial& trial) {
      for (const auto& [count, kv_heads] : {std::pair<Index, Index>{8, 2}, {6, 3}, {6, 2}, {4, 1}})
        require_backward(trial, heads(trial, count, kv_heads), {"dk", "dv"});
    }},
};

const Check kGradientsOfABatch{
    .claim = "Backward, several batch entries.",
    .id = "gradients-of-a-batch",
    .weight = 2,
    .needs = {"gradients-equal-heads"},
    .hint = "Sequences of a batch share no keys, so they share no gradients.",
    .run{[](Trial& trial) {
      require_backward(trial, heads(trial, 2, 2, 3));
      require_backward(trial, heads(trial, 3, 3, 2));
    }},
};

const Check kAddsGradients{
    .claim = "Backward adds to what dq, dk and dv hold.",
    .id = "adds-gradients",
    .weight = 1,
    .needs = {"gradients-of-queries", "gradients-of-keys"},
    .hint = "Where are dq and dk set to zero, and would your function notice if they were not?",
    .run{[](Trial& trial) {
      const HeadCase head = heads(trial, 6, 2, 2);
      const Gradients from_0 = gradients_from(trial, head, 0), from_1 = gradients_from(trial, head, 1);
      const auto require_one_more = [&](const char* name, const Buffer& more, const Buffer& less) {
        for (std::size_t i = 0; i < more.values<double>().size(); ++i)
          if (!(std::fabs(more.values<double>()[i] - less.values<double>()[i] - 1) <= 1e-12))
            throw Wrong(sign::kValues, "not-added",
                        "{}: {} held 1, and element {} becomes {}; it becomes {} from 0", head.name,
                        Name{name}, i, more.values<double>()[i], less.values<double>()[i]);
      };
      require_one_more("dq", from_1.dq, from_0.dq);
      require_one_more("dk", from_1.dkv.k, from_0.dkv.k);
      require_one_more("dv", from_1.dkv.v, from_0.dkv.v);
    }},
};

// ---- properties

bool same(const Buffer& a, const Buffer& b, Index batch, Index head) {
  return std::ranges::equal(head_of<double>(a, batch, head).data, head_of<double>(b, batch, head).data);
}

std::string named(const char* what, Index batch, Index head) {
  return std::string(what) + " " + std::to_string(head) + " of batch entry " + std::to_string(batch);
}

// Changing a KV head changes out of exactly its group.
const Check kWhoReadsWhom{
    .claim = "Changing a KV head changes the out of exactly its group.",
    .id = "who-reads-whom",
    .weight = 1,
    .needs = {"equal-heads"},
    .hint = "Write down, for 8 heads on 2, the KV head of each query head.",
    .run{[](Trial& trial) {
      for (const auto& [count, kv_heads] : {std::pair<Index, Index>{8, 2}, {6, 3}})
        for (Index g = 0; g < kv_heads; ++g) {
          HeadCase head = heads(trial, count, kv_heads, 2);
          const verify::Answer before = attended(trial, head);
          for (double& x : head_of<double>(head.in.v, 1, g).data) x += 0.5;
          const verify::Answer after = attended(trial, head);
          for (Index b = 0; b < 2; ++b)
            for (Index h = 0; h < count; ++h)
              if (same(before.out, after.out, b, h) != (b == 0 || h / (count / kv_heads) != g))
                throw Wrong(sign::kValues, "visibility", "{}: {} was changed, and {}{}", head.name,
                            named("KV head", 1, g), named("query head", b, h),
                            same(before.out, after.out, b, h) ? " stays as it was" : " changes")
                    .knowing({g, b, h});
        }
    }},
};

// Changing dout of a query head changes dk and dv of its KV head, and dq of no other head.
const Check kWhoGivesToWhom{
    .claim = "Changing dout of a query head changes dk and dv of exactly its KV head.",
    .id = "who-gives-to-whom",
    .weight = 1,
    .needs = {"gradients-equal-heads"},
    .hint = "Backward uses the map of forward: a head adds its gradients to the KV head that it has read.",
    .run{[](Trial& trial) {
      for (const auto& [count, kv_heads] : {std::pair<Index, Index>{8, 2}, {6, 3}})
        for (const Index changed : {Index{0}, Index{3}, count - 1}) {
          HeadCase head = heads(trial, count, kv_heads, 2);
          const Gradients before = gradients_from(trial, head, 0);
          for (double& x : head_of<double>(head.in.dout, 0, changed).data) x *= 2;
          const Gradients after = gradients_from(trial, head, 0);
          const std::string start =
              head.name + ": dout of " + named("query head", 0, changed) + " was doubled, and ";
          for (Index b = 0; b < 2; ++b) {
            for (Index h = 0; h < count; ++h)
              if (same(before.dq, after.dq, b, h) == (b == 0 && h == changed))
                throw Wrong(sign::kValues, "visibility-of-dq", "{}dq of {}{}", start,
                            named("query head", b, h), h == changed ? " stays as it was" : " changes")
                    .knowing({b, h});
            for (Index g = 0; g < kv_heads; ++g) {
              const bool own = b == 0 && changed / (count / kv_heads) == g;
              if (same(before.dkv.k, after.dkv.k, b, g) == own ||
                  same(before.dkv.v, after.dkv.v, b, g) == own)
                throw Wrong(sign::kValues, "visibility-of-dkv", "{}dk or dv of {}{}", start,
                            named("KV head", b, g), own ? " stays as it was" : " changes")
                    .knowing({b, g});
            }
          }
        }
    }},
};

const Check kMasks{
    .claim = "Masks, rows without a key, and other numbers of queries than of keys.",
    .id = "masks",
    .weight = 1,
    .needs = {"grouped", "batch", "gradients-of-queries", "gradients-of-keys", "gradients-of-a-batch"},
    .hint = "One KeyRanges holds for all heads and batch entries: pass it on as it is.",
    .run{[](Trial& trial) {
      const Mask window = window_mask(3);
      for (const HeadCase& head : {make_head(trial, {12, 8, 3, 4, 0, 2, 4, 2}, window),
                                   make_head(trial, {5, 9, 4, 2, 0, 1, 6, 2}, causal_mask()),
                                   make_head(trial, {9, 6, 2, 0, 4, 2, 3, 1}, causal_mask())}) {
        require_forward(trial, head);
        require_backward(trial, head);
      }
    }},
};

const Check kInputsUnchanged{
    .claim = "Only the state, or dq, dk and dv, are written.",
    .id = "inputs-unchanged",
    .weight = 1,
    .needs = {"equal-heads", "gradients-equal-heads"},
    .hint = "k and v are read by the next head of the group.",
    .run{[](Trial& trial) {
      const HeadCase head = heads(trial, 4, 2);
      const auto require = [&](std::uint32_t changed, const char* function,
                               const std::vector<const char*>& names) {
        require_unchanged(function, changed, names);
      };
      RowState state = identity(head);
      require(add_keys(trial, head, state, 0, head.keys()), "grouped_forward", {"q", "kv", "ranges"});
      Gradients gradients{filled(head.problem.q_extents(), 0),
                          {filled(head.problem.kv_extents(), 0), filled(head.problem.kv_extents(), 0)}};
      require(add_gradients(trial, head, gradients), "grouped_backward",
              {"q", "kv", "dout", "lse", "delta", "ranges"});
    }},
};

const Check kCaseTable{
    .claim = "Blocks of the harness's table, forward and backward.",
    .id = "case-table",
    .weight = 2,
    .needs = {"equal-heads"},
    .hint = "Look at the case's name: h=8/2 means 8 heads on 2 KV heads.",
    .run{[](Trial& trial) {
      for (const verify::BlockCase& block : some_blocks(trial, 0, 4)) {
        const HeadCase head = make_head(block);
        require_forward(trial, head);
        require_backward(trial, head);
      }
    }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"grouped", "batch", "gradients-of-queries", "gradients-of-keys", "gradients-of-a-batch"},
    .hint = "The buffers hold T: which of your views, or of your calls, names a number type?",
    .precision = DType::kFloat32,
    .run{[](Trial& trial) {
      for (const HeadCase& head :
           {heads(trial, 3, 3), heads(trial, 8, 2), heads(trial, 6, 2, 2, window_mask(3))}) {
        require_forward(trial, head);
        require_backward(trial, head);
      }
    }},
};

constexpr std::uint64_t kLittleMemory = 128 << 20;

// One row of many heads: few scores, and a KV head so long that copies of it exceed the memory.
const Check kKvHeadsOnce{
    .claim =
        "Forward, 64 heads on 1 in a process of 128 MB: K repeated for every head would take 82 MB, and so "
        "would V.",
    .id = "kv-heads-once",
    .weight = 1,
    .needs = {"one-kv-head", "batch"},
    .hint = "Copies spend what sharing saves: which KV head can a query head read without copying it?",
    .workers = {.address_bytes = kLittleMemory},
    .run{[](Trial& trial) {
      require_forward(
          trial, make_head(trial, {.rows = 1, .keys = 10'000, .head_dim = 16, .heads = 64, .kv_heads = 1},
                           full_mask()));
    }},
};

// ---- for a diagnosis

// The growth of gradients that hold 1 before the call.
verify::Exhibit growth(Trial& trial, const HeadCase& head) {
  verify::Answer before, answer;
  before.dq = filled(head.problem.q_extents(), 1);
  before.dk = filled(head.problem.kv_extents(), 1);
  before.dv = filled(head.problem.kv_extents(), 1);
  Gradients gradients = gradients_from(trial, head, 1);
  answer.dq = std::move(gradients.dq);
  answer.dk = std::move(gradients.dkv.k);
  answer.dv = std::move(gradients.dkv.v);
  for (Buffer* gradient : {&answer.dq, &answer.dk, &answer.dv})
    for (double& x : gradient->values<double>()) x -= 1;
  return exhibit_of_growth(head, std::move(answer), std::move(before));
}

verify::Exhibit interview(Trial& trial) {
  const HeadCase head = heads(trial, 6, 3, 2);
  if (verify::Exhibit forward = exhibit_of_failure([&] { require_forward(trial, head); })) return forward;
  const verify::Exhibit backward = exhibit_of_failure([&] { require_backward(trial, head); });
  return backward ? backward : growth(trial, head);
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kEqualHeads,
                            kGrouped,
                            kOneKvHead,
                            kBatch,
                            kAddsToTheState,
                            kGradientsEqualHeads,
                            kGradientsOfQueries,
                            kGradientsOfKeys,
                            kGradientsOfABatch,
                            kAddsGradients,
                            kWhoReadsWhom,
                            kWhoGivesToWhom,
                            kMasks,
                            kInputsUnchanged,
                            kCaseTable,
                            kKvHeadsOnce,
                            kFloats};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
