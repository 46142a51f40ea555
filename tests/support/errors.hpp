#pragma once
/// @file
/// The exception of an action, as a value: the sentence and the kind of the Error. Works in both major
/// versions of Catch2, and in threads, where Catch2's own assertions may not be used.

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"

namespace ringcraft::testing {

/// The outcome of an action.
struct Outcome {
  std::string sentence = "nothing thrown";
  std::optional<Code> code;  ///< set if it was an Error
};

/// Runs the action and returns the outcome of its exception.
template <class Action>
Outcome outcome_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.what(), error.code()};
  } catch (const std::exception& error) {
    return {std::string("another exception: ") + error.what(), {}};
  }
  return {};
}

inline bool contains(const std::string& text, std::string_view fragment) {
  return text.find(fragment) != std::string::npos;
}

/// How often `fragment` occurs in `text`.
inline int count_of(const std::string& text, std::string_view fragment) {
  int count = 0;
  for (auto at = text.find(fragment); at != std::string::npos; at = text.find(fragment, at + 1)) ++count;
  return count;
}

/// Checks that the action throws an Error of this kind whose sentence holds the fragment.
template <class Action>
void check_refused(Action action, std::string_view fragment, Code code = Code::kWrongCall) {
  const Outcome outcome = outcome_of(action);
  INFO("expected in the sentence: " << fragment << "\nsentence: " << outcome.sentence);
  CHECK(contains(outcome.sentence, fragment));
  CHECK(outcome.code == code);
}

}  // namespace ringcraft::testing
