#pragma once
/// @file
/// Runs thread ranks of which some fail, and keeps what each of them was told.

#include <functional>
#include <string>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "support/errors.hpp"

namespace ringcraft::testing {

/// The sentence that each rank gets, empty for one that ends well; `whole` is the outcome of the run.
inline std::vector<std::string> told(int n, const std::function<void(ThreadCommunicator&)>& body,
                                     std::uint64_t seed, Outcome& whole) {
  std::vector<std::string> sentences(static_cast<std::size_t>(n));
  whole = outcome_of([&] {
    run_ranks(n,
              [&](ThreadCommunicator& comm) {
                try {
                  body(comm);
                } catch (const std::exception& error) {
                  sentences[static_cast<std::size_t>(comm.rank())] = error.what();
                  throw;
                }
              },
              {.delivery_seed = seed});
  });
  return sentences;
}

}  // namespace ringcraft::testing
