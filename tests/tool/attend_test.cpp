// attend: files in, exact attention out, in every number type.
#include <algorithm>
#include <filesystem>

#include "ringcraft/io/safetensors.hpp"
#include "support/catch.hpp"
#include "tool/tool_process.hpp"
#include "verify/oracle/rounding_rule.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

const verify::Rounding kFloat32 = verify::rounding_of(DType::kFloat32);

struct Call {
  const char* flags;
  Mask mask;
  Layout layout;
  int ranks;
};

const Call kCalls[] = {
    {"--ranks 1", full_mask(), Layout::kZigzag, 1},
    {"--ranks 3 --layout contiguous --causal", causal_mask(), Layout::kContiguous, 3},
    {"--ranks 5 --layout striped --window 6 --schedule forward", window_mask(6), Layout::kStriped, 5},
    {"--ranks 4 --layout zigzag-token --causal --cu-seqlens 0,5,24,29",
     {kNoLimit, 0, {0, 5, 24, 29}},
     Layout::kZigzagToken,
     4},
    {"--ranks 7 --cu-seqlens 0,1,29 --window 9", {9, 0, {0, 1, 29}}, Layout::kZigzag, 7},
    {"--ranks 4 --causal --cu-seqlens 0,5,24,29 --per-sequence",
     {kNoLimit, 0, {0, 5, 24, 29}},
     Layout::kZigzag,
     4},
    {"--ranks 5 --layout contiguous --window-size 4,3", {4, 3}, Layout::kContiguous, 5},
    {"--ranks 3 --layout zigzag --window-size -1,2 --schedule forward", {kNoLimit, 2}, Layout::kZigzag, 3},
    {"--ranks 4 --layout striped --window-size 0,6 --cu-seqlens 0,5,29",
     {0, 6, {0, 5, 29}},
     Layout::kStriped,
     4},
    {"--ranks 4 --layout zigzag-token --window-size 6,4 --causal", {6, 0}, Layout::kZigzagToken, 4},
};

verify::Case case_of(const Call& call, Position seqlen = 29) {
  return verify::make_case(make_problem({2, 6, 3, seqlen, 5}, call.mask, call.layout, call.ranks),
                           verify::Data::kNormal, 7);
}

}  // namespace

TEST_CASE("attend is exact in float64, with gradients") {
  const Folder folder;
  for (const Call& call : kCalls) {
    CAPTURE(call.flags);
    const verify::Case c = case_of(call);
    const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
    write_inputs(folder.file("in"), inputs);
    const Ran ran = run_tool(
        folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") + " " + call.flags);
    CAPTURE(ran.err);
    REQUIRE(ran.exit_code == 0);
    const verify::Comparison found =
        verify::compare_exact(read_answer(folder.file("out")), verify::oracle(c.problem, inputs));
    INFO(verify::described(found, c.problem.sharding()));
    CHECK(found.good);
    CHECK(found.tensors.size() == 5);
  }
}

TEST_CASE("attend rounds as it says in float32, bfloat16 and float16") {
  const Folder folder;
  for (const DType type : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    // attend computes in float32 and rounds once.
    const verify::Rounding rounding = verify::tensor_core_rounding(DType::kFloat32, type);
    verify::RoundingRule rule(rounding);
    for (const Call& call : kCalls) {
      CAPTURE(call.flags, std::string(name_of(type)));
      const verify::Case c = case_of(call);
      const verify::Inputs inputs = verify::make_inputs(c, type);
      write_inputs(folder.file("in"), inputs);
      REQUIRE(run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") +
                                   " " + call.flags)
                  .exit_code == 0);
      verify::Answer got = read_answer(folder.file("out"));
      CHECK(got.out.dtype() == type);
      CHECK(got.dk.dtype() == type);
      CHECK(got.lse.dtype() == DType::kFloat32);
      CHECK(rule.add(got, verify::oracle(c.problem, inputs, {.rounding = rounding})).good);
    }
  }
}

TEST_CASE("attend computes with the CUDA kernels on the CPU, where the build runs them") {
  const Folder folder;
  verify::RoundingRule rule(kFloat32);
  for (const Call& call : kCalls) {
    CAPTURE(call.flags);
    const verify::Case c = case_of(call);
    const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
    write_inputs(folder.file("in"), inputs);
    const Ran ran = run_tool(folder, "attend --backend cuda-host --input " + folder.file("in") +
                                         " --output " + folder.file("out") + " " + call.flags);
    CAPTURE(ran.err);
#ifndef RINGCRAFT_HAS_EXECUTOR
    CHECK(ran.exit_code == 3);
    CHECK(ran.err.find("--backend cuda-host needs Boost.Context") != ran.err.npos);
    continue;
#endif
    REQUIRE(ran.exit_code == 0);
    CHECK(rule.add(read_answer(folder.file("out")), verify::oracle(c.problem, inputs, {.rounding = kFloat32}))
              .good);
  }
}

// Nothing else: a backend that cannot be used never answers in another way.
TEST_CASE("attend computes on a GPU, or says with exit code 3 what is missing") {
  const Folder folder;
  const Call& call = kCalls[0];
  const verify::Case c = case_of(call);
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
  write_inputs(folder.file("in"), inputs);
  for (const std::string backend : {"cuda", "nccl"}) {
    const Ran ran = run_tool(folder, "attend --backend " + backend + " --input " + folder.file("in") +
                                         " --output " + folder.file("out") + " " + call.flags);
    CAPTURE(backend, ran.out, ran.err);
    if (ran.exit_code == 0) {
      verify::RoundingRule rule(kFloat32);
      CHECK(
          rule.add(read_answer(folder.file("out")), verify::oracle(c.problem, inputs, {.rounding = kFloat32}))
              .good);
      std::filesystem::remove(folder.file("out"));
    } else {
      CHECK(ran.exit_code == 3);
      CHECK(ran.err.starts_with("ringcraft: --backend " + backend + " needs "));
      CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
      CHECK_FALSE(std::filesystem::exists(folder.file("out")));
    }
  }
}

TEST_CASE("attend without dout gives out and lse alone, and --dtype rounds the inputs") {
  const Folder folder;
  const verify::Case c = case_of(kCalls[1]);
  verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
  inputs.dout = Buffer();
  write_inputs(folder.file("in"), inputs);
  REQUIRE(run_tool(folder, "attend --dtype bfloat16 --input " + folder.file("in") + " --output " +
                               folder.file("out") + " " + kCalls[1].flags)
              .exit_code == 0);
  const verify::Answer got = read_answer(folder.file("out"));
  CHECK(got.out.dtype() == DType::kBFloat16);
  CHECK(got.dq.empty());
  const verify::Inputs rounded = verify::converted(inputs, DType::kBFloat16);
  const verify::Rounding once = verify::tensor_core_rounding(DType::kFloat32, DType::kBFloat16);
  CHECK(verify::RoundingRule(once).add(got, verify::oracle(c.problem, rounded, {.rounding = once})).good);
}

TEST_CASE("attend gives the same bits in every run") {
  const Folder folder;
  write_inputs(folder.file("in"), verify::make_inputs(case_of(kCalls[3]), DType::kFloat32));
  std::string first;
  for (int run = 0; run < 8; ++run) {
    REQUIRE(run_tool(folder, "attend --input " + folder.file("in") + " --output " + folder.file("out") + " " +
                                 kCalls[3].flags)
                .exit_code == 0);
    const std::string bytes = contents(folder.file("out"));
    if (run == 0) first = bytes;
    CHECK(bytes == first);
  }
}
