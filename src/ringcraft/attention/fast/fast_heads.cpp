// Work of all heads, dealt out to threads (see fast_heads_detail.hpp). Some KV heads are computed at a time,
// a wave, so that no more is copied into panels than the threads need.
#include <algorithm>
#include <numeric>

#include "ringcraft/attention/fast/fast_heads_detail.hpp"
#include "ringcraft/attention/fast/tasks.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

// Assigns query heads to KV heads. `group` of them share each; KV heads of all batch entries are numbered
// consecutively. FastHeads::Backward has one, so that it needs a name outside of this file.
struct Grouping {
  Index kv_heads, group, count;

  struct Pair {
    Index batch, head, kv_head;
  };

  Grouping(const Extents& q, const Extents& kv)
      : kv_heads(kv.heads), group(q.heads / kv.heads), count(kv.batch * kv.heads) {}
  // The query head `member` of the group of KV head kv.
  Pair at(Index kv, Index member) const {
    return {kv / kv_heads, kv % kv_heads * group + member, kv % kv_heads};
  }
};

namespace {

// Calls body(first, count) for all KV heads, at most `size` of them at a time.
template <class Body>
void for_each_wave(const Grouping& heads, Index size, Body body) {
  for (Index first = 0; first < heads.count; first += size) body(first, std::min(size, heads.count - first));
}

// The places of `work`, those with the most first; those with none are left out.
std::vector<Index> longest_first(const std::vector<Index>& work) {
  const auto at = [&](Index i) { return work[static_cast<std::size_t>(i)]; };
  std::vector<Index> order(work.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::erase_if(order, [&](Index i) { return at(i) == 0; });
  std::ranges::stable_sort(order, std::greater{}, at);
  return order;
}

// Visible pairs of each query block.
std::vector<Index> pairs_of_query_blocks(const KeyRanges& ranges) {
  std::vector<Index> pairs(static_cast<std::size_t>((ranges.rows() + kForwardRows - 1) / kForwardRows));
  for (std::size_t a = 0; a < ranges.begin.size(); ++a)
    pairs[a / kForwardRows] += ranges.end[a] - ranges.begin[a];
  return pairs;
}

}  // namespace

template <class T>
FastHeads<T>::FastHeads(int threads, const std::atomic<bool>* stop)
    : threads_(threads),
      stop_(stop),
      rows_(static_cast<std::size_t>(threads)),
      keys_(static_cast<std::size_t>(threads)) {}

template <class T>
void FastHeads<T>::for_each(Index count, const std::function<void(Index, int)>& body) const {
  for_each_task(count, threads_, [&](Index task, int thread) {
    if (stop_ != nullptr && *stop_) throw Error("attention was stopped by its caller", Code::kWrongAnswer);
    body(task, thread);
  });
}

template <class T>
void FastHeads<T>::forward(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
                           double softmax_scale) {
  const Grouping grouping(q.extents(), block.k.extents());
  const std::vector<Index> blocks = longest_first(pairs_of_query_blocks(ranges));
  panels_.resize(static_cast<std::size_t>(std::min<Index>(threads_, grouping.count)));
  for_each_wave(grouping, threads_, [&](Index first, Index count) {
    for_each(count, [&](Index i, int) {
      const auto [batch, head, kv_head] = grouping.at(first + i, 0);
      panels_[static_cast<std::size_t>(i)].take(head_of<T>(block.k, batch, kv_head),
                                                head_of<T>(block.v, batch, kv_head),
                                                static_cast<T>(softmax_scale));
    });
    const Index heads = count * grouping.group;
    for_each(std::ssize(blocks) * heads, [&](Index task, int thread) {
      const Index i = task % heads / grouping.group;
      const auto [batch, head, kv_head] = grouping.at(first + i, task % grouping.group);
      const Index row = blocks[static_cast<std::size_t>(task / heads)] * kForwardRows,
                  rows = std::min(kForwardRows, q.extents().rows - row);
      Rows& mine = rows_[static_cast<std::size_t>(thread)];
      const Partial<T> partial = mine.partial.identity(rows, q.extents().width);
      mine.kernel.add(head_of<T>(q, batch, head).slice(row, rows), panels_[static_cast<std::size_t>(i)],
                      ranges, row, partial);
      merge<T>(partial_of<T>(state, batch, head).slice(row, rows), partial);
    });
  });
}

template <class T>
Matrix<T> FastHeads<T>::Head::share(Index s) {
  const Index rows = queries.q.rows, cols = queries.q_panels.padded_cols();
  Scratch<T>& memory = shares[static_cast<std::size_t>(s)];
  memory.resize(static_cast<std::size_t>(rows * cols));
  return {memory, rows, cols};
}

template <class T>
class FastHeads<T>::Backward {
 public:
  Backward(FastHeads& memory, Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
           const KeyRanges& ranges, double softmax_scale)
      : memory_(memory),
        dq_(dq),
        part_(part),
        saved_(saved),
        block_(block),
        ranges_(ranges),
        softmax_scale_(static_cast<T>(softmax_scale)),
        grouping_(saved.q.extents(), block.k.extents()),
        key_blocks_((block.k.extents().rows + kBackwardKeys<T> - 1) / kBackwardKeys<T>),
        shares_(longest_first(pairs_of_shares())) {}

  void run() {
    for_each_wave(grouping_, (memory_.threads_ + kShares - 1) / kShares, [&](Index first, Index count) {
      for (Index member = 0; member < grouping_.group; ++member) compute(first, count, member);
    });
  }

 private:
  // One query head each of the KV heads [first, first + count).
  void compute(Index first, Index count, Index member) {
    const auto head = [&](Index i) -> Head& { return memory_.heads_[static_cast<std::size_t>(i)]; };
    if (std::ssize(memory_.heads_) < count) memory_.heads_.resize(static_cast<std::size_t>(count));
    memory_.for_each(count, [&](Index i, int) {
      const auto [batch, query_head, kv_head] = grouping_.at(first + i, member);
      head(i).batch = batch, head(i).head = query_head, head(i).kv_head = kv_head;
      take(head(i));
    });
    memory_.for_each(std::ssize(shares_) * count, [&](Index task, int thread) {
      compute_share(head(task % count), shares_[static_cast<std::size_t>(task / count)],
                    memory_.keys_[static_cast<std::size_t>(thread)]);
    });
    const Index row_blocks = (ranges_.rows() + kForwardRows - 1) / kForwardRows;
    memory_.for_each(row_blocks * count,
                     [&](Index task, int) { add_shares(head(task % count), task / count * kForwardRows); });
  }

  void take(Head& h) {
    h.queries.take(head_of<T>(saved_.q, h.batch, h.head), head_of<T>(saved_.dout, h.batch, h.head),
                   head_of<T>(saved_.lse, h.batch, h.head).data,
                   head_of<T>(saved_.delta, h.batch, h.head).data);
  }

  // dk and dv of the key blocks of share s, and the share's dq.
  void compute_share(Head& h, Index s, FastBackward<T>& kernel) {
    const Matrix<const T> k = head_of<T>(block_.k, h.batch, h.kv_head),
                          v = head_of<T>(block_.v, h.batch, h.kv_head);
    const Matrix<T> dk = head_of<T>(part_.k, h.batch, h.kv_head),
                    dv = head_of<T>(part_.v, h.batch, h.kv_head), dq = h.share(s);
    std::ranges::fill(dq.data, T(0));
    for (Index key_block = 0; key_block < key_blocks_; ++key_block) {
      if (share_of(key_block) != s) continue;
      const Index key = key_block * kBackwardKeys<T>, keys = std::min(kBackwardKeys<T>, k.rows - key);
      kernel.add(h.queries, k.slice(key, keys), v.slice(key, keys), ranges_, key, softmax_scale_, dq,
                 dk.slice(key, keys), dv.slice(key, keys));
    }
  }

  // dq += softmax_scale * every share, in their order, for one row block.
  void add_shares(Head& h, Index row) {
    const Index rows = std::min<Index>(kForwardRows, ranges_.rows() - row);
    const Matrix<T> dq = head_of<T>(dq_, h.batch, h.head).slice(row, rows);
    for (Index s = 0; s < kShares; ++s)
      if (std::ranges::find(shares_, s) != shares_.end())
        fast_detail::add_scaled<T>(dq, softmax_scale_, h.share(s).slice(row, rows));
  }

  // Two key blocks make a share worth its dq. Blocks are dealt there and back, so that under a causal mask
  // the shares are alike.
  Index share_of(Index key_block) const {
    const Index shares = std::clamp<Index>(key_blocks_ / 2, 1, kShares), i = key_block % (2 * shares);
    return std::min(i, 2 * shares - 1 - i);
  }

  // Visible pairs of each share.
  std::vector<Index> pairs_of_shares() const {
    std::vector<Index> pairs(kShares);
    const KeyRanges rows = ranges_.transposed(static_cast<int>(block_.k.extents().rows));
    for (std::size_t key = 0; key < rows.begin.size(); ++key)
      pairs[static_cast<std::size_t>(share_of(static_cast<Index>(key) / kBackwardKeys<T>))] +=
          rows.end[key] - rows.begin[key];
    return pairs;
  }

  FastHeads& memory_;
  Buffer& dq_;
  KvBlock& part_;
  const Saved& saved_;
  const KvBlock& block_;
  const KeyRanges& ranges_;
  const T softmax_scale_;
  const Grouping grouping_;
  const Index key_blocks_;
  const std::vector<Index> shares_;  // those with a visible pair, the longest first
};

template <class T>
void FastHeads<T>::backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                            const KeyRanges& ranges, double softmax_scale) {
  Backward(*this, dq, part, saved, block, ranges, softmax_scale).run();
}

template class FastHeads<float>;
template class FastHeads<double>;

}  // namespace ringcraft
