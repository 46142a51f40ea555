// Fingerprints of verdicts, and their text (see fingerprint.hpp).
#include "judge/verdict/fingerprint.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"

namespace ringcraft::judge {
namespace {

// Without the places in source files ("tiles.cuh:103"): the same mistake stands in another line of every
// student's file.
std::string without_places(const std::string& text) {
  static const std::regex place("[^ ]+\\.(cu|cuh|cpp|hpp):[0-9]+");
  return std::regex_replace(text, place, "");
}

// What stands in the sentence without what varies from one right order of summation to another.
std::string without_noise(std::string_view sentence) {
  std::string text = without_places(std::string(sentence.substr(0, sentence.find('\n'))));
  for (const char* aside : {" (an error of ", " (here "})  // the latter: on a machine with these registers
    if (const auto begin = text.find(aside); begin != text.npos)
      text.erase(begin, text.find(')', begin) - begin + 1);
  static const std::regex bound(", allowed [-+.e0-9]+");  // of dense attention in float, on this machine
  text = std::regex_replace(text, bound, "");
  if (const auto times = text.find(" times as long"); times != text.npos) {
    const auto number = text.find_last_not_of("0123456789.", times - 1) + 1;
    text.erase(number, times - number);
  }
  // Who writes where nothing lies may hit the end of the memory, or be found out by the next free().
  static const std::regex either(
      "\\((aborted|bus error)\\)(, its last words: \"[^\"]*(free|malloc|realloc|corrupted)[^\"]*\",)?");
  text = std::regex_replace(text, either, "(segmentation fault)");
  for (const char* ending : {" threw ", " crashed ", " ended "})  // of several ranks any may be the first
    if (const auto end = text.find(ending); end != text.npos)
      if (const auto rank = text.rfind("rank ", end); rank != text.npos) text.erase(rank);
  return text;
}

// A real number, which has a point or an exponent, with three digits; everything else as it stands.
std::string rounded(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    };
    if (!is_digit(i)) {
      result += text[i++];
      continue;
    }
    char* end = nullptr;
    const double value = std::strtod(text.c_str() + i, &end);
    std::size_t next = i;
    while (is_digit(next)) ++next;
    const auto past = static_cast<std::size_t>(end - text.c_str());
    const bool real = past > next && is_digit(past - 1) && (text[next] == '.' || text[next] == 'e');
    if (real) {
      char digits[32];
      std::snprintf(digits, sizeof digits, "%.2e", value);
      result += digits;
      next = past;
    } else {
      result += text.substr(i, next - i);
    }
    i = next;
  }
  return result;
}

// Numbers aside, the words of a sentence, each once. Of several ranks in trouble any may be named first, the
// one that waits to send as well as the one that waits to receive; unless all of them wait for the
// same, in a deadlock.
std::string words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : text + " ")
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0)
      word += letter;
    else
      words.insert(std::exchange(word, {}));
  if (!words.contains("deadlock") || (words.contains("send") && words.contains("receive")))
    for (const char* either : {"send", "receive"}) words.erase(either);
  for (const char* either : {"to", "from"}) words.erase(either);
  std::string joined;
  for (const std::string& each : words) joined += each + " ";
  return joined;
}

// Whether ranks may race to be the first that shows this sign.
bool is_raced_for(char how) {
  return how == sign::kMessages || how == sign::kThrew || how == sign::kEnded || how == sign::kHang ||
         how == sign::kProtocol;
}

// The memory that a finding is about: the judge's name of an array, or shared memory. Shared variables have a
// student's names.
std::string memory_of(const std::string& text) {
  static const std::regex memory("byte -?[0-9]+ of ((the )?[A-Za-z_.]+)");
  std::smatch found;
  if (!std::regex_search(text, found, memory)) return "";
  return found[1] == "the shared" ? "static" : found[1].str();
}

// What the threads of a finding do and where, "6w9r@24"; without their numbers and places, and in no order,
// "rw": of two that race either may come first.
struct Accesses {
  std::string letters, in_full;
};
Accesses accesses_of(const std::string& text) {
  static const std::regex access(
      "thread ([0-9]+)( of thread block \\([^)]*\\))?( (reads?|writes?|wrote|change[sd]) )?"),
      place("byte (-?[0-9]+) of ");
  Accesses accesses;
  for (std::sregex_iterator each(text.begin(), text.end(), access), end; each != end; ++each) {
    const std::string letter = (*each)[4].str().substr(0, 1);
    accesses.letters += letter;
    accesses.in_full += (accesses.in_full.empty() || !std::isdigit(accesses.in_full.back()) ? "" : "+") +
                        (*each)[1].str() + letter;
  }
  std::ranges::sort(accesses.letters);
  std::smatch byte;
  if (std::regex_search(text, byte, place)) accesses.in_full += "@" + byte[1].str();
  return accesses;
}

// What a checked launch says, without the names and numbers of a student's file: "data race, no
// __syncthreads between, dynamic, rw".
std::string finding_of(const std::string& text) {
  std::string kinds;
  for (const char* kind :
       {"data race", "no __syncthreads between", "no __syncthreads or __syncwarp", "the thread blocks",
        "out of bounds", "has written before", "has been freed", "multiple of 16", "not all threads go on",
        "still under way", "different barriers", "have left the kernel", "takes no part", "leaves it out"})
    if (text.find(kind) != text.npos) kinds += std::string(kind) + ", ";
  return kinds + memory_of(text) + ", " + accesses_of(text).letters;
}

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

std::string digest_of(char how, std::string_view sentence) {
  const std::string text = without_noise(sentence);
  const auto hash = fnv1a<std::uint32_t>(how == sign::kFinding ? finding_of(text)
                                         : is_raced_for(how)   ? words_of(text)
                                                               : rounded(text));
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
    traits.push_back(
        {check, outcome.sign,
         outcome.sign == sign::kFinding ? accesses_of(without_noise(row.sentence)).in_full : outcome.evidence,
         failed ? digest_of(outcome.sign, row.sentence) : ""});
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
