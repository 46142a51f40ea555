// Rank 0's side of a rendezvous, and that of the others.
#include "tool/jobs/rendezvous.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/jobs/culprits.hpp"

namespace ringcraft::tool {
namespace {

constexpr std::array<char, 8> kMark{'r', 'i', 'n', 'g', 'm', 'e', 'e', '1'};  // with the version of this
constexpr std::chrono::seconds kIntroduction{1};  // for a caller to say which rank it is
constexpr std::chrono::seconds kAnswer{2};        // rank 0's patience ends before that of the others
constexpr std::uint32_t kLongest = 1 << 20;       // bytes of a word

// The first that a rank says.
struct Introduction {
  std::array<char, 8> mark = kMark;
  std::int32_t rank = 0, world_size = 0;
};

// Stands before the bytes of a word.
struct Head {
  enum Kind : std::uint32_t { kWord = 0x776f7264, kError = 0x6572726f } kind = kWord;
  std::uint32_t bytes = 0;
};

template <class T>
std::span<const char> bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
std::span<char> bytes_of(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}

Transfer say(const Descriptor& to, Head::Kind kind, const std::string& text, TimePoint deadline) {
  const Head head{kind, static_cast<std::uint32_t>(text.size())};
  const Transfer sent = send_bytes(to, bytes_of(head), deadline);
  return sent == Transfer::kDone ? send_bytes(to, text, deadline) : sent;
}

// kClosed also for bytes that are no word.
Transfer hear(const Descriptor& from, Head& head, std::string& text, TimePoint deadline) {
  const Transfer received = receive_bytes(from, bytes_of(head), deadline);
  if (received != Transfer::kDone) return received;
  if ((head.kind != Head::kWord && head.kind != Head::kError) || head.bytes > kLongest)
    return Transfer::kClosed;
  text.resize(head.bytes);
  return receive_bytes(from, std::span(text), deadline);
}

std::string after(std::chrono::milliseconds patience) {
  return " after " + std::to_string(patience.count() / 1000) + " s";
}

std::string said(int rank, int world_size) {
  return "RANK=" + std::to_string(rank) + ", WORLD_SIZE=" + std::to_string(world_size);
}

}  // namespace

Rendezvous::Rendezvous(const ToldPlace& place, std::chrono::milliseconds patience)
    : Meeting(place.rank, place.world_size),
      address_((place.host.find(':') == std::string::npos ? place.host : "[" + place.host + "]") + ":" +
               std::to_string(place.port)),  // brackets for an address of IPv6
      patience_(patience) {
  if (place.rank > 0)
    call(place);
  else if (place.world_size > 1)
    receive_ranks(listening_at(place.port));
  gathered("");
}

std::vector<std::string> Rendezvous::gathered(const std::string& own) {
  const std::size_t slice = kLongest / static_cast<std::size_t>(world_size());  // all of them are one word
  std::vector<std::string> whole(static_cast<std::size_t>(world_size()));
  std::size_t at = 0;
  do {
    const std::string part = own.substr(at, slice);
    const std::vector<std::string> words = rank() == 0 ? gathered_here(part) : gathered_there(part);
    for (std::size_t its_rank = 0; its_rank < whole.size(); ++its_rank) whole[its_rank] += words[its_rank];
    at += slice;
  } while (at < own.size());
  return whole;
}

// ---- rank 0

void Rendezvous::receive_ranks(const Descriptor& listener) {
  const TimePoint deadline = deadline_after(patience_);
  ranks_.resize(static_cast<std::size_t>(world_size()));
  int strangers = 0;
  for (int here = 1; here < world_size();) {
    Descriptor caller = accepted(listener, deadline);
    if (!caller.open() && std::chrono::steady_clock::now() >= deadline) break;
    if (!caller.open()) continue;
    const std::optional<int> its_rank = rank_that_calls(caller);
    its_rank ? ++here : ++strangers;
    if (its_rank) ranks_[static_cast<std::size_t>(*its_rank)] = std::move(caller);
  }
  std::vector<int> missing;
  for (int its_rank = 1; its_rank < world_size(); ++its_rank)
    if (!ranks_[static_cast<std::size_t>(its_rank)].open()) missing.push_back(its_rank);
  if (!missing.empty())
    refuse(named(missing) + " of " + std::to_string(world_size()) + (missing.size() == 1 ? " has" : " have") +
           " not come to " + address_ + after(patience_) +
           (strangers > 0 ? "; " + counted(strangers, "other program") + " called there" : "") +
           ": not started, ended, or cut off");
}

// Nothing for a stranger.
std::optional<int> Rendezvous::rank_that_calls(const Descriptor& caller) {
  Introduction its;
  if (receive_bytes(caller, bytes_of(its), deadline_after(kIntroduction)) != Transfer::kDone ||
      its.mark != kMark)
    return std::nullopt;
  std::string wrong;
  if (its.world_size != world_size() || its.rank < 0 || its.rank >= world_size())
    wrong = "differs from rank 0 in the number of ranks (rank 0: " + std::to_string(world_size()) + ")";
  else if (its.rank == 0)
    wrong = "is a second rank 0";
  else if (const Descriptor& first = ranks_[static_cast<std::size_t>(its.rank)]; first.open())
    wrong = "has the number of another one, on " + peer_of(first);
  if (wrong.empty()) return its.rank;
  const std::string sentence = "the process on " + peer_of(caller) + " with " +
                               said(its.rank, its.world_size) + " " + wrong +
                               "; the launcher numbers the processes of a job from 0, each once";
  say(caller, Head::kError, sentence, deadline_after(kIntroduction));
  refuse(sentence);
}

std::vector<std::string> Rendezvous::gathered_here(const std::string& own) {
  const TimePoint deadline = deadline_after(patience_);
  std::vector<std::string> words{own};
  std::vector<int> late, gone;
  for (int its_rank = 1; its_rank < world_size(); ++its_rank) {
    Head head;
    const Transfer heard =
        hear(ranks_[static_cast<std::size_t>(its_rank)], head, words.emplace_back(), deadline);
    if (heard != Transfer::kDone) (heard == Transfer::kLate ? late : gone).push_back(its_rank);
  }
  if (!gone.empty()) refuse(named(gone) + " left the job before it began; its own message says why");
  if (!late.empty())
    refuse(named(late) + (late.size() == 1 ? " does" : " do") + " not answer" + after(patience_) +
           ": stopped, cut off, or still reading (then give more --patience)");
  std::string all;
  for (const std::string& word : words) {
    if (word.size() != own.size()) refuse("the ranks do not run the same program");
    all += word;
  }
  for (int its_rank = 1; its_rank < world_size(); ++its_rank)
    say(ranks_[static_cast<std::size_t>(its_rank)], Head::kWord, all, deadline_after(kAnswer));
  return words;
}

// Throws the sentence here, and at every rank that is here.
void Rendezvous::refuse(const std::string& sentence) {
  for (const Descriptor& its : ranks_)
    if (its.open()) say(its, Head::kError, sentence, deadline_after(kIntroduction));
  throw Error(sentence, Code::kWrongAnswer);
}

// ---- the others

void Rendezvous::call(const ToldPlace& place) {
  const TimePoint deadline = deadline_after(patience_);
  const Introduction own{.rank = rank(), .world_size = world_size()};
  ranks_.push_back(connected(place.host, place.port, deadline));
  send_bytes(ranks_.front(), bytes_of(own), deadline);
}

std::vector<std::string> Rendezvous::gathered_there(const std::string& own) {
  const TimePoint deadline = patience_.count() == 0 ? TimePoint::max() : deadline_after(patience_ + kAnswer);
  Head head;
  std::string all;
  say(ranks_.front(), Head::kWord, own, deadline);  // if that fails, so does the answer
  const Transfer heard = hear(ranks_.front(), head, all, deadline);
  if (heard == Transfer::kLate)
    throw Error("rank 0 does not answer at " + address_ + after(patience_) +
                    ": stopped, cut off, or another program listens there (then set RINGCRAFT_PORT)",
                Code::kWrongAnswer);
  const std::size_t words_bytes = own.size() * static_cast<std::size_t>(world_size());
  if (heard == Transfer::kClosed || (head.kind == Head::kWord && all.size() != words_bytes))
    throw Error(
        "rank 0 left the job before it began, and its own message says why; or another program "
        "listens at " +
            address_ + " (then set RINGCRAFT_PORT)",
        Code::kWrongAnswer);
  if (head.kind == Head::kError) throw Error(all, Code::kWrongAnswer);
  std::vector<std::string> words;
  for (int its_rank = 0; its_rank < world_size(); ++its_rank)
    words.push_back(all.substr(static_cast<std::size_t>(its_rank) * own.size(), own.size()));
  return words;
}

}  // namespace ringcraft::tool
