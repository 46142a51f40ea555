// Refusals of the rings: one table, the same sentence on every rank, and not one message before it.
#include "ringcraft/ring/refuse.hpp"

#include <functional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/device_memory.hpp"
#include "support/ring_refusals.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

Buffer of(Extents e, DType type) { return Buffer(e, type); }

Buffer with_rows(const Buffer& like, Index rows) {
  Extents e = like.extents();
  e.rows = rows;
  return Buffer(e, like.dtype());
}

Buffer on_device(const Buffer& like) {
  return Buffer(like.extents(), like.dtype(), pretended_device_memory());
}

}  // namespace

TEST_CASE("everything that both passes refuse about problem, communicator and engine") {
  struct Row {
    const char* fragment;
    Change change;
  };
  const std::vector<Row> table{
      {"ranks: expected as many as the communicator has (3), got 2",
       [](Call& c, auto&) { c.problem = problem_of(kShape, 2); }},
      {"ranks: expected as many as the communicator has (3), got 4",
       [](Call& c, auto&) { c.problem = problem_of(kShape, 4); }},
      {"seqlen: expected at least 1, got 0", [](Call& c, auto&) { c.problem.shape.seqlen = 0; }},
      {"heads: expected a multiple of kv_heads (3), got 4",
       [](Call& c, auto&) { c.problem.shape.kv_heads = 3; }},
      {"window: expected a left limit of at least 0", [](Call& c, auto&) { c.problem.mask.left = -1; }},
      {"cu_seqlens: expected borders from 0 to seqlen (10)",
       [](Call& c, auto&) {
         c.problem.mask.cu_seqlens = {0, 11};
       }},
      {"softmax_scale: expected a finite number",
       [](Call& c, auto&) { c.problem.softmax_scale = std::nan(""); }},
      {"engine: expected buffers in the communicator's memory space",
       [](Call& c, ThreadCommunicator& comm) {
         c.engine = std::make_unique<DeviceEngine>(comm, BlockCost{});
       }},
      {"head_dim: expected at most 4, got 5",
       [](Call& c, ThreadCommunicator& comm) {
         c.engine = std::make_unique<NarrowEngine>(comm, BlockCost{});
         c.problem.shape.head_dim = 5;
       }},
  };
  for (const Row& row : table) {
    check_all_refuse(row.fragment, Pass::kForward, Schedule::kForward, row.change);
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
      check_all_refuse(row.fragment, Pass::kBackward, schedule, row.change);
  }
  check_all_refuse("this engine has no backward pass", Pass::kBackward, Schedule::kForward,
                   [](Call& c, ThreadCommunicator& comm) {
                     c.engine = std::make_unique<NarrowEngine>(comm, BlockCost{});
                   });
}

TEST_CASE("schedules have the names of the command line") {
  CHECK(name_of(Schedule::kForward) == "forward");
  CHECK(name_of(Schedule::kReversed) == "reversed");
}

TEST_CASE("every argument of the forward ring is checked") {
  struct Row {
    const char* fragment;
    Change change;
  };
  const DType wrong = DType::kFloat32;  // elements of this engine are bf16
  const std::vector<Row> table{
      {"q: expected [1, 4, ", [](Call& c, auto&) { c.forward->q = with_rows(c.forward->q, 9); }},
      {"9, 4] bfloat16 on the host; give each rank the shard",
       [](Call& c, auto&) { c.forward->q = with_rows(c.forward->q, 9); }},
      {"q: expected [1, 4, ", [](Call& c, auto&) { c.forward->q = Buffer(); }},
      {"4] float32 on the host", [=](Call& c, auto&) { c.forward->q = of(c.forward->q.extents(), wrong); }},
      {"4] bfloat16 on the device", [](Call& c, auto&) { c.forward->q = on_device(c.forward->q); }},
      {"k: expected [1, 2, ", [](Call& c, auto&) { c.forward->kv.k = with_rows(c.forward->kv.k, 5); }},
      {"k: expected [1, 2, ",
       [=](Call& c, auto&) { c.forward->kv.k = of(c.forward->kv.k.extents(), wrong); }},
      {"k: expected [1, 2, ", [](Call& c, auto&) { c.forward->kv.k = on_device(c.forward->kv.k); }},
      {"v: expected [1, 2, ", [](Call& c, auto&) { c.forward->kv.v = with_rows(c.forward->kv.v, 5); }},
      {"v: expected [1, 2, ",
       [=](Call& c, auto&) { c.forward->kv.v = of(c.forward->kv.v.extents(), wrong); }},
      {"v: expected [1, 2, ", [](Call& c, auto&) { c.forward->kv.v = on_device(c.forward->kv.v); }},
  };
  for (const Row& row : table) check_all_refuse(row.fragment, Pass::kForward, Schedule::kForward, row.change);
}

TEST_CASE("every argument of the backward ring is checked") {
  struct Argument {
    const char* fragment;
    std::function<Buffer&(BackwardArguments&)> buffer;
    DType wrong;
  };
  const std::vector<Argument> table{
      {"q: expected [1, 4, ", [](BackwardArguments& a) -> Buffer& { return a.q; }, DType::kFloat32},
      {"k: expected [1, 2, ", [](BackwardArguments& a) -> Buffer& { return a.first.k; }, DType::kFloat32},
      {"v: expected [1, 2, ", [](BackwardArguments& a) -> Buffer& { return a.first.v; }, DType::kFloat32},
      {"out: expected [1, 4, ", [](BackwardArguments& a) -> Buffer& { return a.output.out; },
       DType::kBFloat16},
      {"lse: expected [1, 4, ", [](BackwardArguments& a) -> Buffer& { return a.output.lse; },
       DType::kBFloat16},
      {"dout: expected [1, 4, ", [](BackwardArguments& a) -> Buffer& { return a.dout; }, DType::kFloat32},
  };
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    for (const Argument& argument : table) {
      const auto check = [&](auto change) {
        check_all_refuse(argument.fragment, Pass::kBackward, schedule, [&](Call& c, auto&) {
          Buffer& buffer = argument.buffer(*c.backward);
          buffer = change(buffer);
        });
      };
      check([](const Buffer& b) { return with_rows(b, 7); });
      check([](const Buffer& b) { return on_device(b); });
      check([](const Buffer&) { return Buffer(); });
      check([&](const Buffer& b) { return of(b.extents(), argument.wrong); });
    }
}

TEST_CASE("the reversed schedule needs the shard that the forward pass held last") {
  // 10 tokens, zig-zag, 3 ranks: 3, 3, 4 rows. Rank 1 ends the forward pass with the block of rank 2, 4 rows,
  // and rank 2 with that of rank 0, 3 rows; here they come with their own.
  std::vector<Outcome> outcomes(kRanks);
  std::vector<Traffic> traffic(kRanks);
  const Problem p = problem_of();
  const Outcome whole = outcome_of([&] {
    run_ranks(kRanks,
              [&](ThreadCommunicator& comm) {
                const auto r = static_cast<std::size_t>(comm.rank());
                CostEngine engine(comm, BlockCost{});
                const BackwardArguments a(engine, p, Schedule::kForward, comm.rank());
                outcomes[r] = outcome_of([&] {
                  ring_backward(comm, engine, p, Schedule::kReversed, a.q, a.first, a.own, a.output, a.dout);
                });
                traffic[r] = comm.traffic();
              },
              {.carry = carry_nothing});
  });
  CHECK(whole.sentence == "nothing thrown");
  CHECK(contains(outcomes[1].sentence, "k: expected [1, 2, 4, 4] bfloat16 on the host, got [1, 2, 3, 4]"));
  CHECK(contains(outcomes[2].sentence, "k: expected [1, 2, 3, 4] bfloat16 on the host, got [1, 2, 4, 4]"));
  CHECK(traffic[1] == Traffic{});
  CHECK(traffic[2] == Traffic{});
}

TEST_CASE("a rank alone with a wrong shard ends the others with its sentence") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Outcome> outcomes(kRanks);
    const Outcome whole = outcome_of([&] {
      run_ranks(kRanks,
                [&](ThreadCommunicator& comm) {
                  const Problem p = problem_of();
                  CostEngine engine(comm, BlockCost{});
                  ForwardArguments a(engine, p, comm.rank());
                  if (comm.rank() == 1) a.kv.v = with_rows(a.kv.v, 8);
                  Outcome& mine = outcomes[static_cast<std::size_t>(comm.rank())];
                  try {
                    ring_forward(comm, engine, p, a.q, a.kv);
                  } catch (const Error& error) {
                    mine = {error.what(), error.code()};
                    throw;
                  }
                },
                {.delivery_seed = seed, .carry = carry_nothing});
    });
    CHECK(whole.code == Code::kWrongCall);
    CHECK(contains(whole.sentence, "v: expected [1, 2, 3, 4] bfloat16 on the host, got [1, 2, 8, 4]"));
    for (const std::size_t rank : {0, 2}) {
      CHECK(contains(outcomes[rank].sentence, "rank 1 ended with: v: expected"));
      CHECK(outcomes[rank].code == Code::kWrongAnswer);
    }
  }
}

TEST_CASE("allocate_kv holds the largest shard") {
  run_ranks(1, [](ThreadCommunicator& comm) {
    CostEngine engine(comm, BlockCost{});
    KvBlock kv = allocate_kv(engine, problem_of(), Role::kAccumulator);
    if (kv.k.extents() != Extents{1, 2, 4, 4} || kv.v.dtype() != DType::kFloat32) throw Error("wrong block");
    kv.set_rows(3);
    if (kv.v.extents() != Extents{1, 2, 3, 4}) throw Error("wrong rows");
    const KvBlock elements = allocate_kv(engine, problem_of(), Role::kElement);
    if (elements.k.dtype() != DType::kBFloat16) throw Error("wrong type");
  });
}
