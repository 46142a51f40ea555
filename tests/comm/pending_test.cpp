// Pending and Communicator::start: refusals, empty messages, and the times at which a Pending waits. A
// communicator that only records calls replaces a transport.
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

class Notes final : public Communicator {
 public:
  explicit Notes(int rank = 1, int world_size = 4) : Communicator(rank, world_size, Space::kHost) {}
  std::vector<std::vector<Op>> started;
  std::vector<std::uint64_t> waited;
  bool broken = false;

 private:
  std::uint64_t do_start(std::span<const Op> ops) override {
    started.emplace_back(ops.begin(), ops.end());
    return started.size();
  }
  void do_wait(std::uint64_t ticket) override {
    waited.push_back(ticket);
    if (broken) throw Error("broken", Code::kWrongAnswer);
  }
};

using Tickets = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("peers that are no other rank are refused") {
  Notes comm(1, 4);
  Bytes bytes(2);
  check_refused([&] { comm.start({send_to(1, bytes)}).wait(); },
                "rank 1 sends: expected another rank of 0 to 3, got rank 1; a rank does not message itself");
  check_refused([&] { comm.start({recv_from(1, bytes)}).wait(); }, "rank 1 receives: expected another rank");
  check_refused([&] { comm.start({send_to(4, bytes)}).wait(); },
                "got rank 4; take neighbours modulo world_size");
  check_refused([&] { comm.start({recv_from(-1, bytes)}).wait(); }, "got rank -1");
  check_refused([&] { comm.start({send_to(0, bytes), send_to(1, bytes)}).wait(); }, "got rank 1");
  check_refused([&] { comm.start({send_to(9, Bytes())}).wait(); },
                "got rank 9");  // empty ones are checked too
  CHECK(comm.started.empty());
}

TEST_CASE("empty messages vanish") {
  Notes comm;
  Bytes some(3), none;
  comm.start({send_to(0, none), recv_from(2, none)}).wait();
  CHECK(comm.started.empty());
  comm.start({send_to(0, none), send_to(2, some), recv_from(0, some), recv_from(3, none)}).wait();
  REQUIRE(comm.started.size() == 1);
  REQUIRE(comm.started[0].size() == 2);
  CHECK(comm.started[0][0].peer == 2);
  CHECK(comm.started[0][1].kind == Op::kRecv);
  CHECK(comm.traffic() == Traffic{3, 3, 1});
}

TEST_CASE("traffic counts bytes both ways and messages sent") {
  Notes comm;
  Bytes a(5), b(7);
  comm.start({send_to(0, a), send_to(0, b), recv_from(2, a)}).wait();
  comm.start({recv_from(0, b)}).wait();
  CHECK(comm.traffic() == Traffic{12, 12, 2});
}

TEST_CASE("a Pending waits once: by hand, or when it is dropped") {
  Notes comm;
  Bytes bytes(1);
  {
    Pending pending = comm.start({send_to(0, bytes)});
    CHECK(comm.waited.empty());
    pending.wait();
    CHECK(comm.waited == Tickets{1});
    pending.wait();
  }
  CHECK(comm.waited == Tickets{1});
  { const Pending dropped = comm.start({send_to(0, bytes)}); }
  CHECK(comm.waited == Tickets{1, 2});
  Pending().wait();
}

TEST_CASE("a moved Pending takes its wait along") {
  Notes comm;
  Bytes bytes(1);
  {
    Pending a = comm.start({send_to(0, bytes)});  // ticket 1
    Pending b = std::move(a);
    a.wait();
    CHECK(comm.waited.empty());
    Pending c = comm.start({send_to(0, bytes)});  // ticket 2
    b = std::move(c);                             // waits for the operations that b still held
    CHECK(comm.waited == Tickets{1});
    Pending& self = b;
    b = std::move(self);
    CHECK(comm.waited == Tickets{1});
    b = Pending();
    CHECK(comm.waited == Tickets{1, 2});
  }
  CHECK(comm.waited == Tickets{1, 2});
}

TEST_CASE("wait reports a broken transport, dropping swallows it") {
  Notes comm;
  comm.broken = true;
  Bytes bytes(1);
  check_refused([&] { comm.start({send_to(0, bytes)}).wait(); }, "broken", Code::kWrongAnswer);
  { const Pending dropped = comm.start({send_to(0, bytes)}); }
  CHECK(comm.waited == Tickets{1, 2});
}

TEST_CASE("buffers as messages") {
  Notes comm;
  Buffer buffer({1, 2, 4, 1}, DType::kFloat32);
  buffer.set_rows(3);
  comm.start({send_to(0, buffer), recv_from(2, buffer)}).wait();
  REQUIRE(comm.started.size() == 1);
  for (const Op& op : comm.started[0]) {
    CHECK(op.bytes.size() == 2 * 3 * 4);
    CHECK(op.bytes.data() == buffer.bytes().data());
  }
}

TEST_CASE("a dropped Pending of a thread rank has really waited") {
  Bytes in(4);
  run_ranks(2,
            [&](ThreadCommunicator& comm) {
              const Bytes out = message_of(0, 4);
              if (comm.rank() == 0) {
                const Pending dropped = comm.start({send_to(1, out)});
              } else {
                const Pending dropped = comm.start({recv_from(0, in)});
              }
            },
            {.delivery_seed = 3});
  CHECK(in == message_of(0, 4));
}
