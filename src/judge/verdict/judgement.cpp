// Rows of a report on one file (see judgement.hpp).
#include "judge/verdict/judgement.hpp"

#include <utility>

namespace ringcraft::judge {
namespace {

using verify::ReportRow;
using verify::Status;

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
    case Misbehaviour::Kind::kThrew:
    case Misbehaviour::Kind::kMemory:
      return "The words in quotes are those of the exception; look for where it is thrown.";
    case Misbehaviour::Kind::kNonsense:
      return "A solution only computes and sends messages. It opens nothing, and prints little: only what is "
             "wrong, or only on rank 0.";
    case Misbehaviour::Kind::kMessages:
      return check.hint;
  }
  return check.hint;
}

// What a student's program printed, below the verdict of a check that failed.
void show_printed(ReportRow& row, const std::string& printed) {
  constexpr std::size_t kShown = 1000;
  if (row.status != Status::kFailed || printed.empty()) return;
  row.sentence +=
      "\nyour program printed:\n" + printed.substr(0, kShown) + (printed.size() > kShown ? "..." : "");
}

}  // namespace

Judgement::Judgement(const Lesson& lesson, const CheckOptions& options) : lesson_(lesson), options_(options) {
  report_.title = "Lesson " + std::to_string(lesson.number) + ": " + lesson.title;
}

bool Judgement::build(const std::function<BuildStep()>& compiles, const std::function<BuildStep()>& belongs) {
  const bool built =
      build_step("compiles", "The file compiles.", compiles) &&
      build_step("belongs", "The file defines the exercise and calls only what the lesson gives.", [&] {
        BuildStep done = belongs();
        remark_ = done.remarks;
        return done;
      });
  if (!built) stop_ = "the file was not built";
  return built;
}

void Judgement::check(Workers& team, Workers& library) {
  for (const Check& check : lesson_.checks) judge(check, team, library);
}

ReportRow& Judgement::begin(const std::string& id, const std::string& claim, double weight) {
  if (options_.progress)
    options_.progress(claim, static_cast<int>(report_.rows.size()),
                      static_cast<int>(lesson_.checks.size()) + 2);
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
  outcomes_.push_back({row.status, done.sentence.empty() ? sign::kPassed : sign::kNotBuilt});
  if (row.status == Status::kPassed && !done.remarks.empty())
    row.sentence = "with warnings:\n" + done.remarks;
  statuses_[id] = row.status;
  return row.status == Status::kPassed;
}

// Why a check is not tried; empty if it is.
std::string Judgement::obstacle(const Check& check) const {
  if (!stop_.empty()) return stop_;
  for (const std::string& need : check.needs)
    if (statuses_.at(need) != Status::kPassed)
      return "not tried: it needs " + std::to_string(lesson_.number) + "." + need;
  return {};
}

void Judgement::judge(const Check& check, Workers& team, Workers& library) {
  ReportRow& row = begin(check.id, check.claim, check.weight);
  Outcome outcome;
  row.sentence = obstacle(check);
  if (row.sentence.empty()) {
    team.begin_check(check.workers);
    Trial trial(team, options_.seed * kSeedsOfChecks + report_.rows.size(), library);
    row.status = Status::kFailed;
    row.hint = check.hint;
    try {
      check.run(trial);
      row.status = Status::kPassed;
      outcome.sign = sign::kPassed;
    } catch (const Wrong& wrong) {
      row.sentence = wrong.what();
      row.maps = wrong.maps;
      outcome.sign = wrong.sign;
      outcome.evidence = evidence_of(wrong.maps);
    } catch (const Misbehaviour& misbehaviour) {
      outcome.sign = sign_of(misbehaviour.kind());
      misbehaved(misbehaviour, check, row);
    }
    if (row.sentence.find("is not written yet") != row.sentence.npos)
      row.hint = "The TODO still stands in your file: write the body, and take the throw away.";
    constexpr std::size_t kLongest = 4000;  // of a sentence, before what was printed
    if (row.sentence.size() > kLongest) row.sentence = row.sentence.substr(0, kLongest) + "...";
    row.figures = trial.figures();
    show_printed(row, team.printed());
    if (row.status == Status::kFailed && !remark_.empty())
      row.sentence += "\n" + std::exchange(remark_, std::string());
  }
  statuses_[check.id] = outcome.status = row.status;
  outcomes_.push_back(std::move(outcome));
}

void Judgement::misbehaved(const Misbehaviour& misbehaviour, const Check& check, ReportRow& row) {
  row.sentence = misbehaviour.what();
  row.hint = hint_for(misbehaviour.kind(), check);
  if (check.workers.address_bytes > 0 && is_out_of_memory(misbehaviour)) {
    row.sentence += "; each process may take " + std::to_string(check.workers.address_bytes >> 20) +
                    " MB in this check, and no more";
    row.hint = check.hint;
  }
  if (misbehaviour.kind() == Misbehaviour::Kind::kSilent)
    stop_ = "not tried: the program did not come back in " + row.id;
}

}  // namespace ringcraft::judge
