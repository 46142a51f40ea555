// Uploads KeyRanges for a kernel.
#include "engine/range_upload.hpp"

#include <algorithm>

#include "engine/check.hpp"

namespace ringcraft::kernels {

RangeUpload::RangeUpload(const Stream& stream) : stream_(stream) {}

RangeUpload::~RangeUpload() { release(); }

void RangeUpload::release() noexcept {
  cudaStreamSynchronize(stream_.get());
  for (Slot& slot : slots_) {
    if (slot.pinned != nullptr) cudaFreeHost(slot.pinned);
    slot.pinned = nullptr;
  }
  if (ranges_gmem_ != nullptr) cudaFree(ranges_gmem_);
  ranges_gmem_ = nullptr;
  capacity_ = 0;
}

// Once per engine as a rule: a ring's query shard keeps its length.
void RangeUpload::grow(std::size_t rows) {
  release();
  const std::size_t bytes = 2 * rows * sizeof(int);
  RINGCRAFT_CUDA(cudaMalloc(reinterpret_cast<void**>(&ranges_gmem_), bytes));
  for (Slot& slot : slots_) RINGCRAFT_CUDA(cudaMallocHost(reinterpret_cast<void**>(&slot.pinned), bytes));
  capacity_ = rows;
}

DeviceRanges RangeUpload::upload(const KeyRanges& ranges) {
  const std::size_t rows = ranges.begin.size();
  if (rows > capacity_) grow(rows);
  Slot& slot = slots_[next_];
  next_ = 1 - next_;
  RINGCRAFT_CUDA(cudaEventSynchronize(slot.copied.get()));  // at once for an event that was never recorded
  std::copy(ranges.begin.begin(), ranges.begin.end(), slot.pinned);
  std::copy(ranges.end.begin(), ranges.end.end(), slot.pinned + rows);
  RINGCRAFT_CUDA(cudaMemcpyAsync(ranges_gmem_, slot.pinned, 2 * rows * sizeof(int), cudaMemcpyHostToDevice,
                                 stream_.get()));
  slot.copied.record(stream_);
  return {ranges_gmem_, ranges_gmem_ + rows};
}

}  // namespace ringcraft::kernels
