#pragma once
/// @file
/// The exercises of this lesson: what a start and a wait put on two streams. Their calls are recorded.

#include "judge/wire/exercise.hpp"
#include "ringcraft/comm/stream_record.hpp"

namespace ringcraft::judge {

template <>
struct RecorderOf<StreamCalls> {
  using type = StreamRecorder;
};

using StartOnStreams = Exercise<&ringcraft::start_on_streams, "start_on_streams">;
using WaitOnStreams = Exercise<&ringcraft::wait_on_streams, "wait_on_streams">;

}  // namespace ringcraft::judge
