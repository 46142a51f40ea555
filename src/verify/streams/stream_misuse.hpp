#pragma once
/// @file
/// The mistakes that the calls of one start or wait show by themselves, before anything runs.

#include <vector>

#include "verify/streams/stream_model.hpp"

namespace ringcraft::verify {

/// Those of one step of a rank in a world of n.
std::vector<StreamFinding> misuse_of(const StreamStep& step, int rank, int n);
/// The position in `messages` of the operation that a call asks for, unless `used`; the size if it is none.
std::size_t message_of(const StreamCall& call, const std::vector<TracedMessage>& messages,
                       const std::vector<bool>& used);
/// Whether a call is an operation.
constexpr bool moves(const StreamCall& call) {
  return call.kind == StreamCall::kSend || call.kind == StreamCall::kRecv;
}
/// Which operation.
constexpr Op::Kind op_of(const StreamCall& call) {
  return call.kind == StreamCall::kSend ? Op::kSend : Op::kRecv;
}

}  // namespace ringcraft::verify
