// Reads machines and their flags, and trusts nothing.
#include "tool/simulate/machine_file.hpp"

#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "ringcraft/io/text_file.hpp"
#include "verify/report/strict_json.hpp"

namespace ringcraft::tool {
namespace {

using verify::StrictJson;

constexpr const char* kMachineAdvice = "docs/pages/simulation.md has an example";
constexpr double kSlower = 2;  // times, without a number

LinkSpeed link_of(const StrictJson& json) {
  json.require_members({"latency", "bandwidth"});
  return {json["latency"].number(), json["bandwidth"].number()};
}

// Takes a number off the front of the text; false if there is none.
template <class T>
bool take(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

// The end of a flag's value: nothing, or ":FACTOR".
bool take_factor(std::string_view& text, double& factor) {
  return text.empty() || (take(text, ':') && take(text, factor) && text.empty());
}

}  // namespace

std::string machine_names() {
  std::string names;
  for (const Machine& machine : known_machines()) names += (names.empty() ? "" : ", ") + machine.name;
  return names;
}

Machine read_machine(const std::string& text, const std::string& file) {
  const nlohmann::json document = verify::parsed(text, file, kMachineAdvice);
  const StrictJson json(document, file, kMachineAdvice);
  json.require_members({"name", "ranks_per_node", "peak_flops", "efficiency", "inside", "between",
                        "element_bytes", "accumulator_bytes"});
  Machine machine{.name = json["name"].words(),
                  .ranks_per_node = json["ranks_per_node"].small(1, std::numeric_limits<int>::max()),
                  .peak_flops = json["peak_flops"].number(),
                  .efficiency = json["efficiency"].number(),
                  .inside = link_of(json["inside"]),
                  .between = link_of(json["between"]),
                  .element_bytes = json["element_bytes"].small(2, 8),
                  .accumulator_bytes = json["accumulator_bytes"].small(4, 8)};
  validate(machine, 1);
  return machine;
}

Machine machine_named(const std::string& name_or_file) {
  if (const Machine* const known = known_machine(name_or_file)) return *known;
  std::error_code ignored;
  if (!std::filesystem::exists(name_or_file, ignored))
    throw Error("--machine", machine_names() + ", or a JSON file", shown(name_or_file), kMachineAdvice);
  constexpr std::uintmax_t kLargest = 1 << 16;  // bytes
  return read_machine(read_text_file("machine", name_or_file, kLargest), name_or_file);
}

SlowLink slow_link_of(const std::string& text) {
  SlowLink slow{0, 0, kSlower};
  std::string_view rest = text;
  if (!(take(rest, slow.a) && take(rest, '-') && take(rest, slow.b) && take_factor(rest, slow.factor)))
    throw Error("--slow-link", "two ranks, and how many times slower their link is, as in 7-8:10",
                shown(text), "without a number it is twice as slow");
  return slow;
}

SlowRank slow_rank_of(const std::string& text) {
  SlowRank slow{0, kSlower};
  std::string_view rest = text;
  if (!(take(rest, slow.rank) && take_factor(rest, slow.factor)))
    throw Error("--slow-rank", "a rank, and how many times longer it computes, as in 3:1.5", shown(text),
                "without a number it is twice as slow");
  return slow;
}

}  // namespace ringcraft::tool
