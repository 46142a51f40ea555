#pragma once
/// @file
/// How a run of ranks ends, the same for ranks as threads and as fibers: which of many exceptions is the
/// cause.

#include <exception>

#include "ringcraft/comm/switchboard.hpp"

namespace ringcraft {

/// The exception of the rank that failed first. A rank that throws with a message under way may cause a
/// deadlock while it unwinds: the other ranks' report of that must not hide the cause.
class FirstFailure {
 public:
  /// The rank has ended, with this exception unless it is null: ends the others, who would wait for it.
  void end(Switchboard& board, int rank, const std::exception_ptr& failure);
  /// Throws the first failure, if there is one.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
  bool is_report_ = false;  // it only repeats why the board has failed
};

}  // namespace ringcraft
