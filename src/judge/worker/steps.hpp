#pragma once
/// @file
/// Counts the steps of a student's function: a lesson that declares "counted" compiles the file so that every
/// basic block calls the function below before it runs. Elsewhere nothing calls it, and the count stays 0.
/// Steps show how work grows, on every machine alike, and they take no clock.

#include <cstdint>

namespace ringcraft::judge {

/// Basic blocks of the student's file that this process has run so far.
inline std::int64_t steps_taken = 0;

/// Runs `action`, and returns the steps that it took.
template <class Action>
std::int64_t steps_of(Action action) {
  const std::int64_t before = steps_taken;
  action();
  return steps_taken - before;
}

}  // namespace ringcraft::judge

/// The call that compilers put into every basic block; its name is theirs.
extern "C" [[gnu::used]] inline void __sanitizer_cov_trace_pc() {  // NOLINT(bugprone-reserved-identifier)
  ++ringcraft::judge::steps_taken;
}
