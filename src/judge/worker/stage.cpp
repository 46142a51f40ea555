// The program that students' objects are linked into for `run --mine`, one process per stage of the ladder:
//   stage REQUEST NAME REPLY
// It computes and judges nothing; its exit code says no more than that a reply was written.
#include <exception>

#include "judge/stage_wire.hpp"

namespace ringcraft::judge {
namespace {

StageReply climbed(const std::string& stage, const StageRequest& request) {
  StageReply reply;
  try {
    reply.result = verify::climb(verify::stage_named(stage), request.problem, request.inputs);
  } catch (const std::exception& error) {
    reply.thrown = error.what();
    if (reply.thrown.empty()) reply.thrown = "an exception without a word";
  } catch (...) {
    reply.thrown = "something that is no std::exception";
  }
  return reply;
}

}  // namespace
}  // namespace ringcraft::judge

int main(int argc, char** argv) {
  using namespace ringcraft::judge;
  if (argc != 4) return 2;
  write_reply(argv[3], climbed(argv[2], read_request(argv[1])));
  return 0;
}
