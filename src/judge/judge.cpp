// Start and check (see judge.hpp).
#include "judge/judge.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "judge/config.hpp"
#include "judge/diagnosis.hpp"
#include "judge/lesson.hpp"
#include "judge/marks.hpp"
#include "judge/toolchain.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::ReportRow;
using verify::Status;

constexpr std::uintmax_t kLargestFile = 256 << 10;  // bytes; a solution has about two kilobytes

std::set<int> numbers() {
  std::set<int> result;
  for (const Lesson& lesson : all_lessons()) result.insert(lesson.number);
  return result;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!(text << file.rdbuf()))
    throw Error("file", "a readable file", path.string(), "clone the repository again", Code::kMissing);
  return text.str();
}

// One check of one student's file: the steps in order, each of them a row.
class Judgement {
 public:
  Judgement(const Lesson& lesson, const std::filesystem::path& file, const CheckOptions& options)
      : lesson_(lesson), file_(file), options_(options) {
    report_.title = "Lesson " + std::to_string(lesson.number) + ": " + lesson.title;
  }

  Verdict run() {
    const bool built =
        build_step("compiles", "The file compiles.", [&] { return compile(lesson_, file_, folder_); }) &&
        build_step("belongs", "The file defines the exercise and calls only what the lesson gives.", [&] {
          const BuildStep allowed = gate(lesson_, folder_);
          return allowed.sentence.empty() ? link(lesson_, folder_) : allowed;
        });
    if (!built) stop_ = "the file was not built";
    for (const Check& check : lesson_.checks) judge(check);
    return {std::move(report_), std::move(outcomes_)};
  }

 private:
  ReportRow& begin(const std::string& id, const std::string& claim, double weight) {
    if (options_.progress)
      options_.progress(claim, static_cast<int>(report_.rows.size()),
                        static_cast<int>(lesson_.checks.size()) + 2);
    ReportRow& row = report_.rows.emplace_back();
    row.id = std::to_string(lesson_.number) + "." + id;
    row.claim = claim;
    row.weight = weight;
    return row;
  }

  template <class Step>
  bool build_step(const std::string& id, const std::string& claim, Step step) {
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
  std::string obstacle(const Check& check) const {
    if (!stop_.empty()) return stop_;
    for (const std::string& need : check.needs)
      if (statuses_.at(need) != Status::kPassed)
        return "not tried: it needs " + std::to_string(lesson_.number) + "." + need;
    return {};
  }

  void judge(const Check& check) {
    ReportRow& row = begin(check.id, check.claim, check.weight);
    Outcome outcome;
    row.sentence = obstacle(check);
    if (row.sentence.empty()) {
      team_.begin_check(check.workers);
      Trial trial(team_, options_.seed * 1000 + report_.rows.size(), library_);
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
        row.sentence = misbehaviour.what();
        row.hint = hint_for(misbehaviour.kind(), check);
        outcome.sign = sign_of(misbehaviour.kind());
        if (check.workers.address_bytes > 0 && is_out_of_memory(misbehaviour)) {
          row.sentence += "; each process may take " + std::to_string(check.workers.address_bytes >> 20) +
                          " MB in this check, and no more";
          row.hint = check.hint;
        }
        if (row.sentence.find("is not written yet") != row.sentence.npos)
          row.hint = "The TODO still stands in your file: write the body, and take the throw away.";
        if (misbehaviour.kind() == Misbehaviour::Kind::kSilent)
          stop_ = "not tried: the program did not come back in " + row.id;
      }
      row.figures = trial.figures();
      show_printed(row, team_.printed());
    }
    statuses_[check.id] = outcome.status = row.status;
    outcomes_.push_back(std::move(outcome));
  }

  static bool is_out_of_memory(const Misbehaviour& misbehaviour) {
    const std::string_view what = misbehaviour.what();
    return misbehaviour.kind() == Misbehaviour::Kind::kEnded || what.find("bad_alloc") != what.npos ||
           what.find("out of memory") != what.npos;  // std::vector's words, and Buffer's
  }

  // A program that does not answer says little about the claim of the check.
  static std::string hint_for(Misbehaviour::Kind kind, const Check& check) {
    switch (kind) {
      case Misbehaviour::Kind::kEnded:
        return "Which index, pointer or call could end a program at this place?";
      case Misbehaviour::Kind::kSilent:
        return "Which loop, or which wait, may never come to an end?";
      case Misbehaviour::Kind::kThrew:
        return "The words in quotes are those of the exception; look for where it is thrown.";
      case Misbehaviour::Kind::kNonsense:
        return "A solution only computes and sends messages; it prints little and opens nothing.";
      case Misbehaviour::Kind::kMessages:
        return check.hint;
    }
    return check.hint;
  }

  // What a student's program printed, below the verdict of a check that failed.
  static void show_printed(ReportRow& row, const std::string& printed) {
    constexpr std::size_t kShown = 1000;
    if (row.status != Status::kFailed || printed.empty()) return;
    row.sentence +=
        "\nyour program printed:\n" + printed.substr(0, kShown) + (printed.size() > kShown ? "..." : "");
  }

  const Lesson& lesson_;
  std::filesystem::path file_;
  const CheckOptions& options_;
  WorkFolder folder_;
  Team team_{worker_program(folder_), options_.per_call};
  Team library_{library_program(folder_), options_.per_call};
  Report report_;
  std::vector<Outcome> outcomes_;  // one per row
  std::map<std::string, Status> statuses_;
  std::string stop_;  // why nothing more is tried
};

}  // namespace

std::vector<LessonInfo> lessons() {
  std::vector<LessonInfo> result;
  for (const Lesson& l : all_lessons())
    result.push_back({l.number, l.name, l.title, l.source, l.function, !l.checks.empty()});
  return result;
}

std::filesystem::path exercise_file(int lesson, const std::filesystem::path& workspace) {
  const Lesson& declared = lesson_numbered(lesson);
  return workspace / declared.name / std::filesystem::path(declared.source).filename();
}

std::filesystem::path start(int lesson, const std::filesystem::path& workspace) {
  const std::filesystem::path target = exercise_file(lesson, workspace);
  const std::filesystem::path original =
      std::filesystem::path(kSourceRoot) / "src" / lesson_numbered(lesson).source;
  const std::string text = skeleton(read_text(original), original.string(), numbers(), lesson);
  if (std::filesystem::exists(std::filesystem::symlink_status(target)))
    throw Error("start", "no file yet", target.string(),
                "go on writing in it, or move it away to start again; then ./ringcraft check " +
                    std::to_string(lesson));
  std::error_code failed;
  std::filesystem::create_directories(target.parent_path(), failed);
  std::ofstream file(target);
  if (failed || !(file << text) || !file.flush())
    throw Error("start", "a folder that can be written", target.string(), "check its permissions");
  return target;
}

Report check(int lesson, const std::filesystem::path& workspace, const CheckOptions& options) {
  return verdict_on(lesson, workspace, options).report;
}

Report check_file(int lesson, const std::filesystem::path& file, const CheckOptions& options) {
  return verdict_on_file(lesson, file, options).report;
}

Verdict verdict_on(int lesson, const std::filesystem::path& workspace, const CheckOptions& options) {
  const std::filesystem::path file = exercise_file(lesson, workspace);
  if (!std::filesystem::exists(file))
    throw Error("check", "your file " + file.string(), "none",
                "type ./ringcraft start " + std::to_string(lesson) + " to get it");
  return verdict_on_file(lesson, file, options);
}

Verdict verdict_on_file(int lesson, const std::filesystem::path& file, const CheckOptions& options) {
  const Lesson& declared = lesson_numbered(lesson);
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
  if (failed || !std::filesystem::is_regular_file(file))
    throw Error("check", "a source file", file.string(), "name a .cpp file that exists");
  if (bytes > kLargestFile)
    throw Error("check", "a file of at most " + std::to_string(kLargestFile) + " bytes",
                std::to_string(bytes), "an exercise is one short function");
  Verdict verdict = Judgement(declared, file, options).run();
  explain(lesson, verdict);
  return verdict;
}

}  // namespace ringcraft::judge
