// The checks of the loopback: the library's ring over it has the bits of the ring over host memory, and a
// mistake of a rank ends them all, with a sentence.
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "checks.hpp"
#include "direct.hpp"
#include "engine/loopback.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "subjects.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/oracle/rounding_rule.hpp"

namespace ringcraft::kernels {
namespace {

// Lengths that world sizes do not divide; with five ranks of striped or zig-zag there are shards of one
// token.
verify::Case loopback_case(int world_size, Layout layout, const Mask& mask) {
  const Position seqlen = layout == Layout::kContiguous || layout == Layout::kZigzagToken ? 67 : 9;
  return verify::make_case(make_problem({1, 4, 2, seqlen, 12}, mask, layout, world_size),
                           verify::Data::kNormal, static_cast<std::uint64_t>(world_size));
}

std::string first_difference(const verify::Answer& got, const verify::Answer& want) {
  const auto tensors = verify::named(got), wanted = verify::named(want);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Buffer &a = tensors[i].tensor, &b = wanted[i].tensor;
    if (a.bytes().size() != b.bytes().size() ||
        std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) != 0)
      return std::string(wanted[i].name) + " has other bits than over host memory";
  }
  return "";
}

// kBrief: for each world size one mask, in turn.
Verdict same_bits_as_staged(verify::CaseSet set, Schedule schedule, Layout layout) {
  const Mask masks[] = {full_mask(), causal_mask(), window_mask(4)};
  int rings = 0;
  for (int n = 1; n <= 5; ++n)
    for (int m = 0; m < 3; ++m) {
      if (set == verify::CaseSet::kBrief && m != (n + static_cast<int>(layout)) % 3) continue;
      const verify::Case c = loopback_case(n, layout, masks[m]);
      const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
      const verify::Answer want = staged_ring_answer({}, c.problem, inputs, schedule);
      for (const std::uint64_t seed : {0, 1}) {
        const std::string difference =
            first_difference(ring_answer({}, c.problem, inputs, schedule, seed), want);
        if (!difference.empty()) return {std::to_string(n) + " ranks: " + difference};
        ++rings;
      }
    }
  return {"", {{"rings", rings}}};
}

// All-gather, all-to-all and two-level walks on the device: rows are copied by a kernel, and several messages
// of a group are under way.
Verdict methods_same_bits_as_staged() {
  const std::pair<const char*, HowToAttend> methods[] = {
      {"all-gather", {kAllGather, {}}},
      {"all-gather by heads", {kAllGather, {.gather_heads = 1}}},
      {"ulysses", {kUlysses, {}}},
      {"hybrid", {kHybrid, {.ulysses = 2}}},
      {"double ring", {kDoubleRing, {.node = 2}}},
  };
  int runs = 0;
  for (const auto& [name, how] : methods)
    for (const Layout layout : {Layout::kStriped, Layout::kZigzag}) {
      const verify::Case c = verify::make_case(make_problem({2, 4, 2, 37, 12}, causal_mask(), layout, 4),
                                               verify::Data::kNormal, 5);
      const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
      const verify::Answer want = staged_ring_answer({}, c.problem, inputs, how);
      for (const std::uint64_t seed : {0, 1}) {
        const std::string difference = first_difference(ring_answer({}, c.problem, inputs, how, seed), want);
        if (!difference.empty()) return {std::string(name) + ": " + difference};
        ++runs;
      }
      const verify::Comparison verdict =
          verify::RoundingRule(verify::rounding_of(DType::kFloat32))
              .add(want,
                   verify::oracle(c.problem, inputs, {.rounding = verify::rounding_of(DType::kFloat32)}));
      if (!verdict.good) return {std::string(name) + ": " + described(verdict, c.problem.sharding())};
    }
  return {"", {{"runs", runs}}};
}

// Every rank sends to all others at once, and the numbers say where they come from.
Verdict every_rank_to_every_other() {
  constexpr int n = 5;
  constexpr std::size_t count = 1000;
  Loopback loopback(n);
  const auto body = [&](ThreadCommunicator& host) {
    const CudaEngine engine;
    LoopbackCommunicator comm(host, engine.stream(), loopback);
    const auto message = [&](int from, int to) {
      Buffer numbers({1, 1, 1, count}, DType::kFloat32);
      for (std::size_t i = 0; i < count; ++i)
        numbers.values<float>()[i] =
            static_cast<float>(1000 * from + 100 * to) + static_cast<float>(i) / 1024;
      return numbers;
    };
    std::vector<Buffer> out, in;
    std::vector<Op> ops;
    for (int peer = 0; peer < n; ++peer) {
      out.push_back(copied_to_device(message(comm.rank(), peer), engine.stream()));
      in.emplace_back(Extents{1, 1, 1, count}, DType::kFloat32, device_memory());
    }
    for (int peer = 0; peer < n; ++peer) {
      if (peer == comm.rank()) continue;
      ops.push_back(send_to(peer, out[static_cast<std::size_t>(peer)]));
      ops.push_back(recv_from(peer, in[static_cast<std::size_t>(peer)]));
    }
    comm.start(ops).wait();
    for (int peer = 0; peer < n; ++peer) {
      if (peer == comm.rank()) continue;
      const Buffer got = copied_to_host(in[static_cast<std::size_t>(peer)], engine.stream());
      const Buffer want = message(peer, comm.rank());
      if (std::memcmp(got.bytes().data(), want.bytes().data(), got.bytes().size()) != 0)
        throw Error("rank " + std::to_string(comm.rank()) + " has other numbers than rank " +
                    std::to_string(peer) + " sent");
    }
  };
  run_ranks(n, body, loopback.options());
  return {};
}

// Mistakes of ranks are reported by the switchboard; here each rank has 8 bytes of device memory.
template <class Body>
std::string unless_all_end(const std::string& what, const std::string& expected, Body body) {
  return unless_refused(what, expected, [&] {
    Loopback loopback(3);
    const auto run_rank = [&](ThreadCommunicator& host) {
      const CudaEngine engine;
      LoopbackCommunicator comm(host, engine.stream(), loopback);
      Buffer out({1, 1, 1, 2}, DType::kFloat32, device_memory()),
          in({1, 1, 1, 2}, DType::kFloat32, device_memory());
      body(comm, out, in);
    };
    run_ranks(3, run_rank, loopback.options());
  });
}

void all_send_first(Communicator& comm, Buffer& out, Buffer& in) {
  exchange_all_send_first(comm, {(comm.rank() + 1) % 3, out.bytes(), (comm.rank() + 2) % 3, in.bytes()});
}

void two_lengths(Communicator& comm, Buffer& out, Buffer& in) {
  comm.start({send_to((comm.rank() + 1) % 3, out.bytes().first(comm.rank() == 1 ? 4 : 8)),
              recv_from((comm.rank() + 2) % 3, in)})
      .wait();
}

// Counts at the end of its scope, after everything that was made after it.
struct Leaving {
  std::atomic<int>& left;
  ~Leaving() { ++left; }
};

// The message that rank 1 waits for never arrives: it must end without it.
void throw_under_way(Communicator& comm, Buffer& in, std::atomic<int>& left) {
  if (comm.rank() == 0) {
    for (int tries = 0; tries < 1000 && left == 0; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (left == 0) throw Error("rank 1 does not leave");
    return;
  }
  const Leaving leaving{left};
  const Pending pending = comm.start({recv_from(comm.rank() - 1, in)});
  if (comm.rank() == 1) throw Error("rank 1 has had enough");
}

Verdict wrong_programs() {
  std::atomic<int> left = 0;
  const auto throws = [&](Communicator& comm, Buffer&, Buffer& in) { throw_under_way(comm, in, left); };
  for (const std::string& sentence :
       {unless_all_end("all send first", "deadlock: rank ", all_send_first),
        unless_all_end("two lengths", "rank 1 sends 4 bytes to rank 2, which expects 8", two_lengths),
        unless_all_end("a rank that throws with messages under way", "rank 1 has had enough", throws)})
    if (!sentence.empty()) return {sentence};
  return {};
}

}  // namespace

void run_checks(Runner& runner, verify::CaseSet set) {
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    for (const Layout layout : kLayouts)
      runner.check("the ring over loopback has the bits of the ring over host memory, " +
                       std::string(name_of(schedule)) + ", " + std::string(name_of(layout)),
                   [&] { return same_bits_as_staged(set, schedule, layout); });
  runner.check("other methods over loopback have the bits of those over host memory",
               methods_same_bits_as_staged);
  runner.check("every rank to every other over loopback", every_rank_to_every_other);
  runner.check("wrong programs end on every rank", wrong_programs);
}

void time_kernels(Runner&) {}

}  // namespace ringcraft::kernels
