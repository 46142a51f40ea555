// Shrinks a failing recipe, writes its tensors, and prints the commands that repeat it.
#include "properties/reproduction.hpp"

#include <sstream>
#include <vector>

#include "ringcraft/io/safetensors.hpp"
#include "ringcraft/ring/refuse.hpp"

namespace ringcraft::testing {

Recipe shrunk(Recipe failing, const Check& check) {
  for (bool found = true; found;) {
    found = false;
    for (Recipe& candidate : simpler(failing)) {
      if (!check(candidate)) continue;
      failing = std::move(candidate);
      found = true;
      break;
    }
  }
  return failing;
}

Reproduction reproduction(const Recipe& recipe, Schedule schedule, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  Reproduction how;
  how.input = std::filesystem::absolute(folder / ("failing-" + std::to_string(recipe.seed) + ".safetensors"));
  const verify::Inputs inputs = verify::make_inputs(case_of(recipe), DType::kFloat64);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : verify::named(inputs)) tensors.push_back({std::string(name), &tensor});
  write_safetensors(how.input, tensors);
  const std::string input = "'" + how.input.string() + "'", output = "'" + how.input.string() + ".out'";
  how.attend = "attend --input " + input + " --output " + output + " --trace '" + how.input.string() +
               ".json' " + flags_of(recipe) + " --schedule " + std::string(name_of(schedule));
  how.verify = "verify --input " + input + " --claim " + output + " " + flags_of(recipe);
  return how;
}

std::string report(const Recipe& recipe, const std::string& sentence, const Reproduction& how) {
  std::ostringstream text;
  text << "smallest problem that fails: ";
  showValue(recipe, text);
  text << "\n"
       << sentence << "\nto see it, in the project's folder:\n  ./ringcraft " << how.attend
       << "\n  ./ringcraft " << how.verify << "\n";
  return text.str();
}

}  // namespace ringcraft::testing
