#pragma once
/// @file
/// ThreadTeam: workers that are threads of this process, for a debugger or a sanitizer to look into. Messages
/// go through a Switchboard, buffers in flight are treated as in a worker, and exceptions and
/// deadlocks become the same sentences. Nothing limits time or memory here, and a crash is a crash.

#include "judge/run/team.hpp"

namespace ringcraft::judge {

/// Calls ringcraft_serve (student.hpp), once per rank in a thread of its own.
class ThreadTeam final : public Workers {
 public:
  void begin_check(const Asked&) override { calls_ = 0; }
  CallRecord call(const std::string& exercise, const std::vector<Bytes>& requests,
                  DeliveryOptions delivery) override;
  /// Always empty: the output goes directly to the program's own.
  std::string printed() override { return {}; }
  void end() override {}
  /// Of the whole program.
  double processor_seconds() const override;

 private:
  int calls_ = 0;
};

}  // namespace ringcraft::judge
