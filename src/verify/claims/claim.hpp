#pragma once
/// @file
/// A claim of someone's attention: judged, pictured and diagnosed, as one report.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/claims/claim_rule.hpp"
#include "verify/claims/forms/reading.hpp"
#include "verify/claims/other_rows.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// A tensor that was not looked at.
struct NotJudged {
  std::string tensor;  ///< "dq"
  std::string reason;  ///< a sentence
};

/// Where the rows of a claim came from.
struct ClaimSource {
  std::size_t count = 1;  ///< files
  bool per_rank = false;  ///< a file for each rank
  std::string rows;       ///< their order in words; empty: that of the sequence
};

/// The verdict on a claim.
struct ClaimVerdict {
  bool good = false;                  ///< every number that was judged is right
  Index wrong = 0;                    ///< elements
  double worst_share = 0;             ///< largest error over its bound
  Report report;                      ///< a row for each tensor
  std::string rule;                   ///< by which it was judged
  std::vector<std::string> judged;    ///< tensors
  std::vector<NotJudged> not_judged;  ///< the others
  bool half = false;                  ///< gradients could have been judged, and are not there
  std::vector<Reading> readings;      ///< of the inputs and of the claim
  ClaimSource files;                  ///< of the claim
  std::optional<FirstWrong> first;    ///< nothing if no element alone is wrong
  std::vector<GroupFault> together;   ///< numbers that are wrong together
  std::string summary;  ///< "right: 1024 elements, ...", or how many are wrong and the first of them
  std::string place;    ///< the first wrong step
  std::vector<std::string> remarks;  ///< what else a person should know
};

/// What a judgement is about, one after the other.
enum class JudgingPhase : std::uint8_t {
  kOracle,      ///< what is right is computed
  kComparing,   ///< the claim is compared with it
  kDiagnosing,  ///< the mistake is looked for, if the claim is wrong
};

/// A claim, and what it is judged by.
struct ClaimToJudge {
  const Problem& problem;      ///< in the ring in which the claim was computed, as far as that is known
  const StoredInputs& stored;  ///< whose attention is claimed
  Answer answer;               ///< empty tensors are not judged
  std::vector<std::string> unjudged;  ///< gradients that are there, without a dout to judge them by
  Index key_width = 0;    ///< columns of q, k, dq, dk in the files; the rest are zeros and not counted
  Index value_width = 0;  ///< of v, dout, out, dv
  Ranks ranks = Ranks::kUnknown;       ///< whether problem's ring is that of the claim
  PrecisionOptions precision = {};     ///< what the files cannot say
  std::string title = {};              ///< of the report, which adds the rule
  std::vector<OtherRows> others = {};  ///< tried if the claim is wrong
  /// Told how it goes, from one thread: each phase as it begins, with share 0; kOracle again, with the share
  /// that is done.
  std::function<void(JudgingPhase, double share)> progress = {};
};

/// Judges the tensors of a claim: exactly if they are float64, else as rounding in its number type
/// allows.
ClaimVerdict judge_claim(const ClaimToJudge& claim);

}  // namespace ringcraft::verify
