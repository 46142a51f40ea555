// The ring over loopback under every order of streams: the same bits; and with one wait for an event left out
// other ones, under some seed. The waits are taken from the sources.
#include "gpu/subjects.hpp"
#include "kernels/order_of_streams.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
using namespace ringcraft::testing;

TEST_CASE("the ring over loopback has the same bits under every order of streams") {
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    for (int n = 1; n <= 5; ++n) {
      const verify::Case c = case_for_streams(n, n % 2 == 0 ? Layout::kZigzag : Layout::kContiguous);
      const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
      const verify::Answer want = staged_ring_answer({}, c.problem, inputs, schedule);
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const WithStreams set(seed);
        CAPTURE(n, seed);
        CHECK(same_bits(ring_answer({}, c.problem, inputs, schedule, seed), want));
        CHECK(same_bits(staged_ring_answer({}, c.problem, inputs, schedule), want));
      }
    }
}

TEST_CASE("every wait for an event is needed") {
  std::vector<simt::LeftOut> waits = calls_in("engine/loopback.cpp", "cudaStreamWaitEvent(");
  for (const simt::LeftOut& wait : calls_in("engine/stream_calls.cpp", "cudaStreamWaitEvent("))
    waits.push_back(wait);
  REQUIRE(waits.size() == 4);
  for (const simt::LeftOut& wait : calls_in("engine/range_upload.cpp", "cudaEventSynchronize("))
    waits.push_back(wait);
  REQUIRE(waits.size() == 5);
  const verify::Case c = case_for_streams(5, Layout::kZigzag);
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
  const verify::Answer want = staged_ring_answer({}, c.problem, inputs, Schedule::kReversed);
  for (const simt::LeftOut& wait : waits)
    check_missed(wait,
                 [&] { return same_bits(ring_answer({}, c.problem, inputs, Schedule::kReversed), want); });
}
