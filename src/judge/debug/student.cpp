// Defines the one function of the student's side of a debugged program that the checks can call.
#include "judge/debug/student.hpp"

#include "judge/worker/serve.hpp"

extern "C" void ringcraft_serve(const char* exercise, const ringcraft::judge::Bytes& arguments,
                                ringcraft::Communicator& comm, ringcraft::judge::Bytes& reply) {
  ringcraft::judge::Reader from(arguments);
  ringcraft::judge::Arena arena;
  reply = ringcraft::judge::serve(exercise, from, arena, comm);
}
