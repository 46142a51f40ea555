#pragma once
// A claim of someone's attention: judged, pictured and diagnosed, as one report.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tool/attention/claim_rule.hpp"
#include "tool/claims/reading.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// A tensor that was not looked at.
struct NotJudged {
  std::string tensor, reason;
};

// Where the rows of a claim came from.
struct ClaimSource {
  std::size_t count = 1;  // files
  bool per_rank = false;
  std::string rows;  // their order in words; empty: that of the sequence
};

// The verdict on a claim.
struct ClaimVerdict {
  bool good = false;
  Index wrong = 0;         // elements
  double worst_share = 0;  // largest error over its bound
  verify::Report report;
  std::string rule;  // by which it was judged
  std::vector<std::string> judged;
  std::vector<NotJudged> not_judged;
  bool half = false;              // gradients could have been judged, and are not there
  std::vector<Reading> readings;  // of the inputs and of the claim
  ClaimSource files;
  std::optional<verify::FirstWrong> first;
  std::vector<verify::GroupFault> together;  // numbers that are wrong together
  std::string summary;  // "right: 1024 elements, ...", or how many are wrong and the first of them
  std::string place;    // the first wrong step
  std::vector<std::string> remarks;
};

// The same files with their rows in another order.
struct OtherRows {
  std::string remedy;  // what a person has to do about it: "write --claim-layout striped"
  std::function<verify::Answer()> read;
};

// A claim, and what it is judged by.
struct ClaimToJudge {
  const Problem& problem;
  const StoredInputs& stored;
  verify::Answer answer;                 // empty tensors are not judged
  std::vector<std::string> unjudged;     // gradients that are there, without a dout to judge them by
  Index key_width = 0, value_width = 0;  // columns that the files have; the rest are zeros and not counted
  verify::Ranks ranks = verify::Ranks::kUnknown;
  PrecisionOptions precision = {};
  std::string title = {};
  std::vector<OtherRows> others = {};  // tried if the claim is wrong
};

// Judges the tensors of a claim: exactly if they are float64, else as rounding in its number type
// allows.
ClaimVerdict judge_claim(const ClaimToJudge& claim);

}  // namespace ringcraft::tool
