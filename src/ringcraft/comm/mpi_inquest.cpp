// Asks the ranks of an MPI job what they wait for, and names those that do not answer.
#include "ringcraft/comm/mpi_inquest.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft {
namespace {

constexpr auto kAnswerTime = std::chrono::milliseconds(1000);
constexpr int kSilent = -1;  // the peer of a rank that has not answered

std::string sentence_of(int rank, const Awaited& waits) {
  return "rank " + std::to_string(rank) + (waits.kind == Op::kSend ? " to send " : " to receive ") +
         counted(waits.bytes, "byte") + (waits.kind == Op::kSend ? " to rank " : " from rank ") +
         std::to_string(waits.peer);
}

std::string listed(const std::vector<std::string>& items) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, items.size()); ++i) text += (i > 0 ? ", " : "") + items[i];
  return text + (items.size() > kMost ? ", ..." : "");
}

}  // namespace

Inquest::Inquest() {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Inquest::~Inquest() { MPI_Comm_free(&comm_); }

bool Inquest::opened() {
  int there = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && there != 0;
}

// [rank]; a rank that stays silent has the peer kSilent.
std::vector<Awaited> Inquest::answers() {
  std::vector<Awaited> answers(static_cast<std::size_t>(size_), {Op::kRecv, kSilent, 0});
  const auto deadline = std::chrono::steady_clock::now() + kAnswerTime;
  int missing = size_ - 1;
  while (missing > 0 && std::chrono::steady_clock::now() < deadline) {
    int there = 0, text[3] = {};
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &there, &status) != MPI_SUCCESS || there == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (MPI_Recv(text, 3, MPI_INT, status.MPI_SOURCE, 0, comm_, MPI_STATUS_IGNORE) != MPI_SUCCESS) continue;
    answers[static_cast<std::size_t>(status.MPI_SOURCE)] = {text[0] == 0 ? Op::kSend : Op::kRecv, text[1],
                                                            text[2]};
    --missing;
  }
  return answers;
}

void Inquest::hold(const Awaited& mine, std::chrono::milliseconds patience) {
  told_[0] = mine.kind == Op::kSend ? 0 : 1;
  told_[1] = mine.peer;
  told_[2] = mine.bytes;
  for (int rank = 0; rank < size_; ++rank) {
    MPI_Request request;
    if (rank != rank_ && MPI_Isend(told_, 3, MPI_INT, rank, 0, comm_, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);  // the job ends before the answer may be overwritten
  }
  std::vector<Awaited> all = answers();
  all[static_cast<std::size_t>(rank_)] = mine;
  std::vector<std::string> silent, waits;
  for (int rank = 0; rank < size_; ++rank) {
    const Awaited& its = all[static_cast<std::size_t>(rank)];
    if (its.peer == kSilent)
      silent.push_back("rank " + std::to_string(rank));
    else
      waits.push_back(sentence_of(rank, its));
  }
  const std::string seconds = std::to_string(patience.count() / 1000) + " s";
  if (silent.empty())
    throw Error("deadlock: after " + seconds + " every rank still waits: " + listed(waits),
                Code::kWrongAnswer);
  throw Error(listed(silent) + (silent.size() == 1 ? " does" : " do") + " not answer after " + seconds +
                  ": stopped, cut off, at an end, or still computing (then give more --patience); waiting: " +
                  listed(waits),
              Code::kWrongAnswer);
}

}  // namespace ringcraft
