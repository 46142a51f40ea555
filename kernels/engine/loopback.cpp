// Carries messages as copies on one device. Each line with cudaStreamWaitEvent orders two streams; a test
// removes them one by one.
#include "engine/loopback.hpp"

#include <vector>

#include "engine/check.hpp"
#include "engine/stream_calls.hpp"

namespace ringcraft::kernels {

/// A start that is not waited for: its operations at the switchboard, and its events.
struct LoopbackExchange {
  Event ready, done;
  Pending matching;
};

namespace {

// A copy enters the stream when its two halves meet, which may be after the start. The mark of the end is
// therefore set when it is needed, once all copies of the exchange are on the stream.
class LoopbackStreamCalls final : public CudaStreamCalls {
 public:
  LoopbackStreamCalls(Communicator& host, const Stream& compute, const Stream& copies,
                      LoopbackExchange& exchange)
      : CudaStreamCalls(compute, copies, exchange.ready, exchange.done), host_(host), exchange_(exchange) {}

  void record(int event, RankStream stream) override {
    if (event == kEventNumbers.ready) CudaStreamCalls::record(event, stream);
  }
  void wait(int event, RankStream stream) override {
    if (event == kEventNumbers.done) {
      exchange_.matching.wait();
      CudaStreamCalls::record(event, RankStream::kCommunication);
    }
    CudaStreamCalls::wait(event, stream);
  }
  void group_start() override { ops_.clear(); }
  void send(int peer, std::span<const std::byte> bytes, RankStream) override {
    ops_.push_back(send_to(peer, bytes));
  }
  void recv(int peer, std::span<std::byte> bytes, RankStream) override {
    ops_.push_back(recv_from(peer, bytes));
  }
  void group_end() override { exchange_.matching = host_.start(ops_); }

 private:
  Communicator& host_;
  LoopbackExchange& exchange_;
  std::vector<Op> ops_;
};

}  // namespace

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

LoopbackCommunicator::LoopbackCommunicator(Communicator& host, const Stream& compute,
                                           const Loopback& loopback)
    : Communicator(host.rank(), host.world_size(), Space::kDevice),
      host_(host),
      compute_(compute),
      copies_(loopback.copies(host.rank())) {}

LoopbackCommunicator::~LoopbackCommunicator() = default;

std::uint64_t LoopbackCommunicator::do_start(std::span<const Op> ops) {
  auto exchange = std::make_unique<LoopbackExchange>();
  LoopbackStreamCalls calls(host_, compute_, copies_, *exchange);
  start_on_streams(calls, ops, kEventNumbers);
  matching_.emplace(++last_ticket_, std::move(exchange));
  return last_ticket_;
}

void LoopbackCommunicator::do_wait(std::uint64_t ticket) {
  const auto found = matching_.find(ticket);
  if (found == matching_.end()) return;  // cancelled
  const auto exchange = std::move(found->second);
  matching_.erase(found);
  LoopbackStreamCalls calls(host_, compute_, copies_, *exchange);
  wait_on_streams(calls, kEventNumbers);
}

void LoopbackCommunicator::do_give_up() { matching_.clear(); }

}  // namespace ringcraft::kernels
