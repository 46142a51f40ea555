// HostEngine: block by block it must give the results of one device; its counts, skips, allocations and
// refusals.
#include "ringcraft/attention/host_engine.hpp"

#include <cmath>
#include <vector>

#include "ringcraft/attention/single_device.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"
#include "support/tensors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

std::vector<int> random_order(Random& random, int n) {
  std::vector<int> order;
  for (int i = 0; i < n; ++i) order.insert(order.begin() + random.integer(0, i), i);
  return order;
}

// The gradient block filled with NaN: it shows every element that backward does not write.
KvBlock poisoned(BlockEngine& engine, const Extents& e) {
  return {engine.allocate(e, Role::kAccumulator), engine.allocate(e, Role::kAccumulator)};
}

}  // namespace

TEMPLATE_TEST_CASE("blocks in any order give what one device gives", "", float, double) {
  const double tolerance = std::is_same_v<TestType, double> ? 1e-13 : 1e-4;
  Random random(111);
  for (int trial = 0; trial < 60; ++trial) {
    const Problem p = random_problem(random, 5, 30);
    INFO(described(p));
    const Sharding sharding = p.sharding();
    const Tensors whole = random_tensors(p.shape, dtype_of<TestType>(), random);
    const KeyRanges all = key_ranges(p.mask, p.shape.seqlen);
    const Output expected = attention_forward(Algorithm::kDense, whole.q, whole.kv, all, p.softmax_scale);
    const Gradients gradients =
        attention_backward(Algorithm::kDense, whole.q, whole.kv, expected, whole.dout, all, p.softmax_scale);

    const HostOptions fast{.threads = static_cast<int>(random.integer(1, 3))};
    const HostOptions readable{.kernel = Kernel::kReadable,
                               .tile = {random.integer(1, 9), random.integer(1, 9)}};
    HostEngine<TestType> engine(trial % 2 == 0 ? fast : readable);
    Output got{Buffer(expected.out.extents(), dtype_of<TestType>()),
               Buffer(expected.lse.extents(), dtype_of<TestType>())};
    Buffer dq(whole.q.extents(), dtype_of<TestType>());
    std::vector<KvBlock> dkv;
    for (int source = 0; source < p.world_size; ++source) {
      dkv.push_back(poisoned(engine, p.kv_extents(source)));
      engine.set_zero(dkv.back().k);
      engine.set_zero(dkv.back().v);
    }
    Index pairs = 0, blocks = 0;
    for (int rank = 0; rank < p.world_size; ++rank) {
      const Tensors mine = shard_of(whole, p, rank);
      RowState state = engine.begin(mine.q);
      const std::vector<int> order = random_order(random, p.world_size);
      for (const int source : order) {
        const KeyRanges ranges = key_ranges(p, rank, source);
        engine.forward(state, mine.q, shard_of(whole, p, source).kv, ranges, p.softmax_scale);
        pairs += ranges.pairs();
        blocks += ranges.pairs() > 0;
      }
      const Output output = engine.finish(std::move(state));
      gather(got.out, output.out, sharding, rank);
      gather(got.lse, output.lse, sharding, rank);

      const Buffer delta = engine.delta(output.out, mine.dout);
      Buffer my_dq = engine.allocate(mine.q.extents(), Role::kAccumulator);
      engine.set_zero(my_dq);
      for (const int source : order) {
        const KeyRanges ranges = key_ranges(p, rank, source);
        KvBlock part = poisoned(engine, p.kv_extents(source));
        engine.backward(my_dq, part, {mine.q, output.out, output.lse, mine.dout, delta},
                        shard_of(whole, p, source).kv, ranges, p.softmax_scale);
        engine.add(dkv[static_cast<std::size_t>(source)], part);
        pairs += ranges.pairs();
        blocks += ranges.pairs() > 0;
      }
      gather(dq, my_dq, sharding, rank);
    }
    CHECK(difference(got, expected) <= tolerance);
    CHECK(difference(dq, gradients.dq) <= tolerance);
    for (int source = 0; source < p.world_size; ++source) {
      const auto s = static_cast<std::size_t>(source);
      CHECK(difference(dkv[s].k, scatter(gradients.dkv.k, sharding, source)) <= tolerance);
      CHECK(difference(dkv[s].v, scatter(gradients.dkv.v, sharding, source)) <= tolerance);
    }
    CHECK(engine.work().pairs == pairs);
    CHECK(pairs == 2 * all.pairs());
    CHECK(engine.work().blocks == blocks);
  }
}

TEST_CASE("the state begins as the identity") {
  HostEngine<double> engine;
  const RowState state = engine.begin(Buffer({2, 3, 4, 5}, DType::kFloat64));
  CHECK(state.out.extents() == Extents{2, 3, 4, 5});
  CHECK(state.max.extents() == Extents{2, 3, 4, 1});
  CHECK(state.sum.extents() == Extents{2, 3, 4, 1});
  for (const double x : state.out.values<double>()) CHECK(x == 0);
  for (const double x : state.max.values<double>()) CHECK((std::isinf(x) && x < 0));
  for (const double x : state.sum.values<double>()) CHECK(x == 0);
}

TEST_CASE("finish works in place and frees the row sums") {
  const auto meter = std::make_shared<MemoryMeter>();
  const MeterScope scope(meter);
  HostEngine<float> engine;
  const Buffer q({1, 2, 8, 4}, DType::kFloat32);
  RowState state = engine.begin(q);
  const auto *out = state.out.bytes().data(), *max = state.max.bytes().data();
  const Index before = meter->live();
  const Output output = engine.finish(std::move(state));
  CHECK(output.out.bytes().data() == out);
  CHECK(output.lse.bytes().data() == max);
  CHECK(meter->live() == before - 2 * 8 * 4);
  CHECK(meter->peak() == before);
}

TEST_CASE("forward and backward allocate no tensor of their own") {
  // The linear memory of ring attention: tiles and scratch are not tensors.
  Random random(112);
  HostEngine<double> engine(GENERATE(HostOptions{}, HostOptions{.threads = 2},
                                     HostOptions{.kernel = Kernel::kReadable, .tile = {4, 4}}));
  const Problem p = make_problem({.batch = 1, .heads = 4, .kv_heads = 2, .seqlen = 16, .head_dim = 3}, {},
                                 Layout::kContiguous, 1);
  const Tensors t = random_tensors(p.shape, DType::kFloat64, random);
  const KeyRanges ranges = key_ranges(p, 0, 0);
  RowState state = engine.begin(t.q);
  KvBlock part = poisoned(engine, t.kv.k.extents());
  Buffer dq = t.q.clone();
  const Output output{t.q.clone(), Buffer({1, 4, 16, 1}, DType::kFloat64)};
  const Buffer delta = engine.delta(output.out, t.dout);
  const auto meter = std::make_shared<MemoryMeter>();
  const MeterScope scope(meter);
  engine.forward(state, t.q, t.kv, ranges, p.softmax_scale);
  engine.backward(dq, part, {t.q, output.out, output.lse, t.dout, delta}, t.kv, ranges, p.softmax_scale);
  CHECK(meter->peak() == 0);
}

TEST_CASE("a block without a visible pair costs nothing and gives gradients of zero") {
  Random random(113);
  HostEngine<double> engine;
  const Tensors t =
      random_tensors({.heads = 2, .kv_heads = 1, .seqlen = 4, .head_dim = 3}, DType::kFloat64, random);
  const KeyRanges none{{0, 0, 0, 0}, {0, 0, 0, 0}};
  RowState state = engine.begin(t.q);
  engine.forward(state, t.q, t.kv, none, 1.0);
  const Output output = engine.finish(std::move(state));
  for (const double x : output.out.values<double>()) CHECK(x == 0);
  for (const double x : output.lse.values<double>()) CHECK((std::isinf(x) && x < 0));
  KvBlock part = poisoned(engine, t.kv.k.extents());
  Buffer dq = t.q.clone();
  const Buffer delta = engine.delta(output.out, t.dout);
  engine.backward(dq, part, {t.q, output.out, output.lse, t.dout, delta}, t.kv, none, 1.0);
  for (const Buffer* gradient : {&part.k, &part.v})
    for (const double x : gradient->values<double>()) CHECK(x == 0);
  CHECK(identical(dq, t.q));
  CHECK(engine.work().pairs == 0);
  CHECK(engine.work().blocks == 0);
}

TEST_CASE("types of the host engines") {
  CHECK(make_host_engine(DType::kFloat32)->dtype(Role::kElement) == DType::kFloat32);
  CHECK(make_host_engine(DType::kFloat64)->dtype(Role::kAccumulator) == DType::kFloat64);
  CHECK(make_host_engine(DType::kFloat64)->space() == Space::kHost);
  CHECK(make_host_engine(DType::kFloat64)->allocate({1, 1, 2, 1}, Role::kElement).dtype() == DType::kFloat64);
  check_refused([] { return make_host_engine(DType::kBFloat16)->space(); },
                "engine: expected float32 or float64, got bfloat16");
}

TEMPLATE_TEST_CASE("any number of threads gives the same bits, run after run, and they are right", "", float,
                   double) {
  Random random(114);
  const Shape shapes[] = {{.batch = 2, .heads = 6, .kv_heads = 3, .seqlen = 301, .head_dim = 7},
                          {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen = 1300, .head_dim = 4},
                          {.batch = 1, .heads = 20, .kv_heads = 20, .seqlen = 37, .head_dim = 16}};
  for (const Shape& shape : shapes)
    for (const Mask& mask : {full_mask(), causal_mask(), window_mask(50)}) {
      const Problem p = make_problem(shape, mask, Layout::kContiguous, 1);
      INFO(described(p));
      const Tensors t = random_tensors(p.shape, dtype_of<TestType>(), random);
      const KeyRanges ranges = key_ranges(p, 0, 0);
      struct Results {
        Output output;
        Buffer dq;
        KvBlock dkv;
      };
      const auto run = [&](int threads) {
        HostEngine<TestType> engine(HostOptions{.threads = threads});
        RowState state = engine.begin(t.q);
        engine.forward(state, t.q, t.kv, ranges, p.softmax_scale);
        Results r{engine.finish(std::move(state)), engine.allocate(t.q.extents(), Role::kAccumulator),
                  poisoned(engine, t.kv.k.extents())};
        engine.set_zero(r.dq);
        const Buffer delta = engine.delta(r.output.out, t.dout);
        engine.backward(r.dq, r.dkv, {t.q, r.output.out, r.output.lse, t.dout, delta}, t.kv, ranges,
                        p.softmax_scale);
        return r;
      };
      const Results expected = run(1);
      const Output dense = attention_forward(Algorithm::kDense, t.q, t.kv, ranges, p.softmax_scale);
      const Gradients gradients =
          attention_backward(Algorithm::kDense, t.q, t.kv, dense, t.dout, ranges, p.softmax_scale);
      const double tolerance = std::is_same_v<TestType, double> ? 1e-12 : 1e-4;
      CHECK(difference(expected.output, dense) <= tolerance);
      CHECK(difference(expected.dq, gradients.dq) <= tolerance);
      CHECK(difference(expected.dkv.k, gradients.dkv.k) <= tolerance);
      CHECK(difference(expected.dkv.v, gradients.dkv.v) <= tolerance);
      for (const int threads : {1, 2, 3, 5, 16}) {
        CAPTURE(threads);
        const Results got = run(threads);
        CHECK(identical(got.output.out, expected.output.out));
        CHECK(identical(got.output.lse, expected.output.lse));
        CHECK(identical(got.dq, expected.dq));
        CHECK(identical(got.dkv.k, expected.dkv.k));
        CHECK(identical(got.dkv.v, expected.dkv.v));
      }
    }
}

TEST_CASE("an engine that is told to stop ends with an Error, forward and backward, and can go on") {
  Random random(115);
  const Problem p = make_problem({1, 4, 2, 300, 8}, causal_mask(), Layout::kContiguous, 1);
  const Tensors t = random_tensors(p.shape, DType::kFloat32, random);
  const KeyRanges ranges = key_ranges(p, 0, 0);
  const int threads = GENERATE(1, 3);
  std::atomic<bool> stop = false;
  HostEngine<float> engine(HostOptions{.threads = threads, .stop = &stop});
  const auto forward = [&] {
    RowState state = engine.begin(t.q);
    engine.forward(state, t.q, t.kv, ranges, p.softmax_scale);
    return engine.finish(std::move(state));
  };
  const Output output = forward();
  const Buffer delta = engine.delta(output.out, t.dout);
  Buffer dq = engine.allocate(t.q.extents(), Role::kAccumulator);
  KvBlock part = poisoned(engine, t.kv.k.extents());
  engine.set_zero(dq);
  stop = true;
  check_refused(forward, "attention was stopped by its caller", Code::kWrongAnswer);
  check_refused(
      [&] {
        engine.backward(dq, part, {t.q, output.out, output.lse, t.dout, delta}, t.kv, ranges,
                        p.softmax_scale);
      },
      "attention was stopped by its caller", Code::kWrongAnswer);
  stop = false;
  CHECK(identical(forward().out, output.out));
}

TEST_CASE("impossible numbers of threads are refused") {
  for (const int threads : {0, -2})
    check_refused([&] { HostEngine<float> engine(HostOptions{.threads = threads}); },
                  "threads: expected at least 1, got " + std::to_string(threads));
  check_refused([] { HostEngine<float> engine(HostOptions{.threads = 4097}); },
                "threads: expected at most 4096, got 4097");
  check_refused([] { make_host_engine(DType::kFloat64, {.kernel = Kernel::kReadable, .threads = 2}); },
                "threads: expected 1 with the readable kernels, got 2");
}

TEST_CASE("a tile without rows or keys is refused") {
  for (const TileSize tile : {TileSize{0, 4}, TileSize{4, 0}, TileSize{-1, 4}})
    check_refused([&] { HostEngine<float> engine(tile); },
                  "tile size: expected at least 1 row and 1 key, got");
}
