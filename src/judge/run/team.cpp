// Starts workers, limits and ends them, and makes calls.
#include "judge/run/team.hpp"

#include <algorithm>
#include <iterator>

#include "judge/run/round.hpp"
#include "judge/tree/config.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {

std::vector<std::string> worker_environment() {
  if (!kSanitized) return {};
  return {"ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0",
          "TSAN_OPTIONS=handle_segv=0:handle_sigbus=0"};
}

namespace {

constexpr int kAllCalls = 3;
constexpr std::string_view kAssertion = "Assertion '";

std::string_view last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (const auto start = text.rfind('\n'); start != text.npos) text.remove_prefix(start + 1);
  return text;
}

// A call has a deadline; the processor time covers all calls of a lesson, on all threads.
process::Limits worker_limits(const Asked& asked, Threads threads) {
  process::Limits limits{.cpu_seconds = 600,
                         .address_bytes = rlim_t{2} << 30,
                         .file_bytes = 1 << 20,
                         .threads = threads == Threads::kOne ? 1 : kMostThreads,
                         .locked = kLockable};
  if (asked.address_bytes > 0) limits.address_bytes = asked.address_bytes;
  if (kSanitized) limits.address_bytes = 0;  // a sanitizer's shadow memory takes terabytes of addresses
  return limits;
}

process::Command worker_command(const std::filesystem::path& program, const Asked& asked, bool sees_itself,
                                Threads threads) {
  return {.arguments = {program.string()},
          .environment = worker_environment(),
          .folder = "/",
          .limits = worker_limits(asked, threads),
          .wire = process::Wire::kSocket,
          .sees_itself = sees_itself,
          .output_limit = kWorkerOutput};
}

}  // namespace

std::string last_words(std::string_view text) {
  text = last_line(text);
  if (const auto assertion = text.rfind(kAssertion); assertion != text.npos) text.remove_prefix(assertion);
  return cleaned(text, 300);
}

std::string without_assertion(const std::string& printed) {
  const std::string_view last = last_line(printed);
  if (last.find(kAssertion) == last.npos) return printed;
  return printed.substr(0, static_cast<std::size_t>(last.data() - printed.data()));
}

Member::Member(const std::filesystem::path& program, const Asked& asked, bool sees_itself, Threads threads)
    : child(worker_command(program, asked, sees_itself, threads)), connection(child.wire().get()) {}

Team::Team(std::filesystem::path program, std::chrono::milliseconds per_call, bool sees_itself,
           Threads threads, Words words)
    : program_(std::move(program)),
      per_call_(per_call),
      sees_itself_(sees_itself),
      threads_(threads),
      words_(words) {}
Team::~Team() = default;

void Team::begin_check(const Asked& asked) {
  if (asked.fresh || asked.address_bytes != asked_.address_bytes) members_.clear();
  asked_ = asked;
  calls_ = 0;
  printed_.clear();
  for (const auto& member : members_) {
    member->child.read_output();
    member->child.forget_output();
  }
}

// Ranks that ran the same file would share the pages of its constants, and could communicate through them.
std::filesystem::path Team::program_of_next() const {
  if (members_.empty()) return program_;
  const std::filesystem::path copy = program_.string() + "." + std::to_string(members_.size());
  std::filesystem::remove(copy);  // another process may still run it
  std::filesystem::copy_file(program_, copy);
  return copy;
}

CallRecord Team::call(const std::string& exercise, const std::vector<Bytes>& requests,
                      DeliveryOptions delivery) {
  ++calls_;
  while (members_.size() < requests.size())
    members_.push_back(std::make_unique<Member>(program_of_next(), asked_, sees_itself_, threads_));
  const auto members = std::span(members_).first(requests.size());
  for (std::size_t rank = 0; rank < requests.size(); ++rank) {
    Writer call;
    put(call, exercise);
    call.number(static_cast<int>(rank));
    call.number(static_cast<int>(requests.size()));
    call.number(delivery.sending);
    call.number(asked_.placement);
    call.raw(requests[rank].data(), requests[rank].size());
    members[rank]->connection.send(FrameKind::kCall, call.take());
  }
  const std::string name = "call " + std::to_string(calls_) + " of " + exercise;
  const auto most = kAllCalls * std::chrono::duration<double>(per_call_);
  if (computed_ > most.count() || spent_ > kMostPatience * most)
    throw Misbehaviour(Misbehaviour::Kind::kSilent, "too-slow",
                       "your program is too slow: before " + name + " its calls have taken " +
                           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(spent_).count()) +
                           " s all together");
  const auto begun = process::Clock::now();
  const double computed_before = processor_seconds();
  try {
    CallRecord record = Round(members, name, delivery, words_).run(per_call_);
    spent_ += process::Clock::now() - begun;
    computed_ += processor_seconds() - computed_before;
    return record;
  } catch (const Misbehaviour&) {
    end();
    throw;
  }
}

std::string Team::said() {
  std::string all = printed_;
  for (const auto& member : members_) {
    member->child.read_output();
    all += member->child.printed();
  }
  return all;
}

std::string Team::printed() {
  return words_ == Words::kHidden ? std::string() : cleaned(said(), kWorkerOutput);
}

double Team::processor_seconds() const { return processor_seconds_of(members_); }

void Team::end() {
  printed_ = said();
  members_.clear();
}

// A deadlock in which all ranks wait for the same kind of operation is a mistake of its own.
std::string code_of(const Switchboard::Failure& failure) {
  using Why = Switchboard::Failure::Why;
  switch (failure.why) {
    case Why::kDeadlock: {
      const auto is_send = [](const Switchboard::Waiting& waiting) { return waiting.op == Op::kSend; };
      const auto sends = std::ranges::count_if(failure.waiting, is_send);
      if (sends == 0) return "deadlock-of-receives";
      return sends == std::ssize(failure.waiting) ? "deadlock-of-sends" : "deadlock";
    }
    case Why::kLengths:
      return "lengths";
    case Why::kEnded:
      return "peer-ended";
    case Why::kOther:
      break;
  }
  return "failed";
}

Misbehaviour::Kind kind_of(Thrown thrown) {
  switch (thrown) {
    case Thrown::kMemory:
      return Misbehaviour::Kind::kMemory;
    case Thrown::kNotWritten:
      return Misbehaviour::Kind::kUnwritten;
    case Thrown::kOther:
      break;
  }
  return Misbehaviour::Kind::kThrew;
}

std::string described(Refusal refused) {
  switch (refused) {
    case Refusal::kNoSuchRank:
      return "addressed a rank that does not exist";
    case Refusal::kItself:
      return "addressed itself in a message";
    case Refusal::kStillSending:
      return "received into a buffer that it was still sending from";
    case Refusal::kAlreadyReceiving:
      return "received into a buffer that it was already receiving into";
    case Refusal::kNone:
      break;
  }
  return "threw an exception, whose words are not shown here,";
}

std::string name_of_rank(int rank, int world_size) {
  return world_size == 1 ? "your program" : "rank " + std::to_string(rank);
}

std::string cleaned(std::string_view text, std::size_t limit) { return shown_lines(text, limit); }

}  // namespace ringcraft::judge
