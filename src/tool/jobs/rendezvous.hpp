#pragma once
// A meeting over TCP, for ranks that no MPI has started: rank 0 listens, the others call it, and every word
// goes through it. A caller that does not say that it is a rank of this job is sent away.

#include <chrono>
#include <optional>
#include <vector>

#include "tool/jobs/meeting.hpp"
#include "tool/jobs/sockets.hpp"
#include "tool/jobs/told_place.hpp"

namespace ringcraft::tool {

class Rendezvous final : public Meeting {
 public:
  // Returns when all ranks are here. Throws Error on every rank that is, in the same words, if some do not
  // come within `patience` (0: it waits forever), two have the same number, or they differ in the number of
  // ranks; on rank 0 if its port is taken; on another one if it does not reach rank 0.
  Rendezvous(const ToldPlace& place, std::chrono::milliseconds patience);

  // Throws Error on every rank if one of them has left, or is late.
  std::vector<std::string> gathered(const std::string& own) override;

 private:
  void receive_ranks(const Descriptor& listener);
  std::optional<int> rank_that_calls(const Descriptor& caller);
  void call(const ToldPlace& place);
  std::vector<std::string> gathered_here(const std::string& own);
  std::vector<std::string> gathered_there(const std::string& own);
  [[noreturn]] void refuse(const std::string& sentence);

  std::string address_;  // "host:port" of rank 0
  std::chrono::milliseconds patience_;
  std::vector<Descriptor>
      ranks_;  // at rank 0: [rank], a connection to each that is here; else to rank 0 alone
};

}  // namespace ringcraft::tool
