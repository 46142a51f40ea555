#pragma once
/// @file
/// Orders that differ from the library's by a change of their calls, and time lines as text.

#include <functional>
#include <string>

#include "verify/streams/stream_model.hpp"

namespace ringcraft::verify {

/// Changes the calls of one start or wait.
using StreamChange = std::function<void(std::vector<StreamCall>&)>;

/// The library's order with its starts and waits changed.
StreamOrder changed_order(StreamChange in_start, StreamChange in_wait);
/// Erases the calls of this kind on this stream.
StreamChange without(StreamCall::Kind kind, RankStream stream);
/// A stream of a rank, a character for each second: the number of the exchange, or of the computation on
/// this stream; a point where nothing runs.
std::string lane_of(const StreamRun& run, int rank, RankStream stream);

}  // namespace ringcraft::verify
