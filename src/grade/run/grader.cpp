// Judges what a class has handed in, in parallel, and puts the verdicts together.
#include "grade/run/grader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "grade/alike/alike.hpp"
#include "grade/intake/class_folder.hpp"
#include "grade/intake/names.hpp"
#include "grade/jail/control_group.hpp"
#include "grade/jail/jail.hpp"
#include "grade/pages/pages.hpp"
#include "grade/pages/rows.hpp"
#include "grade/run/reports.hpp"
#include "grade/run/scratch.hpp"
#include "judge/run/team.hpp"
#include "judge/tree/config.hpp"
#include "judge/tree/text_file.hpp"
#include "process/child.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongestJudgement{900};  // of wall-clock time, on a busy machine
constexpr std::uintmax_t kLargestReport = 8 << 20;      // bytes
constexpr std::size_t kMostSaid = 4 << 20;              // bytes that a judge prints

// The options, if hand-ins and reports have folders of their own: no report becomes a hand-in.
const GradeOptions& apart(const GradeOptions& options) {
  if (!fs::exists(options.folder))  // before anything is written
    throw Error("grade", "a folder or an archive with what a class has handed in",
                shown(options.folder.string(), 200) + ", which is not there", "see docs/pages/grading.md");
  const fs::path from = fs::weakly_canonical(options.folder), to = fs::weakly_canonical(options.out);
  const auto [rest_of_from, rest_of_to] = std::ranges::mismatch(from, to);
  if (rest_of_from == from.end() || rest_of_to == to.end())
    throw Error("grade --out", "a folder for reports that is not in the class's, nor around it", to.string(),
                "name another one with --out");
  std::error_code unreadable;  // which the ledger tells
  const bool is_ours = !fs::exists(to) || fs::is_empty(to, unreadable) || unreadable || Ledger::is_in(to);
  if (!is_ours)
    throw Error("grade --out", "a new or empty folder, or the reports of this class",
                to.string() + ", with other files", "name another one with --out");
  return options;
}

// A file and what lies beside it, which it may include, as one text.
std::string text_around(const fs::path& file) {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(file.parent_path()))
    if (entry.is_regular_file()) all.push_back(entry.path());
  std::ranges::sort(all);
  std::string text;
  for (const fs::path& each : all) {
    const std::string content = read_text_file("grade", each, judge::kLargestOwnFile);
    text += fmt::format("{} {}\n", each.filename().string(), content.size()) + content;
  }
  return text;
}

// A file that is to be judged.
struct Task {
  std::size_t student, hand_in;
};

class Grader {
 public:
  explicit Grader(const GradeOptions& options)
      : options_(apart(options)),
        layers_(layers(options.tree)),
        handed_in_(read()),
        ledger_(options.out, options.secret) {
    require_same_class();
    records_.resize(handed_in_.students.size());
    for (std::size_t s = 0; s < records_.size(); ++s) {
      for (const HandIn& hand_in : handed_in_.students[s].hand_ins) {
        tasks_.push_back({s, records_[s].size()});
        records_[s].push_back(record_of(hand_in, State::kUnjudged, "not judged yet"));
      }
    }
  }

  // The folder of this name below `out`; it is made.
  fs::path folder_in_out(const fs::path& name) const {
    fs::create_directories(options_.out / name);
    return options_.out / name;
  }

  // Judges everything. The first failure that is not a student's ends it.
  void run() {
    if (options_.so_far) options_.so_far(results());
    std::vector<std::jthread> threads;
    const std::size_t jobs = std::clamp<std::size_t>(static_cast<std::size_t>(options_.jobs), 1,
                                                     std::max<std::size_t>(tasks_.size(), 1));
    for (std::size_t j = 0; j < jobs; ++j) threads.emplace_back([this, j] { work(j); });
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

  // Pairs of files that have much in common, of the attempts that count, and a page for each.
  void compare(ClassResults& all) const {
    fs::remove_all(options_.out / "alike");
    for (std::size_t e = 0; options_.given && e < all.exercises.size(); ++e) {
      const std::string& exercise = all.exercises[e].id;
      std::vector<Text> texts;
      for (std::size_t s = 0; s < records_.size(); ++s)
        if (const auto h = counted(s, exercise); h && handed_in_.students[s].hand_ins[*h].refusal.empty())
          texts.push_back(
              {handed_in_.students[s].key,
               read_text_file("grade", handed_in_.students[s].hand_ins[*h].file, judge::kLargestOwnFile),
               name_of(all.students[s], kShortName)});
      const std::vector<std::string> given = options_.given(exercise);
      for (Same& group : same(exercise, texts, given)) all.same.push_back(std::move(group));
      for (const Alike& pair : alike(exercise, texts, given)) {
        write_whole(folder_in_out("alike") / alike_file(pair), side_by_side_page(pair, texts, given));
        all.alike.push_back(pair);
      }
    }
    std::ranges::stable_sort(all.alike, std::greater(), &Alike::share);
  }

  Explained explained(const std::string& student, const std::string& exercise) {
    const std::size_t s = called(student);
    const Student* const found = &handed_in_.students[s];
    run_only(s, exercise);
    const auto h = counted(s, exercise);
    if (!h || !found->hand_ins[*h].refusal.empty())
      throw Error("grade --explain", "a file of " + student + " for " + exercise,
                  h ? "one that cannot be judged: " + found->hand_ins[*h].refusal : "none",
                  "see the student's page");
    const HandIn& hand_in = found->hand_ins[*h];
    const std::string digest = ledger_.secret().fingerprint_of(text_around(hand_in.file));
    Explained explained{verdict_on(found->key, hand_in, digest, 0, judge::Words::kShown).report, {}};
    explained.report.seed = ledger_.secret().seed_for(found->key, exercise, digest);
    const ClassResults all = results();
    const auto e = std::ranges::find(all.exercises, exercise, &Exercise::id) - all.exercises.begin();
    const Result& result = all.students[s].results[static_cast<std::size_t>(e)];
    explained.name = all.students[s].name;
    explained.attempt = result.best + 1, explained.attempts = result.attempts.size();
    explained.late = result.is_late();
    const fs::path copy = folder_in_out(fs::path("explained") / found->key / exercise);
    fs::copy(hand_in.file.parent_path(), copy,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    explained.file = copy / hand_in.file.filename();
    return explained;
  }

  ClassResults results() const {
    ClassResults all{.title = options_.title.empty() ? options_.folder.filename().string() : options_.title,
                     .exercises = options_.exercises,
                     .all_points = options_.all_points,
                     .students = {},
                     .layers = layers_,
                     .remarks = handed_in_.remarks};
    for (std::size_t s = 0; s < records_.size(); ++s) all.students.push_back(results_of(s));
    if (options_.only_handed_in) leave_out_missing(all);
    if (options_.roster) all.enrolment = enrolment_of(*options_.roster, all.students);
    if (all.enrolment) name_as_enrolled(all);
    return all;
  }

 private:
  // The hand-ins. Throws Error where they cannot be judged: before anything is written to `out`.
  ClassFolder read() const {
    require(layers_, options_.without);
    const fs::path copies = scratch_.path() / "hand-ins";
    ClassFolder all = options_.whose ? read_one(options_.folder, *options_.whose, copies, options_.exercises)
                                     : read_class(options_.folder, copies, options_.exercises);
    require_any(all);
    give(scratch_.path(), layers_);
    require_work(sight_of(prepared("probe"), {}), layers_);
    return all;
  }

  // Refuses a class in which files were passed over, and none is one of an exercise.
  void require_any(const ClassFolder& all) const {
    if (!options_.only_handed_in ||
        std::ranges::any_of(all.students, [](const Student& student) { return !student.hand_ins.empty(); }))
      return;
    const auto passed_over =
        std::ranges::find_if(all.students, [](const Student& student) { return !student.remarks.empty(); });
    if (passed_over == all.students.end()) return;
    throw Error("grade", "a file of an exercise, such as " + options_.exercises.front().file,
                ringcraft::counted(all.students.size(), "student") + " without one: " +
                    shown(passed_over->name, 120) + ", " + shown(passed_over->remarks.front(), 200),
                "see whether this is the right assignment, and docs/pages/grading.md for the names of files");
  }

  static void leave_out_missing(ClassResults& all) {
    for (std::size_t e = all.exercises.size(); e-- > 0;) {
      const auto index = static_cast<std::ptrdiff_t>(e);
      if (std::ranges::any_of(all.students, [e](const auto& s) { return !s.results[e].attempts.empty(); }))
        continue;
      all.exercises.erase(all.exercises.begin() + index);
      all.all_points.erase(all.all_points.begin() + index);
      for (StudentResults& student : all.students) student.results.erase(student.results.begin() + index);
    }
  }

  static Enrolment enrolment_of(const Roster& roster, const std::vector<StudentResults>& students) {
    std::vector<Person> people;
    std::vector<std::size_t> whose;
    for (std::size_t s = 0; s < students.size(); ++s)
      for (const Person& person : students[s].people) people.push_back(person), whose.push_back(s);
    Enrolment all{roster, std::vector<std::vector<std::size_t>>(roster.rows.size())};
    const auto lines = lines_of(roster, people);
    for (std::size_t p = 0; p < people.size(); ++p)
      if (lines[p]) all.students[*lines[p]].push_back(whose[p]);
    return all;
  }

  // A file name has no accents, blanks or capitals; the roster has the name that its owner writes.
  static void name_as_enrolled(ClassResults& all) {
    const auto& [roster, students] = *all.enrolment;
    for (std::size_t line = 0; line < students.size(); ++line)
      for (const std::size_t s : students[line])
        if (StudentResults& student = all.students[s]; student.people.size() <= 1) {
          student.name = shown(label_of(roster, line), 120);
          for (Person& person : student.people) person.name = student.name;
        }
  }

  // Reports of another class are not overwritten.
  void require_same_class() const {
    const fs::path pages = options_.out / "students";
    std::set<std::string>
        known;  // keys of those who are here, also the ones that they had without a namesake
    for (const Student& student : handed_in_.students) known.insert({student.key, safe_name(student.name)});
    std::size_t all = 0, same = 0;
    for (const auto& entry : fs::exists(pages) ? fs::directory_iterator(pages) : fs::directory_iterator())
      ++all, same += known.count(entry.path().stem());
    constexpr std::size_t kFew = 4;  // one in this many is no coincidence
    if (kFew * same < std::min(all, handed_in_.students.size()))
      throw Error("grade --out", "a new folder, or the reports of this class",
                  options_.out.string() + ", with those of other students", "name another one with --out");
  }

  void work(std::size_t slot) {
    try {
      for (std::size_t next; !failed_ && (next = next_++) < tasks_.size();) {
        const Student& student = handed_in_.students[tasks_[next].student];
        const HandIn& hand_in = student.hand_ins[tasks_[next].hand_in];
        tell(student.key + ", " + hand_in.exercise);
        keep(tasks_[next], judged(student, hand_in, slot));
      }
    } catch (...) {
      const std::lock_guard guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  void keep(const Task& task, Record record) {
    const std::lock_guard guard(mutex_);
    records_[task.student][task.hand_in] = std::move(record);
    ++done_;
    if (options_.so_far) options_.so_far(results());
  }

  void tell(const std::string& what) {
    const std::lock_guard guard(mutex_);
    if (options_.progress) options_.progress(done_, tasks_.size(), what);
  }

  static Record record_of(const HandIn& hand_in, State state, const std::string& sentence) {
    return {.exercise = hand_in.exercise,
            .name = hand_in.name,
            .digest = {},
            .state = state,
            .sentence = sentence,
            .handed_in = hand_in.handed_in,
            .late = hand_in.late};
  }

  Record judged(const Student& student, const HandIn& hand_in, std::size_t slot) {
    Record record = record_of(hand_in, State::kUngradable, hand_in.refusal);
    if (!hand_in.refusal.empty()) return record;
    record.digest = ledger_.secret().fingerprint_of(text_around(hand_in.file));
    std::optional<Verdict> verdict = ledger_.find(student.key, hand_in.exercise, record.digest);
    if (!verdict || verdict->state == State::kUnjudged || options_.again) {
      ledger_.keep(student.key, hand_in.exercise, record.digest,
                   verdict_on(student.key, hand_in, record.digest, slot));
      verdict = ledger_.find(student.key, hand_in.exercise, record.digest);
    }
    record.state = verdict->state;
    record.sentence = std::move(verdict->sentence);
    record.report = std::move(verdict->report);
    return record;
  }

  // Calls the judge.
  Verdict verdict_on(const std::string& student, const HandIn& hand_in, const std::string& digest,
                     std::size_t slot, judge::Words words = judge::Words::kHidden) {
    const fs::path own = prepared(fmt::format("judge-{}", slot)), report = own / "out" / "report.json";
    const std::uint64_t seed = ledger_.secret().seed_for(student, hand_in.exercise, digest);
    process::Command command{.arguments = {options_.program, "check", hand_in.exercise, "--file",
                                           hand_in.file, "--seed", "-", "--json", report},
                             .environment = {"LC_ALL=C.UTF-8"},
                             .folder = "/",
                             .input = with_seed(seed, slot),
                             .output_limit = kMostSaid};
    process::inherit(command.environment, {"PATH"});
    if (words == judge::Words::kHidden) command.arguments.emplace_back("--confidential");
    if (!has(layers_, "namespaces") && has(layers_, "user"))
      command.arguments.insert(command.arguments.end(), {"--children-as", std::to_string(kJudgingUser)});
    const Sight sight = sight_of(own, {options_.tree, options_.build, hand_in.file.parent_path()});
    const std::optional<ControlGroup> group = new_group();
    if (group) command.group = group->folder();
    const process::Finished finished =
        process::run_command(jailed(std::move(command), layers_, sight), kLongestJudgement);
    if (!has_room(sight, layers_)) return {State::kUnjudged, "the disk that the judge works on is full", {}};
    return verdict_of(finished, report);
  }

  // A file with the seed, for us alone: other users of this machine see the arguments of a command.
  fs::path with_seed(std::uint64_t seed, std::size_t slot) const {
    const fs::path file = scratch_.path() / fmt::format("seed-{}", slot);
    write_whole(file, "");
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    std::ofstream(file) << seed << "\n";
    return file;
  }

  std::optional<ControlGroup> new_group() {
    const fs::path& place = group_place().folder;
    if (place.empty()) return {};
    return std::optional<ControlGroup>(std::in_place, place, std::to_string(groups_++));
  }

  // A folder for a judge, as one that has never been there.
  fs::path prepared(const std::string& name) const {
    const fs::path own = scratch_.path() / name;
    fs::remove_all(own);
    for (const char* folder : {"work", "out"}) fs::create_directories(own / folder);
    give(own, layers_);
    return own;
  }

  static Sight sight_of(const fs::path& own, std::vector<fs::path> reads) {
    return {std::move(reads), {own / "out"}, own / "work", fs::path(judge::kWorkRoot)};
  }

  static Verdict verdict_of(const process::Finished& finished, const fs::path& file) {
    const int code = finished.ending.signalled || finished.timed_out ? -1 : finished.ending.number;
    if (code == static_cast<int>(Code::kWrongCall))
      return {State::kUngradable, last_line_of(finished.printed), {}};
    if (finished.timed_out)
      return {State::kUnjudged,
              "the judge did not come to an end in " + std::to_string(kLongestJudgement.count()) + " s",
              {}};
    const Verdict stopped{State::kUnjudged, "the judge stopped: " + last_line_of(finished.printed), {}};
    if (code != 0 && code != static_cast<int>(Code::kWrongAnswer)) return stopped;
    Verdict verdict{State::kGraded, {}, {}};
    try {
      verdict.report = verify::report_of_json(read_text_file("grade", file, kLargestReport), file.string());
    } catch (const Error&) {  // it wrote none, or one that is cut short
      return stopped;
    }
    if (verdict.report.rows.empty()) return stopped;
    verdict.report.seed = {};  // it follows from the class's, which is kept once
    const auto is_of_form = [](const verify::ReportRow& row) {  // of a file, not of what it says
      return row.id.ends_with(".compiles") || row.id.ends_with(".belongs") || row.id.ends_with(".reads");
    };
    for (const verify::ReportRow& row : verdict.report.rows)
      if (row.status == verify::Status::kFailed && is_of_form(row))
        verdict = {State::kUngradable, first_line_of(row.sentence), verdict.report};
    return verdict;
  }

  // "merge.cpp does not compile", without the compiler's words below it.
  static std::string first_line_of(const std::string& sentence) {
    const std::string line = sentence.substr(0, sentence.find('\n'));
    return line.ends_with(':') ? line.substr(0, line.size() - 1) : line;
  }

  static std::string last_line_of(const std::string& printed) {
    std::string text = printed.substr(0, printed.find_last_not_of('\n') + 1);
    text = text.substr(text.rfind('\n') + 1);
    return text.empty() ? "it said nothing" : text;
  }

  // Judges what a student has handed in for one exercise.
  // The student of a key, a name as it was handed in or stands on the roster, or an id.
  std::size_t called(const std::string& who) const {
    const std::vector<StudentResults> students = results().students;
    std::vector<std::size_t> named;
    for (std::size_t s = 0; s < students.size(); ++s) {
      if (students[s].key == who) return s;
      if (students[s].name == who || handed_in_.students[s].name == who ||
          std::ranges::find(students[s].people, who, &Person::id) != students[s].people.end())
        named.push_back(s);
    }
    if (named.size() == 1) return named.front();
    throw Error("grade --explain", "a student of " + options_.folder.string(), shown(who, 200),
                named.empty()
                    ? "take the first column of gradebook.csv, which is also the name of the student's page"
                    : "several are called so: take the first column of gradebook.csv");
  }

  void run_only(std::size_t student, const std::string& exercise) {
    std::erase_if(tasks_, [&](const Task& task) {
      return task.student != student ||
             handed_in_.students[student].hand_ins[task.hand_in].exercise != exercise;
    });
    run();
  }

  // The hand-in of a student that counts for an exercise: the most points; of those the first, a graded one
  // before all others. `late`: whether late ones are among them.
  std::optional<std::size_t> counted(std::size_t s, const std::string& exercise, bool late = true) const {
    std::optional<std::size_t> best;
    const auto worth = [&](std::size_t h) {
      return std::pair(records_[s][h].state == State::kGraded, records_[s][h].report.points());
    };
    for (std::size_t h = 0; h < records_[s].size(); ++h)
      if (records_[s][h].exercise == exercise && (late || !records_[s][h].late) &&
          (!best || worth(h) > worth(*best)))
        best = h;
    return best;
  }

  StudentResults results_of(std::size_t s) const {
    const Student& student = handed_in_.students[s];
    StudentResults all{student.key, student.name, student.remarks, {}, student.people};
    for (const Exercise& exercise : options_.exercises) {
      Result& result = all.results.emplace_back();
      const auto best = counted(s, exercise.id), on_time = counted(s, exercise.id, false);
      for (std::size_t h = 0; h < records_[s].size(); ++h) {
        if (records_[s][h].exercise != exercise.id) continue;
        if (h == best) result.best = result.attempts.size();
        if (h == on_time && h != best) result.on_time = result.attempts.size();
        result.attempts.push_back(records_[s][h]);
      }
    }
    return all;
  }

  const GradeOptions& options_;
  const process::OwnFolder scratch_ = scratch_folder();
  const std::vector<Layer> layers_;
  const ClassFolder handed_in_;
  Ledger ledger_;
  std::atomic<int> groups_ = 0;  // made so far, so that each has a name of its own
  std::vector<Task> tasks_;
  std::vector<std::vector<Record>> records_;
  std::atomic<std::size_t> next_ = 0, done_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

ClassResults grade(const GradeOptions& options) {
  Grader grader(options);
  grader.run();
  ClassResults results = grader.results();
  grader.compare(results);
  write_reports(results, options.out);
  return results;
}

Explained explain(const GradeOptions& options, const std::string& student, const std::string& exercise) {
  return Grader(options).explained(student, exercise);
}

}  // namespace ringcraft::grade
