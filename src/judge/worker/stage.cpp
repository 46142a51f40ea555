// The program that students' objects are linked into for `run --mine`, one process per stage of the ladder:
//   stage NAME < REQUEST
// The reply goes to a file that is open as process::kWireDescriptor. It judges nothing; its exit code
// says only whether a reply was written. RINGCRAFT_KERNEL_STAGES are the kernels' stages that it
// knows beside the ladder's.
#include <unistd.h>

#include <exception>

#include "judge/wire/stage_wire.hpp"
#include "process/descriptor_numbers.hpp"
#include "verify/ladder/kernel_stages.hpp"

namespace ringcraft::judge {
namespace {

verify::Stage stage_named(const std::string& name, [[maybe_unused]] Layout layout) {
#ifdef RINGCRAFT_KERNEL_STAGES
  const verify::KernelStages kernels = verify::RINGCRAFT_KERNEL_STAGES(layout);
  for (const verify::Stage& stage : kernels.stages)
    if (stage.name == name) return stage;
#endif
  return verify::stage_named(name);
}

StageReply climbed(const std::string& stage, const StageRequest& request) {
  StageReply reply;
  try {
    reply.result = verify::climb(stage_named(stage, request.problem.layout), request.problem, request.inputs);
  } catch (const NotWritten& error) {
    reply.thrown = error.what();
    reply.not_written = error.lesson();
  } catch (const std::exception& error) {
    reply.thrown = error.what();
    if (reply.thrown.empty()) reply.thrown = "an exception with an empty what()";
  } catch (...) {
    reply.thrown = "something that is no std::exception";
  }
  return reply;
}

}  // namespace
}  // namespace ringcraft::judge

int main(int argc, char** argv) {
  using namespace ringcraft::judge;
  if (argc != 2) return 2;
  const StageRequest request = read_request(STDIN_FILENO);
  write_reply(ringcraft::process::kWireDescriptor, climbed(argv[1], request));
  return 0;
}
