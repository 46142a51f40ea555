// All-to-all between rows and heads, phase by phase.
#include "ringcraft/parallel/hybrid/head_exchange.hpp"

#include <utility>

namespace ringcraft {

HeadExchange::HeadExchange(Communicator& row, BlockEngine& engine, const Problem& problem, int rank)
    : row_(row), engine_(engine), problem_(problem) {
  const Sharding sharding = problem.sharding();
  for (int member = 0; member < world(); ++member) {
    heads_.push_back(dealt_heads(problem.shape, world(), member));
    const int owner = rank - row.rank() + member;
    const Index rows = sharding.rows(owner);
    all_rows_ += rows;
    rows_.push_back(
        {RowList(rows), RowList(rows, [=, n = world()] { return joined_rows(sharding, n, owner); })});
  }
}

std::vector<Buffer> HeadExchange::to_heads(const Tensors& by_rows, Run run, Role role) {
  const int me = row_.rank(), n = world();
  const auto member = [n](int m) { return static_cast<std::size_t>((m + n) % n); };
  const HeadRange mine = heads_[member(me)].*run;
  std::vector<Buffer> by_heads, leaving(by_rows.size()), arriving(by_rows.size());
  for (const Buffer* tensor : by_rows) {
    const Extents e = tensor->extents();
    by_heads.push_back(engine_.allocate({e.batch, mine.count, all_rows_, e.width}, role));
    const Rows& own = rows_[member(me)];
    engine_.copy(by_heads.back(), *tensor, {mine.first, 0, mine.count, own.apart, own.together});
  }
  for (int phase = 1; phase < n; ++phase) {
    const auto to = member(me + phase), from = member(me - phase);
    const Rows &own = rows_[member(me)], &theirs = rows_[from];
    const HeadRange heads = heads_[to].*run;
    std::vector<Op> ops;
    for (std::size_t i = 0; i < by_rows.size(); ++i) {
      const Extents e = by_rows[i]->extents();
      leaving[i] = engine_.allocate({e.batch, heads.count, e.rows, e.width}, role);
      arriving[i] = engine_.allocate({e.batch, mine.count, theirs.apart.size(), e.width}, role);
      engine_.copy(leaving[i], *by_rows[i], {heads.first, 0, heads.count, own.apart, own.apart});
      ops.push_back(send_to(static_cast<int>(to), leaving[i]));
      ops.push_back(recv_from(static_cast<int>(from), arriving[i]));
    }
    row_.start(ops).wait();
    for (std::size_t i = 0; i < by_rows.size(); ++i) {
      engine_.copy(by_heads[i], arriving[i], {0, 0, mine.count, theirs.apart, theirs.together});
      leaving[i] = Buffer();
      arriving[i] = Buffer();
    }
  }
  return by_heads;
}

// Calls unpack(parts, heads) for the own part and for each that arrives: one [batch, heads.count, own rows,
// width] of each tensor.
template <class Unpack>
void HeadExchange::to_rows(const Tensors& by_heads, Run run, Role role, Unpack unpack) {
  const int me = row_.rank(), n = world();
  const auto member = [n](int m) { return static_cast<std::size_t>((m + n) % n); };
  const Rows& own = rows_[member(me)];
  std::vector<Buffer> leaving(by_heads.size()), arriving(by_heads.size());
  for (int phase = 0; phase < n; ++phase) {
    const auto to = member(me + phase), from = member(me - phase);
    const Rows& theirs = rows_[to];
    const HeadRange mine = heads_[member(me)].*run, heads = heads_[from].*run;
    std::vector<Op> ops;
    for (std::size_t i = 0; i < by_heads.size(); ++i) {
      const Extents e = by_heads[i]->extents();
      leaving[i] = engine_.allocate({e.batch, mine.count, theirs.apart.size(), e.width}, role);
      engine_.copy(leaving[i], *by_heads[i], {0, 0, mine.count, theirs.together, theirs.apart});
      if (phase == 0) continue;
      arriving[i] = engine_.allocate({e.batch, heads.count, own.apart.size(), e.width}, role);
      ops.push_back(send_to(static_cast<int>(to), leaving[i]));
      ops.push_back(recv_from(static_cast<int>(from), arriving[i]));
    }
    row_.start(ops).wait();
    unpack(phase == 0 ? leaving : arriving, heads);
    for (std::size_t i = 0; i < by_heads.size(); ++i) {
      leaving[i] = Buffer();
      arriving[i] = Buffer();
    }
  }
}

Buffer HeadExchange::queries_by_heads(const Buffer& by_rows, Role role) {
  return std::move(to_heads({&by_rows}, &DealtHeads::query, role)[0]);
}

KvBlock HeadExchange::kv_by_heads(const KvBlock& by_rows) {
  std::vector<Buffer> kv = to_heads({&by_rows.k, &by_rows.v}, &DealtHeads::kv, Role::kElement);
  return {std::move(kv[0]), std::move(kv[1])};
}

Output HeadExchange::queries_by_rows(const Output& by_heads) {
  const RowList& rows = rows_[static_cast<std::size_t>(row_.rank())].apart;
  Tensors tensors{&by_heads.out};
  if (by_heads.lse.extents() != Extents{}) tensors.push_back(&by_heads.lse);
  std::vector<Buffer> whole;
  for (const Buffer* tensor : tensors)
    whole.push_back(
        engine_.allocate({problem_.shape.batch, problem_.shape.heads, rows.size(), tensor->extents().width},
                         Role::kAccumulator));
  to_rows(tensors, &DealtHeads::query, Role::kAccumulator,
          [&](const std::vector<Buffer>& parts, HeadRange heads) {
            for (std::size_t i = 0; i < parts.size(); ++i)
              engine_.copy(whole[i], parts[i], {0, heads.first, heads.count, rows, rows});
          });
  Output by_rows{std::move(whole[0]), {}};
  if (whole.size() > 1) by_rows.lse = std::move(whole[1]);
  return by_rows;
}

KvBlock HeadExchange::gradients_by_rows(const KvBlock& by_heads) {
  const RowList& rows = rows_[static_cast<std::size_t>(row_.rank())].apart;
  const Extents e{problem_.shape.batch, problem_.shape.kv_heads, rows.size(), problem_.shape.head_dim};
  KvBlock whole{engine_.allocate(e, Role::kAccumulator), engine_.allocate(e, Role::kAccumulator)};
  std::vector<bool> there(static_cast<std::size_t>(e.heads));
  const auto unpack = [&](std::vector<Buffer>& parts, HeadRange heads) {
    const RowCopy put{0, heads.first, heads.count, rows, rows}, take{heads.first, 0, heads.count, rows, rows};
    if (there[static_cast<std::size_t>(heads.first)]) {  // another neighbour had the same KV head
      KvBlock part{std::move(parts[0]), std::move(parts[1])};
      KvBlock sum{engine_.allocate(part.k.extents(), Role::kAccumulator),
                  engine_.allocate(part.k.extents(), Role::kAccumulator)};
      engine_.copy(sum.k, whole.k, take);
      engine_.copy(sum.v, whole.v, take);
      engine_.add(sum, part);
      engine_.copy(whole.k, sum.k, put);
      engine_.copy(whole.v, sum.v, put);
      return;
    }
    there[static_cast<std::size_t>(heads.first)] = true;
    engine_.copy(whole.k, parts[0], put);
    engine_.copy(whole.v, parts[1], put);
  };
  to_rows({&by_heads.k, &by_heads.v}, &DealtHeads::kv, Role::kAccumulator, unpack);
  return whole;
}

}  // namespace ringcraft
