#pragma once
// Starting this program as an MPI job.

#include <chrono>
#include <string>
#include <vector>

namespace ringcraft::tool {

// Whether this process is a rank of a job already, started by mpirun or srun.
bool in_job();

// Runs this very command line again as a job of so many ranks on this machine, under mpirun, with settings
// that also serve few cores and root in a container. Returns the job's exit code; a rank that ends without a
// message is named, and so is one that lets the others wait longer than `patience` (0: forever) to join the
// job or to leave it. Of a job that fails nothing is left of `outputs`, where rank 0 may have begun to write.
// Throws Error (Code::kMissing) without mpirun.
int start_job(int ranks, std::chrono::milliseconds patience, const std::vector<std::string>& outputs);

}  // namespace ringcraft::tool
