// The second backend proves the seam: mpi and threads give the same file, bit for bit.
#include <algorithm>
#include <filesystem>

#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

// As root, more ranks than cores, one host, no network: settings of Open MPI that others ignore.
const std::string kMpirun =
    "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader "
    "OMPI_MCA_mpi_yield_when_idle=1 '" RINGCRAFT_MPIRUN "' -n ";

std::string attend(const Folder& folder, const std::string& output, const std::string& flags) {
  return std::string("'") + RINGCRAFT_TOOL + "' attend --input " + folder.file("in") + " --output " +
         folder.file(output) + " " + flags;
}

}  // namespace

TEST_CASE("mpi equals threads bitwise for 1 to 8 ranks, started by mpirun or by itself") {
  const Folder folder;
  const char* masks[] = {"", "--causal", "--window 7", "--causal --cu-seqlens 0,9,10,41"};
  const char* layouts[] = {"contiguous", "striped", "zigzag", "zigzag-token"};
  constexpr int kRanks[] = {1, 2, 3, 4, 8};
  for (std::size_t i = 0; i < std::size(kRanks); ++i)
    for (const DType type : {DType::kFloat64, DType::kBFloat16}) {
      const int ranks = kRanks[i];
      const verify::Case c =
          verify::make_case(make_problem({1, 8, 2, 41, 16}, full_mask(), Layout::kZigzag, ranks),
                            verify::Data::kNormal, static_cast<std::uint64_t>(ranks));
      write_inputs(folder.file("in"), verify::make_inputs(c, type));
      const std::string flags = std::string(masks[i % 4]) + " --layout " + layouts[i % 4] + " --schedule " +
                                (type == DType::kFloat64 ? "reversed" : "forward") + " --ranks " +
                                std::to_string(ranks);
      CAPTURE(flags);
      REQUIRE(run_command(folder, attend(folder, "threads", flags)).exit_code == 0);
      const bool by_itself = type == DType::kFloat64;
      const Ran ran = run_command(folder, (by_itself ? "" : kMpirun + std::to_string(ranks) + " ") +
                                              attend(folder, "mpi", flags + " --backend mpi"));
      CAPTURE(ran.err);
      REQUIRE(ran.exit_code == 0);
      CHECK(contents(folder.file("mpi")) == contents(folder.file("threads")));
      CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 1);  // rank 0 alone prints
    }
}

TEST_CASE("every method has the same bits on mpi and on threads") {
  const Folder folder;
  const verify::Case c = verify::make_case(make_problem({1, 8, 2, 41, 16}, full_mask(), Layout::kZigzag, 4),
                                           verify::Data::kNormal, 4);
  write_inputs(folder.file("in"), verify::make_inputs(c, DType::kFloat64));
  for (const char* method : {"all-gather", "all-gather --gather-heads 1", "ulysses", "hybrid --ulysses 2",
                             "double-ring --node 2"}) {
    const std::string flags = std::string("--causal --layout zigzag --ranks 4 --method ") + method;
    CAPTURE(flags);
    REQUIRE(run_command(folder, attend(folder, "threads", flags)).exit_code == 0);
    const Ran ran = run_command(folder, attend(folder, "mpi", flags + " --backend mpi"));
    CAPTURE(ran.err);
    REQUIRE(ran.exit_code == 0);
    CHECK(contents(folder.file("mpi")) == contents(folder.file("threads")));
  }
}

TEST_CASE("an MPI job of another size, and a wrong file, end the job with exit code 2 and one sentence") {
  const Folder folder;
  write_inputs(folder.file("in"), make_problem({1, 1, 1, 9, 4}, full_mask(), Layout::kZigzag, 2), 1);
  const Ran size = run_command(folder, kMpirun + "2 " + attend(folder, "out", "--ranks 3 --backend mpi"));
  CHECK(size.exit_code == 2);
  CHECK(size.err.find("--ranks: expected the number of processes of the job (2), got 3") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("out")));

  const Ran nccl = run_command(folder, kMpirun + "2 " + attend(folder, "out", "--ranks 2 --backend nccl"));
  CAPTURE(nccl.err);
  if (nccl.exit_code != 0) {  // else there are two GPUs here
    CHECK(nccl.exit_code == 3);
    CHECK(nccl.err.find("ringcraft: --backend nccl needs ") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.file("out")));
  }

  const Ran missing = run_command(
      folder, kMpirun + "2 '" RINGCRAFT_TOOL "' attend --backend mpi --ranks 2 --input nowhere --output " +
                  folder.file("out"));
  CHECK(missing.exit_code == 2);
  CHECK(missing.err.find("nowhere") != std::string::npos);
}

TEST_CASE("an MPI job is recorded as one run, whose schedule is proved") {
  const Folder folder;
  for (const int ranks : {3, 4}) {
    write_inputs(folder.file("in"), make_problem({1, 4, 2, 41, 8}, full_mask(), Layout::kZigzag, ranks), 3);
    const std::string flags =
        "--causal --backend mpi --trace " + folder.file("t.json") + " --ranks " + std::to_string(ranks);
    const bool by_itself = ranks == 3;
    const Ran ran = run_command(
        folder, (by_itself ? "" : kMpirun + std::to_string(ranks) + " ") + attend(folder, "out", flags));
    CAPTURE(ran.out, ran.err);
    REQUIRE(ran.exit_code == 0);
    const Ran drawn =
        run_command(folder, std::string("'") + RINGCRAFT_TOOL + "' trace " + folder.file("t.json"));
    CAPTURE(drawn.out, drawn.err);
    CHECK(drawn.exit_code == 0);
    CHECK(drawn.out.find(std::to_string(ranks) + " ranks (mpi), forward and backward, causal, 41 tokens") !=
          std::string::npos);
    CHECK(drawn.out.find("The clocks of two ranks") == std::string::npos);  // one host has one clock
    CHECK(drawn.out.find("peak memory") != std::string::npos);
    CHECK(drawn.out.find("schedule: proved: ") != std::string::npos);
  }
  const Ran ulysses = run_command(
      folder, attend(folder, "out", "--causal --backend mpi --ranks 4 --method ulysses --trace " + folder.file("u.json")));
  CAPTURE(ulysses.out, ulysses.err);
  CHECK(ulysses.exit_code == 0);
  CHECK(ulysses.out.find("wrong schedule") == std::string::npos);
}

TEST_CASE("tasks of srun that know of no MPI do not start a job each") {
  const Folder folder;
  write_inputs(folder.file("in"), make_problem({1, 1, 1, 9, 4}, full_mask(), Layout::kZigzag, 2), 1);
  const Ran ran =
      run_command(folder, "env SLURM_STEP_NUM_TASKS=2 " + attend(folder, "out", "--ranks 2 --backend mpi"));
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("srun: expected --mpi=pmix") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("out")));
}

#ifdef RINGCRAFT_HAS_NCCL
TEST_CASE("the variables of torchrun make attend a rank over NCCL, which waits for the others") {
  const Folder folder;
  write_inputs(folder.file("in"), make_problem({1, 1, 1, 9, 4}, full_mask(), Layout::kZigzag, 2), 1);
  const std::string job = "env WORLD_SIZE=2 MASTER_ADDR=localhost RINGCRAFT_PORT=28431 RANK=";
  const std::string flags = attend(folder, "out", "--ranks 2 --backend nccl --patience 1");
  for (const auto& [rank, sentence] :
       {std::pair{"0 ", "ringcraft: rank 0: rank 1 of 2 has not come to localhost:28431 after 1 s"},
        {"1 ", "ringcraft: rank 1: rank 0 does not listen at localhost:28431 after 1 s"}}) {
    const Ran ran = run_command(folder, job + rank + flags);
    CAPTURE(ran.err);
    CHECK(ran.exit_code == 1);
    CHECK(ran.err.find(sentence) != std::string::npos);
  }
  const Ran ran = run_command(folder, job + "2 " + flags);
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("RANK: expected a whole number from 0 to 1, got '2'") != std::string::npos);
}
#endif
