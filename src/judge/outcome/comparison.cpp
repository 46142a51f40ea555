// Turns comparisons of tensors into facts and verdicts.
#include "judge/outcome/comparison.hpp"

namespace ringcraft::judge {

std::vector<Fact> facts_of(const verify::Difference& d) {
  return {Name{d.tensor}, d.batch, d.head, d.position, d.column, d.got};
}

std::vector<Fact> facts_of(const verify::GroupFault& f) {
  return {Name{f.tensor}, static_cast<int>(f.group), static_cast<int>(f.figure), f.batch, f.head, f.position,
          f.rank};
}

std::vector<Fact> facts_of(const verify::Comparison& comparison) {
  std::vector<Fact> facts{comparison.wrong};
  if (comparison.first)
    for (Fact& fact : facts_of(*comparison.first)) facts.push_back(std::move(fact));
  else
    for (const verify::TensorComparison& tensor : comparison.tensors)
      if (!tensor.together.empty())
        for (Fact& fact : facts_of(tensor.together.front())) facts.push_back(std::move(fact));
  return facts;
}

}  // namespace ringcraft::judge
