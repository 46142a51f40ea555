// Lesson 505: a mesh of 16 ranks and sums over its groups; a layer of 16 tokens and 4 heads over a mesh.
#include <cmath>
#include <cstdio>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/model/mesh_attention.hpp"

using namespace ringcraft;
constexpr Axis kTp = Axis::kTensor, kCp = Axis::kContext, kDp = Axis::kData, kPp = Axis::kPipeline;

double summed(Communicator& world, const Mesh& mesh, const std::vector<Axis>& axes, double number) {
  Group group(world, group_of(mesh, world.rank(), axes));
  all_reduce<double>(group, std::span(&number, 1));
  return number;
}

void print_layer(int tensor, int context, bool split) {
  const Mesh mesh = make_mesh(tensor * context, {.tensor = tensor, .context = context});
  const Problem problem = make_problem({1, 4, 4, 16, 3}, causal_mask(), Layout::kZigzag, context);
  std::vector<double> w;
  for (int i = 0; i < 120; ++i) w.push_back(std::sin(i));
  run_ranks(tensor * context, [&](ThreadCommunicator& comm) {
    const int member = coordinates(mesh, comm.rank())[0];
    const AttentionWeights share = share_of_heads({std::vector<double>(10, 1), w, w, w, w}, tensor, member);
    HostEngine<double> engine;
    MeshAttention layer(comm, engine, mesh, problem, share, static_cast<TensorBorder>(split));
    std::vector<double> x;
    for (const Position p : layer.positions())
      for (int c = 0; c < 10; ++c) x.push_back(std::cos(static_cast<double>(10 * p + c)));
    double squares = 0;
    for (const double z : layer.forward(x, 0)) squares += z * z;
    const int rows = static_cast<int>(x.size() / 10), bytes = static_cast<int>(comm.traffic().bytes_sent);
    squares = summed(comm, mesh, split ? std::vector{kTp, kCp} : std::vector{kCp}, squares);
    if (comm.rank() == 0)
      std::printf("%d %d %d %2d %4d %.9f\n", tensor, context, split, rows, bytes, squares);
  });
}

int main() {
  const Mesh mesh = make_mesh(16, {.tensor = 2, .context = 2, .data = 2, .pipeline = 2});
  std::printf("rank: tp cp dp pp\n");
  for (int rank = 0; rank < 16; ++rank) {
    const std::vector<int> at = coordinates(mesh, rank);
    std::printf("%2d %d %d %d %d\n", rank, at[0], at[1], at[2], at[3]);
  }
  std::printf("\nrank 13: tokens in a sum over tp, cp, dp, pp, cp and dp; members\n");
  for (const auto& axes : std::vector<std::vector<Axis>>{{kTp}, {kCp}, {kDp}, {kPp}, {kCp, kDp}}) {
    std::vector<double> tokens(16);
    run_ranks(16, [&](ThreadCommunicator& comm) { tokens[comm.rank()] = summed(comm, mesh, axes, 4); });
    std::printf("%2.0f", tokens[13]);
    for (const int member : group_of(mesh, 13, axes)) std::printf(" %d", member);
    std::printf("\n");
  }
  std::printf("\ntensor, context, sequence parallelism: tokens and bytes of rank 0; squares of z\n");
  print_layer(1, 1, false);
  for (const int context : {1, 2})
    for (const bool split : {false, true}) print_layer(2, context, split);
}
