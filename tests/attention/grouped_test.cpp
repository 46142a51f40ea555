// Grouped heads against multi-head attention with the KV heads written out for every query head: out is the
// same, dk and dv are the sums over the copies; and earlier contents are kept.
#include "ringcraft/attention/grouped.hpp"

#include <limits>
#include <vector>

#include "ringcraft/attention/dense.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/tensors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

constexpr TileSize kTile{3, 4};

template <class T>
Buffer filled(const Extents& extents, T value) {
  Buffer buffer(extents, dtype_of<T>());
  std::ranges::fill(buffer.values<T>(), value);
  return buffer;
}

Extents per_row(const Extents& q) { return {q.batch, q.heads, q.rows, 1}; }

template <class T>
RowState identity(const Extents& q) {
  return {filled<T>(q, 0), filled<T>(per_row(q), -std::numeric_limits<T>::infinity()),
          filled<T>(per_row(q), 0)};
}

// Head h of `from`, which has fewer heads, becomes the heads [h * copies, (h + 1) * copies).
template <class T>
Buffer repeated(const Buffer& from, Index copies) {
  const Extents& e = from.extents();
  Buffer to({e.batch, e.heads * copies, e.rows, e.width}, dtype_of<T>());
  for (Index b = 0; b < e.batch; ++b)
    for (Index g = 0; g < e.heads; ++g)
      for (Index copy = 0; copy < copies; ++copy)
        std::ranges::copy(head_of<T>(from, b, g).data, head_of<T>(to, b, g * copies + copy).data.begin());
  return to;
}

// The sum of every `copies` neighbouring heads.
template <class T>
Buffer summed(const Buffer& from, Index copies) {
  const Extents& e = from.extents();
  Buffer to = filled<T>({e.batch, e.heads / copies, e.rows, e.width}, 0);
  for (Index b = 0; b < e.batch; ++b)
    for (Index h = 0; h < e.heads; ++h) {
      const auto sum = head_of<T>(to, b, h / copies).data, term = head_of<T>(std::as_const(from), b, h).data;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
  return to;
}

struct Sizes {
  Index batch, heads, kv_heads;
};

}  // namespace

TEMPLATE_TEST_CASE("grouped heads equal repeated KV heads", "", float, double) {
  using T = TestType;
  const double tolerance = std::is_same_v<T, double> ? 1e-13 : 1e-5;
  const Sizes sizes =
      GENERATE(Sizes{1, 8, 2}, Sizes{2, 6, 3}, Sizes{1, 4, 1}, Sizes{3, 2, 2}, Sizes{2, 6, 2});
  const Index copies = sizes.heads / sizes.kv_heads;
  CAPTURE(sizes.batch, sizes.heads, sizes.kv_heads);
  Random random(107);
  const Tensors t = random_tensors({sizes.batch, sizes.heads, sizes.kv_heads, 9, 5}, dtype_of<T>(), random);
  const KeyRanges ranges = key_ranges(causal_mask(), 9);
  const T scale = T(0.4);

  RowState state = identity<T>(t.q.extents());
  grouped_forward<T>(t.q, t.kv, ranges, scale, state, kTile);
  const KvBlock all{repeated<T>(t.kv.k, copies), repeated<T>(t.kv.v, copies)};
  Buffer out(t.q.extents(), dtype_of<T>()), lse(per_row(t.q.extents()), dtype_of<T>());
  Buffer delta(lse.extents(), dtype_of<T>());
  Buffer dq = filled<T>(t.q.extents(), 0), dk = filled<T>(all.k.extents(), 0),
         dv = filled<T>(all.v.extents(), 0);
  for (Index b = 0; b < sizes.batch; ++b)
    for (Index h = 0; h < sizes.heads; ++h) {
      dense_forward<T>(head_of<T>(t.q, b, h), head_of<T>(all.k, b, h), head_of<T>(all.v, b, h), ranges, scale,
                       head_of<T>(out, b, h), head_of<T>(lse, b, h).data);
      row_delta<T>(head_of<T>(out, b, h), head_of<T>(t.dout, b, h), head_of<T>(delta, b, h).data);
      dense_backward<T>(head_of<T>(t.q, b, h), head_of<T>(all.k, b, h), head_of<T>(all.v, b, h),
                        head_of<T>(t.dout, b, h), head_of<T>(lse, b, h).data, head_of<T>(delta, b, h).data,
                        ranges, scale, head_of<T>(dq, b, h), head_of<T>(dk, b, h), head_of<T>(dv, b, h));
      finish<T>(
          {head_of<T>(state.out, b, h), head_of<T>(state.max, b, h).data, head_of<T>(state.sum, b, h).data});
    }
  CHECK(difference(state.out, out) <= tolerance);
  CHECK(difference(state.max, lse) <= tolerance);

  // Gradients are added: begin with ones and twos.
  Buffer got_dq = filled<T>(t.q.extents(), 1);
  KvBlock got{filled<T>(t.kv.k.extents(), 1), filled<T>(t.kv.v.extents(), 2)};
  grouped_backward<T>(t.q, t.kv, t.dout, lse, delta, ranges, scale, got_dq, got, kTile);
  for (T& x : got_dq.values<T>()) x -= 1;
  for (T& x : got.k.values<T>()) x -= 1;
  for (T& x : got.v.values<T>()) x -= 2;
  CHECK(difference(got_dq, dq) <= tolerance);
  CHECK(difference(got.k, summed<T>(dk, copies)) <= tolerance);
  CHECK(difference(got.v, summed<T>(dv, copies)) <= tolerance);
}

TEST_CASE("grouped_forward carries the state over blocks of keys") {
  Random random(108);
  const Tensors t = random_tensors({2, 6, 2, 8, 3}, DType::kFloat64, random);
  const Tensors other = random_tensors({2, 6, 2, 8, 3}, DType::kFloat64, random);
  const KeyRanges ranges = key_ranges(full_mask(), 8);
  RowState forth = identity<double>(t.q.extents()), back = identity<double>(t.q.extents());
  grouped_forward<double>(t.q, t.kv, ranges, 0.5, forth, kTile);
  grouped_forward<double>(t.q, other.kv, ranges, 0.5, forth, kTile);
  grouped_forward<double>(t.q, other.kv, ranges, 0.5, back, kTile);
  grouped_forward<double>(t.q, t.kv, ranges, 0.5, back, kTile);
  CHECK(difference(forth.max, back.max) == 0);
  CHECK(difference(forth.sum, back.sum) <= 1e-13);
  CHECK(difference(forth.out, back.out) <= 1e-13);
}
