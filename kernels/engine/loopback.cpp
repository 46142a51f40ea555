// Carries messages as copies on one device. Each line with cudaStreamWaitEvent orders two streams; a test
// removes them one by one.
#include "engine/loopback.hpp"

#include "engine/check.hpp"

namespace ringcraft::kernels {

Loopback::Loopback(int world_size, int device) {
  use_device(device);
  for (int rank = 0; rank < world_size; ++rank) copies_.emplace_back();
}

SwitchboardOptions Loopback::options(std::uint64_t delivery_seed) {
  return {.delivery_seed = delivery_seed, .link = {}, .carry = [this](const Delivery& message) {
            carry(message);
          }};
}

// The receiver copies once the work that the sender's stream waits for is done: the bytes are ready. The
// sender's stream then waits for the copy: the bytes are free.
void Loopback::carry(const Delivery& message) const {
  const Stream &sender = copies(message.from), &receiver = copies(message.to);
  RINGCRAFT_CUDA(cudaStreamWaitEvent(receiver.get(), Event(sender).get()));
  RINGCRAFT_CUDA(cudaMemcpyAsync(message.target.data(), message.source.data(), message.source.size(),
                                 cudaMemcpyDeviceToDevice, receiver.get()));
  RINGCRAFT_CUDA(cudaStreamWaitEvent(sender.get(), Event(receiver).get()));
}

std::uint64_t LoopbackCommunicator::do_start(std::span<const Op> ops) {
  RINGCRAFT_CUDA(cudaStreamWaitEvent(copies_.get(), Event(compute_).get()));
  matching_.emplace(++last_ticket_, host_.start(ops));
  return last_ticket_;
}

void LoopbackCommunicator::do_wait(std::uint64_t ticket) {
  const auto found = matching_.find(ticket);
  if (found == matching_.end()) return;  // cancelled
  Pending matched = std::move(found->second);
  matching_.erase(found);
  matched.wait();
  RINGCRAFT_CUDA(cudaStreamWaitEvent(compute_.get(), Event(copies_).get()));
}

}  // namespace ringcraft::kernels
