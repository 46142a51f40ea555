// Chooses the sign of a check from a misbehaviour or a map of wrong values.
#include "judge/outcome/outcome.hpp"

namespace ringcraft::judge {

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
      if (rows.find(sign::kNoNumber) != rows.npos) return sign::kNoNumber;
  return sign::kValues;
}

}  // namespace ringcraft::judge
