// Tells the cause of a failed run from the reports that follow it.
#include <string>

#include "ringcraft/comm/detail/first_failure_detail.hpp"

namespace ringcraft {
namespace {

struct Reason {
  std::string words;
  bool is_report = false;  // that the messages have failed
};
Reason reason_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Switchboard::Failed& report) {
    return {report.what(), true};
  } catch (const std::exception& error) {
    return {error.what()};
  } catch (...) {
    return {"an exception of an unknown type"};
  }
}

}  // namespace

void FirstFailure::end(Switchboard& board, int rank, const std::exception_ptr& failure) {
  if (failure) {
    const Reason reason = reason_of(failure);
    if (!first_ || (is_report_ && !reason.is_report)) {
      first_ = failure;
      is_report_ = reason.is_report;
    }
    board.fail("rank " + std::to_string(rank) + " ended with: " + reason.words);
  }
  board.finish(rank);
}

}  // namespace ringcraft
