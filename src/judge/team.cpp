// Workers and their calls (see team.hpp).
#include "judge/team.hpp"

#include "judge/config.hpp"
#include "judge/round.hpp"

namespace ringcraft::judge {
namespace {

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

Command worker_command(const std::filesystem::path& program) {
  return {.arguments = {program.string()},
          .environment = worker_environment(),
          .folder = program.parent_path(),
          .limits = worker_limits(),
          .wire = Wire::kYes,
          .output_limit = kWorkerOutput};
}

}  // namespace

Member::Member(const std::filesystem::path& program)
    : child(worker_command(program)), connection(child.wire().get()) {}

Team::Team(std::filesystem::path program, std::chrono::milliseconds per_call)
    : program_(std::move(program)), per_call_(per_call) {}
Team::~Team() = default;

World Team::call(const std::string& exercise, const std::vector<Bytes>& requests, Delivery delivery) {
  ++calls_;
  while (members_.size() < requests.size()) members_.push_back(std::make_unique<Member>(program_));
  const auto members = std::span(members_).first(requests.size());
  for (std::size_t rank = 0; rank < requests.size(); ++rank) {
    Writer call;
    put(call, exercise);
    call.number(static_cast<int>(rank));
    call.number(static_cast<int>(requests.size()));
    call.number(delivery.sending);
    call.raw(requests[rank].data(), requests[rank].size());
    members[rank]->connection.send(FrameKind::kCall, call.take());
  }
  try {
    return Round(members, "call " + std::to_string(calls_) + " of " + exercise, delivery).run(per_call_);
  } catch (const Misbehaviour&) {
    printed_ = printed();
    members_.clear();
    throw;
  }
}

std::string Team::printed() const {
  std::string all = printed_;
  for (const auto& member : members_) all += member->child.printed();
  return cleaned(all, kWorkerOutput);
}

std::string cleaned(std::string_view text, std::size_t limit) {
  std::string result(text.substr(0, limit));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') c = '?';
  return result;
}

}  // namespace ringcraft::judge
