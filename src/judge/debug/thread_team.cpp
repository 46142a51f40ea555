// Runs every rank of a call in a thread, with messages through a Switchboard.
#include "judge/debug/thread_team.hpp"

#include <algorithm>
#include <ctime>

#include "judge/debug/student.hpp"
#include "judge/worker/held_communicator.hpp"
#include "ringcraft/comm/threads.hpp"

namespace ringcraft::judge {
namespace {

// A rank of a thread. Its messages are copied, as they would be between processes.
class LocalCommunicator final : public HeldCommunicator {
 public:
  LocalCommunicator(ThreadCommunicator& inner, Sending sending, std::span<Index> sent, int& most_under_way)
      : HeldCommunicator(inner.rank(), inner.world_size(), sending),
        inner_(inner),
        sent_(sent),
        most_under_way_(most_under_way) {}

 private:
  struct Posted {
    std::vector<Bytes> memory;  // of each operation
    Pending pending;
  };

  void post(std::uint64_t ticket, const std::vector<Op>& ops) override {
    Posted& posted = posted_[ticket];
    std::vector<Op> copies;
    for (const Op& op : ops) {
      Bytes& memory = posted.memory.emplace_back(op.bytes.begin(), op.bytes.end());
      copies.push_back({op.kind, op.peer, memory});
      if (op.kind == Op::kSend) sent_[static_cast<std::size_t>(op.peer)] += static_cast<Index>(memory.size());
    }
    under_way_ += static_cast<int>(ops.size());
    most_under_way_ = std::max(most_under_way_, under_way_);
    posted.pending = inner_.start(copies);
  }

  void complete(std::uint64_t ticket, const std::vector<Op>& ops) override {
    Posted& posted = posted_.at(ticket);
    posted.pending.wait();
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (ops[i].kind == Op::kRecv) std::ranges::copy(posted.memory[i], ops[i].bytes.begin());
    under_way_ -= static_cast<int>(ops.size());
    posted_.erase(ticket);
  }

  ThreadCommunicator& inner_;
  std::span<Index> sent_;  // bytes to each rank
  int& most_under_way_;
  int under_way_ = 0;
  std::map<std::uint64_t, Posted> posted_;
};

}  // namespace

CallRecord ThreadTeam::call(const std::string& exercise, const std::vector<Bytes>& requests,
                            DeliveryOptions delivery) {
  const std::string where = " in call " + std::to_string(++calls_) + " of " + exercise;
  const std::size_t size = requests.size();
  CallRecord record{std::vector<Bytes>(size), std::vector<Index>(size * size), {}, std::vector<int>(size)};
  const auto threw = [&](int rank, const std::string& what, Thrown thrown = Thrown::kOther,
                         Refusal refused = Refusal::kNone) {
    return Misbehaviour(
               kind_of(thrown), "exception",
               name_of_rank(rank, static_cast<int>(size)) + " threw \"" + cleaned(what, 400) + "\"" + where)
        .because(refused);
  };
  const auto body = [&](ThreadCommunicator& inner) {
    const auto rank = static_cast<std::size_t>(inner.rank());
    LocalCommunicator comm(inner, delivery.sending, std::span(record.bytes).subspan(rank * size, size),
                           record.under_way[rank]);
    try {
      ringcraft_serve(exercise.c_str(), requests[rank], comm, record.replies[rank]);
      comm.flush();
    } catch (const Switchboard::Failed&) {
      throw;
    } catch (const std::exception& error) {
      throw threw(inner.rank(), error.what(), kind_of(error), refusal_of(error));
    } catch (...) {
      throw threw(inner.rank(), "something that is no std::exception");
    }
  };
  try {
    record.clocks =
        run_ranks(static_cast<int>(size), body, {.delivery_seed = delivery.seed, .link = delivery.link})
            .clock;
  } catch (const Switchboard::Failed& report) {
    throw Misbehaviour(Misbehaviour::Kind::kMessages, code_of(report.failure()), report.what());
  } catch (const Error& report) {  // the communicator has rejected a message
    throw Misbehaviour(Misbehaviour::Kind::kMessages, "refused", report.what());
  }
  return record;
}

double ThreadTeam::processor_seconds() const { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace ringcraft::judge
