#pragma once
/// @file
/// Judgement: a report on one file as it grows, row by row: the steps of the build, then the checks of the
/// lesson, with the hint that fits the outcome. Workers runs the file.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "judge/build/toolchain.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/verdict/judge.hpp"

namespace ringcraft::judge {

/// One check of one student's file.
class Judgement {
 public:
  /// Both arguments must live as long.
  Judgement(const Lesson& lesson, const CheckOptions& options);

  /// The rows "compiles" and "belongs": the first step that fails ends the build, and no check is tried.
  /// True if none does.
  bool build(const std::function<BuildStep()>& compiles, const std::function<BuildStep()>& belongs);

  /// A row for every check of the lesson. `library` runs the library's own function.
  void check(Workers& team, Workers& library);

  /// Fills in the lines of places in machine code.
  using NamePlaces = std::function<void(const std::vector<simt::CodePlace*>&)>;
  /// The finished report: sentences are formatted only here. `own_file` is the name of the file in which a
  /// crash is located.
  Verdict verdict(const NamePlaces& name_places = {}, const std::string& own_file = {}) &&;

 private:
  // The sentence of a row that is still data.
  struct Unspoken {
    std::size_t row;
    Wrong wrong;
  };
  // The calls of a crash, the innermost first.
  struct Crash {
    std::size_t row;
    std::vector<simt::CodePlace> calls;
  };

  verify::ReportRow& begin(const std::string& id, const std::string& claim, double weight);
  bool build_step(const std::string& id, const std::string& claim, const std::function<BuildStep()>& step);
  std::string obstacle(const Check& check) const;
  void judge(const Check& check, Workers& team, Workers& library);
  void look_for_strays(const Check& check, Asked asked, std::uint64_t seed, Workers& team, Workers& library,
                       Outcome& outcome);
  void misbehaved(const Misbehaviour& misbehaviour, const Check& check, verify::ReportRow& row);

  const Lesson& lesson_;
  const CheckOptions& options_;
  verify::Report report_;
  std::vector<Outcome> outcomes_;  // one per row
  std::vector<Unspoken> unspoken_;
  std::vector<Crash> crashes_;
  std::vector<std::string> below_;  // below each row's sentence: the output
  std::map<std::string, verify::Status> statuses_;
  bool interviewed_ = false;  // for a diagnosis
  int out_of_memory_ = 0;     // checks that filled all that a worker may have
  std::string stop_;          // the reason why nothing more is tried
};

}  // namespace ringcraft::judge
