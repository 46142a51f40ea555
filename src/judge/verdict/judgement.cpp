// Builds the rows of a report on one file: steps of the build, checks, hints, output of the program.
#include "judge/verdict/judgement.hpp"

#include <algorithm>
#include <utility>

namespace ringcraft::judge {
namespace {

using verify::ReportRow;
using verify::Status;

// A loop without end that stores something may take seconds to fill the memory, in each check again.
constexpr int kMostOutOfMemory = 3;

bool is_out_of_memory(const Misbehaviour& misbehaviour) {
  return misbehaviour.kind() == Misbehaviour::Kind::kEnded ||
         misbehaviour.kind() == Misbehaviour::Kind::kMemory;
}

// A program that does not answer says little about the claim of the check.
std::string hint_for(Misbehaviour::Kind kind, const Check& check) {
  switch (kind) {
    case Misbehaviour::Kind::kEnded:
      return "Which index, pointer or call could end a program at this place?";
    case Misbehaviour::Kind::kSilent:
      return "Which loop, or which wait, may never come to an end?";
    case Misbehaviour::Kind::kUnwritten:
      return "The TODO still stands in your file: write the body, and take the throw away.";
    case Misbehaviour::Kind::kThrew:
    case Misbehaviour::Kind::kMemory:
      return "Where in your file is something thrown, also by a call of the library or the standard library?";
    case Misbehaviour::Kind::kNonsense:
      return "A solution only computes and sends messages. It opens nothing, and prints little: only what is "
             "wrong, or only on rank 0.";
    case Misbehaviour::Kind::kMessages:
      return check.hint;
  }
  return check.hint;
}

// Cuts the text to at most so many bytes.
std::string cut(const std::string& text, std::size_t most) {
  return text.substr(0, most) + (text.size() > most ? "..." : "");
}

// The output of a student's program, below the verdict of a failed check.
std::string shown(const std::string& printed) {
  return printed.empty() ? "" : "\nyour program printed:\n" + cut(printed, 1000);
}

}  // namespace

Judgement::Judgement(const Lesson& lesson, const CheckOptions& options) : lesson_(lesson), options_(options) {
  report_.title = "Lesson " + std::to_string(lesson.number) + ": " + lesson.title;
}

bool Judgement::build(const std::function<BuildStep()>& compiles, const std::function<BuildStep()>& belongs) {
  const bool built =
      build_step("compiles", "The file compiles.", compiles) &&
      build_step("belongs", "The file defines the exercise and calls only what the lesson gives.", belongs);
  if (!built) stop_ = "the file was not built";
  return built;
}

void Judgement::check(Workers& team, Workers& library) {
  for (const Check& check : checks_of(lesson_)) judge(check, team, library);
}

ReportRow& Judgement::begin(const std::string& id, const std::string& claim, double weight) {
  if (options_.progress)
    options_.progress(claim, static_cast<int>(report_.rows.size()),
                      static_cast<int>(checks_of(lesson_).size()) + 2);
  ReportRow& row = report_.rows.emplace_back();
  row.id = std::to_string(lesson_.number) + "." + id;
  row.claim = claim;
  row.weight = weight;
  return row;
}

bool Judgement::build_step(const std::string& id, const std::string& claim,
                           const std::function<BuildStep()>& step) {
  ReportRow& row = begin(id, claim, 0);
  const BuildStep done = step();
  row.status = done.sentence.empty() ? Status::kPassed : Status::kFailed;
  row.sentence = done.sentence;
  below_.emplace_back();
  outcomes_.push_back({row.status, done.sentence.empty() ? sign::kPassed : sign::kNotBuilt});
  if (row.status == Status::kPassed) row.remark = done.remark;
  statuses_[id] = row.status;
  return row.status == Status::kPassed;
}

// The reason why a check is not tried; empty if it is.
std::string Judgement::obstacle(const Check& check) const {
  if (!stop_.empty()) return stop_;
  for (const std::string& need : check.needs)
    if (statuses_.at(need) != Status::kPassed)
      return "not tried: it needs " + std::to_string(lesson_.number) + "." + need;
  return {};
}

namespace {

// The answers that a diagnosis needs; null if they cannot be read.
verify::Exhibit asked(const Check& check, Trial& trial) {
  try {
    return check.interview(trial);
  } catch (const Wrong&) {
  } catch (const Misbehaviour&) {
  }
  return nullptr;
}

}  // namespace

// A number that is none may have been read beside an argument, where nothing has crashed: there it does with
// the arguments at the other ends of their pages.
void Judgement::look_for_strays(const Check& check, Asked asked, std::uint64_t seed, Workers& team,
                                Workers& library, Outcome& outcome) {
  asked.placement = asked.placement == Placement::kAtEnd ? Placement::kAtStart : Placement::kAtEnd;
  team.begin_check(asked);
  try {
    Trial again(team, seed, library, check.precision);
    check.run(again);
  } catch (const Wrong&) {
  } catch (const Misbehaviour& misbehaviour) {
    if (misbehaviour.kind() != Misbehaviour::Kind::kEnded) return;
    ReportRow& row = report_.rows.back();
    unspoken_.pop_back();
    row.maps.clear();
    row.facts.clear();
    row.code = misbehaviour.code();
    outcome = {Status::kFailed, sign_of(misbehaviour.kind())};
    misbehaved(misbehaviour, check, row);
  }
}

void Judgement::judge(const Check& check, Workers& team, Workers& library) {
  ReportRow& row = begin(check.id, check.claim, check.weight);
  Outcome outcome;
  std::string& below = below_.emplace_back();
  row.sentence = obstacle(check);
  if (row.sentence.empty()) {
    Asked workers = check.workers;  // of every two checks one sees what is read before the first element
    workers.placement = report_.rows.size() % 2 == 1 ? Placement::kAtEnd : Placement::kAtStart;
    team.begin_check(workers);
    const std::uint64_t seed = options_.seed * kSeedsOfChecks + report_.rows.size();
    Trial trial(team, seed, library, check.precision);
    bool is_written = true;
    row.status = Status::kFailed;
    row.hint = check.hint;
    try {
      check.run(trial);
      row.status = Status::kPassed;
      outcome.sign = sign::kPassed;
    } catch (const Wrong& wrong) {
      unspoken_.push_back({report_.rows.size() - 1, wrong});
      if (options_.words == Words::kHidden)
        for (Fact& fact : unspoken_.back().wrong.said.facts) fact.hide_words();
      row.maps = wrong.maps;
      row.code = wrong.code;
      row.facts = wrong.said.keys();
      outcome = outcome_of(wrong);
      if (wrong.sign == sign::kNoNumber) look_for_strays(check, workers, seed, team, library, outcome);
    } catch (const Misbehaviour& misbehaviour) {
      row.code = misbehaviour.code();
      outcome.sign = sign_of(misbehaviour.kind());
      is_written = misbehaviour.kind() != Misbehaviour::Kind::kUnwritten;
      misbehaved(misbehaviour, check, row);
    }
    row.figures = trial.figures();
    row.timed = trial.timed();
    if (outcome.exhibits.empty() && trial.shown()) outcome.exhibits.push_back(trial.shown());
    if (row.status == Status::kFailed)
      below = shown(outcome.sign == sign::kEnded ? without_assertion(team.printed()) : team.printed());
    if (check.interview && row.status == Status::kFailed && stop_.empty() && is_written &&
        !std::exchange(interviewed_, true))
      if (verify::Exhibit answers = asked(check, trial))
        outcome.exhibits.insert(outcome.exhibits.begin(), std::move(answers));
    outcome.right = trial.right();
  }
  statuses_[check.id] = outcome.status = row.status;
  outcome.precision = check.precision;
  outcomes_.push_back(std::move(outcome));
}

Verdict Judgement::verdict(const NamePlaces& name_places, const std::string& own_file) && {
  std::vector<simt::CodePlace*> places;
  for (Unspoken& each : unspoken_)
    for (Fact& fact : each.wrong.said.facts)
      fact.for_each_place([&](simt::CodePlace& place) {
        if (place.code != 0) places.push_back(&place);
      });
  for (Crash& crash : crashes_)
    for (simt::CodePlace& call : crash.calls) places.push_back(&call);
  if (name_places && !places.empty()) name_places(places);
  for (const Unspoken& each : unspoken_) report_.rows[each.row].sentence = each.wrong.sentence();
  for (const Crash& crash : crashes_) {
    const auto own = std::ranges::find_if(crash.calls, [&](const simt::CodePlace& call) {
      return !own_file.empty() && call.line.starts_with(own_file + ":");
    });
    if (own != crash.calls.end()) report_.rows[crash.row].sentence += ", at " + own->line;
  }
  constexpr std::size_t kLongest = 4000;  // of a sentence, before what was printed
  for (std::size_t row = 0; row < report_.rows.size(); ++row)
    report_.rows[row].sentence = cut(report_.rows[row].sentence, kLongest) + below_[row];
  return {std::move(report_), std::move(outcomes_)};
}

void Judgement::misbehaved(const Misbehaviour& misbehaviour, const Check& check, ReportRow& row) {
  row.sentence = misbehaviour.what();
  if (!misbehaviour.stack().empty()) {
    Crash& crash = crashes_.emplace_back(Crash{report_.rows.size() - 1, {}});
    for (const std::uint64_t code : misbehaviour.stack()) crash.calls.push_back({.line = "", .code = code});
  }
  row.hint = hint_for(misbehaviour.kind(), check);
  if (check.workers.address_bytes > 0 && is_out_of_memory(misbehaviour)) {
    row.sentence += "; each process may take " + std::to_string(check.workers.address_bytes >> 20) +
                    " MB in this check, and no more";
    row.hint = check.hint;
  }
  if (misbehaviour.kind() == Misbehaviour::Kind::kSilent)
    stop_ = "not tried: the program did not come back in " + row.id;
  if (check.workers.address_bytes == 0 && misbehaviour.kind() == Misbehaviour::Kind::kMemory &&
      ++out_of_memory_ == kMostOutOfMemory)
    stop_ = "not tried: the program ran out of memory again in " + row.id;
}

}  // namespace ringcraft::judge
