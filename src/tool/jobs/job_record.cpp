// Writes and reads the records of a job's ranks.
#include "tool/jobs/job_record.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace ringcraft::tool {
namespace {

int record_file = -1;

void write_letter(char letter) {
  if (record_file >= 0 && ::write(record_file, &letter, 1) != 1) record_file = -1;
}

extern "C" void asked_to_end(int signal) {
  write_letter(static_cast<char>(RankEvent::kAsked));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

const char* told_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return rank;
  return nullptr;
}

void begin_record() {
  const char* folder = std::getenv(kJobFolder);
  const char* rank = told_rank();
  if (folder == nullptr || rank == nullptr) return;
  record_file = ::open((std::filesystem::path(folder) / rank).c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (record_file < 0) return;  // another host
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGTERM, asked_to_end);
  const std::string begin = std::to_string(::getpid()) + " " + static_cast<char>(RankEvent::kBegan);
  if (::write(record_file, begin.data(), begin.size()) < 0) record_file = -1;
}

void record(RankEvent event) { write_letter(static_cast<char>(event)); }

std::vector<RankRecord> read_records(const std::filesystem::path& folder, int ranks) {
  std::vector<RankRecord> records;
  for (int rank = 0; rank < ranks; ++rank) {
    std::ifstream file(folder / std::to_string(rank));
    RankRecord& its = records.emplace_back();
    std::string letters;
    if (!(file >> its.process >> letters)) continue;
    const bool told = letters.find(static_cast<char>(RankEvent::kTold)) != std::string::npos;
    its.last = told ? RankEvent::kTold : static_cast<RankEvent>(letters.back());
  }
  return records;
}

bool is_stopped(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);  // "number (name) state ...", and the name may hold anything
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] == 'T';
}

}  // namespace ringcraft::tool
