// The part of every engine that counts work and skips blocks without a visible pair (see block_engine.hpp).
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

bool BlockEngine::count(const KeyRanges& ranges) {
  const Index pairs = ranges.pairs();
  work_.pairs += pairs;
  work_.blocks += pairs > 0 ? 1 : 0;
  return pairs > 0;
}

void BlockEngine::forward(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
                          double softmax_scale) {
  if (count(ranges)) do_forward(state, q, block, ranges, softmax_scale);
}

void BlockEngine::backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                           const KeyRanges& ranges, double softmax_scale) {
  set_zero(part.k);
  set_zero(part.v);
  if (count(ranges)) do_backward(dq, part, saved, block, ranges, softmax_scale);
}

}  // namespace ringcraft
