// Orders two streams by events. A test removes the lines with cudaStreamWaitEvent one by one.
#include "engine/stream_calls.hpp"

#include "engine/check.hpp"

namespace ringcraft::kernels {

void CudaStreamCalls::record(int number, RankStream stream) { event(number).record(on(stream)); }

void CudaStreamCalls::wait(int number, RankStream stream) {
  const cudaEvent_t awaited = event(number).get();
  if (stream == RankStream::kCompute)
    RINGCRAFT_CUDA(cudaStreamWaitEvent(compute_.get(), awaited));
  else
    RINGCRAFT_CUDA(cudaStreamWaitEvent(copies_.get(), awaited));
}

void CudaStreamCalls::synchronize(RankStream stream) {
  RINGCRAFT_CUDA(cudaStreamSynchronize(on(stream).get()));
}

}  // namespace ringcraft::kernels
