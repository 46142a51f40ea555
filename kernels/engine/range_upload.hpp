#pragma once
/// @file
/// KeyRanges on their way to a kernel: two integers per row, copied without making the host wait. A ring's
/// KeyRanges live for one call; the copy runs later. So they are first put into pinned memory that belongs to
/// the upload.

#include <cuda_runtime_api.h>

#include "engine/device_memory.hpp"
#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft::kernels {

/// Ranges in device memory, [rows] each.
struct DeviceRanges {
  const int* begin_gmem;
  const int* end_gmem;
};

/// Uploads KeyRanges on one stream. There are two pinned slots, each guarded by an event: the host may run
/// two uploads ahead of the device before it has to wait for a slot. One piece of device memory is enough,
/// for the stream orders each copy after the kernels that read the previous one.
class RangeUpload {
 public:
  /// The stream must outlive the upload. Throws Error if the device cannot make the events.
  explicit RangeUpload(const Stream& stream);
  /// Waits until no copy reads the slots.
  ~RangeUpload();
  RangeUpload(const RangeUpload&) = delete;
  RangeUpload& operator=(const RangeUpload&) = delete;

  /// Enqueues the copy. `ranges` may be destroyed when this returns; the result holds for work that is
  /// enqueued on the stream before the next upload. Throws Error if a CUDA call fails.
  DeviceRanges upload(const KeyRanges& ranges);

 private:
  struct Slot {
    int* pinned = nullptr;  // [2 * capacity_]
    Event copied;
  };
  void grow(std::size_t rows);
  void release() noexcept;

  const Stream& stream_;
  Slot slots_[2];
  std::size_t next_ = 0;        // slot of the next upload
  std::size_t capacity_ = 0;    // rows
  int* ranges_gmem_ = nullptr;  // [2 * capacity_]
};

}  // namespace ringcraft::kernels
