// Schedules in a text: the examples behave as their comments say, every wrong schedule has its sentence,
// every malformed line its place.
#include "verify/schedule/schedule_text.hpp"

#include <fstream>
#include <sstream>

#include "support/catch.hpp"
#include "support/errors.hpp"
#include "verify/schedule/said.hpp"

namespace ringcraft::verify {
namespace {

ScheduleProof proof_of(const WrittenSchedule& schedule) {
  return prove_schedule(schedule.trace, schedule.problem, schedule.goal, schedule.notes);
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string said(const std::string& text) { return said(proof_of(parse_schedule(text, "s"))); }

std::string example(const std::string& name) {
  return contents(std::string(RINGCRAFT_SCHEDULES) + "/" + name + ".schedule");
}

void replace(std::string& text, const std::string& word, const std::string& by) {
  const auto at = text.find(word);
  INFO("looked for: " << word);
  REQUIRE(at != text.npos);
  text.replace(at, word.size(), by);
}

}  // namespace

TEST_CASE("the examples are right, but for the one that never ends") {
  for (const char* name : {"ring_forward", "ring_backward", "both_ways"}) {
    CAPTURE(name);
    CHECK(said(example(name)) == "");
  }
  const ScheduleProof stuck = proof_of(parse_schedule(example("all_send_first"), "s"));
  CHECK(said(stuck) ==
        "deadlock: rank 0, step 0 (line 5), waits to send K0 to rank 1; rank 1, step 0 (line 6), waits to "
        "send K1 to "
        "rank 2; rank 2, step 0 (line 7), waits to send K2 to rank 0\n");
  CHECK_FALSE(stuck.replay.complete);
}

TEST_CASE("the reversed backward pass begins with the block that the forward pass held last") {
  const std::string text =
      "ranks 2\npass backward reversed\ncosts ring\n"
      "step 0\n"
      "0: send K1 to 1, recv K0 from 1, compute q0 k1 into P, add dK1, wait, send dK1 to 1, recv dK0 from 1 "
      "into S\n"
      "1: send K0 to 0, recv K1 from 0, compute q1 k0 into P, add dK0, wait, send dK0 to 0, recv dK1 from 0 "
      "into S\n"
      "step 1\n"
      "0: compute q0 k0 into R, wait dK0, add dK0\n"
      "1: compute q1 k1 into R, wait dK1, add dK1\n";
  CHECK(said(text) == "");
  std::string own_first = text;  // the same operations from the own block: it does not have what they send
  replace(own_first, " reversed", "");
  CHECK(testing::contains(said(own_first),
                          "rank 0, step 0 (line 5): sends K1 to rank 1 and holds nothing there"));
}

TEST_CASE("every wrong schedule has its sentence") {
  struct Wrong {
    const char *example, *was, *is, *sentence;
  };
  const Wrong kWrong[] = {
      // Messages.
      {"ring_forward", "send K0 to 1, recv K3 from 3", "recv K3 from 3",
       "rank 1, step 0 (line 8): expects K0 from rank 0 and gets K3"},
      {"ring_forward", "2: send K2 to 3, recv", "2: send K2 to 1, recv",
       "deadlock: rank 2, step 0 (line 9), waits to send K2 to rank 1; rank 1, step 1 (line 14), waits to "
       "send "
       "K0 to rank 2"},
      {"ring_forward", "1: send K0 to 2", "1: send K1 to 2",
       "rank 2, step 1 (line 15): expects K0 from rank 1 and gets K1"},
      {"ring_forward", "1: send K0 to 2", "1: send K2 to 2",
       "rank 1, step 1 (line 14): sends K2 to rank 2 and holds nothing there"},
      {"ring_forward", "compute q0 k1", "compute q0 k1, send K1 to 1",
       "rank 0, step 3 (line 25): starts to send K1 to rank 1, which never receives it"},
      {"ring_forward", "compute q3 k1, wait", "compute q3 k1",
       "rank 3, step 2 (line 22): starts to send K1 to rank 0 and never waits for it"},
      {"ring_backward", "recv dK0 from 2 into H, wait", "recv dK0 from 2 into H",
       "rank 0, step 2 (line 19): starts to send dK1 to rank 1 and never waits for it"},
      // Progress.
      {"ring_forward", "3: send K3 to 0, recv K2 from 2 into A", "3: recv K2 from 2 into A",
       "which has ended"},
      // Memory.
      {"ring_forward", "recv K3 from 3 into A, compute q0 k0, wait",
       "recv K3 from 3 into A, compute q0 k3, wait",
       "rank 0, step 0 (line 7): reads k where a message is still arriving from rank 3"},
      {"ring_forward", "recv K2 from 3 into B", "recv K2 from 3 into A",
       "rank 0, step 1 (line 13): receives from rank 3 into the memory of K3, which is still being sent to "
       "rank 1"},
      {"ring_forward", "compute q0 k0, wait", "compute q0 k0",
       "rank 0, step 1 (line 13): sends to rank 1 what is still arriving from rank 3"},
      {"ring_backward", "compute q0 k2 into I, wait dK2, add dK2", "compute q0 k2 into I, add dK2",
       "rank 0, step 1 (line 14): writes dk where a message is still arriving from rank 2"},
      {"ring_backward", "compute q0 k2 into I", "compute q0 k2 into G",
       "rank 0, step 1 (line 14): writes dk where dK0 is still being sent to rank 1"},
      // Pairs.
      {"ring_forward", "3: compute q3 k0", "3: compute q3 k1",
       "rank 3 computes its queries against K1 2 times: at steps 2 and 3"},
      {"ring_forward", "3: compute q3 k0", "3: compute q3 k1",
       "rank 3 never computes its queries against K0, of which it sees 1 pair"},
      {"ring_forward", "compute q1 k0, wait", "wait", "rank 1 never computes its queries against K0"},
      {"ring_forward", "compute q0 k2, wait", "compute q0 k3, wait",
       "rank 0 computes its queries against K3 2 times: at steps 1 and 2"},
      {"ring_forward", "3: compute q3 k0",
       "3: compute q3 k0, compute q3 k0, compute q3 k0, compute q3 k0, compute q3 k0, compute q3 k0, compute "
       "q3 k0, compute q3 k0, compute q3 k0",
       "rank 3 computes its queries against K0 9 times: at steps 3, 3, 3, 3 and 5 more"},
      {"both_ways", "compute q2 k0, compute q2 k1", "compute q2 k0",
       "rank 2 never computes its queries against K1, of which it sees"},
      // Gradients.
      {"ring_backward", "add dK0, send dK0 to 0", "send dK0 to 0",
       "dK0 on its owner, rank 0, lacks the share of rank 2"},
      {"ring_backward", "wait dK2, add dK2, wait, send dK2", "wait dK2, add dK2, add dK2, wait, send dK2",
       "dK2 on its owner, rank 2, has the share of rank 0 2 times"},
      {"ring_backward",
       "compute q1 k2 into I, wait dK2, add dK2, send dK2 to 2, recv dK1 from 0 into H, wait",
       "compute q1 k2 into I, wait dK2, add dK2, recv dK1 from 0 into H, wait", "which has ended"},
      {"ring_backward", "compute q0 k1 into I, wait dK1, add dK1", "compute q0 k2 into I, wait dK1, add dK1",
       "rank 0, step 2 (line 19): adds dK2 to dK1"},
      // Costs.
      {"ring_forward", "recv K1 from 3 into A", "recv K1 from 3 into C",
       "rank 0 holds at most bytes: 12, and a ring's 10"},
      {"ring_forward", "ranks 4\n", "ranks 4\nmask window 0\n", "K0 makes 3 hops, and in a ring 0"},
  };
  for (const Wrong& wrong : kWrong) {
    std::string text = example(wrong.example);
    replace(text, wrong.was, wrong.is);
    const std::string violations = said(text);
    INFO(wrong.was << " -> " << wrong.is << "\nexpected: " << wrong.sentence << "\nsaid: " << violations);
    CHECK(testing::contains(violations, wrong.sentence));
  }
}

TEST_CASE("ragged shards, empty shards, windows and packed sequences are counted exactly") {
  // 3 tokens on 5 ranks: ranks 3 and 4 own nothing, their blocks vanish.
  CHECK(said("ranks 5\ntokens 3\nmask causal\nstep 0\n0: compute q0 k0, send K0 to 1, send K0 to 2, wait\n"
             "1: compute q1 k1, recv K0 from 0, send K1 to 2, wait, compute q1 k0\n"
             "2: compute q2 k2, recv K0 from 0, recv K1 from 1, wait, compute q2 k0, compute q2 k1, recv K3 "
             "from "
             "3, wait K3\n"
             "3: recv K4 from 4, wait, compute q3 k4\n") == "");
  const std::string window =
      "ranks 3\ntokens 10\nmask window 1\npacked 0,4,10\nstep 0\n0: compute q0 k0\n1: compute q1 k1, send K1 "
      "to 2, wait\n"
      "2: compute q2 k2, recv K1 from 1, wait, compute q2 k1\n";
  CHECK(said(window) == "");  // rank 0 owns the whole first sequence: no other rank needs its block
  std::string without_border = window;
  replace(without_border, "packed 0,4,10\n", "");
  CHECK(said(without_border) == "rank 1 never computes its queries against K0, of which it sees 1 pair\n");
}

TEST_CASE("a wait with a name waits for that start alone") {
  // Rank 1 has a receive and a send in flight, and waits for one of them.
  const std::string violations = said(
      "ranks 2\ntokens 4\nstep 0\n0: send K0 to 1, wait, recv K1 from 1, wait\n"
      "1: recv K0 from 0, compute q1 k1, send K1 to 0, wait K1, compute q1 k0, wait K0\n");
  CHECK(testing::contains(violations,
                          "rank 1, step 0 (line 5): reads k where a message is still arriving from rank 0"));
  const std::string right = said(
      "ranks 2\ntokens 4\nstep 0\n0: send K0 to 1, wait, recv K1 from 1, wait, compute q0 k0, compute q0 k1\n"
      "1: recv K0 from 0, compute q1 k1, send K1 to 0, wait K0, compute q1 k0, wait K1\n");
  CHECK(right == "");
}

TEST_CASE("sides that mean blocks of different lengths disagree") {
  CHECK(testing::contains(
      said("ranks 3\ntokens 4\nstep 0\n0: send K0 to 1, wait\n1: recv K2 from 0, wait\n"),
      "rank 0, step 0 (line 4): sends 4 bytes to rank 1, which expects 2 bytes at its step 0"));
}

TEST_CASE("malformed schedules are refused with file and line") {
  struct Malformed {
    const char *text, *sentence;
  };
  const Malformed kMalformed[] = {
      {"", "s:0: expected 'step 0' and what the ranks do in it, got nothing"},
      {"ranks 2\n", "s:1: expected 'step 0'"},
      {"step 0\n", "s:1: expected 'ranks N' first, got 'step'"},
      {"tokens 4\nranks 2\n", "s:1: expected 'ranks N' first, got 'tokens'"},
      {"ranks\n", "s:1: expected a number of ranks from 1 to 64, got nothing"},
      {"ranks 0\n", "a number of ranks from 1 to 64, got '0'"},
      {"ranks 65\n", "a number of ranks from 1 to 64, got '65'"},
      {"ranks 2x\n", "got '2x'"},
      {"ranks 2 3\n", "s:1: expected the end of the line, got '3'"},
      {"ranks 2\ntokens -1\n", "s:2: expected a number of tokens"},
      {"ranks 2\nlayout zigzig\n", "s:2: expected contiguous, striped, zigzag or zigzag-token, got 'zigzig'"},
      {"ranks 2\nmask round\n", "s:2: expected full, causal or window W, got 'round'"},
      {"ranks 2\nmask window\n", "s:2: expected a window from 0 to"},
      {"ranks 2\nmask causal 3\n", "s:2: expected the end of the line, got '3'"},
      {"ranks 2\npacked\n", "s:2: expected borders as in 0,5,12"},
      {"ranks 2\npacked 0,a\n", "s:2: expected a border from 0 to"},
      {"ranks 2\npacked 0,5\nstep 0\n", "s:3: cu_seqlens"},
      {"ranks 2\npass sideways\n", "s:2: expected forward, backward or backward reversed, got 'sideways'"},
      {"ranks 2\npass forward reversed\n", "s:2: expected the end of the line, got 'reversed'"},
      {"ranks 2\ncosts none\n", "s:2: expected ring, got 'none'"},
      {"ranks 2\ncolour red\n",
       "s:2: expected ranks, tokens, layout, mask, packed, pass, costs or step, got 'colour'"},
      {"ranks 2\n0: wait\n", "s:2: expected 'step 0' before the first line of a rank"},
      {"ranks 2\nstep 1\n", "s:2: expected a step from 0 to 0, got '1'"},
      {"ranks 2\nstep 0\nstep 2\n", "s:3: expected a step from 1 to 1, got '2'"},
      {"ranks 2\nstep\n", "s:2: expected a step from 0 to 0, got nothing"},
      {"ranks 2\nstep 0 now\n", "s:2: expected the end of the line, got 'now'"},
      {"ranks 2\nstep 0\nmask causal\n", "s:3: expected 'step N' or what a rank does, '0: ...', got 'mask'"},
      {"ranks 2\nstep 0\n2: wait\n", "s:3: expected a rank from 0 to 1, got '2'"},
      {"ranks 2\nstep 0\n0 1: wait\n", "s:3: expected one rank before the colon, got '1'"},
      {"ranks 2\nstep 0\n: wait\n", "s:3: expected a rank from 0 to 1, got nothing"},
      {"ranks 2\nstep 0\n0: wait\n0: wait\n",
       "s:4: expected one line for each rank in a step, got '0: after line 3'"},
      {"ranks 2\nstep 0\n0:\n", "s:3: expected an operation between commas"},
      {"ranks 2\nstep 0\n0: wait, , wait\n", "s:3: expected an operation between commas"},
      {"ranks 2\nstep 0\n0: sends K0 to 1\n", "s:3: expected send, recv, compute, add or wait, got 'sends'"},
      {"ranks 2\nstep 0\n0: send\n", "s:3: expected a block like K0, got nothing"},
      {"ranks 2\nstep 0\n0: send Q0 to 1\n", "s:3: expected a block like K0, got 'Q0'"},
      {"ranks 2\nstep 0\n0: send K2 to 1\n",
       "s:3: expected the rank of a block like K0 from 0 to 1, got '2'"},
      {"ranks 2\nstep 0\n0: send K0 from 1\n", "s:3: expected 'to' and a rank after K0, got 'from'"},
      {"ranks 2\nstep 0\n0: recv K0 to 1\n", "s:3: expected 'from' and a rank after K0, got 'to'"},
      {"ranks 2\nstep 0\n0: send K0 to 2\n", "s:3: expected a rank from 0 to 1, got '2'"},
      {"ranks 2\nstep 0\n0: send K0 to 0\n", "s:3: expected another rank than this line's, got '0'"},
      {"ranks 2\nstep 0\n0: send K0 to 1 into A\n",
       "s:3: expected a comma or the end of the line, got 'into'"},
      {"ranks 2\nstep 0\n0: recv K1 from 1 into\n", "s:3: expected a name of memory after into, got nothing"},
      {"ranks 2\nstep 0\n0: recv K1 from 1 into A-B\n",
       "s:3: expected a name of memory after into, got 'A-B'"},
      {"ranks 2\nstep 0\n0: send dK0 to 1\n", "s:3: expected KV blocks alone in a forward pass, got 'dK0'"},
      {"ranks 2\nstep 0\n0: compute k0 q0\n", "s:3: expected queries like q0, got 'k0'"},
      {"ranks 2\nstep 0\n0: compute q1 k0\n",
       "s:3: expected the queries of this line's rank, which stay where they are, got 'q1'"},
      {"ranks 2\nstep 0\n0: compute q0 K0\n", "s:3: expected keys like k0, got 'K0'"},
      {"ranks 2\nstep 0\n0: compute q0 k0 into A\n",
       "s:3: expected no memory for a result in a forward pass, got 'A'"},
      {"ranks 2\nstep 0\n0: add dK0\n", "s:3: expected KV blocks alone in a forward pass, got 'dK0'"},
      {"ranks 2\npass backward\nstep 0\n0: add dK0\n", "s:4: expected a compute before the add, got 'dK0'"},
      {"ranks 2\npass backward\nstep 0\n0: compute q0 k0, add K0\n",
       "s:4: expected a gradient like dK0, got 'K0'"},
      {"ranks 2\nstep 0\n0: w\x1b[31m\n", "s:3: expected send, recv, compute, add or wait, got 'w?[31m'"},
      {"ranks 2\nstep 0\n0: wait K1\n", "s:3: expected a message of this rank that is under way, got 'K1'"},
      {"ranks 2\nstep 0\n0: wait now\n", "s:3: expected a block like K0, got 'now'"},
  };
  for (const Malformed& malformed : kMalformed) {
    INFO(malformed.text);
    testing::check_refused([&] { parse_schedule(malformed.text, "s"); }, malformed.sentence);
  }
}

}  // namespace ringcraft::verify
