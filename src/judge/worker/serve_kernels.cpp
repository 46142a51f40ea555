// The exercises of kernels by name (see serve.hpp).
#include "engine/cuda_engine.hpp"
#include "host/places.hpp"
#include "judge/kernel_exercises.hpp"
#include "judge/protocol.hpp"
#include "judge/worker/serve.hpp"
#include "judge/worker/serve_table.hpp"

namespace ringcraft::judge {

Bytes serve(const std::string& exercise, Reader& arguments, Communicator& comm) {
  simt::read_program_from(kProgramDescriptor);
  kernels::CudaEngine engine;
  return serve_one_of(std::type_identity<KernelExercises>{}, exercise, arguments, comm, engine);
}

}  // namespace ringcraft::judge
