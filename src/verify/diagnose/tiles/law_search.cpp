// Tries every single wrong word, then every pair at different places, and returns the choices that give all
// numbers.
#include "verify/diagnose/tiles/law_search.hpp"

namespace ringcraft::verify {
namespace {

Cause cause_of_law(const std::vector<LawPlace>& places, const LawChoice& law) {
  Cause cause;
  for (std::size_t place = 0; place < law.size(); ++place) {
    if (law[place] == 0) continue;
    const std::string& words = places[place].words[law[place]];
    const auto known = places[place].known.find(law[place]);
    if (cause.id.empty())
      cause = {known != places[place].known.end() ? known->second
                                                  : places[place].id + "-" + std::to_string(law[place]),
               words, places[place].question};
    else
      cause.sentence += "; and " + words;
  }
  return cause;
}

}  // namespace

std::vector<Cause> causes_by_law(const std::vector<LawPlace>& places,
                                 const std::function<bool(const LawChoice&)>& gives) {
  LawChoice law(places.size(), 0);
  std::vector<Cause> causes;
  if (gives(law)) return causes;
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (law[a] = 1; law[a] < places[a].words.size(); ++law[a])
      if (gives(law)) causes.push_back(cause_of_law(places, law));
    law[a] = 0;
  }
  if (!causes.empty()) return causes;
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (law[a] = 1; law[a] < places[a].words.size(); ++law[a])
      for (std::size_t b = a + 1; b < places.size(); ++b) {
        for (law[b] = 1; law[b] < places[b].words.size(); ++law[b])
          if (gives(law)) causes.push_back(cause_of_law(places, law));
        law[b] = 0;
      }
    law[a] = 0;
  }
  return causes;
}

}  // namespace ringcraft::verify
