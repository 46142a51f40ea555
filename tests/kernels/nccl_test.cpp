// The communicator over NCCL, on a model of NCCL and the executor's streams: the ring has the bits of the
// ring over host memory under every order of streams, each wait for an event is needed, calls that are not
// grouped deadlock, and calls that never end are aborted, with a sentence. NCCL itself is tested on GPUs, by
// tests/gpu/nccl_test.cpp.
#include <chrono>
#include <string>
#include <utility>

#include "gpu/subjects.hpp"
#include "kernels/order_of_streams.hpp"
#include "nccl/nccl_communicator.hpp"
#include "nccl_model/model.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
using namespace ringcraft::testing;

namespace {

// One rank of a job, as the tool has it; the model's.
struct Rank {
  explicit Rank(Communicator& host, std::chrono::milliseconds timeout = std::chrono::minutes(1))
      : options{.timeout = timeout, .calls = &nccl_model()},
        model(host),
        comm(host.rank(), host.world_size(), agreed_nccl_id(host, options), engine.stream(), options) {}

  NcclOptions options;
  NcclModelRank model;
  CudaEngine engine;
  NcclCommunicator comm;
};

verify::Answer nccl_answer(const Problem& problem, const verify::Inputs& inputs, const HowToAttend& how) {
  const auto connect = [](Communicator& host, const CudaEngine& engine) {
    const NcclOptions options{.calls = &nccl_model()};
    const NcclModelRank model(host);
    return std::make_unique<NcclCommunicator>(host.rank(), host.world_size(), agreed_nccl_id(host, options),
                                              engine.stream(), options);
  };
  return ring_over(connect, {}, {}, problem, inputs, how);
}

struct WithFaults {
  explicit WithFaults(NcclModelFaults changed) { nccl_model_faults() = changed; }
  ~WithFaults() { nccl_model_faults() = {}; }
};

}  // namespace

TEST_CASE("the other methods over NCCL have the bits of those over host memory, under any order of streams") {
  const HowToAttend methods[] = {{kAllGather, {}},
                                 {kAllGather, {.gather_heads = 1}},
                                 {kUlysses, {}},
                                 {kHybrid, {.ulysses = 2}},
                                 {kDoubleRing, {.node = 2}}};
  const verify::Case c = verify::make_case(make_problem({1, 4, 2, 23, 4}, causal_mask(), Layout::kZigzag, 4),
                                           verify::Data::kNormal, 5);
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
  for (const HowToAttend& how : methods) {
    const verify::Answer want = staged_ring_answer({}, c.problem, inputs, how);
    for (std::uint64_t seed = 0; seed <= 4; ++seed) {
      const WithStreams set(seed);
      CAPTURE(how.method->name, seed);
      CHECK(same_bits(nccl_answer(c.problem, inputs, how), want));
    }
  }
}

TEST_CASE("the ring over NCCL has the same bits under every order of streams") {
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    for (int n = 1; n <= 5; ++n) {
      const verify::Case c = case_for_streams(n, n % 2 == 0 ? Layout::kZigzag : Layout::kContiguous);
      const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
      const verify::Answer want = staged_ring_answer({}, c.problem, inputs, schedule);
      for (std::uint64_t seed = 0; seed <= 4; ++seed) {
        const WithStreams set(seed);
        CAPTURE(n, seed);
        CHECK(same_bits(nccl_answer(c.problem, inputs, schedule), want));
      }
    }
  CHECK(nccl_model_open() == 0);
  CHECK(nccl_model_aborted() == 0);
}

TEST_CASE("every wait for an event of NCCL's communicator is needed") {
  const verify::Case c = case_for_streams(5, Layout::kZigzag);
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
  const verify::Answer want = staged_ring_answer({}, c.problem, inputs, Schedule::kReversed);
  const auto waits = calls_in("engine/stream_calls.cpp", "cudaStreamWaitEvent(");
  REQUIRE(waits.size() == 2);
  for (const simt::LeftOut& wait : waits)
    check_missed(wait, [&] { return same_bits(nccl_answer(c.problem, inputs, Schedule::kReversed), want); });
}

TEST_CASE("isend K, isend V, irecv K, irecv V deadlocks in NCCL's calls unless they are grouped") {
  for (const bool grouped : {false, true})
    for (int n = 2; n <= 5; ++n) {
      CAPTURE(n, grouped);
      const auto program = [&](ThreadCommunicator& host) {
        const NcclModelRank model(host);
        const NcclCalls& nccl = nccl_model();
        ncclUniqueId id;
        ncclComm_t comm = nullptr;
        check(nccl, nccl.unique_id(&id), "ncclGetUniqueId");
        check(nccl, nccl.init_rank(&comm, n, id, host.rank()), "ncclCommInitRank");
        const int next = (host.rank() + 1) % n, previous = (host.rank() + n - 1) % n;
        char k[3] = {}, v[5] = {}, new_k[3], new_v[5];
        ncclResult_t result = ncclSuccess;
        const auto keep_first = [&](ncclResult_t one) { result = result == ncclSuccess ? one : result; };
        if (grouped) nccl.group_start();
        keep_first(nccl.send(k, sizeof k, ncclInt8, next, comm, nullptr));
        keep_first(nccl.send(v, sizeof v, ncclInt8, next, comm, nullptr));
        keep_first(nccl.recv(new_k, sizeof new_k, ncclInt8, previous, comm, nullptr));
        keep_first(nccl.recv(new_v, sizeof new_v, ncclInt8, previous, comm, nullptr));
        if (grouped) keep_first(nccl.group_end());
        nccl.destroy(comm);
        check(nccl, result, "the exchange");
      };
      CHECK((outcome_of([&] { run_ranks(n, program); }).sentence == "nothing thrown") == grouped);
    }
}

TEST_CASE("messages that never end are aborted, and the next call throws the reason") {
  const WithFaults set({.never_ends = true});
  const int aborted = nccl_model_aborted();
  const Outcome outcome = outcome_of([] {
    run_ranks(2, [](ThreadCommunicator& host) {
      Rank rank(host, std::chrono::milliseconds(200));
      Buffer out({1, 1, 1, 2}, DType::kFloat32, device_memory()),
          in({1, 1, 1, 2}, DType::kFloat32, device_memory());
      const int peer = 1 - host.rank();
      const std::string first = outcome_of([&] {
                                  rank.comm.start({send_to(peer, out), recv_from(peer, in)}).wait();
                                }).sentence;
      const std::string later = outcome_of([&] { rank.comm.start({send_to(peer, out)}).wait(); }).sentence;
      const std::string asked = outcome_of([&] { rank.comm.throw_if_aborted(); }).sentence;
      if (first != later || first != asked) throw Error("first " + first + ", then " + later + ", " + asked);
      throw Error(first, Code::kWrongAnswer);
    });
  });
  INFO(outcome.sentence);
  CHECK(contains(outcome.sentence, "no answer to this rank's messages for 0 s: another rank has ended"));
  CHECK(nccl_model_aborted() == aborted + 2);
  CHECK(nccl_model_open() == 0);
}

TEST_CASE("an error that NCCL reports aborts the communicator") {
  const Outcome outcome = outcome_of([] {
    run_ranks(1, [](ThreadCommunicator& host) {
      Rank rank(host, std::chrono::seconds(10));
      rank.comm.throw_if_aborted();  // not yet
      const WithFaults set({.remote_error = true});
      const auto begin = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(20))
        rank.comm.throw_if_aborted();
    });
  });
  CHECK(contains(outcome.sentence, "NCCL reports: remote process exited"));
}

TEST_CASE("a rank that throws with messages in flight aborts its communicator") {
  const int aborted = nccl_model_aborted();
  const Outcome outcome = outcome_of([] {
    run_ranks(2, [](ThreadCommunicator& host) {
      Rank rank(host);
      Buffer out({1, 1, 1, 2}, DType::kFloat32, device_memory()),
          in({1, 1, 1, 2}, DType::kFloat32, device_memory());
      const int peer = 1 - host.rank();
      const Pending pending = rank.comm.start({send_to(peer, out), recv_from(peer, in)});
      if (host.rank() == 0) throw Error("rank 0 has had enough");
    });
  });
  CHECK(outcome.sentence == "rank 0 has had enough");
  CHECK(nccl_model_aborted() == aborted + 1);
}
