#pragma once
/// @file
/// Events and waits of start_on_streams and wait_on_streams as calls of the CUDA runtime; a transport adds
/// its messages.

#include "engine/device_memory.hpp"
#include "ringcraft/comm/stream_order.hpp"

namespace ringcraft::kernels {

/// The numbers by which a CudaStreamCalls knows its two events.
inline constexpr ExchangeEvents kEventNumbers{0, 1};

/// The events of one exchange on the two streams of a rank.
class CudaStreamCalls : public StreamCalls {
 public:
  /// All four outlive this.
  CudaStreamCalls(const Stream& compute, const Stream& copies, const Event& ready, const Event& done)
      : compute_(compute), copies_(copies), ready_(ready), done_(done) {}

  void record(int event, RankStream stream) override;
  void wait(int event, RankStream stream) override;
  void synchronize(RankStream stream) override;

 protected:
  /// One of the streams.
  const Stream& on(RankStream stream) const { return stream == RankStream::kCompute ? compute_ : copies_; }
  /// One of the events, by its number.
  const Event& event(int number) const { return number == kEventNumbers.ready ? ready_ : done_; }

 private:
  const Stream &compute_, &copies_;
  const Event &ready_, &done_;
};

}  // namespace ringcraft::kernels
