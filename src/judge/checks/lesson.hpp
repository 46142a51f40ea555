#pragma once
/// @file
/// A lesson that can be checked: its exercise, and its checks. A check calls the student's function through a
/// Trial, compares what comes back, and reports what is wrong; it never runs the function itself.

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "judge/checks/seeds.hpp"
#include "judge/outcome/outcome.hpp"
#include "judge/outcome/wrong.hpp"
#include "judge/run/team.hpp"
#include "judge/wire/exercise.hpp"
#include "judge/wire/in_floats.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::judge {

/// One run of one check, with its own random numbers and workers that may have served earlier checks.
class Trial {
 public:
  /// The seed decides all inputs of the check. `library` runs the library's own function, for a lesson that
  /// is timed. `precision` is float32 if the instantiations for float are called.
  Trial(Workers& team, std::uint64_t seed, Workers& library, DType precision = DType::kFloat64)
      : team_(team), seed_(seed), library_(library), precision_(precision) {}

  /// Calls an exercise that is not distributed. Mutable views among the arguments are overwritten with the
  /// numbers that came back. In float32 the arguments are rounded, and FloatsOf<E> is called if there is one.
  template <class E, class... A>
  auto call(A&&... arguments) {
    return call_in_precision<E>(arguments...);
  }

  /// The same call of the library's own function, in a worker of the same kind: the reference for times.
  template <class E, class... A>
  auto call_library(A&&... arguments) {
    return call_on<E>(library_, arguments...);
  }

  /// Calls a distributed exercise with one request per rank (E::request).
  template <class E>
  CallRecord call_ranks(const std::vector<Bytes>& requests, DeliveryOptions delivery = {}) {
    return team_.call(E::kName, requests, delivery);
  }

  /// The same for `ranks` ranks in this trial's precision: arguments(rank, use) returns use(its
  /// arguments...).
  template <class E, class Arguments>
  CallRecord call_ranks(std::size_t ranks, Arguments arguments, DeliveryOptions delivery = {}) {
    std::vector<Bytes> requests;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      requests.push_back(arguments(rank, [&](auto&&... each) {
        if (precision_ == DType::kFloat64) return E::request(each...);
        Bytes floats;
        with_floats<void>(
            [&](auto&&... narrow) {
              floats = FloatsOf<E>::type::request(narrow...);
              return Answer<void>{};
            },
            each...);
        return floats;
      }));
    const bool wide = precision_ == DType::kFloat64;
    return team_.call(wide ? E::kName : FloatsOf<E>::type::kName, requests, delivery);
  }
  /// The answer of a rank to such a call.
  template <class E, class... A>
  auto answer(std::span<const std::byte> reply, A&&... arguments) const {
    return read([&] {
      if (precision_ == DType::kFloat64) return E::answer(reply, arguments...);
      return with_floats<typename E::Result>(
          [&](auto&&... floats) { return FloatsOf<E>::type::answer(reply, floats...); }, arguments...);
    });
  }

  /// The same call again, for a diagnosis of a failed check; it does not count. Returns an optional result,
  /// or an optional std::monostate for a function without one: empty if no answer comes. A function that
  /// repeatedly does not answer, or is slow, is not called again.
  template <class E, class... A>
  auto ask(A&&... arguments) {
    constexpr bool kNoResult = std::is_void_v<typename E::Result>;
    std::optional<std::conditional_t<kNoResult, std::monostate, typename E::Result>> result;
    if (unanswered_ >= kMostUnanswered) return result;
    try {
      auto answer = call_in_precision<E>(arguments...);
      if constexpr (kNoResult)
        result.emplace();
      else
        result = std::move(answer.result);
    } catch (const Wrong&) {
      ++unanswered_;
    } catch (const Misbehaviour& misbehaviour) {
      note_unanswered(misbehaviour);
    }
    return result;
  }

  /// The same for a distributed exercise: each rank's log. Replies may be missing.
  template <class E>
  CallRecord ask_ranks(const std::vector<Bytes>& requests) {
    CallRecord record;
    if (!asks()) return record;
    try {
      return team_.call(E::kName, requests, {});
    } catch (const Misbehaviour& misbehaviour) {
      note_unanswered(misbehaviour);
      record.logs = misbehaviour.logs();
    }
    return record;
  }

  /// Whether further calls for a diagnosis still reach the function.
  bool asks() const { return unanswered_ < kMostUnanswered; }

  /// Runs `action`, which reads a reply: malformed bytes become a verdict.
  template <class Action>
  static auto read(Action action) {
    try {
      return action();
    } catch (const Error& error) {
      throw Wrong(sign::kProtocol, "unreadable-answer", "the answer cannot be read: {}", error.what());
    }
  }

  /// Ends all workers, even busy ones: the next calls start new ones.
  void end_workers() {
    team_.end();
    library_.end();
  }

  /// The processor seconds that the student's workers, and the library's, have spent since they began.
  double own_seconds() { return timed_ = true, team_.processor_seconds(); }
  double library_seconds() { return timed_ = true, library_.processor_seconds(); }  ///< see above
  /// Whether either was asked for: another run may end otherwise.
  bool timed() const { return timed_; }

  std::uint64_t seed() const { return seed_; }
  /// Which instantiation is called: float64 or float32.
  DType precision() const { return precision_; }
  /// Whether the inputs are those of the corpus: then a check asks no more than its claim, and the answers
  /// are public.
  bool inputs_are_known() const { return seed_ / kSeedsOfChecks == kSeedOfCorpus; }
  /// Puts a measured number beside the verdict.
  void note(verify::Figure figure) { figures_.push_back(std::move(figure)); }
  const std::vector<verify::Figure>& figures() const { return figures_; }
  /// Keeps a question and its answer for a diagnosis, also if the check passes.
  void show(verify::Exhibit exhibit) { shown_ = std::move(exhibit); }
  const verify::Exhibit& shown() const { return shown_; }
  /// Keeps a problem of a ring whose out was right, for a diagnosis of others that are wrong.
  void note_right(const verify::Case& c) { right_.push_back(c); }
  const std::vector<verify::Case>& right() const { return right_; }

 private:
  template <class E, class... A>
  static auto call_on(Workers& team, A&&... arguments) {
    const CallRecord record = team.call(E::kName, {E::request(arguments...)}, {});
    return read([&] { return E::answer(record.replies[0], arguments...); });
  }

  template <class E, class... A>
  auto call_in_precision(A&&... arguments) {
    if constexpr (HasFloats<E>)
      if (precision_ == DType::kFloat32)
        return with_floats<typename E::Result>(
            [&](auto&&... floats) { return call_on<typename FloatsOf<E>::type>(team_, floats...); },
            arguments...);
    return call_on<E>(team_, arguments...);
  }

  static constexpr int kMostUnanswered = 24;  // each ends a worker, or fills its memory
  void note_unanswered(const Misbehaviour& misbehaviour);

  Workers& team_;
  std::uint64_t seed_;
  Workers& library_;
  DType precision_;
  std::vector<verify::Figure> figures_;
  verify::Exhibit shown_;
  std::vector<verify::Case> right_;
  bool timed_ = false;
  int unanswered_ = 0;
};

/// One requirement of a lesson: its claim, and the code that tests it.
struct Check {
  std::string claim;                    ///< the property that should hold, as a sentence
  std::string id;                       ///< "identity"; reports show "104.identity"
  double weight;                        ///< points
  std::vector<std::string> needs = {};  ///< ids of earlier checks; unless all of them pass, this is skipped
  std::string hint;                     ///< the next thing to consider, one sentence, no code
  Asked workers = {};                   ///< requirements on its workers
  DType precision = DType::kFloat64;    ///< float32: it calls the instantiation for float
  std::function<void(Trial&)> run;      ///< returns, or throws Wrong; Misbehaviour passes through
  /// Calls the function with the fixed inputs of a diagnosis, after the first failure of a check that has
  /// this member.
  std::function<verify::Exhibit(Trial&)> interview = {};
};

/// The checks of a lesson, in the order in which they run. Defined in lessons/NNN_name/checks.cpp, which is
/// compiled with its folder's number.
template <int kNumber>
std::vector<Check> checks_of();

/// The declaration of a lesson: its folder's name and lesson.json.
struct Lesson {
  int number;                     ///< 104
  std::string name;               ///< of its folder: "104_merge"
  std::string title;              ///< "Merge"
  std::string source;             ///< the library's own file: "src/ringcraft/attention/merge.cpp"
  std::string function;           ///< the exercise: "merge"
  std::set<std::string> allowed;  ///< names beyond those that the symbol gate gives to all
  bool timed = false;             ///< compiled with the library's flags, for checks that compare times
  bool counted = false;           ///< compiled so that its steps are counted (worker/steps.hpp)

  /// Whether the exercise is a kernel, which runs on the CPU where this build can do that (kKernelCompile).
  bool is_kernel() const { return source.ends_with(".cu"); }
  /// Whether it can be judged in this build.
  bool can_be_judged() const;
};

/// Makes the checks of a lesson that this program is built with, or null: a program has those of one lesson,
/// of all, or of none.
std::vector<Check> (*checks_in_program(int lesson))();
/// The checks of a lesson, made once. Throws Error if this program is not built with them.
const std::vector<Check>& checks_of(const Lesson& lesson);

/// The sum of their weights.
double all_points(const std::vector<Check>& checks);

/// All lessons that can be checked, by number.
const std::vector<Lesson>& all_lessons();
/// The lesson of this number. Throws Error if there is none.
const Lesson& lesson_numbered(int number);

}  // namespace ringcraft::judge
