// Formats facts, and puts sentences together from words and facts.
#include "judge/outcome/statement.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ringcraft::judge {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string digits(double number, int precision) {
  if (std::isnan(number)) return "nan";                                  // and no -nan
  return number == 0 ? "0" : fmt::format("{:.{}g}", number, precision);  // no -0
}

// Shared variables have a student's names. Of two threads that race either may come first.
std::string key_of(const simt::Finding& finding) {
  using Kind = simt::FoundMemory::Kind;
  std::string key = fmt::format("{}/{}/{}", static_cast<int>(finding.mistake),
                                static_cast<int>(finding.ordering), static_cast<int>(finding.memory.kind));
  if (finding.memory.kind == Kind::kDevice) key += "/" + finding.memory.name;
  auto [one, other] = std::minmax(finding.access.what, finding.earlier.what);
  return key + fmt::format("/{}/{}", static_cast<int>(one), static_cast<int>(other));
}

}  // namespace

std::string text_of(double number) { return std::isnan(number) ? "NaN" : fmt::format("{:.10g}", number); }

Fact::Fact(double number) : value_(number), text_(digits(number, 6)) {}

std::string Fact::text() const {
  if (const auto* const place = std::get_if<simt::CodePlace>(&value_)) return simt::text_of(*place);
  if (const auto* const found = std::get_if<simt::Finding>(&value_)) return simt::sentence_of(*found);
  return text_;
}

std::string Fact::key() const {
  if (const auto* const whole = std::get_if<std::int64_t>(&value_)) return std::to_string(*whole);
  if (const auto* const real = std::get_if<double>(&value_)) return digits(*real, 10);
  if (const auto* const name = std::get_if<std::string>(&value_)) return *name;
  if (const auto* const found = std::get_if<simt::Finding>(&value_)) return key_of(*found);
  return {};
}

void Fact::hide_words() {
  for_each_place([](simt::CodePlace& place) {
    const std::string digits = place.line.substr(place.line.rfind(':') + 1);
    const bool is_number = !digits.empty() && digits.size() <= 6 && std::ranges::all_of(digits, is_digit);
    if (!place.line.empty()) place.line = is_number ? "line " + digits : "a line of its own";
  });
  auto* const finding = std::get_if<simt::Finding>(&value_);
  if (finding == nullptr) return;
  if (finding->memory.kind != simt::FoundMemory::Kind::kDevice) finding->memory.name.clear();
  if (finding->mistake != simt::Mistake::kCrooked) finding->name.clear();
}

std::string Statement::text() const {
  fmt::dynamic_format_arg_store<fmt::format_context> texts;
  for (const Fact& fact : facts) texts.push_back(fact.text());
  return fmt::vformat(words, texts);
}

std::vector<std::string> Statement::keys() const {
  std::vector<std::string> keys;
  for (const Fact& fact : facts)
    if (std::string key = fact.key(); !key.empty()) keys.push_back(std::move(key));
  return keys;
}

}  // namespace ringcraft::judge
