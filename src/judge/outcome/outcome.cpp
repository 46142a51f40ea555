// Signs and evidence (see outcome.hpp).
#include "judge/outcome/outcome.hpp"

namespace ringcraft::judge {
namespace {

char worst_of(const std::string& rows) {
  for (const char sign : {sign::kNoNumber, sign::kValues})
    if (rows.find(sign) != rows.npos) return sign;
  return sign::kPassed;
}

}  // namespace

// Where a program that writes beside its arrays comes to its end is chance.
Outcome outcome_of(const Misbehaviour& misbehaviour, int call) {
  const bool chance = misbehaviour.kind() == Misbehaviour::Kind::kEnded;
  return {verify::Status::kFailed, sign_of(misbehaviour.kind()), "",
          misbehaviour.code() + (chance ? "" : " " + std::to_string(call))};
}

char sign_of(Misbehaviour::Kind kind) {
  switch (kind) {
    case Misbehaviour::Kind::kEnded:
      return sign::kEnded;
    case Misbehaviour::Kind::kSilent:
      return sign::kHang;
    case Misbehaviour::Kind::kMessages:
      return sign::kMessages;
    case Misbehaviour::Kind::kThrew:
    case Misbehaviour::Kind::kMemory:
    case Misbehaviour::Kind::kUnwritten:
      return sign::kThrew;
    case Misbehaviour::Kind::kNonsense:
      return sign::kProtocol;
  }
  return sign::kProtocol;
}

char sign_of(const std::vector<verify::ErrorMap>& maps) {
  for (const verify::ErrorMap& map : maps)
    for (const std::string& rows : map.ranks)
      if (worst_of(rows) == sign::kNoNumber) return sign::kNoNumber;
  return sign::kValues;
}

std::string evidence_of(const std::vector<verify::ErrorMap>& maps) {
  std::string words;
  for (const verify::ErrorMap& map : maps) {
    words += (words.empty() ? "" : " ") + map.tensor + ":";
    for (const std::string& rows : map.ranks) words += worst_of(rows);
  }
  return words;
}

}  // namespace ringcraft::judge
