// Fingerprints of verdicts, and their text (see fingerprint.hpp).
#include "judge/verdict/fingerprint.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <sstream>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"

namespace ringcraft::judge {
namespace {

bool is_build_step(const std::string& check) { return check == "compiles" || check == "belongs"; }

Trait trait_from(const std::string& word) {
  const auto equals = word.find('=');
  const auto refuse = [&] {
    throw Error("fingerprint", "check=sign(evidence)#digest", word,
                "write the tables again: build/native/bin/misconceptions --write");
  };
  if (equals == word.npos || equals + 1 >= word.size()) refuse();
  Trait trait{word.substr(0, equals), word[equals + 1], "", ""};
  std::size_t at = equals + 2;
  if (at < word.size() && word[at] == '(') {
    const auto close = word.find(')', at);
    if (close == word.npos) refuse();
    trait.evidence = word.substr(at + 1, close - at - 1);
    std::ranges::replace(trait.evidence, ',', ' ');
    at = close + 1;
  }
  if (at < word.size() && word[at] == '#') {
    trait.digest = word.substr(at + 1);
    at = word.size();
  }
  if (at != word.size()) refuse();
  return trait;
}

}  // namespace

std::string digest_of(std::string_view key) {
  const auto hash = fnv1a<std::uint32_t>(key);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%04x", static_cast<unsigned>((hash >> 16 ^ hash) & 0xffffU));
  return digits;
}

Fingerprint fingerprint_of(const Verdict& verdict) {
  Fingerprint traits;
  for (std::size_t i = 0; i < verdict.report.rows.size(); ++i) {
    const verify::ReportRow& row = verdict.report.rows[i];
    const Outcome& outcome = verdict.outcomes[i];
    const std::string check = row.id.substr(row.id.find('.') + 1);
    if (is_build_step(check)) continue;
    const bool failed = outcome.status == verify::Status::kFailed;
    traits.push_back({check, outcome.sign, outcome.evidence, failed ? digest_of(outcome.key) : ""});
  }
  return traits;
}

std::string text_of(const Fingerprint& fingerprint) {
  std::string text;
  for (const Trait& trait : fingerprint) {
    text += text.empty() ? "" : " ";
    text += trait.check + "=" + trait.sign;
    if (!trait.evidence.empty()) {
      std::string evidence = trait.evidence;
      std::ranges::replace(evidence, ' ', ',');
      text += "(" + evidence + ")";
    }
    if (!trait.digest.empty()) text += "#" + trait.digest;
  }
  return text;
}

Fingerprint fingerprint_from(std::string_view text) {
  Fingerprint traits;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) traits.push_back(trait_from(word));
  return traits;
}

}  // namespace ringcraft::judge
