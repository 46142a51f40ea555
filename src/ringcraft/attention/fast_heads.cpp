// Work of all heads, dealt out to threads (see fast_heads.hpp). Heads are taken some KV heads at a time, so
// that what is copied into panels is no larger than the threads need.
#include "ringcraft/attention/fast_heads.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "ringcraft/attention/fast_blockwise.hpp"
#include "ringcraft/attention/partial_memory.hpp"
#include "ringcraft/attention/tasks.hpp"

namespace ringcraft {
namespace {

// One query head and the KV head that serves it.
struct HeadPair {
  Index batch, head, kv_head;
};

// The heads of a block: `group` query heads share each KV head, all batch entries in one row.
struct Heads {
  Index kv_heads, group, count;  // count: KV heads of all batch entries

  Heads(const Extents& q, const Extents& kv)
      : kv_heads(kv.heads), group(q.heads / kv.heads), count(kv.batch * kv.heads) {}
  // Query head `member` of the group of KV head kv.
  HeadPair at(Index kv, Index member) const {
    const Index kv_head = kv % kv_heads;
    return {kv / kv_heads, kv_head * group + member, kv_head};
  }
};

// The numbers 0 to work.size() - 1, those with the most work first; those without any are left out.
std::vector<Index> longest_first(const std::vector<Index>& work) {
  std::vector<Index> order(work.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::erase_if(order, [&](Index i) { return work[static_cast<std::size_t>(i)] == 0; });
  std::ranges::stable_sort(order, std::greater{}, [&](Index i) { return work[static_cast<std::size_t>(i)]; });
  return order;
}

// Calls body(first, count) for all KV heads, `step` of them at a time.
template <class Body>
void for_each_wave(Index heads, Index step, Body body) {
  for (Index first = 0; first < heads; first += step) body(first, std::min(step, heads - first));
}

// Visible pairs of each query block.
std::vector<Index> pairs_of_blocks(const KeyRanges& ranges) {
  std::vector<Index> pairs(static_cast<std::size_t>((ranges.rows() + kForwardRows - 1) / kForwardRows));
  for (std::size_t a = 0; a < ranges.begin.size(); ++a)
    pairs[a / kForwardRows] += ranges.end[a] - ranges.begin[a];
  return pairs;
}

}  // namespace

template <class T>
void fast_forward_heads(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
                        double softmax_scale, int threads) {
  struct OfThread {
    FastForward<T> forward;
    PartialMemory<T> partial;
  };
  const Heads heads(q.extents(), block.k.extents());
  const std::vector<Index> blocks = longest_first(pairs_of_blocks(ranges));
  std::vector<OfThread> memory(static_cast<std::size_t>(threads));
  std::vector<KeyPanels<T>> panels(static_cast<std::size_t>(std::min<Index>(threads, heads.count)));
  for_each_wave(heads.count, threads, [&](Index first, Index count) {
    for_each_task(count, threads, [&](Index i, int) {
      const HeadPair h = heads.at(first + i, 0);
      panels[static_cast<std::size_t>(i)].take(head_of<T>(block.k, h.batch, h.kv_head),
                                               head_of<T>(block.v, h.batch, h.kv_head),
                                               static_cast<T>(softmax_scale));
    });
    const Index in_wave = count * heads.group;
    for_each_task(std::ssize(blocks) * in_wave, threads, [&](Index task, int thread) {
      const Index i = task % in_wave / heads.group;
      const HeadPair h = heads.at(first + i, task % heads.group);
      const Index row = blocks[static_cast<std::size_t>(task / in_wave)] * kForwardRows,
                  rows = std::min(kForwardRows, q.extents().rows - row);
      OfThread& mine = memory[static_cast<std::size_t>(thread)];
      const Partial<T> partial = mine.partial.identity(rows, q.extents().width);
      mine.forward.add(head_of<T>(q, h.batch, h.head).slice(row, rows), panels[static_cast<std::size_t>(i)],
                       ranges, row, partial);
      merge<T>(partial_of<T>(state, h.batch, h.head).slice(row, rows), partial);
    });
  });
}

namespace {

// Keys are dealt to so many shares. Each share has a dq of its own, which is added to the others in the order
// of the shares: the sum does not depend on who computed what, nor when.
constexpr Index kShares = 8;

// The share of a key block. Blocks are dealt there and back, so that under a causal mask the shares are
// alike.
Index share_of(Index key_block) {
  const Index i = key_block % (2 * kShares);
  return std::min(i, 2 * kShares - 1 - i);
}

// Visible pairs of each share.
std::vector<Index> pairs_of_shares(const KeyRanges& ranges, Index keys, Index block_keys) {
  std::vector<Index> pairs(kShares);
  const KeyRanges rows = ranges.transposed(static_cast<int>(keys));
  for (Index key = 0; key < keys; ++key)
    pairs[static_cast<std::size_t>(share_of(key / block_keys))] +=
        rows.end[static_cast<std::size_t>(key)] - rows.begin[static_cast<std::size_t>(key)];
  return pairs;
}

// One query head that is being computed: what its tasks read, and the shares of its dq.
template <class T>
struct HeadInWork {
  HeadPair head;
  QueryPanels<T> queries;
  std::array<Scratch<T>, kShares> shares;

  // Share s of dq, [rows, padded head_dim].
  Matrix<T> share(Index s) {
    const Index rows = queries.q.rows, cols = queries.q_panels.padded_cols();
    Scratch<T>& memory = shares[static_cast<std::size_t>(s)];
    memory.resize(static_cast<std::size_t>(rows * cols));
    return {memory, rows, cols};
  }
};

// The backward pass of one block. A wave is one query head each of some KV heads.
template <class T>
class BackwardPass {
 public:
  BackwardPass(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block, const KeyRanges& ranges,
               double softmax_scale, int threads)
      : dq_(dq),
        part_(part),
        saved_(saved),
        block_(block),
        ranges_(ranges),
        softmax_scale_(static_cast<T>(softmax_scale)),
        threads_(threads),
        heads_(saved.q.extents(), block.k.extents()),
        shares_(longest_first(pairs_of_shares(ranges, block.k.extents().rows, kBackwardKeys<T>))),
        memory_(static_cast<std::size_t>(threads)) {}

  void run() {
    for_each_wave(heads_.count, (threads_ + kShares - 1) / kShares, [&](Index first, Index count) {
      for (Index member = 0; member < heads_.group; ++member) compute_wave(first, count, member);
    });
  }

 private:
  void compute_wave(Index first, Index count, Index member) {
    wave_.resize(static_cast<std::size_t>(count));
    for_each_task(count, threads_, [&](Index i, int) {
      take(wave_[static_cast<std::size_t>(i)], heads_.at(first + i, member));
    });
    for_each_task(std::ssize(shares_) * count, threads_, [&](Index task, int thread) {
      compute_share(wave_[static_cast<std::size_t>(task % count)],
                    shares_[static_cast<std::size_t>(task / count)],
                    memory_[static_cast<std::size_t>(thread)]);
    });
    const Index blocks = (ranges_.rows() + kForwardRows - 1) / kForwardRows;
    for_each_task(blocks * count, threads_, [&](Index task, int) {
      add_shares(wave_[static_cast<std::size_t>(task % count)], task / count * kForwardRows);
    });
  }

  void take(HeadInWork<T>& work, const HeadPair& head) {
    const auto [b, h, g] = work.head = head;
    work.queries.take(head_of<T>(saved_.q, b, h), head_of<T>(saved_.dout, b, h),
                      head_of<T>(saved_.lse, b, h).data, head_of<T>(saved_.delta, b, h).data);
  }

  // The gradients over the key blocks of one share.
  void compute_share(HeadInWork<T>& work, Index s, FastBackward<T>& memory) {
    const auto [b, h, g] = work.head;
    const Matrix<const T> k = head_of<T>(block_.k, b, g), v = head_of<T>(block_.v, b, g);
    const Matrix<T> dk = head_of<T>(part_.k, b, g), dv = head_of<T>(part_.v, b, g), dq = work.share(s);
    std::ranges::fill(dq.data, T(0));
    for (Index key = 0; key < k.rows; key += kBackwardKeys<T>) {
      if (share_of(key / kBackwardKeys<T>) != s) continue;
      const Index keys = std::min(kBackwardKeys<T>, k.rows - key);
      memory.add(work.queries, k.slice(key, keys), v.slice(key, keys), ranges_, key, softmax_scale_, dq,
                 dk.slice(key, keys), dv.slice(key, keys));
    }
  }

  // dq += softmax_scale * each share, for the rows of one query block.
  void add_shares(HeadInWork<T>& work, Index row) {
    const Index rows = std::min<Index>(kForwardRows, ranges_.rows() - row);
    const Matrix<T> dq = head_of<T>(dq_, work.head.batch, work.head.head).slice(row, rows);
    for (Index s = 0; s < kShares; ++s)
      if (std::ranges::find(shares_, s) != shares_.end())
        fast_detail::add_scaled<T>(dq, softmax_scale_, work.share(s).slice(row, rows));
  }

  Buffer& dq_;
  KvBlock& part_;
  const Saved& saved_;
  const KvBlock& block_;
  const KeyRanges& ranges_;
  const T softmax_scale_;
  const int threads_;
  const Heads heads_;
  const std::vector<Index> shares_;  // those with a visible pair, the longest first
  std::vector<HeadInWork<T>> wave_;
  std::vector<FastBackward<T>> memory_;  // of each thread
};

}  // namespace

template <class T>
void fast_backward_heads(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                         const KeyRanges& ranges, double softmax_scale, int threads) {
  BackwardPass<T>(dq, part, saved, block, ranges, softmax_scale, threads).run();
}

#define RINGCRAFT_INSTANTIATE(T)                                                                          \
  template void fast_forward_heads<T>(RowState&, const Buffer&, const KvBlock&, const KeyRanges&, double, \
                                      int);                                                               \
  template void fast_backward_heads<T>(Buffer&, KvBlock&, const Saved&, const KvBlock&, const KeyRanges&, \
                                       double, int)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
