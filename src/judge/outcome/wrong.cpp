// Builds the exception of a failed check: label, sentence, maps and exhibit.
#include "judge/outcome/wrong.hpp"

#include <cmath>
#include <iterator>

namespace ringcraft::judge {

Wrong Wrong::showing(std::vector<verify::ErrorMap> where) const {
  Wrong wrong = *this;
  wrong.maps = std::move(where);
  return wrong;
}

Wrong Wrong::knowing(std::vector<Fact> facts) const {
  Wrong wrong = *this;
  std::move(facts.begin(), facts.end(), std::back_inserter(wrong.said.facts));
  return wrong;
}

Wrong Wrong::exhibiting(verify::Exhibit what) const {
  Wrong wrong = *this;
  wrong.exhibit = std::move(what);
  return wrong;
}

Wrong Wrong::labelled(const std::string& front) const {
  Wrong wrong = *this;
  wrong.label = front + label;
  return wrong;
}

Wrong Wrong::followed_by(const std::string& end) const {
  Wrong wrong = *this;
  wrong.said.words += "{}";
  wrong.said.facts.emplace_back(end);
  return wrong;
}

std::string Wrong::sentence() const { return label + said.text(); }

Outcome outcome_of(const Wrong& wrong) {
  Outcome outcome{verify::Status::kFailed, wrong.sign};
  if (wrong.exhibit) outcome.exhibits.push_back(wrong.exhibit);
  return outcome;
}

char sign_of(double number) { return std::isfinite(number) ? sign::kValues : sign::kNoNumber; }

void require_unchanged(const std::string& who, std::uint32_t changed, std::span<const char* const> names) {
  for (std::size_t argument = 0; argument < names.size(); ++argument)
    if ((changed >> argument & 1) != 0)
      throw Wrong(sign::kInput, "argument-changed", "{} changed its argument {}, which it may only read", who,
                  Name{names[argument]});
}

}  // namespace ringcraft::judge
