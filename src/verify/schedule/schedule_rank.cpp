// Translates the operations of one rank in a schedule's text to events of its trace, and gives every named
// buffer an address.
#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

#include "verify/schedule/schedule_text_detail.hpp"

namespace ringcraft::verify {
namespace {

// Made-up memory: each name has its own address, far apart; a block that never arrived has an address that
// holds nothing.
constexpr std::uintptr_t kNowhere = 1u << 20, kFirstAddress = 1u << 30, kApart = 1u << 24;

}  // namespace

RankWriter::RankWriter(const Problem& problem, const ScheduleHeader& head, int rank, RankTrace& trace,
                       std::vector<ScheduleNote>& notes)
    : problem_(problem),
      head_(head),
      rank_(rank),
      trace_(trace),
      notes_(notes),
      route_(problem, rank, head.reversed ? Schedule::kReversed : Schedule::kForward) {
  if (route_.here(0)) hold(route_.source(0));
  if (route_.keeps_own()) hold(rank);
  buffers_ = 0;
}

// The block that this rank has at the beginning.
void RankWriter::hold(int owner) {
  const std::string name = block_name(owner);
  where_[name] = name;
  TraceEvent event;
  event.owner = owner;
  event.tensors = {{"k", TracedTensor::kWrite, bytes(name, owner)}};
  write(std::move(event), {});
}

void RankWriter::line(const Place& place, int step, const std::string& operations) {
  place_ = &place;
  step_ = step;
  std::istringstream stream(operations);
  bool any = false;
  for (std::string operation; std::getline(stream, operation, ',');) {
    const Words words = words_of(operation);
    if (words.empty()) break;
    if (words[0] != "send" && words[0] != "recv") flush();
    run(words);
    any = true;
  }
  if (!any || !stream.eof()) place.refuse("an operation between commas", "");
  flush();
}

void RankWriter::run(const Words& words) {
  const std::string& what = words[0];
  const auto at = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  // "into A", if it is allowed there; returns the number of words with it.
  const auto into = [&](std::size_t i) { return at(i) == "into" ? buffer_named(at(i + 1)) : std::string(); };
  std::size_t used = 0;
  if (what == "send") {
    message(Op::kSend, words, "");
    used = 4;
  } else if (what == "recv") {
    message(Op::kRecv, words, into(4));
    used = at(4) == "into" ? 6 : 4;
  } else if (what == "compute") {
    compute(at(1), at(2), into(3));
    used = at(3) == "into" ? 5 : 3;
  } else if (what == "add") {
    add(at(1));
    used = 2;
  } else if (what == "wait") {
    wait(at(1));
    used = 2;
  } else {
    place_->refuse("send, recv, compute, add or wait", what);
  }
  if (words.size() > used) place_->refuse("a comma or the end of the line", words[used]);
}

// ---- names

int RankWriter::block_of(const std::string& name, const std::string& prefix, const std::string& what) {
  if (!name.starts_with(prefix)) place_->refuse(what, name);
  return static_cast<int>(
      place_->number(name.substr(prefix.size()), 0, problem_.world_size - 1, "the rank of " + what));
}

int RankWriter::block_of(const std::string& name) {
  return name.starts_with("dK") ? gradient_block_of(name) : block_of(name, "K", "a block like K0");
}

int RankWriter::gradient_block_of(const std::string& name) {
  if (!head_.backward) place_->refuse("KV blocks alone in a forward pass", name);
  return block_of(name, "dK", "a gradient like dK0");
}

std::string RankWriter::buffer_named(const std::string& name) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (name.empty() || !std::ranges::all_of(name, fits)) place_->refuse("a name of memory after into", name);
  return name;
}

// The memory of this name, with the length of block `block`.
TracedBytes RankWriter::bytes(const std::string& buffer, int block) {
  const auto [found, is_new] = addresses_.emplace(buffer, kFirstAddress + addresses_.size() * kApart);
  buffers_ += is_new ? 1 : 0;
  return {found->second, 2 * problem_.kv_extents(block).elements()};
}

TracedBytes RankWriter::place_of(const std::string& name, int block) {
  const auto found = where_.find(name);
  if (found != where_.end()) return bytes(found->second, block);
  return {kNowhere, 2 * problem_.kv_extents(block).elements()};
}

// ---- operations

void RankWriter::message(Op::Kind kind, const Words& words, const std::string& buffer) {
  const auto at = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  const std::string name = at(1), preposition = kind == Op::kSend ? "to" : "from";
  const int block = block_of(name);
  if (at(2) != preposition) place_->refuse("'" + preposition + "' and a rank after " + name, at(2));
  const int peer = static_cast<int>(place_->number(at(3), 0, problem_.world_size - 1, "a rank"));
  if (peer == rank_) place_->refuse("another rank than this line's", at(3));
  if (kind == Op::kRecv) where_[name] = buffer.empty() ? name : buffer;
  const TracedBytes memory = place_of(name, block);
  if (memory.size == 0) return;  // empty messages are dropped
  pending_.messages.push_back({kind, peer, memory});
  pending_note_.names.push_back(name);
}

// Ends a run of sends and receives: they form one start.
void RankWriter::flush() {
  if (pending_.messages.empty()) return;
  pending_.kind = TraceEvent::kStart;
  pending_note_.step = step_;
  pending_note_.line = place_->line;
  open_.push_back({trace_.events().size(), pending_note_.names});
  write(std::exchange(pending_, {}), std::exchange(pending_note_, {}));
}

void RankWriter::compute(const std::string& query, const std::string& key, const std::string& buffer) {
  if (block_of(query, "q", "queries like q0") != rank_)
    place_->refuse("the queries of this line's rank, which stay where they are", query);
  const int block = block_of(key, "k", "keys like k0");
  const std::string name = block_name(block);
  const KeyRanges ranges = key_ranges(problem_, rank_, block);
  TraceEvent event;
  event.kind = head_.backward ? TraceEvent::kBackward : TraceEvent::kForward;
  event.key_begin = ranges.begin;
  event.key_end = ranges.end;
  event.pairs = ranges.pairs();
  event.tensors = {{"k", TracedTensor::kRead, place_of(name, block)}};
  if (head_.backward) {
    share_ = buffer.empty() ? "share" + std::to_string(shares_begun_) : buffer;
    share_block_ = block;
    event.tensors.push_back({"dk", TracedTensor::kWrite, bytes(share_, block)});
  } else if (!buffer.empty()) {
    place_->refuse("no memory for a result in a forward pass", buffer);
  }
  write(std::move(event), {step_, place_->line, {name}});
}

void RankWriter::add(const std::string& name) {
  const int block = gradient_block_of(name);
  if (share_.empty()) place_->refuse("a compute before the add", name);
  if (!where_.contains(name)) {  // the share becomes the sum, and its memory the sum's
    where_[name] = std::exchange(share_, "");
    ++shares_begun_;
    return;
  }
  TraceEvent event;
  event.kind = TraceEvent::kAdd;
  event.tensors = {{"dk", TracedTensor::kUpdate, place_of(name, block)},
                   {"dk", TracedTensor::kRead, bytes(share_, share_block_)}};
  write(std::move(event), {step_, place_->line, {name}});
}

void RankWriter::wait(const std::string& name) {
  if (!name.empty() && place_of(name, block_of(name)).size == 0) return;  // the message was dropped
  const auto meant = [&](const Open& open) {
    return name.empty() || std::ranges::find(open.names, name) != open.names.end();
  };
  if (!name.empty() && std::ranges::none_of(open_, meant))
    place_->refuse("a message of this rank that is under way", name);
  for (const Open& open : open_) {
    if (!meant(open)) continue;
    TraceEvent event;
    event.kind = TraceEvent::kWait;
    event.waits_for = open.event;
    write(std::move(event), {step_, place_->line, {}});
  }
  std::erase_if(open_, meant);
}

void RankWriter::write(TraceEvent event, const ScheduleNote& note) {
  if (head_.costs) event.live_bytes = held();
  trace_.end(trace_.begin(std::move(event)));
  notes_.push_back(note);
}

// Elements that the rank holds: q and out (backward also dout and dq), two numbers per row, the first block,
// and the buffers so far, each as long as the largest block.
Index RankWriter::held() const {
  const Index q = problem_.q_extents(rank_).elements(), rows = problem_.row_extents(rank_).elements();
  const Index own = 2 * problem_.kv_extents(rank_).elements();
  const Index largest = 2 * problem_.sharding().largest_rows() * problem_.shape.head_dim;
  const Index first =
      (head_.reversed && route_.exchanges() > 0 ? largest : own) + (route_.keeps_own() ? own : 0);
  return (head_.backward ? 4 : 2) * q + 2 * rows + first + buffers_ * largest;
}

}  // namespace ringcraft::verify
