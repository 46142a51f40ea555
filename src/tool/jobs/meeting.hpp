#pragma once
// Words among the ranks of a job before they compute: what each is about to do, and how they find each other.

#include <string>
#include <vector>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::tool {

// A rank's end.
class Meeting {
 public:
  Meeting(int rank, int world_size) : rank_(rank), world_size_(world_size) {}
  virtual ~Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  // Collective: the bytes of every rank, [rank]. All give equally many. Throws Error if a rank does not come.
  virtual std::vector<std::string> gathered(const std::string& own) = 0;

 private:
  int rank_, world_size_;
};

// Over the messages of a communicator in host memory; alone, a rank needs none.
class CommunicatorMeeting final : public Meeting {
 public:
  explicit CommunicatorMeeting(Communicator& comm) : Meeting(comm.rank(), comm.world_size()), comm_(comm) {}
  std::vector<std::string> gathered(const std::string& own) override;

 private:
  Communicator& comm_;
};

class LonelyMeeting final : public Meeting {
 public:
  LonelyMeeting() : Meeting(0, 1) {}
  std::vector<std::string> gathered(const std::string& own) override { return {own}; }
};

}  // namespace ringcraft::tool
