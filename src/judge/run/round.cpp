// Polls the workers of one call, and moves their messages through the Switchboard.
#include "judge/run/round.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "judge/run/stray.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

constexpr std::uint64_t kMostFrames = 10'000;  // of one rank in one call
constexpr std::int64_t kLookAgain = 100;       // milliseconds between counts of its threads

using Kind = Misbehaviour::Kind;

// A write outside all objects may hit the end of the memory, or be detected by the next free().
std::string code_of(const process::Ending& ending) {
  if (!ending.signalled) return "exit-" + std::to_string(ending.number);
  for (const int crash : {SIGSEGV, SIGBUS, SIGABRT})
    if (ending.number == crash) return "crash";
  return "signal-" + std::to_string(ending.number);
}

// Bytes that went over the wires of these workers.
std::uint64_t moved_by(std::span<const std::unique_ptr<Member>> members) {
  std::uint64_t sum = 0;
  for (const auto& member : members) sum += member->connection.moved();
  return sum;
}

}  // namespace

double processor_seconds_of(std::span<const std::unique_ptr<Member>> members) {
  double sum = 0;
  for (const auto& member : members) sum += member->child.processor_seconds();
  return sum;
}

bool Round::all_answered() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.reply.has_value(); });
}

CallRecord Round::run(std::chrono::milliseconds limit) {
  try {
    return record_of_all(limit);
  } catch (const Misbehaviour& misbehaviour) {
    throw misbehaviour.knowing(logs());
  }
}

std::vector<RankLog> Round::logs() const {
  std::vector<RankLog> all;
  for (const Rank& rank : ranks_) all.push_back({rank.started, rank.reply.has_value()});
  return all;
}

CallRecord Round::record_of_all(std::chrono::milliseconds limit) {
  // Beyond the limit a call goes on while it computes, or its messages move, and it has not had that much
  // processor time: other programs make a machine slow, and no student's file wrong.
  const auto begun = process::Clock::now(), latest = begun + kMostPatience * limit;
  const std::chrono::milliseconds look = limit / 4;
  auto deadline = begun + limit;
  double spent = processor_seconds_of(members_);
  std::uint64_t moved = 0;
  auto last_moved = begun;
  const double enough = spent + 0.9 * std::chrono::duration<double>(limit).count();
  while (!all_answered()) {
    if (const auto now = process::Clock::now(); now >= deadline) {
      const double by_now = processor_seconds_of(members_);
      const bool goes_on =
          last_moved + look > now || by_now - spent > 0.05 * std::chrono::duration<double>(look).count();
      if (!goes_on || by_now >= enough || now >= latest) too_late(limit);
      spent = by_now, deadline = now + look;
    }
    wait_for_something(deadline);
    for (int rank = 0; rank < size(); ++rank) serve(rank);
    if (const std::uint64_t so_far = moved_by(members_); so_far > moved)
      moved = so_far, last_moved = process::Clock::now();
  }
  CallRecord record;
  record.logs = logs();
  for (int rank = 0; rank < size(); ++rank) {
    record.replies.push_back(std::move(*at(rank).reply));
    record.clocks.push_back(board_.clock(rank));
    record.under_way.push_back(at(rank).most_under_way);
  }
  for (int from = 0; from < size(); ++from)
    for (int to = 0; to < size(); ++to) record.bytes.push_back(board_.delivered(from, to));
  return record;
}

void Round::wait_for_something(process::Clock::time_point deadline) {
  std::vector<pollfd> ready;
  for (int rank = 0; rank < size(); ++rank) {
    const Member& m = member(rank);
    const short events = m.connection.has_output() ? POLLIN | POLLOUT : POLLIN;
    ready.push_back({at(rank).reply ? -1 : m.child.wire().get(), events, 0});
    ready.push_back({m.child.output().get(), POLLIN, 0});  // -1, and ignored, once it is closed
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - process::Clock::now()).count();
  ::poll(ready.data(), ready.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, kLookAgain)));
}

void Round::serve(int rank) {
  Member& m = member(rank);
  m.child.read_output();
  if (m.child.flooded())
    misbehaved(Kind::kNonsense, "prints", rank,
               "printed more than " + std::to_string(kWorkerOutput >> 10) + " KB");
  if (m.child.crowded())
    misbehaved(Kind::kNonsense, "threads", rank, "started more threads than any exercise needs");
  if (at(rank).reply) return;
  m.connection.write_some();
  const bool connected = m.connection.read_some();
  try {
    while (auto frame = m.connection.next()) handle(rank, std::move(*frame));
  } catch (const Violation& violation) {
    misbehaved(Kind::kNonsense, "protocol", rank, violation.what());
  }
  if (!connected && !at(rank).reply) ended(rank);
}

// ---- frames

void Round::handle(int rank, Frame frame) {
  Rank& self = at(rank);
  if (++self.frames > kMostFrames) throw Violation("sends messages without end");
  charge(self, frame.bytes.size());
  if (frame.kind == FrameKind::kCrashed) return crashed(self, frame.bytes);
  if (frame.kind == FrameKind::kReady) return static_cast<void>(member(rank).ready = true);
  if (self.reply || self.waits_for) throw Violation("speaks to the judge out of turn");
  Arena arena;
  Reader from(frame.bytes);
  try {
    switch (frame.kind) {
      case FrameKind::kPost:
        post(rank, from);
        break;
      case FrameKind::kWait:
        wait(rank, from.number<std::uint64_t>());
        break;
      case FrameKind::kReply:
        self.reply = std::move(frame.bytes);
        board_.finish(rank);
        break;
      case FrameKind::kStrayed:
        misbehaved(Kind::kEnded, "crash", rank, text_of(from.number<Stray>()));
      case FrameKind::kThrew: {
        const std::string words = cleaned(get_string(from), 400);
        const auto thrown = from.number<Thrown>();
        const auto refused = from.number<Refusal>();
        if (thrown > Thrown::kNotWritten || refused > Refusal::kAlreadyReceiving)
          throw Violation("sent the judge an exception of no kind");
        misbehaved(kind_of(thrown), "exception", rank,
                   words_ == Words::kShown ? "threw \"" + words + "\"" : described(refused), " in ", refused);
      }
      default:
        throw Violation("wrote bytes of its own to the judge's connection");
    }
  } catch (const Error& error) {
    throw_if_board_failed();
    throw Violation(std::string("sent the judge a malformed message (") + error.what() + ")");
  }
  throw_if_board_failed();
  wake_all();
}

void Round::crashed(Rank& self, const Bytes& bytes) {
  if (bytes.size() < sizeof(Stray)) return;
  Reader from(bytes);
  self.stray = from.number<Stray>();
  self.stack.clear();
  for (std::size_t left = std::min(from.left() / sizeof(std::uint64_t), kMostCalls); left > 0; --left)
    self.stack.push_back(from.number<std::uint64_t>());
}

void Round::charge(Rank& self, std::uint64_t bytes) const {
  self.bytes += bytes;
  if (self.bytes > kMostMoved) throw Violation("moves more than " + std::to_string(kMostMoved >> 20) + " MB");
}

void Round::post(int rank, Reader from) {
  const auto ticket = from.number<std::uint64_t>();
  Posted posted;
  for (std::size_t left = from.count(1); left > 0; --left) {
    const auto kind = from.number<Op::Kind>();
    const auto peer = from.number<int>();
    const auto length = from.number<std::uint64_t>();
    if ((kind != Op::kSend && kind != Op::kRecv) || peer < 0 || peer >= size() || peer == rank)
      throw Violation("sent the judge a message for nobody");
    if (length == 0 || length > kLargestMessage)
      throw Violation((kind == Op::kSend ? "sends " : "expects ") + std::to_string(length) +
                      " bytes in one message to or from rank " + std::to_string(peer));
    charge(at(rank), length);
    posted.memory.emplace_back(static_cast<std::size_t>(length));
    posted.ops.push_back({kind, peer, posted.memory.back()});
  }
  for (const Op& op : posted.ops)
    if (op.kind == Op::kSend) std::ranges::copy(from.raw(op.bytes.size()), op.bytes.begin());
  from.end();
  const auto [place, is_new] = at(rank).posts.emplace(ticket, std::move(posted));
  if (!is_new) throw Violation("used a ticket twice");
  Rank& self = at(rank);
  for (const Op& op : place->second.ops)
    self.started.push_back({op.kind, op.peer, static_cast<Index>(op.bytes.size()),
                            self.under_way == 0 && place->second.ops.size() == 1});
  self.under_way += static_cast<int>(place->second.ops.size());
  self.most_under_way = std::max(self.most_under_way, self.under_way);
  place->second.ticket = board_.post(rank, place->second.ops);
}

void Round::wait(int rank, std::uint64_t ticket) {
  Rank& self = at(rank);
  const auto found = self.posts.find(ticket);
  if (found == self.posts.end()) throw Violation("waits for something that it has not started");
  self.waits_for = ticket;
  if (board_.begin_wait(rank, found->second.ticket)) send_received(rank, ticket);
}

void Round::wake_all() {
  for (int rank = 0; rank < size(); ++rank)
    if (at(rank).waits_for && !board_.is_waiting(rank)) send_received(rank, *at(rank).waits_for);
}

void Round::send_received(int rank, std::uint64_t ticket) {
  Rank& self = at(rank);
  Writer bytes;
  for (const Op& op : self.posts.at(ticket).ops)
    if (op.kind == Op::kRecv) bytes.raw(op.bytes.data(), op.bytes.size());
  member(rank).connection.send(FrameKind::kReceived, bytes.take());
  self.under_way -= static_cast<int>(self.posts.at(ticket).ops.size());
  self.waits_for.reset();
}

// ---- early ends of a round

void Round::throw_if_board_failed() const {
  if (board_.failure())
    throw Misbehaviour(Kind::kMessages, code_of(*board_.failure()), board_.failure()->sentence);
}

void Round::ended(int rank) {
  process::Child& child = member(rank).child;
  const auto ending = child.wait_until(process::Clock::now() + std::chrono::seconds(1));
  child.read_output();
  if (!ending) misbehaved(Kind::kEnded, "hung-up", rank, "closed its connection to the judge");
  const std::string code = code_of(*ending);
  if (!member(rank).ready)
    misbehaved(Kind::kEnded, code, rank,
               described(*ending) + ", while the variables outside of its functions were initialised,",
               " before ");
  if (!ending->signalled) misbehaved(Kind::kEnded, code, rank, described(*ending), " in the middle of ");
  if (std::string stray = text_of(at(rank).stray); !stray.empty() && ending->number == SIGSEGV)
    misbehaved(Kind::kEnded, code, rank, stray);
  const std::string words = words_ == Words::kShown ? last_words(child.printed()) : std::string();
  misbehaved(Kind::kEnded, code, rank,
             described(*ending) + (words.empty() ? "" : ", its last words: \"" + words + "\","));
}

void Round::too_late(std::chrono::milliseconds limit) {
  std::ostringstream seconds;
  seconds << std::chrono::duration<double>(limit).count();
  int silent = 0;  // the first rank that has neither answered nor waits for another one
  while (silent + 1 < size() && (at(silent).reply || at(silent).waits_for)) ++silent;
  if (member(silent).connection.has_half_a_frame())
    misbehaved(Kind::kSilent, "half-a-message", silent, "sent the beginning of a message and not its end");
  misbehaved(Kind::kSilent, "too-late", silent, "did not come back within " + seconds.str() + " s");
}

}  // namespace ringcraft::judge
