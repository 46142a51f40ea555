// The ring over NCCL against the ring over loopback, bit for bit. One process is one rank; rank 0 gathers the
// results, computes all ranks by itself over loopback, and compares.
//   test_nccl [RANK WORLD_SIZE ID_FILE]      alone: one rank. Rank 0 writes the job's id into ID_FILE.
// All processes use device 0 of those that they see; tests/gpu/nccl.sh sets up several on one GPU. Exit code:
// 0 the same bits, 1 others, or no answer within a minute, 2 a wrong call, 77 no device or no NCCL (ctest
// reports that as skipped).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "engine/device_place.hpp"
#include "nccl/nccl_communicator.hpp"
#include "ringcraft/core/error.hpp"
#include "subjects.hpp"
#include "verify/ladder/whole.hpp"
#include "verify/oracle/cases.hpp"

namespace {

using namespace ringcraft;
using namespace ringcraft::kernels;

struct Job {
  int rank = 0, world_size = 1;
  std::string id_file;
};

Job parse(int argc, char** argv) {
  if (argc == 1) return {};
  const Job job = argc == 4 ? Job{std::atoi(argv[1]), std::atoi(argv[2]), argv[3]} : Job{};
  if (argc != 4 || job.world_size < 1 || job.rank < 0 || job.rank >= job.world_size)
    throw Error(argv[0], "RANK WORLD_SIZE ID_FILE, or nothing", std::to_string(argc - 1) + " arguments",
                "see the head of nccl_test.cpp");
  return job;
}

// Written beside it and renamed, so that it is never there in part.
void write_id(const std::string& path, const NcclId& id) {
  std::ofstream(path + ".new", std::ios::binary)
      .write(reinterpret_cast<const char*>(id.data()), static_cast<std::streamsize>(id.size()));
  std::filesystem::rename(path + ".new", path);
}

NcclId read_id(const std::string& path) {
  NcclId id;
  for (int tries = 0; tries < 300; ++tries) {
    std::ifstream file(path, std::ios::binary);
    if (file.read(reinterpret_cast<char*>(id.data()), static_cast<std::streamsize>(id.size()))) return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw Error("rank 0 has not written " + path, Code::kWrongAnswer);
}

NcclId id_of(const Job& job) {
  if (job.rank > 0) return read_id(job.id_file);
  const NcclId id = make_nccl_id();
  if (job.world_size > 1) write_id(job.id_file, id);
  return id;
}

void require_same(const verify::Answer& got, const verify::Answer& want) {
  const auto tensors = verify::named(got), wanted = verify::named(want);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto bytes = tensors[i].tensor.bytes(), expected = wanted[i].tensor.bytes();
    if (bytes.size() != expected.size() || std::memcmp(bytes.data(), expected.data(), bytes.size()) != 0)
      throw Error(std::string(wanted[i].name) + " has other bits than over loopback", Code::kWrongAnswer);
  }
}

void compare(const Job& job, const NcclId& id) {
  constexpr Schedule schedule = Schedule::kReversed;
  const verify::Case c =
      verify::make_case(make_problem({1, 4, 2, 517, 64}, causal_mask(), Layout::kZigzag, job.world_size),
                        verify::Data::kNormal, 3);
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
  CudaEngine engine;
  NcclCommunicator comm(job.rank, job.world_size, id, engine.stream(), {.timeout = std::chrono::minutes(1)});
  DevicePlace place(comm, engine);
  WholeResult result = run_method(kRing, place, c.problem, {.schedule = schedule}, verify::whole(inputs));
  engine.stream().synchronize();
  comm.throw_if_aborted();
  if (job.rank == 0)
    require_same(verify::answer_of(std::move(result)), ring_answer({}, c.problem, inputs, schedule));
}

int run(const Job& job) {
  constexpr int kSkipped = 77;
  NcclId id;
  try {
    use_device();
    id = id_of(job);
  } catch (const Error& error) {
    if (error.code() != Code::kMissing) throw;
    std::printf("skipped: no CUDA device, or no NCCL (%s)\n", error.what());
    return kSkipped;
  }
  compare(job, id);
  std::printf("rank %d of %d over NCCL: %s\n", job.rank, job.world_size,
              job.rank == 0 ? "the bits of the ring over loopback" : "its shards are rank 0's to compare");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == Code::kWrongCall ? 2 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
