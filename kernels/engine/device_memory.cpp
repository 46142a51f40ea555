// Memory, streams, events and copies of a CUDA device.
#include "engine/device_memory.hpp"

#include "engine/check.hpp"

namespace ringcraft::kernels {
namespace {

std::byte* allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  RINGCRAFT_CUDA(cudaMalloc(&memory, bytes));
  // On the default stream, which other streams do not wait for: hence the wait here.
  RINGCRAFT_CUDA(cudaMemset(memory, 0xFF, bytes));
  RINGCRAFT_CUDA(cudaStreamSynchronize(nullptr));
  return static_cast<std::byte*>(memory);
}

// An error here is one of earlier work, and is reported by the call that waits for that work.
void release_device(std::byte* bytes) noexcept { cudaFree(bytes); }

Buffer copied(const Buffer& from, const Memory& memory, cudaMemcpyKind kind, const Stream& stream) {
  Buffer copy(from.extents(), from.dtype(), memory);
  if (from.empty()) return copy;
  RINGCRAFT_CUDA(
      cudaMemcpyAsync(copy.bytes().data(), from.bytes().data(), from.bytes().size(), kind, stream.get()));
  stream.synchronize();
  return copy;
}

void require(const Buffer& buffer, Space space, const char* where) {
  if (buffer.space() != space)
    throw Error(where, space == Space::kHost ? "a host buffer" : "a device buffer",
                space == Space::kHost ? "a device buffer" : "a host buffer",
                "copy it to the other side first");
}

void require_device_numbers(const Buffer& buffer, DType type) {
  require(buffer, Space::kDevice, "kernel argument");
  if (buffer.dtype() != type)
    throw Error("kernel argument", std::string(name_of(type)), std::string(name_of(buffer.dtype())),
                "convert the tensor first");
}

}  // namespace

Device use_device(int device) {
  int count = 0;
  const cudaError_t error =
      cudaGetDeviceCount(&count);  // the usual error without a GPU: no line of this tree in it
  if (error == cudaErrorInsufficientDriver)
    throw Error("no NVIDIA driver is loaded, or one that is older than this CUDA", code_of(error));
  if (error != cudaSuccess) throw Error(cudaGetErrorString(error), code_of(error));
  if (device < 0 || device >= count)
    throw Error("CUDA device", "0 to " + std::to_string(count - 1), std::to_string(device),
                "choose one of these", Code::kMissing);
  RINGCRAFT_CUDA(cudaSetDevice(device));
  cudaDeviceProp properties{};
  RINGCRAFT_CUDA(cudaGetDeviceProperties(&properties, device));
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    RINGCRAFT_CUDA(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  return {properties.name,
          properties.major,
          properties.minor,
          static_cast<Index>(properties.totalGlobalMem),
          attribute(cudaDevAttrMultiProcessorCount),
          1e3 * attribute(cudaDevAttrClockRate),  // it is in kHz
          attribute(cudaDevAttrL2CacheSize)};
}

const Memory& device_memory() {
  static const Memory memory{Space::kDevice, allocate_device, release_device};
  return memory;
}

Stream::Stream() { RINGCRAFT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }

Stream::~Stream() {
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
}

void Stream::synchronize() const { RINGCRAFT_CUDA(cudaStreamSynchronize(stream_)); }

Event::Event() { RINGCRAFT_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }

Event::Event(const Stream& stream) : Event() { record(stream); }

Event::~Event() { cudaEventDestroy(event_); }

void Event::record(const Stream& stream) const { RINGCRAFT_CUDA(cudaEventRecord(event_, stream.get())); }

Buffer copied_to_device(const Buffer& host, const Stream& stream) {
  require(host, Space::kHost, "copied_to_device");
  return copied(host, device_memory(), cudaMemcpyHostToDevice, stream);
}

Buffer copied_to_host(const Buffer& device, const Stream& stream) {
  require(device, Space::kDevice, "copied_to_host");
  return copied(device, host_memory(), cudaMemcpyDeviceToHost, stream);
}

const void* device_numbers(const Buffer& buffer, DType type) {
  require_device_numbers(buffer, type);
  return buffer.bytes().data();
}

float* device_floats(Buffer& buffer) {
  require_device_numbers(buffer, DType::kFloat32);
  return reinterpret_cast<float*>(buffer.bytes().data());
}

const float* device_floats(const Buffer& buffer) {
  return static_cast<const float*>(device_numbers(buffer, DType::kFloat32));
}

}  // namespace ringcraft::kernels
