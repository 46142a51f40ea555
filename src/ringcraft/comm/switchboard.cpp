// Matching, deadlock, delivery order, counters and virtual time.
#include "ringcraft/comm/switchboard.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

using Failure = Switchboard::Failure;
using Why = Failure::Why;

std::string text_of(const Switchboard::Waiting& w) {
  return "rank " + std::to_string(w.rank) + (w.op == Op::kSend ? " waits to send " : " waits to receive ") +
         std::to_string(w.bytes) + (w.op == Op::kSend ? " bytes to rank " : " bytes from rank ") +
         std::to_string(w.peer);
}

Failure deadlock(std::vector<Switchboard::Waiting> cycle) {
  std::string sentence = "deadlock: ";
  for (const auto& waiting : cycle) sentence += (&waiting == &cycle.front() ? "" : ", ") + text_of(waiting);
  return {Why::kDeadlock, std::move(cycle), std::move(sentence)};
}

Failure peer_ended(int rank, const Op& op) {
  const Switchboard::Waiting waiting{rank, op.kind, op.peer, op.bytes.size()};
  return {Why::kEnded, {waiting}, text_of(waiting) + ", which has already ended"};
}

}  // namespace

Switchboard::Switchboard(int world_size, SwitchboardOptions options)
    : options_(std::move(options)),
      random_(options_.delivery_seed),
      ranks_(static_cast<std::size_t>(world_size)) {}

// ---- posting and matching

Switchboard::Half Switchboard::Halves::pop() {
  const Half half = halves_[first_++];
  if (2 * first_ >= halves_.size()) {
    halves_.erase(halves_.begin(), halves_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  return half;
}

Switchboard::Post& Switchboard::new_post(int rank, std::span<const Op> ops) {
  if (slots_.empty()) {
    slots_.push_back(posts_.size());
    posts_.emplace_back();
  }
  Post& post = posts_[slots_.back()];
  post.ticket = ++posted_ * kSlots + slots_.back();
  slots_.pop_back();
  post.rank = rank;
  post.ops.assign(ops.begin(), ops.end());
  post.open = static_cast<int>(ops.size());
  post.completes = clock(rank);
  return post;
}

Switchboard::Post* Switchboard::find(Ticket ticket) {
  const Ticket slot = ticket % kSlots;
  return slot < posts_.size() && posts_[slot].ticket == ticket ? &posts_[slot] : nullptr;
}

void Switchboard::forget(Post& post) {
  slots_.push_back(post.ticket % kSlots);
  post.ticket = 0;
}

Switchboard::Ticket Switchboard::post(int rank, std::span<const Op> ops) {
  throw_if_failed();
  const Ticket ticket = new_post(rank, ops).ticket;
  const double now = clock(rank);
  const auto between = [&](const Op& op) -> Link& {
    return op.kind == Op::kSend ? link(rank, op.peer) : link(op.peer, rank);
  };
  const auto bundle = [](const Op& op, Link& one) -> std::size_t& {
    return op.kind == Op::kSend ? one.sent : one.received;
  };
  for (const Op& op : ops) bundle(op, between(op)) = 0;
  for (const Op& op : ops) bundle(op, between(op)) += op.bytes.size();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    Link& one = between(op);
    const Half half{ticket, i, op.bytes, now, bundle(op, one)};
    if (op.kind == Op::kRecv && options_.delivery_seed != 0 && !options_.carry)
      std::memset(op.bytes.data(), 0xFF, op.bytes.size());
    (op.kind == Op::kSend ? one.sends : one.recvs).push(half);
  }
  for (const Op& op : ops) op.kind == Op::kSend ? match(rank, op.peer) : match(op.peer, rank);
  deliver_some();
  return ticket;
}

void Switchboard::match(int from, int to) {
  Link& between = link(from, to);
  while (!between.sends.empty() && !between.recvs.empty()) {
    const Half send = between.sends.pop(), recv = between.recvs.pop();
    if (send.bytes.size() != recv.bytes.size())
      fail_and_throw({Why::kLengths,
                      {},
                      "rank " + std::to_string(from) + " sends " + std::to_string(send.bytes.size()) +
                          " bytes to rank " + std::to_string(to) + ", which expects " +
                          std::to_string(recv.bytes.size())});
    for (const Half& half : {send, recv}) find(half.ticket)->ops[half.op].peer = kMatched;
    flights_.push_back({from, to, send, recv});
    if (options_.delivery_seed == 0) deliver(flights_.size() - 1);
  }
}

// ---- delivery

void Switchboard::deliver(std::size_t index) {
  const Flight flight = flights_[index];
  flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!carried(flight)) return;
  link(flight.from, flight.to).delivered += static_cast<Index>(flight.send.bytes.size());
  const LinkCost cost = options_.link_of ? options_.link_of(flight.from, flight.to) : options_.link;
  const double done = std::max(flight.send.posted, flight.recv.posted) + cost.alpha +
                      static_cast<double>(flight.send.bundle) / cost.beta;
  for (const Ticket ticket : {flight.send.ticket, flight.recv.ticket}) {
    Post& post = *find(ticket);
    post.completes = std::max(post.completes, done);
    if (--post.open == 0) complete(post);
  }
}

// False: that went wrong, and the board has failed.
bool Switchboard::carried(const Flight& flight) {
  const std::span<std::byte> source = flight.send.bytes, target = flight.recv.bytes;
  if (!options_.carry) {
    std::memcpy(target.data(), source.data(), source.size());
    return true;
  }
  try {
    options_.carry({flight.from, flight.to, source, target});
    return true;
  } catch (const std::exception& error) {
    fail(error.what());
    return false;
  }
}

void Switchboard::complete(Post& post) {
  Rank& rank = ranks_[static_cast<std::size_t>(post.rank)];
  if (rank.waiting_for != post.ticket) return;
  rank.waiting_for.reset();
  rank.clock = std::max(rank.clock, post.completes);
  const int released = post.rank;
  forget(post);
  if (options_.released) options_.released(released);
}

// Under a seed: some messages in flight arrive now, in random order; all must arrive if no rank can continue
// without them.
void Switchboard::deliver_some() {
  const auto pick = [&] { return static_cast<std::size_t>(random_() % flights_.size()); };
  while (!flights_.empty() && random_() % 2 == 0) deliver(pick());
  while (!flights_.empty() && !anyone_runs()) deliver(pick());
}

bool Switchboard::anyone_runs() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return !rank.finished && !rank.waiting_for; });
}

// ---- waiting

bool Switchboard::begin_wait(int rank, Ticket ticket) {
  throw_if_failed();
  Rank& self = ranks_[static_cast<std::size_t>(rank)];
  Post* const post = find(ticket);
  if (post == nullptr) return true;  // waited for before
  if (post->open == 0) {
    self.clock = std::max(self.clock, post->completes);
    forget(*post);
    return true;
  }
  self.waiting_for = ticket;
  find_deadlock(rank);
  deliver_some();
  return !self.waiting_for;
}

// A wait needs all of its operations, so any cycle of waits is a deadlock. A new cycle leads through the rank
// that has just begun to wait: walk from it along "waits for" until it is met again, or a rank that has
// ended.
void Switchboard::find_deadlock(int rank) {
  struct Step {  // a rank of the walk, and what the rank before it waits for there
    int rank;
    Waiting waiting;
    std::size_t before;
  };
  std::vector<Step> steps{{rank, {}, 0}};
  const std::uint64_t search = ++searches_;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& waiting_for = ranks_[static_cast<std::size_t>(steps[i].rank)].waiting_for;
    if (!waiting_for) continue;
    const Post& post = *find(*waiting_for);
    for (const Op& op : post.ops) {
      if (op.peer == kMatched) continue;
      Rank& peer = ranks_[static_cast<std::size_t>(op.peer)];
      if (peer.finished) fail_and_throw(peer_ended(post.rank, op));
      const Waiting waiting{post.rank, op.kind, op.peer, op.bytes.size()};
      if (op.peer == rank) {
        std::vector<Waiting> cycle{waiting};
        for (std::size_t at = i; at != 0; at = steps[at].before) cycle.push_back(steps[at].waiting);
        std::ranges::reverse(cycle);
        fail_and_throw(deadlock(std::move(cycle)));
      }
      if (std::exchange(peer.searched, search) != search) steps.push_back({op.peer, waiting, i});
    }
  }
}

// ---- ends

void Switchboard::finish(int rank) {
  ranks_[static_cast<std::size_t>(rank)].finished = true;
  if (failure_) return;
  const Post* first = nullptr;  // the earliest post of a rank that waits for this one
  const Op* which = nullptr;
  for (const Post& post : posts_) {
    if (post.ticket == 0 || ranks_[static_cast<std::size_t>(post.rank)].waiting_for != post.ticket) continue;
    const auto op = std::ranges::find(post.ops, rank, &Op::peer);
    if (op == post.ops.end() || (first != nullptr && first->ticket < post.ticket)) continue;
    first = &post;
    which = &*op;
  }
  if (first != nullptr) return fail(peer_ended(first->rank, *which));
  deliver_some();
}

void Switchboard::fail(const std::string& reason) { fail(Failure{Why::kOther, {}, reason}); }

void Switchboard::fail(Failure failure) {
  if (!failure_) failure_ = std::move(failure);
  flights_.clear();
}

void Switchboard::fail_and_throw(Failure failure) {
  fail(std::move(failure));
  throw Failed(*failure_);
}

void Switchboard::throw_if_failed() const {
  if (failure_) throw Failed(*failure_);
}

Index Switchboard::delivered(int from, int to) const {
  const auto found = links_.find(key(from, to));
  return found == links_.end() ? 0 : found->second.delivered;
}

}  // namespace ringcraft
