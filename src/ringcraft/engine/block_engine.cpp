// Implements the common part of every engine: counts work, skips blocks without a visible pair, and records
// computations.
#include "ringcraft/engine/block_engine.hpp"

#include <cstring>

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

TracedTensor read(std::string_view name, const Buffer& buffer) {
  return {name, TracedTensor::kRead, TracedBytes(buffer)};
}
TracedTensor written(std::string_view name, const Buffer& buffer) {
  return {name, TracedTensor::kWrite, TracedBytes(buffer)};
}
TracedTensor updated(std::string_view name, const Buffer& buffer) {
  return {name, TracedTensor::kUpdate, TracedBytes(buffer)};
}

TraceEvent block_event(const RankTrace& trace, TraceEvent::Kind kind, const BlockRanges& ranges,
                       std::vector<TracedTensor> tensors) {
  TraceEvent event;
  event.kind = kind;
  event.tensors = std::move(tensors);
  if (trace.keeps_ranges()) {
    event.key_begin = ranges.by_row().begin;
    event.key_end = ranges.by_row().end;
  }
  event.pairs = ranges.pairs();
  return event;
}

// The bytes of a copy. Neighbouring rows that stay neighbours go at once.
std::vector<CopiedBytes> copied_bytes(const Buffer& to, const Buffer& from, const RowCopy& rows) {
  const Extents &t = to.extents(), &f = from.extents();
  const std::vector<Index>&sources = rows.from_rows.rows(), &targets = rows.to_rows.rows();
  const Index row_bytes = f.width * static_cast<Index>(size_of(from.dtype()));
  const std::size_t count = sources.size();
  std::vector<CopiedBytes> copied;
  for (Index b = 0; b < f.batch; ++b)
    for (Index h = 0; h < rows.heads; ++h)
      for (std::size_t first = 0, last = 0; first < count; first = last) {
        last = first + 1;
        while (last < count && sources[last] == sources[last - 1] + 1 &&
               targets[last] == targets[last - 1] + 1)
          ++last;
        copied.push_back({((b * f.heads + rows.from_head + h) * f.rows + sources[first]) * row_bytes,
                          ((b * t.heads + rows.to_head + h) * t.rows + targets[first]) * row_bytes,
                          static_cast<Index>(last - first) * row_bytes});
      }
  return copied;
}

// Runs the work as one event of the trace, if there is one.
template <class MakeEvent, class Work>
void recorded(RankTrace* trace, MakeEvent make_event, Work work) {
  if (trace == nullptr) return work();
  const std::size_t event = trace->begin(make_event());
  work();
  trace->end(event);
}

}  // namespace

bool BlockEngine::count(const BlockRanges& ranges) {
  const Index pairs = ranges.pairs();
  work_.pairs += pairs;
  work_.blocks += pairs > 0 ? 1 : 0;
  return pairs > 0;
}

void BlockEngine::done(const BlockRanges& ranges, Pass pass) {
  if (done_ != nullptr) *done_ += products_per_pair(pass) * ranges.pairs();
}

RowState BlockEngine::begin(const Buffer& q) {
  RowState state = do_begin(q);
  const auto event = [&] {
    TraceEvent beginning;
    beginning.kind = TraceEvent::kBegin;
    beginning.tensors = {written("out", state.out), written("max", state.max), written("sum", state.sum)};
    return beginning;
  };
  recorded(trace_, event, [] {});
  return state;
}

void BlockEngine::set_zero(Buffer& buffer) {
  const auto event = [&] {
    TraceEvent clearing;
    clearing.kind = TraceEvent::kClear;
    clearing.tensors = {written("sum", buffer)};
    return clearing;
  };
  recorded(trace_, event, [&] { do_set_zero(buffer); });
}

void BlockEngine::forward(RowState& state, const Buffer& q, const KvBlock& block, const BlockRanges& ranges,
                          double softmax_scale) {
  const auto event = [&] {
    return block_event(*trace_, TraceEvent::kForward, ranges,
                       {read("q", q), read("k", block.k), read("v", block.v), updated("out", state.out),
                        updated("max", state.max), updated("sum", state.sum)});
  };
  recorded(trace_, event, [&] {
    if (count(ranges)) do_forward(state, q, block, ranges, softmax_scale);
  });
  done(ranges, Pass::kForward);
}

void BlockEngine::backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                           const BlockRanges& ranges, double softmax_scale) {
  const auto event = [&] {
    return block_event(*trace_, TraceEvent::kBackward, ranges,
                       {read("q", saved.q), read("out", saved.out), read("lse", saved.lse),
                        read("dout", saved.dout), read("delta", saved.delta), read("k", block.k),
                        read("v", block.v), updated("dq", dq), written("dk", part.k), written("dv", part.v)});
  };
  recorded(trace_, event, [&] {
    do_set_zero(part.k);
    do_set_zero(part.v);
    if (count(ranges)) do_backward(dq, part, saved, block, ranges, softmax_scale);
  });
  done(ranges, Pass::kBackward);
}

void BlockEngine::add(KvBlock& into, const KvBlock& from) {
  const auto event = [&] {
    TraceEvent addition;
    addition.kind = TraceEvent::kAdd;
    addition.tensors = {updated("dk", into.k), updated("dv", into.v), read("dk", from.k), read("dv", from.v)};
    return addition;
  };
  recorded(trace_, event, [&] { do_add(into, from); });
}

void BlockEngine::copy(Buffer& to, const Buffer& from, const RowCopy& rows) {
  const Extents &t = to.extents(), &f = from.extents();
  const bool fits = t.batch == f.batch && t.width == f.width && to.dtype() == from.dtype() &&
                    rows.from_head + rows.heads <= f.heads && rows.to_head + rows.heads <= t.heads &&
                    rows.from_rows.size() == rows.to_rows.size();
  if (!fits)
    throw Error("copy", "a tensor like " + described(f) + " " + std::string(name_of(from.dtype())),
                described(t) + " " + std::string(name_of(to.dtype())), "allocate both for the same rows");
  if (rows.from_rows.size() == 0) return;
  const auto event = [&] {
    TraceEvent copy;
    copy.kind = TraceEvent::kCopy;
    copy.tensors = {read("from", from), updated("to", to)};
    copy.copied = copied_bytes(to, from, rows);
    return copy;
  };
  recorded(trace_ != nullptr && trace_->keeps_copies() ? trace_ : nullptr, event,
           [&] { do_copy(to, from, rows); });
}

void BlockEngine::do_copy(Buffer& to, const Buffer& from, const RowCopy& rows) {
  for (const CopiedBytes& run : copied_bytes(to, from, rows))
    std::memcpy(to.bytes().data() + run.to, from.bytes().data() + run.from,
                static_cast<std::size_t>(run.size));
}

}  // namespace ringcraft
