#pragma once
// The fate of each rank of a job, as one letter per event in a file of its own: the process that started
// the job can say which rank ended without a message, whatever MPI prints.

#include <filesystem>
#include <string>
#include <vector>

namespace ringcraft::tool {

// The variable that names the folder of the records to the ranks.
inline constexpr const char* kJobFolder = "RINGCRAFT_JOB";

// The last event of a rank.
enum class RankEvent : char {
  kNone = '-',    // it never began, or it runs on another host
  kBegan = 'b',   // it is about to join the job
  kJoined = 'j',  // and nothing since: if the job is over, it was killed, or it crashed
  kTold = 't',    // it has said why the job ends
  kAsked = 'a',   // it was asked to end, as every rank is when another one has failed
  kDone = 'd',    // it has nothing more to do; rank 0 has written the results
  kEnded = 'e',   // it has left the job
};

// The rank of this process as the starter of a job tells it; null: it does not.
const char* told_rank();
// Keeps the record of this process, if its job has a folder and tells the rank before MPI does: kBegan now,
// kAsked when a SIGTERM comes. The process also ends with the one that started it.
void begin_record();
// Adds an event.
void record(RankEvent event);

// The record of a rank.
struct RankRecord {
  RankEvent last = RankEvent::kNone;
  int process = 0;  // its number; 0: none
};

// The records of the `ranks` ranks.
std::vector<RankRecord> read_records(const std::filesystem::path& folder, int ranks);

// Whether a process of this machine is stopped (by SIGSTOP, say).
bool is_stopped(int process);

}  // namespace ringcraft::tool
