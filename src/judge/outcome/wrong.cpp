// What a failed check throws (see wrong.hpp).
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

namespace {

char letter_of(simt::Access access) {
  switch (access) {
    case simt::Access::kRead:
      return 'r';
    case simt::Access::kWrite:
      return 'w';
    case simt::Access::kAtomic:
      return 'c';
  }
  return '?';
}

// "6w9r@24": the threads in the order of the sentence, what they do, and the byte.
std::string evidence_of(const simt::Finding& finding) {
  using simt::Mistake;
  std::string text;
  const auto add = [&](const simt::FoundAccess& access, bool with_letter) {
    if (!text.empty() && text.back() >= '0' && text.back() <= '9') text += '+';
    text += std::to_string(access.thread);
    if (with_letter) text += letter_of(access.what);
  };
  switch (finding.mistake) {
    case Mistake::kRace:
      add(finding.earlier, true);
      add(finding.access, true);
      break;
    case Mistake::kInFlight:
    case Mistake::kThreadsOwn:
    case Mistake::kHostsMemory:
      add(finding.access, true);
      add(finding.earlier, false);
      break;
    case Mistake::kOutOfBounds:
    case Mistake::kFreed:
    case Mistake::kMisaligned:
    case Mistake::kUnwritten:
      add(finding.access, true);
      break;
    case Mistake::kNotShared:
    case Mistake::kNotRegisters:
    case Mistake::kLeftOut:
    case Mistake::kAbsentLane:
    case Mistake::kCrooked:
      add(finding.access, false);
      break;
    default:
      break;
  }
  if (finding.memory.kind != simt::FoundMemory::Kind::kNone)
    text += "@" + std::to_string(finding.memory.offset);
  return text;
}

}  // namespace

Outcome outcome_of(const Wrong& wrong, int calls) {
  Outcome outcome{verify::Status::kFailed, wrong.sign, evidence_of(wrong.maps), wrong.code};
  if (wrong.exhibit) outcome.exhibits.push_back(wrong.exhibit);
  // In another order, or with arrays at other places, a launch finds the same in another call.
  if (wrong.sign != sign::kFinding) outcome.key += " " + std::to_string(calls);
  for (const Fact& fact : wrong.said.facts) {
    const std::string key = fact.key();
    if (!key.empty()) outcome.key += " " + key;
    if (const simt::Finding* const finding = fact.finding()) outcome.evidence = evidence_of(*finding);
  }
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
