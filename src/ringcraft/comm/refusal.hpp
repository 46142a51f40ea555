#pragma once
/// @file
/// Operations that a communicator refuses before they start, and the reason as data: a caller that explains a
/// mistake need not read a sentence.

#include <cstdint>
#include <exception>
#include <string>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

/// A reason to refuse an operation.
enum class Refusal : std::uint8_t {
  kNone,              ///< it was not refused
  kNoSuchRank,        ///< the other rank is not one of 0 to world_size - 1
  kItself,            ///< the other rank is this one
  kStillSending,      ///< it receives into a buffer that an operation in flight sends from
  kAlreadyReceiving,  ///< it receives into a buffer that an operation in flight receives into
};

/// Thrown instead of starting an operation.
class Refused : public Error {
 public:
  /// A reason, and the failure in one sentence.
  Refused(Refusal why, const std::string& sentence) : Error(sentence), why_(why) {}
  /// A reason, and the parts of an Error: "WHERE: expected EXPECTED, got ACTUAL; ADVICE".
  Refused(Refusal why, const std::string& where, const std::string& expected, const std::string& actual,
          const std::string& advice)
      : Error(where, expected, actual, advice), why_(why) {}

  /// The reason.
  Refusal why() const { return why_; }

 private:
  Refusal why_;
};

/// The reason, if this exception is Refused; kNone for any other.
inline Refusal refusal_of(const std::exception& exception) {
  const auto* const refused = dynamic_cast<const Refused*>(&exception);
  return refused == nullptr ? Refusal::kNone : refused->why();
}

}  // namespace ringcraft
