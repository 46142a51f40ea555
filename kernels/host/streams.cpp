// Streams as queues, and the threads that execute their work.
#include "host/streams.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace ringcraft::simt {
namespace {

bool done_at_once(const RingcraftStream* stream) { return stream == nullptr || settings().stream_seed == 0; }

}  // namespace

Streams& Streams::get() {
  static auto* const streams = new Streams;  // outlives static objects that still free
  return *streams;
}

RingcraftStream* Streams::create() {
  const std::lock_guard lock(mutex_);
  return streams_.emplace_back(std::make_unique<RingcraftStream>()).get();
}

void Streams::destroy(RingcraftStream* stream) {
  const std::lock_guard lock(mutex_);
  do_all_of(stream);
  std::erase_if(streams_, [&](const auto& one) { return one.get() == stream; });
}

// ---- enqueueing

void Streams::enqueue(RingcraftStream* stream, std::function<void()> work) {
  if (done_at_once(stream)) return work();
  const std::lock_guard lock(mutex_);
  enqueue_locked(stream, {std::move(work), nullptr});
}

void Streams::record(RingcraftEvent* event, RingcraftStream* stream) {
  const std::lock_guard lock(mutex_);
  const auto mark = std::make_shared<Mark>();
  event->mark = mark;
  const auto reach = [mark] { *mark = {true, std::chrono::steady_clock::now()}; };
  if (done_at_once(stream)) return reach();
  enqueue_locked(stream, {reach, nullptr});
}

void Streams::wait(RingcraftStream* stream, const RingcraftEvent* event, Site site) {
  const std::lock_guard lock(mutex_);
  if (is_left_out(site) || done_at_once(stream)) return;
  enqueue_locked(stream, {[] {}, event->mark});
}

void Streams::enqueue_locked(RingcraftStream* stream, RingcraftStream::Task task) {
  stream->tasks.push_back(std::move(task));
  do_some();
}

// ---- doing

// Runs a random part of the work that may begin: hardly any under some seeds, so that all of it runs late.
void Streams::do_some() {
  if (seed_ != settings().stream_seed) random_.seed(seed_ = settings().stream_seed);
  while (random_() % (2 + seed_ % 7) == 0 && do_one()) {
  }
}

// One piece of work of the most urgent stream that can go on. False: none can.
bool Streams::do_one() {
  constexpr std::uint64_t kTurns = 32;  // until an urgency changes, on average
  RingcraftStream* most = nullptr;
  for (const auto& stream : streams_) {
    if (stream->urgency == 0 || random_() % (kTurns * streams_.size()) == 0)
      stream->urgency = 1 + random_() % 1'000'000;
    if (stream->tasks.empty()) continue;
    const auto& after = stream->tasks.front().after;
    if (after != nullptr && !after->reached) continue;
    if (most == nullptr || stream->urgency > most->urgency) most = stream.get();
  }
  if (most == nullptr) return false;
  RingcraftStream& stream = *most;
  const RingcraftStream::Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  try {
    task.work();
  } catch (const std::exception& error) {
    if (stream.failure.empty()) stream.failure = error.what();
  }
  return true;
}

// An event is recorded before anything waits for it: while work is left, some of it may begin.
void Streams::do_all_of(RingcraftStream* stream) {
  while (!stream->tasks.empty()) do_one();
}

std::string Streams::finish(RingcraftStream* stream) {
  if (stream == nullptr) return "";
  const std::lock_guard lock(mutex_);
  do_all_of(stream);
  return std::exchange(stream->failure, "");
}

void Streams::finish(const RingcraftEvent* event, Site site) {
  const std::lock_guard lock(mutex_);
  if (event->mark == nullptr || is_left_out(site)) return;
  while (!event->mark->reached) do_one();
}

bool Streams::is_reached(const RingcraftEvent* event) {
  const std::lock_guard lock(mutex_);
  return event->mark == nullptr || event->mark->reached;
}

void Streams::finish_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) do_all_of(stream.get());
}

}  // namespace ringcraft::simt
