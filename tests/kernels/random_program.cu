// Generates and runs random programs.
#include "engine/launch.cuh"
#include "random_program.hpp"

namespace ringcraft::kernels {
namespace {

__global__ void program_kernel(const Program* program, int* cells_gmem) {
  int* const cells_smem = dynamic_shared<int>();
  if (threadIdx.x == 0)
    for (int i = 0; i < kProgramCells; ++i) cells_smem[i] = 0;
  __syncthreads();
  for (const Step& step : program->step[blockIdx.x][threadIdx.x]) {
    int* const cell = (step.global ? cells_gmem : cells_smem) + step.cell;
    if (step.alone == Alone::kRead) static_cast<void>(*static_cast<volatile int*>(cell));
    if (step.alone == Alone::kWrite) *cell = 1;
    if (step.alone == Alone::kAtomic) atomicAdd(cell, 1);
    if (step.together == Together::kSyncThreads) __syncthreads();
    if (step.together == Together::kSyncWarp) __syncwarp();
  }
}

}  // namespace

void run_program(const Program& program, int* cells) {
  launch(program_kernel, kProgramBlocks, kProgramThreads, kProgramCells * sizeof(int), nullptr, &program,
         cells);
}

}  // namespace ringcraft::kernels
