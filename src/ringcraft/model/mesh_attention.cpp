// The layer's forward pass, and its exchanges with the tensor group.
#include "ringcraft/model/mesh_attention.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/model/mesh_rows.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {
namespace {

int size_of(const Mesh& mesh, Axis axis) {
  for (const MeshAxis& each : mesh.axes)
    if (each.axis == axis) return each.size;
  return 1;
}

void refuse_place(const Communicator& world, const BlockEngine& engine, const Mesh& mesh) {
  if (mesh.world_size() != world.world_size())
    throw Error("layer over a mesh",
                "a mesh of " + std::to_string(world.world_size()) + " ranks, the world's",
                std::to_string(mesh.world_size()), "make it with the communicator's world_size");
  if (engine.space() != Space::kHost || engine.dtype(Role::kElement) != DType::kFloat64)
    throw Error("layer over a mesh", "an engine on the host that computes in float64",
                std::string(name_of(engine.dtype(Role::kElement))) +
                    (engine.space() == Space::kHost ? " on the host" : " on the device"),
                "use HostEngine<double>");
}

void refuse_length(const std::string& name, const std::vector<double>& numbers, Index expected,
                   const char* advice) {
  if (std::ssize(numbers) != expected)
    throw Error(name, std::to_string(expected) + " numbers", std::to_string(numbers.size()), advice);
}

void refuse_layer(const Problem& problem, const Mesh& mesh, TensorBorder border) {
  validate(problem);
  const int tensor = size_of(mesh, Axis::kTensor), context = size_of(mesh, Axis::kContext);
  const Shape& shape = problem.shape;
  if (shape.batch != 1)
    throw Error("layer over a mesh", "one sequence", std::to_string(shape.batch),
                "give each data-parallel rank its own");
  if (problem.world_size != context)
    throw Error("layer over a mesh", "a problem of " + std::to_string(context) + " ranks, the context axis",
                std::to_string(problem.world_size), "the other axes do not split tokens");
  if (shape.heads % tensor != 0 || shape.kv_heads % tensor != 0)
    throw Error("layer over a mesh", "heads and KV heads that " + std::to_string(tensor) + " ranks can share",
                std::to_string(shape.heads) + " and " + std::to_string(shape.kv_heads),
                "use a tensor axis that divides both");
  for (int rank = 0; border == TensorBorder::kSequenceParallel && rank < context; ++rank)
    if (const Index rows = problem.sharding().rows(rank); rows % tensor != 0)
      throw Error("sequence parallelism", "shards of a multiple of " + std::to_string(tensor) + " tokens",
                  std::to_string(rows), "pad the sequence to a multiple of the tensor and context ranks");
}

// A number in which every bit of the argument changes half of the bits (the finalizer of splitmix64).
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

Problem problem_of_heads(Problem problem, const Mesh& mesh, TensorBorder border) {
  refuse_layer(problem, mesh, border);
  problem.shape.heads /= size_of(mesh, Axis::kTensor);
  problem.shape.kv_heads /= size_of(mesh, Axis::kTensor);
  return problem;
}

// The rank's tokens outside of attention: those of its context rank, or a run of them.
std::vector<Position> held_positions(const Problem& problem, const Group& tensor, const Group& context,
                                     TensorBorder border) {
  std::vector<Position> all = problem.sharding().positions(context.rank());
  if (border == TensorBorder::kAllReduce) return all;
  const auto rows = static_cast<std::ptrdiff_t>(all.size()) / tensor.world_size();
  return {all.begin() + tensor.rank() * rows, all.begin() + (tensor.rank() + 1) * rows};
}

}  // namespace

AttentionWeights share_of_heads(const AttentionWeights& whole, int ranks, int member) {
  const auto run = [&](const std::vector<double>& rows) {
    const auto length = static_cast<std::ptrdiff_t>(rows.size()) / ranks;
    return std::vector<double>(rows.begin() + member * length, rows.begin() + (member + 1) * length);
  };
  return {whole.norm, run(whole.q), run(whole.k), run(whole.v), run(whole.out)};
}

double dropout_factor(int sequence, Position position, Index column) {
  const std::uint64_t place = (static_cast<std::uint64_t>(sequence) << 48) ^
                              (static_cast<std::uint64_t>(position) << 16) ^
                              static_cast<std::uint64_t>(column);
  return mixed(place + 0x9e3779b97f4a7c15) % 4 == 0 ? 0.0 : 4.0 / 3.0;
}

MeshAttention::MeshAttention(Communicator& world, BlockEngine& engine, const Mesh& mesh,
                             const Problem& problem, const AttentionWeights& share, TensorBorder border)
    : world_(world),
      engine_(engine),
      mesh_((refuse_place(world, engine, mesh), mesh)),
      tensor_(world, group_of(mesh, world.rank(), {Axis::kTensor})),
      context_(world, group_of(mesh, world.rank(), {Axis::kContext})),
      problem_(problem_of_heads(problem, mesh, border)),
      share_(share),
      border_(border),
      positions_(held_positions(problem_, tensor_, context_, border)),
      hidden_(static_cast<Index>(share.norm.size())),
      shard_rows_(problem_.sharding().rows(context_.rank())) {
  refuse_weights("weights", share);
}

void MeshAttention::refuse_weights(const char* of, const AttentionWeights& weights) const {
  constexpr const char* kAdvice = "share_of_heads gives each tensor rank its own";
  const std::string name = of;
  if (hidden_ < 1) throw Error(name + " norm", "1 or more numbers", "none", kAdvice);
  const Shape& shape = problem_.shape;  // with the heads of this rank
  const Index query = shape.heads * shape.head_dim * hidden_, kv = shape.kv_heads * shape.head_dim * hidden_;
  refuse_length(name + " norm", weights.norm, hidden_, kAdvice);
  refuse_length(name + " q", weights.q, query, kAdvice);
  refuse_length(name + " k", weights.k, kv, kAdvice);
  refuse_length(name + " v", weights.v, kv, kAdvice);
  refuse_length(name + " out", weights.out, query, kAdvice);
}

void MeshAttention::refuse_rows(const char* name, const std::vector<double>& rows) const {
  refuse_length(name, rows, std::ssize(positions_) * hidden_, "give the rows of positions()");
}

std::vector<double> MeshAttention::forward(const std::vector<double>& x, int sequence) {
  refuse_rows("x", x);
  if (sequence < 0)
    throw Error("sequence", "0 or more", std::to_string(sequence), "give its number in the batch");
  x_ = x;
  sequence_ = sequence;
  normed_ = gathered(normalized());
  const Shape& shape = problem_.shape;
  q_ = projected(share_.q, shape.heads, normed_);
  kv_ = {projected(share_.k, shape.kv_heads, normed_), projected(share_.v, shape.kv_heads, normed_)};
  output_ = ring_forward(context_, engine_, problem_, q_, kv_).output;

  std::vector<double> partial(normed_.size());  // what this rank's heads add
  for (Index head = 0; head < shape.heads; ++head)
    multiply_add<double>(head_of<double>(std::as_const(output_.out), 0, head),
                         rows_of_head(share_.out, head, shape.head_dim, hidden_), 1.0,
                         as_rows(partial, hidden_));
  std::vector<double> z = dropped(summed(std::move(partial)));
  std::ranges::transform(z, x_, z.begin(), std::plus<>());
  return z;
}

// [1, heads, rows, head_dim]: each head is rows times its weights, transposed.
Buffer MeshAttention::projected(const std::vector<double>& weights, Index heads,
                                const std::vector<double>& rows) {
  const Index width = problem_.shape.head_dim;
  Buffer to = engine_.allocate({1, heads, shard_rows_, width}, Role::kElement);
  for (Index head = 0; head < heads; ++head)
    multiply_transposed<double>(as_rows(rows, hidden_), rows_of_head(weights, head, width, hidden_), 1.0,
                                head_of<double>(to, 0, head));
  return to;
}

// ---- the border with the tensor group

std::vector<double> MeshAttention::gathered(std::vector<double> rows) {
  if (border_ == TensorBorder::kAllReduce) return rows;  // every member has all of them
  std::vector<double> all(rows.size() * static_cast<std::size_t>(tensor_.world_size()));
  all_gather(tensor_, std::as_bytes(std::span(rows)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::vector<double> MeshAttention::summed(std::vector<double> partial) {
  if (border_ == TensorBorder::kAllReduce) {
    all_reduce<double>(tensor_, partial);
    return partial;
  }
  std::vector<double> own(partial.size() / static_cast<std::size_t>(tensor_.world_size()));
  reduce_scatter<double>(tensor_, partial, own);
  return own;
}

// ---- token by token

std::vector<double> MeshAttention::dropped(std::vector<double> rows) const {
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] *= dropout_factor(sequence_, positions_[i / static_cast<std::size_t>(hidden_)],
                              static_cast<Index>(i) % hidden_);
  return rows;
}

std::vector<double> MeshAttention::normalized() const {
  std::vector<double> normed = x_;
  for (Index row = 0; row < static_cast<Index>(positions_.size()); ++row) {
    const auto numbers = as_rows(normed, hidden_).row(row);
    const double factor = rms_factor(numbers);
    for (Index c = 0; c < hidden_; ++c) numbers[c] *= factor * share_.norm[c];
  }
  return normed;
}

}  // namespace ringcraft
