#pragma once
/// @file
/// Memory, streams and events of the current CUDA device: the Memory that backs every device Buffer, streams
/// and events with an owner, and copies between host and device buffers.

#include <cuda_runtime_api.h>

#include <string>

#include "ringcraft/core/buffer.hpp"

namespace ringcraft::kernels {

/// Name and capabilities of a device.
struct Device {
  std::string name;     ///< "NVIDIA H200"
  int major, minor;     ///< compute capability, 9.0
  Index memory_bytes;   ///< of global memory
  int multiprocessors;  ///< SMs; 0 for a processor
  double clock_hz;      ///< the highest that they may take; 0: unknown
  Index l2_bytes;       ///< of the L2 cache
};

/// Makes `device` (counted from 0) the current device of this thread and describes it. Throws Error
/// (Code::kMissing) if there is no such device, or no driver.
Device use_device(int device = 0);

/// Memory of the current device, aligned to at least 256 bytes. As on the host, new bytes are all ones, which
/// is NaN. Allocating and freeing synchronise the device, so a kernel in flight never loses its operands.
const Memory& device_memory();

/// A stream of its own, which does not wait for the default stream. Move-only would do; it is not moved
/// either.
class Stream {
 public:
  /// Throws Error if the device cannot make one.
  Stream();
  /// Waits for the work that is still enqueued.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// The stream, for launches and copies.
  cudaStream_t get() const { return stream_; }
  /// Returns when all work enqueued so far is done. Throws Error if any of it failed.
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// A place in a stream that another stream, or the host, can wait for. It measures no time.
class Event {
 public:
  /// Recorded nowhere: no stream waits for it. Throws Error if the device cannot make one.
  Event();
  /// Recorded after the work that the stream holds.
  explicit Event(const Stream& stream);
  /// Waits that are already enqueued keep their old target.
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Moves it to the end of the work that the stream holds now.
  void record(const Stream& stream) const;
  /// The event, for the runtime's calls.
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A device copy of a host buffer. Ordered after what the stream holds, and complete on return.
Buffer copied_to_device(const Buffer& host, const Stream& stream);
/// A host copy of a device buffer. Ordered after what the stream holds, and complete on return.
Buffer copied_to_host(const Buffer& device, const Stream& stream);

/// The numbers of a device buffer of this type, as kernels take them. Throws Error for any other buffer.
const void* device_numbers(const Buffer& buffer, DType type);
/// The same for float32.
float* device_floats(Buffer& buffer);
/// The same, read-only.
const float* device_floats(const Buffer& buffer);

}  // namespace ringcraft::kernels
