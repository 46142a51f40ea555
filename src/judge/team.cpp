// Workers, and the loop that moves their messages (see team.hpp).
#include "judge/team.hpp"

#include <poll.h>

#include <algorithm>
#include <map>

#include "judge/child.hpp"
#include "judge/config.hpp"
#include "judge/connection.hpp"
#include "ringcraft/comm/switchboard.hpp"

namespace ringcraft::judge {

// One worker.
struct Team::Member {
  explicit Member(const Command& command) : child(command), connection(child.wire().get()) {}

  Child child;
  Connection connection;
};

namespace {

constexpr std::size_t kOutputLimit = std::size_t{64} << 10;  // bytes that a worker may print
constexpr std::uint64_t kMostFrames = 10'000;                // of one rank in one call

using Kind = Misbehaviour::Kind;

Limits worker_limits() {
  Limits limits{.cpu_seconds = 60, .address_bytes = rlim_t{2} << 30, .file_bytes = 1 << 20};
  if (kSanitized) limits.address_bytes = 0;  // a sanitizer's shadow memory takes terabytes of addresses
  return limits;
}

// Nothing, but that a sanitizer leaves crashes to the judge, and does not report what a killed program still
// holds.
std::vector<std::string> worker_environment() {
  if (!kSanitized) return {};
  return {"ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0",
          "TSAN_OPTIONS=handle_segv=0:handle_sigbus=0"};
}

// The last line that a program printed; of an assertion of the standard library only what it asserts.
std::string last_words(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (const auto start = text.rfind('\n'); start != text.npos) text.remove_prefix(start + 1);
  if (const auto assertion = text.rfind("Assertion '"); assertion != text.npos) text.remove_prefix(assertion);
  return cleaned(text, 300);
}

}  // namespace

std::string cleaned(std::string_view text, std::size_t limit) {
  std::string result(text.substr(0, limit));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') c = '?';
  return result;
}

// One call: who has answered, who waits, what is under way.
class Round {
 public:
  Round(Team& team, std::string exercise, int world_size, Delivery delivery)
      : team_(team),
        call_(" call " + std::to_string(team.calls_) + " of " + exercise),
        board_(world_size, {.delivery_seed = delivery.seed}),
        ranks_(static_cast<std::size_t>(world_size)) {}

  World run(Clock::time_point deadline);

 private:
  struct Posted {  // operations of a rank; their bytes live here
    Switchboard::Ticket ticket = 0;
    std::vector<Op> ops;
    std::vector<Bytes> memory;
  };
  struct Rank {
    std::map<std::uint64_t, Posted> posts;  // by the worker's own ticket
    std::optional<std::uint64_t> waits_for;
    std::optional<Bytes> reply;
    std::uint64_t frames = 0, bytes = 0;
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Team::Member& member(int rank) { return team_.member(rank); }
  std::string who(int rank) const { return size() == 1 ? "your program" : "rank " + std::to_string(rank); }
  [[noreturn]] void misbehaved(Kind kind, int rank, const std::string& what, const char* when = " in") const {
    throw Misbehaviour(kind, who(rank) + " " + what + when + call_);
  }

  void wait_for_something(Clock::time_point deadline);
  void serve(int rank);
  void handle(int rank, Frame frame);
  void post(int rank, Reader from);
  void wait(int rank, std::uint64_t ticket);
  void wake_all();
  void send_received(int rank, std::uint64_t ticket);
  void charge(Rank& self, std::uint64_t bytes) const;
  void too_late();
  [[noreturn]] void ended(int rank);
  void throw_if_board_failed() const;

  Team& team_;
  std::string call_;
  Switchboard board_;
  std::vector<Rank> ranks_;
};

World Round::run(Clock::time_point deadline) {
  const auto unanswered = [](const Rank& rank) { return !rank.reply; };
  while (std::any_of(ranks_.begin(), ranks_.end(), unanswered)) {
    wait_for_something(deadline);
    for (int rank = 0; rank < size(); ++rank) serve(rank);
    if (Clock::now() >= deadline) too_late();
  }
  World world;
  for (Rank& rank : ranks_) world.replies.push_back(std::move(*rank.reply));
  for (int from = 0; from < size(); ++from)
    for (int to = 0; to < size(); ++to) world.bytes.push_back(board_.delivered(from, to));
  return world;
}

void Round::wait_for_something(Clock::time_point deadline) {
  std::vector<pollfd> ready;
  for (int rank = 0; rank < size(); ++rank) {
    const Team::Member& m = member(rank);
    const short events = m.connection.has_output() ? POLLIN | POLLOUT : POLLIN;
    ready.push_back({at(rank).reply ? -1 : m.child.wire().get(), events, 0});
    ready.push_back({m.child.output().get(), POLLIN, 0});  // -1, and passed over, once it is closed
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  ::poll(ready.data(), ready.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
}

void Round::serve(int rank) {
  Team::Member& m = member(rank);
  m.child.read_output();
  if (m.child.flooded())
    misbehaved(Kind::kNonsense, rank, "printed more than " + std::to_string(kOutputLimit >> 10) + " KB");
  if (at(rank).reply) return;
  m.connection.write_some();
  const bool connected = m.connection.read_some();
  try {
    while (auto frame = m.connection.next()) handle(rank, std::move(*frame));
  } catch (const Violation& violation) {
    misbehaved(Kind::kNonsense, rank, violation.what());
  }
  if (!connected && !at(rank).reply) ended(rank);
}

// ---- frames

void Round::handle(int rank, Frame frame) {
  Rank& self = at(rank);
  if (self.reply || self.waits_for) throw Violation("speaks to the judge out of turn");
  if (++self.frames > kMostFrames) throw Violation("sends messages without end");
  charge(self, frame.bytes.size());
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
      case FrameKind::kThrew:
        misbehaved(Kind::kThrew, rank, "threw \"" + cleaned(get_string(from), 400) + "\"");
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

void Round::charge(Rank& self, std::uint64_t bytes) const {
  self.bytes += bytes;
  if (self.bytes > kLargestFrame)
    throw Violation("moves more than " + std::to_string(kLargestFrame >> 20) + " MB");
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
  self.waits_for.reset();
}

// ---- what ends a round early

void Round::throw_if_board_failed() const {
  if (board_.failure()) throw Misbehaviour(Kind::kMessages, *board_.failure());
}

void Round::ended(int rank) {
  Child& child = member(rank).child;
  const auto ending = child.wait_until(Clock::now() + std::chrono::seconds(1));
  child.read_output();
  if (!ending) misbehaved(Kind::kEnded, rank, "closed its connection to the judge");
  if (!ending->signalled) misbehaved(Kind::kEnded, rank, described(*ending), " in the middle of");
  const std::string words = last_words(child.printed());
  misbehaved(Kind::kEnded, rank,
             described(*ending) + (words.empty() ? "" : ", its last words: \"" + words + "\","));
}

void Round::too_late() {
  const double seconds = std::chrono::duration<double>(team_.per_call_).count();
  std::string limit = std::to_string(seconds);
  limit.erase(limit.find_last_not_of('0') + 1);
  if (limit.back() == '.') limit.pop_back();
  for (int rank = 0; rank < size(); ++rank) {
    if (at(rank).reply || at(rank).waits_for) continue;
    if (member(rank).connection.has_half_a_frame())
      misbehaved(Kind::kSilent, rank, "sent the beginning of a message and not its end");
    misbehaved(Kind::kSilent, rank, "did not come back within " + limit + " s");
  }
}

// ---- Team

Team::Team(std::filesystem::path program, std::chrono::milliseconds per_call)
    : program_(std::move(program)), per_call_(per_call) {}
Team::~Team() = default;

Team::Member& Team::member(int rank) {
  const auto r = static_cast<std::size_t>(rank);
  while (members_.size() <= r)
    members_.push_back(std::make_unique<Member>(Command{.arguments = {program_.string()},
                                                        .environment = worker_environment(),
                                                        .folder = program_.parent_path(),
                                                        .limits = worker_limits(),
                                                        .wire = Wire::kYes,
                                                        .output_limit = kOutputLimit}));
  return *members_[r];
}

World Team::call(const std::string& exercise, const std::vector<Bytes>& requests, Delivery delivery) {
  ++calls_;
  const int world_size = static_cast<int>(requests.size());
  try {
    Round round(*this, exercise, world_size, delivery);
    for (int rank = 0; rank < world_size; ++rank) {
      Writer call;
      put(call, exercise);
      call.number(rank);
      call.number(world_size);
      call.number(delivery.sending);
      const Bytes& arguments = requests[static_cast<std::size_t>(rank)];
      call.raw(arguments.data(), arguments.size());
      member(rank).connection.send(FrameKind::kCall, call.take());
    }
    return round.run(Clock::now() + per_call_);
  } catch (const Misbehaviour&) {
    printed_ = printed();
    members_.clear();
    throw;
  }
}

std::string Team::printed() const {
  std::string all = printed_;
  for (const auto& m : members_) all += m->child.printed();
  return cleaned(all, kOutputLimit);
}

}  // namespace ringcraft::judge
