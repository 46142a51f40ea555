// Implements the communicator over MPI: synchronous non-blocking sends and receives, first in first out per
// pair.
#include "ringcraft/comm/mpi.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ringcraft/comm/mpi_inquest.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

constexpr auto kEager = std::chrono::microseconds(200);      // a wait begins without sleeping
constexpr std::size_t kLargestPiece = std::size_t{1} << 30;  // MPI counts elements in an int

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(std::string(call) + " failed: " + std::string(text, static_cast<std::size_t>(length)),
              Code::kWrongAnswer);
}

int rank_of_process() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size_of_job() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(std::chrono::milliseconds patience)
      : Communicator(rank_of_process(), size_of_job(), Space::kHost), patience_(patience) {}

 private:
  struct Transfer {  // expected kind, peer and size of one request
    Op::Kind kind;
    int peer, bytes;
  };
  struct Ticket {
    std::vector<MPI_Request> requests;
    std::vector<Transfer> transfers;  // one per request
  };

  std::uint64_t do_start(std::span<const Op> ops) override {
    Ticket& ticket = tickets_[++last_ticket_];
    for (const Op& op : ops)
      for (std::size_t done = 0; done < op.bytes.size(); done += kLargestPiece)
        begin(ticket, op, op.bytes.subspan(done, std::min(kLargestPiece, op.bytes.size() - done)));
    return last_ticket_;
  }

  static void begin(Ticket& ticket, const Op& op, std::span<std::byte> piece) {
    const int bytes = static_cast<int>(piece.size());
    MPI_Request request;
    if (op.kind == Op::kSend) {
      check(MPI_Issend(piece.data(), bytes, MPI_BYTE, op.peer, 0, MPI_COMM_WORLD, &request), "MPI_Issend");
    } else {
      check(MPI_Irecv(piece.data(), bytes, MPI_BYTE, op.peer, 0, MPI_COMM_WORLD, &request), "MPI_Irecv");
    }
    ticket.requests.push_back(request);
    ticket.transfers.push_back({op.kind, op.peer, bytes});
  }

  // MPI_Waitall, with patience: a rank that never comes is named.
  void do_wait(std::uint64_t number) override {
    Ticket ticket = std::move(tickets_.at(number));
    tickets_.erase(number);
    std::vector<MPI_Status> status(ticket.requests.size());
    const auto begin = std::chrono::steady_clock::now();
    while (!complete(ticket, status)) {
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (patience_.count() > 0 && (waited > patience_ || inquest_.opened()))
        inquest_.hold(first_open(ticket), patience_);
      if (waited < kEager)
        ::sched_yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(20));  // others may need the core
    }
    for (std::size_t i = 0; i < status.size(); ++i)
      if (ticket.transfers[i].kind == Op::kRecv) require_length(ticket.transfers[i], status[i]);
  }

  bool complete(Ticket& ticket, std::vector<MPI_Status>& status) const {
    int all = 0;
    const int result =
        MPI_Testall(static_cast<int>(status.size()), ticket.requests.data(), &all, status.data());
    if (result == MPI_ERR_IN_STATUS)
      for (std::size_t i = 0; i < status.size(); ++i) require_no_error(ticket.transfers[i], status[i]);
    check(result, "MPI_Testall");
    return all != 0;
  }

  // The first operation that is not complete.
  static Awaited first_open(const Ticket& ticket) {
    for (std::size_t i = 0; i < ticket.requests.size(); ++i) {
      int done = 0;
      if (ticket.requests[i] == MPI_REQUEST_NULL) continue;
      MPI_Request_get_status(ticket.requests[i], &done, MPI_STATUS_IGNORE);
      if (done == 0) return {ticket.transfers[i].kind, ticket.transfers[i].peer, ticket.transfers[i].bytes};
    }
    return {ticket.transfers[0].kind, ticket.transfers[0].peer, ticket.transfers[0].bytes};
  }

  void require_no_error(const Transfer& transfer, const MPI_Status& status) const {
    if (status.MPI_ERROR == MPI_SUCCESS || status.MPI_ERROR == MPI_ERR_PENDING) return;
    int kind = 0;
    MPI_Error_class(status.MPI_ERROR, &kind);
    if (kind == MPI_ERR_TRUNCATE) throw other_length(transfer, "more");
    const std::string peer = std::to_string(transfer.peer);
    check(status.MPI_ERROR,
          (transfer.kind == Op::kSend ? "sending to rank " + peer : "receiving from rank " + peer).c_str());
  }

  // MPI accepts a message that is shorter than its receive; here both sides must agree.
  void require_length(const Transfer& transfer, const MPI_Status& status) const {
    int received = 0;
    MPI_Get_count(&status, MPI_BYTE, &received);
    if (received != transfer.bytes) throw other_length(transfer, std::to_string(received));
  }

  Error other_length(const Transfer& transfer, const std::string& sent) const {
    return Error("rank " + std::to_string(transfer.peer) + " sends " + sent + " bytes to rank " +
                     std::to_string(rank()) + ", which expects " + std::to_string(transfer.bytes),
                 Code::kWrongAnswer);
  }

  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, Ticket> tickets_;
  std::chrono::milliseconds patience_;
  Inquest inquest_;
};

}  // namespace

MpiJob::MpiJob(std::chrono::milliseconds patience) {
  int ready = 0;
  MPI_Initialized(&ready);
  if (ready) throw Error("MPI is initialised already: there is one MpiJob per process");
  check(MPI_Init(nullptr, nullptr), "MPI_Init");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  world_ = std::make_unique<MpiCommunicator>(patience);
}

MpiJob::~MpiJob() {
  world_.reset();
  MPI_Finalize();
}

void MpiJob::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();  // not reached
}

}  // namespace ringcraft
