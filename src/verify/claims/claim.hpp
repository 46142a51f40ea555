#pragma once
/// @file
/// Judges a claimed attention result, draws its errors and diagnoses them, in one report.

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

/// A tensor that was not judged.
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
  bool good = false;                  ///< every judged number is right
  Index wrong = 0;                    ///< elements
  double worst_share = 0;             ///< largest error over its bound
  Report report;                      ///< a row for each tensor
  std::string rule;                   ///< the rule it was judged by
  std::vector<std::string> judged;    ///< tensors
  std::vector<NotJudged> not_judged;  ///< the others
  bool half = false;                  ///< the claim has no gradients, although they could have been judged
  std::vector<Reading> readings;      ///< of the inputs and of the claim
  ClaimSource files;                  ///< of the claim
  std::optional<FirstWrong> first;    ///< empty if no single element is wrong
  std::vector<GroupFault> together;   ///< groups of numbers that are wrong only together
  std::string summary;  ///< "right: 1024 elements, ...", or how many are wrong and the first of them
  std::string place;    ///< the first wrong step
  std::vector<std::string> remarks;  ///< further notes for the reader
};

/// The phases of a judgement, in order.
enum class JudgingPhase : std::uint8_t {
  kOracle,      ///< computes the right answer
  kComparing,   ///< compares the claim with it
  kDiagnosing,  ///< looks for the mistake, if the claim is wrong
};

/// A claim, and everything needed to judge it.
struct ClaimToJudge {
  const Problem& problem;      ///< over the ring in which the claim was computed, as far as that is known
  const StoredInputs& stored;  ///< the inputs of the claimed attention
  Answer answer;               ///< empty tensors are not judged
  std::vector<std::string> unjudged;  ///< gradients that the claim has, without a dout to judge them by
  Index key_width = 0;    ///< columns of q, k, dq, dk in the files; the rest are zeros and not counted
  Index value_width = 0;  ///< of v, dout, out, dv
  PrecisionOptions precision = {};                        ///< facts that the files cannot state
  std::string title = {};                                 ///< of the report, which appends the rule
  std::vector<OtherRows> others = {};                     ///< tried if the claim is wrong
  DiagnoseOptions diagnose = {.ranks = Ranks::kUnknown};  ///< of a wrong claim
  /// Reports progress, from one thread: each phase as it begins, with share 0; then kOracle again, with the
  /// share done.
  std::function<void(JudgingPhase, double share)> progress = {};
};

/// Judges the tensors of a claim: exactly if they are float64, else within the rounding of their number type.
ClaimVerdict judge_claim(const ClaimToJudge& claim);

}  // namespace ringcraft::verify
