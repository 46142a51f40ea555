// The thread that watches NCCL's messages.
#include "nccl/nccl_watch.hpp"

#include <algorithm>

namespace ringcraft::kernels {
namespace {

// Whether the device has reached the event. An error of its work is reported by the call that waits for it.
bool reached(const Event& event) { return cudaEventQuery(event.get()) != cudaErrorNotReady; }

std::string seconds(NcclWatch::Clock::duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

NcclWatch::NcclWatch(const NcclCalls& nccl, ncclComm_t comm, int device, Clock::duration timeout)
    : nccl_(nccl), comm_(comm), device_(device), timeout_(timeout), thread_([this] { run(); }) {}

NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (comm_ != nullptr) nccl_.destroy(comm_);
}

// ---- the host's side

// Without the lock while NCCL works: its first message to a peer waits on the host, too.
void NcclWatch::call(const std::function<void(ncclComm_t)>& body) {
  ncclComm_t comm = nullptr;
  {
    const std::lock_guard lock(mutex_);
    throw_locked();
    comm = comm_;
    calling_ = true;
  }
  const auto returned = [this] {
    const std::lock_guard lock(mutex_);
    calling_ = false;
    throw_locked();  // more specific than the error of an aborted call
  };
  try {
    body(comm);
  } catch (...) {
    returned();
    throw;
  }
  returned();
}

void NcclWatch::expect(std::shared_ptr<const NcclExchange> exchange) {
  const std::lock_guard lock(mutex_);
  open_.push_back(std::move(exchange));
}

void NcclWatch::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  abort_locked(reason);
}

void NcclWatch::throw_if_aborted() {
  const std::lock_guard lock(mutex_);
  throw_locked();
}

void NcclWatch::throw_locked() const {
  if (aborted_) throw Error(*aborted_, Code::kWrongAnswer);
}

void NcclWatch::abort_locked(const std::string& reason) {
  if (aborted_) return;
  aborted_ = reason;
  nccl_.abort(comm_);
  comm_ = nullptr;
}

// ---- the watch

void NcclWatch::run() {
  cudaSetDevice(device_);  // it was there when the communicator was made
  const Clock::duration period = std::min<Clock::duration>(timeout_ / 8, std::chrono::milliseconds(100));
  std::unique_lock lock(mutex_);
  while (!ending_) {
    wake_.wait_for(lock, period);
    if (!ending_ && !aborted_) look();
  }
}

void NcclWatch::look() {
  ncclResult_t state = ncclSuccess;
  nccl_.async_error(comm_, &state);
  if (state != ncclSuccess && state != ncclInProgress)
    return abort_locked(std::string("NCCL reports: ") + nccl_.error_string(state) +
                        "; another rank may have ended");
  while (!open_.empty() && reached(open_.front()->done)) {
    open_.pop_front();
    moving_since_.reset();
  }
  if (late(calling_since_, calling_) || late(moving_since_, !open_.empty() && reached(open_.front()->ready)))
    abort_locked("no answer to this rank's messages for " + seconds(timeout_) +
                 ": another rank has ended, or does not exchange what this one does");
}

// Whether something has been waiting for longer than the timeout; `since` is when that was first seen.
bool NcclWatch::late(std::optional<Clock::time_point>& since, bool waiting) {
  if (!waiting) since.reset();
  if (waiting && !since) since = Clock::now();
  return since && Clock::now() - *since > timeout_;
}

}  // namespace ringcraft::kernels
