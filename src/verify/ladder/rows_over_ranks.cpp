// Computes attention with rows of scores split over N ranks: each owner broadcasts some rows of q, every rank
// scores them against its own keys, a distributed softmax yields the weights, and the owner adds up the
// ranks' shares of out.
#include "verify/ladder/rows_over_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ringcraft/attention/heads.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/scratch.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"

namespace ringcraft::verify {
namespace {

// Data of the rank that owns some rows: the rows of q, and the destinations of out and lse.
template <class T>
struct Owned {
  Matrix<const T> q;
  Matrix<T> out;
  std::span<T> lse;
};

// Some query rows of one head, on all ranks at once.
template <class T>
class Turn {
 public:
  Turn(Communicator& comm, const Problem& problem, Index keys)
      : comm_(comm),
        head_dim_(problem.shape.head_dim),
        softmax_scale_(static_cast<T>(problem.softmax_scale)),
        queries_(elements(head_dim_)),
        scores_(elements(keys)),
        shares_(elements(head_dim_) * static_cast<std::size_t>(comm.world_size())) {}

  // k and v are this rank's, and `ranges` is the part of them that the owner's rows see. `own` is empty on
  // the other ranks.
  void attend(int owner, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges, const Owned<T>& own) {
    const auto rows = static_cast<Index>(ranges.begin.size());
    const Matrix<T> q{std::span(queries_).first(static_cast<std::size_t>(rows * head_dim_)), rows, head_dim_};
    if (comm_.rank() == owner) std::ranges::copy(own.q.data, q.data.begin());
    send_round(owner, q.data);

    // Neither end of the visible range ever moves left: these keys include those of every row.
    const Index first = ranges.begin.front(), keys = ranges.end.back() - first;
    const Matrix<T> scores{std::span(scores_).first(static_cast<std::size_t>(rows * keys)), rows, keys};
    if (keys > 0) multiply_transposed<T>(q, k.slice(first, keys), softmax_scale_, scores);
    for (Index i = 0; i < rows; ++i) hide(scores.row(i), ranges, i, first);
    const auto states = distributed_softmax<T>(comm_, scores, scores);

    const Matrix<T> share{of_rank(comm_.rank(), q.data.size()), rows, head_dim_};
    std::ranges::fill(share.data, T(0));
    if (keys > 0) multiply_add<T>(scores, v.slice(first, keys), T(1), share);
    send_home(owner, share.data);
    if (comm_.rank() != owner) return;
    add_shares(own.out.data);
    for (std::size_t i = 0; i < states.size(); ++i)
      own.lse[i] = states[i].sum == T(0) ? states[i].max : states[i].max + std::log(states[i].sum);
  }

 private:
  static std::size_t elements(Index width) { return static_cast<std::size_t>(kRowsAtOnce * width); }
  std::span<T> of_rank(int rank, std::size_t size) {
    return std::span(shares_).subspan(static_cast<std::size_t>(rank) * size, size);
  }

  // Broadcasts the owner's numbers to every rank.
  void send_round(int owner, std::span<T> numbers) {
    std::vector<Op> ops;
    for (int peer = 0; peer < comm_.world_size(); ++peer)
      if (comm_.rank() == owner && peer != owner) ops.push_back(send_to(peer, std::as_bytes(numbers)));
    if (comm_.rank() != owner) ops.push_back(recv_from(owner, std::as_writable_bytes(numbers)));
    comm_.start(ops).wait();
  }

  // Gathers the shares of all ranks on the owner.
  void send_home(int owner, std::span<T> own) {
    std::vector<Op> ops;
    for (int peer = 0; peer < comm_.world_size(); ++peer)
      if (comm_.rank() == owner && peer != owner)
        ops.push_back(recv_from(peer, std::as_writable_bytes(of_rank(peer, own.size()))));
    if (comm_.rank() != owner) ops.push_back(send_to(owner, std::as_bytes(own)));
    comm_.start(ops).wait();
  }

  // Sets the score of every key that row i does not see to -inf.
  static void hide(std::span<T> scores, const KeyRanges& ranges, Index i, Index first) {
    const auto row = static_cast<std::size_t>(i);
    const auto from = scores.begin() + (ranges.begin[row] - first),
               to = scores.begin() + (ranges.end[row] - first);
    std::fill(scores.begin(), from, -std::numeric_limits<T>::infinity());
    std::fill(to, scores.end(), -std::numeric_limits<T>::infinity());
  }

  // Adds the shares in the order of the ranks.
  void add_shares(std::span<T> out) {
    std::ranges::fill(out, T(0));
    for (int rank = 0; rank < comm_.world_size(); ++rank) {
      const std::span<const T> share = of_rank(rank, out.size());
      for (std::size_t at = 0; at < out.size(); ++at) out[at] += share[at];
    }
  }

  Communicator& comm_;
  Index head_dim_;
  T softmax_scale_;
  Scratch<T> queries_, scores_, shares_;
};

template <class T>
Output attend(RankPlace& place, const Problem& problem, const Buffer& q, const KvBlock& kv) {
  Communicator& comm = place.comm();
  Turn<T> turn(comm, problem, kv.k.extents().rows);
  Output output{place.engine().allocate(q.extents(), Role::kAccumulator),
                place.engine().allocate(problem.row_extents(comm.rank()), Role::kAccumulator)};
  for (int owner = 0; owner < comm.world_size(); ++owner) {
    const KeyRanges ranges = key_ranges(problem, owner, comm.rank());
    place.engine().count(ranges);
    const bool own = owner == comm.rank();
    const Extents rows = problem.q_extents(owner);
    for_each_head(rows, problem.shape.kv_heads, [&](Index b, Index h, Index g) {
      const auto k = head_of<T>(kv.k, b, g), v = head_of<T>(kv.v, b, g);
      for (Index row = 0; row < rows.rows; row += kRowsAtOnce) {
        const Index count = std::min(kRowsAtOnce, rows.rows - row);
        const auto slice = [&](auto head) { return own ? head.slice(row, count) : decltype(head){}; };
        turn.attend(owner, k, v, ranges.slice(row, count),
                    {slice(head_of<T>(q, b, h)), slice(head_of<T>(output.out, b, h)),
                     slice(head_of<T>(output.lse, b, h)).data});
      }
    });
  }
  return output;
}

void require_host(const BlockEngine& engine) {
  if (engine.space() != Space::kHost || is_half(engine.dtype(Role::kElement)))
    throw Error("distributed softmax", "an engine of float32 or float64 on the host", "another one",
                "compute with threads or mpi");
}

Forward forward(RankPlace& place, const Problem& problem, const MethodOptions&, Buffer q, KvBlock kv) {
  require_host(place.engine());
  return {q.dtype() == DType::kFloat32 ? attend<float>(place, problem, q, kv)
                                       : attend<double>(place, problem, q, kv),
          {}};
}

// q goes to all other ranks, (m, l) of every row too, and each share of out to the rank of its queries. Peak:
// the shards of q, k and v, of out and of lse.
Theory theory(const Problem& problem, const MethodOptions&, Pass, RoleBytes bytes) {
  const auto element = static_cast<Index>(bytes.element), accumulator = static_cast<Index>(bytes.accumulator);
  const int n = problem.world_size;
  Theory theory(n);
  std::vector<Index> turns;  // indexed by the rank that owns the rows
  Index all_rows = 0, all_q = 0, all_turns = 0;
  for (int rank = 0; rank < n; ++rank) {
    const Extents q = problem.q_extents(rank);
    turns.push_back(q.batch * q.heads * ((q.rows + kRowsAtOnce - 1) / kRowsAtOnce));
    all_rows += problem.row_extents(rank).elements();
    all_q += q.elements();
    all_turns += turns.back();
  }
  for (int rank = 0; rank < n; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Index q = problem.q_extents(rank).elements(), kv = 2 * problem.kv_extents(rank).elements(),
                rows = problem.row_extents(rank).elements();
    theory.bytes_sent[r] = (n - 1) * q * element + ((n - 1) * 2 * all_rows + all_q - q) * accumulator;
    theory.messages_sent[r] = (n - 1) * turns[r] + all_turns * gather_phases(n) + all_turns - turns[r];
    theory.peak_bytes[r] = (q + kv) * element + (q + rows) * accumulator;
    for (int owner = 0; owner < n; ++owner) theory.pairs[r] += key_ranges(problem, owner, rank).pairs();
  }
  return theory;
}

}  // namespace

constinit const Method kRowsOverRanks{"distributed softmax", 0, nullptr, forward, nullptr, theory};

}  // namespace ringcraft::verify
