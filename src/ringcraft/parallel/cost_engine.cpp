// Buffers without memory, and time instead of numbers.
#include "ringcraft/parallel/cost_engine.hpp"

#include <atomic>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/engine/theory.hpp"

namespace ringcraft {
namespace {

// No process has addresses from 2^56 on: who reads one of these crashes at once.
std::byte* next_address(std::size_t bytes) {
  static std::atomic<std::uintptr_t> next{std::uintptr_t{1} << 56};
  return reinterpret_cast<std::byte*>(next.fetch_add((bytes + 63) / 64 * 64));
}

}  // namespace

const Memory& unbacked_memory() {
  static const Memory memory{Space::kHost, next_address, [](std::byte*) noexcept {}};
  return memory;
}

Buffer CostEngine::allocate(Extents extents, Role role) { return {extents, dtype(role), unbacked_memory()}; }

RowState CostEngine::do_begin(const Buffer& q) {
  const Extents e = q.extents(), rows{e.batch, e.heads, e.rows, 1};
  return {allocate(e, Role::kAccumulator), allocate(rows, Role::kAccumulator),
          allocate(rows, Role::kAccumulator)};
}

Output CostEngine::finish(RowState&& state) {
  state.sum = Buffer();
  return {std::move(state.out), std::move(state.max)};
}

Buffer CostEngine::delta(const Buffer& out, const Buffer&) {
  const Extents e = out.extents();
  return allocate({e.batch, e.heads, e.rows, 1}, Role::kAccumulator);
}

void CostEngine::charge(BlockCost cost, const Buffer& q, const BlockRanges& ranges) {
  if (stop_ != nullptr && *stop_) throw Error("the simulation was stopped by its caller", Code::kWrongAnswer);
  const double seconds =
      cost.per_block + share_of_heads(q, heads_) * cost.per_pair * static_cast<double>(ranges.pairs());
  comm_.advance(seconds);
  seconds_ += seconds;
}

}  // namespace ringcraft
