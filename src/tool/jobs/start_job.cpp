// Starts this program under mpirun, and ends the job when its ranks do not.
#include "tool/jobs/start_job.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "process/child.hpp"
#include "process/own_folder.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/io/pending_file.hpp"
#include "tool/jobs/culprits.hpp"
#include "tool/jobs/job_record.hpp"
#include "tool/terminal/phases.hpp"

extern char** environ;

namespace ringcraft::tool {
namespace {

using process::Clock;

// After a rank has said why, the job has this long to end by itself: a lost host can keep mpirun waiting.
constexpr std::chrono::seconds kGrace{4};
// Ranks that wait for a message ask each other first; that takes them a second after their patience.
constexpr std::chrono::seconds kAnswer{2};

// Settings of Open MPI; others do not read them. Root and more ranks than cores are allowed, ranks that wait
// give their core away, and only shared memory and TCP are looked for, which starts several times faster.
constexpr const char* kSettings[][2] = {
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
    {"OMPI_MCA_mpi_yield_when_idle", "1"},
    {"OMPI_MCA_pml", "ob1"},
    {"OMPI_MCA_btl", "self,vader,tcp"},
    {"OMPI_MCA_orte_execute_quiet", "1"},  // ranks say why a job ends
    {"PRTE_MCA_prte_execute_quiet", "1"},
};

// The words of this process's command line.
std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1)
    words.emplace_back(text.c_str() + at);
  return words;
}

std::vector<std::string> environment_of_job(const std::filesystem::path& records) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  for (const auto& [name, value] : kSettings)
    if (std::getenv(name) == nullptr) environment.push_back(std::string(name) + "=" + value);
  environment.push_back(std::string(kJobFolder) + "=" + records.string());
  return environment;
}

// Says which ranks ended without a message, if no rank has said why the job ends.
void report_silent(const Records& records, const process::Ending& ending) {
  if (any(records, RankEvent::kTold)) return;
  const std::string how =
      ending.signalled || ending.number <= 128
          ? process::described(ending)
          : process::described({.signalled = true, .number = ending.number - 128});  // a rank's
  std::fprintf(stderr, "ringcraft: %s: %s\n", silent_ranks(records).c_str(), how.c_str());
}

// Waits for the job's end; where it cannot end by itself, ends it, has the reason told and returns nothing.
std::optional<process::Ending> end_of(process::Child& job, const std::filesystem::path& records, int ranks,
                                      std::chrono::milliseconds patience) {
  std::optional<Clock::time_point> told, lagging;
  std::optional<Phases> start;  // until the ranks compute
  start.emplace();
  for (;;) {
    const auto ending = job.wait_until(Clock::now() + std::chrono::milliseconds(100));
    if (ending) return ending;
    const Records now = read_records(records, ranks);
    if (start) {
      if (const std::string words = joining(now); words.empty() || any(now, RankEvent::kTold))
        start.reset();
      else
        start->rename(words);
    }
    if (!any(now, RankEvent::kTold))
      told.reset();
    else if (!told)
      told = Clock::now();
    const std::vector<int> late = told ? std::vector<int>{} : laggards(now);
    if (late.empty())
      lagging.reset();
    else if (!lagging)
      lagging = Clock::now();
    if (told && Clock::now() > *told + kGrace) {
      job.stop();
      return std::nullopt;
    }
    if (lagging && patience.count() > 0 && Clock::now() > *lagging + patience + kAnswer) {
      std::fprintf(stderr, "ringcraft: %s: not %s after %s s: killed, stopped, or cut off\n",
                   named(late).c_str(), !has_joined(now) ? "in the job" : "at the end of the job",
                   std::to_string(patience.count() / 1000).c_str());
      job.stop();
      return std::nullopt;
    }
  }
}

// Removes what a killed rank 0 has left of its outputs, once it is gone or a second is over.
void remove_outputs_of(const RankRecord& writer, const std::vector<std::string>& outputs) {
  if (writer.process <= 0) return;
  const auto latest = Clock::now() + std::chrono::seconds(1);
  while (::kill(writer.process, 0) == 0 && Clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (const std::string& output : outputs) remove_unfinished(output, writer.process);
}

}  // namespace

bool in_job() { return std::getenv(kJobFolder) != nullptr || told_rank() != nullptr; }

int start_job(int ranks, std::chrono::milliseconds patience, const std::vector<std::string>& outputs) {
  if (::access(RINGCRAFT_MPIRUN, X_OK) != 0)
    throw Error("--backend mpi", "mpirun", std::string("no ") + RINGCRAFT_MPIRUN,
                "install openmpi-bin, or use --backend threads", Code::kMissing);
  if (const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS"); tasks != nullptr && std::atoi(tasks) > 1)
    throw Error("srun", "--mpi=pmix, or another one that this program's MPI speaks", "none",
                "see srun --mpi=list, or let one task start the job: srun -n 1");
  const process::OwnFolder::Told told{"--backend mpi", "set TMPDIR to a folder that can be written"};
  const process::OwnFolder records(process::temporary_place(told), "ringcraft-job", told);
  process::Command command;
  command.arguments = {RINGCRAFT_MPIRUN, "-n", std::to_string(ranks),
                       std::filesystem::read_symlink("/proc/self/exe").string()};
  const std::vector<std::string> words = own_words();
  command.arguments.insert(command.arguments.end(), words.begin() + 1, words.end());
  command.environment = environment_of_job(records.path());
  command.prints = process::Prints::kWithOurs;
  std::fflush(stdout);
  process::Child job(command);
  const std::optional<process::Ending> ending = end_of(job, records.path(), ranks, patience);
  if (ending && !ending->signalled && ending->number == 0) return 0;
  remove_outputs_of(read_records(records.path(), ranks).front(), outputs);
  if (!ending) return static_cast<int>(Code::kWrongAnswer);
  report_silent(read_records(records.path(), ranks), *ending);
  return ending->signalled || ending->number > 3 ? static_cast<int>(Code::kWrongAnswer) : ending->number;
}

}  // namespace ringcraft::tool
