// The layer over a mesh against one device: every number of every rank, forward and backward, for both
// borders; the bytes that it sends; and its refusals.
#include "ringcraft/model/mesh_attention.hpp"

#include <algorithm>

#include "model/one_device_layer.hpp"
#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

constexpr Index kHidden = 10;
constexpr TensorBorder kBorders[] = {TensorBorder::kAllReduce, TensorBorder::kSequenceParallel};

Numbers random_numbers(Random& random, Index count) {
  Numbers numbers;
  for (Index i = 0; i < count; ++i) numbers.push_back(random.normal());
  return numbers;
}

// Inputs of the whole mesh, and of one device.
struct Layer {
  Layer(Random& random, const Mesh& grid, const MeshSizes& ranks, const Shape& shape, Mask mask,
        Layout layout)
      : mesh(grid),
        sizes(ranks),
        problem(make_problem(shape, std::move(mask), layout, ranks.context)),
        weights{random_numbers(random, kHidden), weight(random, shape.heads), weight(random, shape.kv_heads),
                weight(random, shape.kv_heads), weight(random, shape.heads)} {
    for (int sequence = 0; sequence < sizes.data; ++sequence) {
      x.push_back(random_numbers(random, shape.seqlen * kHidden));
      dz.push_back(random_numbers(random, shape.seqlen * kHidden));
    }
  }

  Numbers weight(Random& random, Index heads) const {
    return random_numbers(random, heads * problem.shape.head_dim * kHidden);
  }

  Mesh mesh;
  MeshSizes sizes;
  Problem problem;
  AttentionWeights weights;
  std::vector<Numbers> x, dz;  // by sequence
};

struct RankResult {
  std::vector<Position> positions;
  Numbers z;
  LayerGradients gradients;
  Index forward_bytes = 0, backward_bytes = 0;
};

int coordinate(const Mesh& mesh, int rank, Axis axis) {
  const std::vector<int> at = coordinates(mesh, rank);
  for (std::size_t i = 0; i < at.size(); ++i)
    if (mesh.axes[i].axis == axis) return at[i];
  return 0;
}

Numbers rows_of(const Numbers& all, const std::vector<Position>& positions) {
  Numbers rows;
  for (const Position p : positions)
    rows.insert(rows.end(), all.begin() + p * kHidden, all.begin() + (p + 1) * kHidden);
  return rows;
}

std::vector<RankResult> run_layer(const Layer& layer, TensorBorder border) {
  std::vector<RankResult> results(static_cast<std::size_t>(layer.mesh.world_size()));
  run_ranks(layer.mesh.world_size(), [&](ThreadCommunicator& comm) {
    RankResult& result = results[static_cast<std::size_t>(comm.rank())];
    const int sequence = coordinate(layer.mesh, comm.rank(), Axis::kData);
    const AttentionWeights share =
        share_of_heads(layer.weights, layer.sizes.tensor, coordinate(layer.mesh, comm.rank(), Axis::kTensor));
    HostEngine<double> engine;
    MeshAttention attention(comm, engine, layer.mesh, layer.problem, share, border);
    result.positions = attention.positions();
    result.z = attention.forward(rows_of(layer.x[sequence], result.positions), sequence);
    result.forward_bytes = comm.traffic().bytes_sent;
    result.gradients = attention.backward(rows_of(layer.dz[sequence], result.positions));
    result.backward_bytes = comm.traffic().bytes_sent - result.forward_bytes;
    attention.sum_over_ranks(result.gradients.weights);
  });
  return results;
}

// The largest error in units of its scale; a length that differs is an infinite one.
double error_of(const Numbers& got, const Numbers& want, const Numbers& scale) {
  if (got.size() != want.size()) return 1.0 / 0.0;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - want[i]) / (scale[i] + 1e-300);
    worst = error <= worst ? worst : error;  // NaN stays
    if (error != error) return error;
  }
  return worst;
}

void check_layer(const Layer& layer, TensorBorder border) {
  const std::vector<RankResult> results = run_layer(layer, border);
  OneDeviceLayer one(layer.problem, layer.weights);
  for (int sequence = 0; sequence < layer.sizes.data; ++sequence) {
    one.run(layer.x[sequence], layer.dz[sequence], sequence);
    for (int rank = 0; rank < layer.mesh.world_size(); ++rank) {
      if (coordinate(layer.mesh, rank, Axis::kData) != sequence) continue;
      CAPTURE(rank);
      const RankResult& got = results[static_cast<std::size_t>(rank)];
      const auto mine = [&](const Numbers& all) { return rows_of(all, got.positions); };
      CHECK(error_of(got.z, mine(one.z.value), mine(one.z.scale)) <= 1e-12);
      CHECK(error_of(got.gradients.x, mine(one.dx.value), mine(one.dx.scale)) <= 1e-12);
    }
  }
  for (int rank = 0; rank < layer.mesh.world_size(); ++rank) {
    CAPTURE(rank);
    const int member = coordinate(layer.mesh, rank, Axis::kTensor);
    const auto share = [&](const auto& field) {
      const AttentionWeights all{field(one.norm), field(one.q), field(one.k), field(one.v), field(one.out)};
      return share_of_heads(all, layer.sizes.tensor, member);
    };
    const AttentionWeights want = share([](const Scaled& s) { return s.value; });
    const AttentionWeights scale = share([](const Scaled& s) { return s.scale; });
    const AttentionWeights& got = results[static_cast<std::size_t>(rank)].gradients.weights;
    CHECK(error_of(got.norm, want.norm, scale.norm) <= 1e-12);
    CHECK(error_of(got.q, want.q, scale.q) <= 1e-12);
    CHECK(error_of(got.k, want.k, scale.k) <= 1e-12);
    CHECK(error_of(got.v, want.v, scale.v) <= 1e-12);
    CHECK(error_of(got.out, want.out, scale.out) <= 1e-12);
  }
}

}  // namespace

TEST_CASE("a layer over TP x CP x DP is that of one device, for both borders, every number of every rank") {
  Random random(505);
  const MeshSizes meshes[] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 3, 1, 1}, {1, 1, 2, 1},
                              {2, 2, 1, 1}, {2, 3, 1, 1}, {2, 2, 2, 1}, {4, 2, 1, 1}};
  for (const MeshSizes& sizes : meshes)
    for (const char* order : {"tp-cp-dp-pp", "dp-cp-tp"})
      for (const Layout layout : {Layout::kContiguous, Layout::kZigzag}) {
        const Shape shape{
            .heads = 8, .kv_heads = 4, .seqlen = 4 * sizes.tensor * sizes.context, .head_dim = 3};
        const Layer layer(random, make_mesh(sizes.tensor * sizes.context * sizes.data, sizes, order), sizes,
                          shape, causal_mask(), layout);
        for (const TensorBorder border : kBorders) {
          CAPTURE(sizes.tensor, sizes.context, sizes.data, order, static_cast<int>(border));
          check_layer(layer, border);
        }
      }
}

TEST_CASE("a layer over ragged shards and a window is that of one device") {
  Random random(506);
  const MeshSizes sizes{.tensor = 2, .context = 3};
  const Layer layer(random, make_mesh(6, sizes), sizes,
                    {.heads = 4, .kv_heads = 2, .seqlen = 17, .head_dim = 3}, window_mask(6),
                    Layout::kStriped);
  check_layer(layer, TensorBorder::kAllReduce);
}

// 8 tokens on each of 2 context ranks, 10 hidden numbers, 2 tensor ranks: an all-reduce sends 80 numbers. A
// KV block of 2 heads has 2 x 2 x 8 x 3 of them: forward it moves once; backward it moves once, its gradients
// move with it, and then home.
TEST_CASE("sequence parallelism sends the bytes of the all-reduce, forward and backward") {
  Random random(507);
  const MeshSizes sizes{.tensor = 2, .context = 2};
  const Layer layer(random, make_mesh(4, sizes), sizes,
                    {.heads = 4, .kv_heads = 4, .seqlen = 16, .head_dim = 3}, full_mask(),
                    Layout::kContiguous);
  for (const TensorBorder border : kBorders)
    for (const RankResult& result : run_layer(layer, border)) {
      CHECK(result.forward_bytes == 8 * (80 + 2 * 2 * 8 * 3));
      CHECK(result.backward_bytes == 8 * (80 + 3 * 2 * 2 * 8 * 3));
      CHECK(result.positions.size() == (border == TensorBorder::kAllReduce ? 8u : 4u));
    }
}

TEST_CASE("a layer that the mesh cannot share is refused on every rank") {
  const auto refused = [](const Shape& shape, int context, TensorBorder border, const std::string& words) {
    const MeshSizes sizes{.tensor = 2, .context = 2};
    const AttentionWeights weights{{1}, {}, {}, {}, {}};
    const Problem problem = make_problem(shape, full_mask(), Layout::kContiguous, context);
    run_ranks(4, [&](ThreadCommunicator& comm) {
      HostEngine<double> engine;
      const Outcome outcome = outcome_of(
          [&] { const MeshAttention layer(comm, engine, make_mesh(4, sizes), problem, weights, border); });
      if (!contains(outcome.sentence, words)) throw Error(outcome.sentence + " does not have " + words);
    });
  };
  const Shape good{.heads = 4, .kv_heads = 2, .seqlen = 8, .head_dim = 2};
  Shape two = good, odd = good, few = good, ragged = good;
  two.batch = 2, odd.heads = odd.kv_heads = 3, few.kv_heads = 1, ragged.seqlen = 10;
  constexpr TensorBorder kSums = TensorBorder::kAllReduce, kRuns = TensorBorder::kSequenceParallel;
  CHECK_NOTHROW(refused(two, 2, kSums, "expected one sequence, got 2"));
  CHECK_NOTHROW(refused(odd, 2, kSums, "heads and KV heads that 2 ranks can share, got 3 and 3"));
  CHECK_NOTHROW(refused(few, 2, kSums, "got 4 and 1"));
  CHECK_NOTHROW(refused(good, 4, kSums, "a problem of 2 ranks, the context axis, got 4"));
  CHECK_NOTHROW(refused(ragged, 2, kRuns, "shards of a multiple of 2 tokens, got 5"));
  ragged.seqlen = 11;  // 6 and 5
  CHECK_NOTHROW(refused(ragged, 2, kRuns, "shards of a multiple of 2 tokens, got 5"));
}

TEST_CASE(
    "dropout depends on the place of a number alone: sequence, token and column, one in four is dropped") {
  int dropped = 0, by_sequence = 0, by_token = 0, by_column = 0;
  constexpr int kEach = 20, kAll = kEach * kEach * kEach;
  for (int sequence = 0; sequence < kEach; ++sequence)
    for (Position token = 0; token < kEach; ++token)
      for (Index column = 0; column < kEach; ++column) {
        const double factor = dropout_factor(sequence, token, column);
        CHECK((factor == 0.0 || factor == 4.0 / 3.0));
        dropped += factor == 0.0;
        by_sequence += factor != dropout_factor(sequence + 1, token, column);
        by_token += factor != dropout_factor(sequence, token + 1, column);
        by_column += factor != dropout_factor(sequence, token, column + 1);
      }
  CHECK(std::abs(dropped - kAll / 4) < kAll / 40);
  for (const int changed :
       {by_sequence, by_token, by_column})  // two draws differ in 2 x 1/4 x 3/4 of all places
    CHECK(std::abs(changed - kAll * 3 / 8) < kAll / 40);
}

TEST_CASE("a layer is refused tensors of other lengths, and calls out of order") {
  Random random(508);
  const MeshSizes sizes{.tensor = 2, .context = 2};
  const Layer layer(random, make_mesh(4, sizes), sizes,
                    {.heads = 4, .kv_heads = 2, .seqlen = 8, .head_dim = 2}, full_mask(),
                    Layout::kContiguous);
  const auto refused = [](const auto& action, const std::string& words) {
    const Outcome outcome = outcome_of(action);
    if (!contains(outcome.sentence, words) || outcome.code != Code::kWrongCall)
      throw Error(outcome.sentence + " does not have " + words);
  };
  run_ranks(4, [&](ThreadCommunicator& comm) {
    HostEngine<double> engine;
    HostEngine<float> narrow;
    const AttentionWeights share =
        share_of_heads(layer.weights, 2, coordinate(layer.mesh, comm.rank(), Axis::kTensor));
    const auto make = [&](BlockEngine& with, const Mesh& mesh, const AttentionWeights& weights) {
      MeshAttention(comm, with, mesh, layer.problem, weights, TensorBorder::kAllReduce);
    };
    refused([&] { make(narrow, layer.mesh, share); },
            "an engine on the host that computes in float64, got float32");
    refused([&] { make(engine, make_mesh(2, {.tensor = 2}), share); },
            "expected a mesh of 4 ranks, the world's, got 2");
    refused([&] { make(engine, layer.mesh, layer.weights); }, "weights q: expected 40 numbers, got 80");
    refused([&] { make(engine, layer.mesh, {}); }, "weights norm: expected 1 or more numbers");
    for (Numbers AttentionWeights::*one :
         {&AttentionWeights::k, &AttentionWeights::v, &AttentionWeights::out}) {
      AttentionWeights short_one = share;
      (short_one.*one).pop_back();
      refused([&] { make(engine, layer.mesh, short_one); }, " numbers, got ");
    }
    MeshAttention attention(comm, engine, layer.mesh, layer.problem, share, TensorBorder::kAllReduce);
    const Numbers rows(4 * kHidden);
    refused([&] { attention.backward(rows); }, "expected a forward pass before it");
    refused([&] { attention.forward(Numbers(3), 0); }, "x: expected 40 numbers, got 3");
    refused([&] { attention.forward(rows, -1); }, "sequence: expected 0 or more, got -1");
    attention.forward(rows, 0);
    refused([&] { attention.backward(Numbers()); }, "dz: expected 40 numbers, got 0");
    LayerGradients gradients = attention.backward(rows);
    gradients.weights.v.clear();
    refused([&] { attention.sum_over_ranks(gradients.weights); }, "gradients v: expected 20 numbers, got 0");
  });
}
