#pragma once
/// @file
/// The report of a judgement, for people and for programs. `run`, `verify` and `check` fill the same struct;
/// text and JSON are two renderings of it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/report/error_map.hpp"

namespace ringcraft::verify {

/// The outcome of one claim.
enum class Status : std::uint8_t {
  kPassed,
  kFailed,
  kSkipped,  ///< not tried: a prerequisite failed, or is not on this machine
};

/// "passed", "failed" or "skipped".
std::string_view name_of(Status status);

/// A measured number, with the theoretical value.
struct Figure {
  std::string name;  ///< "bytes sent per rank"
  double value = 0;
  std::optional<double> theory;  ///< empty if there is no closed form
  std::string unit;              ///< "B", "s"; empty for a plain number
};

/// "bytes sent per rank: 64 B (theory 64 B)".
std::string text_of(const Figure& figure);

/// A likely reason for an error: a known misconception.
struct Cause {
  std::string id;              ///< "RF4": the same mistake has the same id in every lesson
  std::string sentence;        ///< "the block in hand at step t is taken for that of rank + t"
  std::string question;        ///< one question that helps without giving the solution
  bool also = false;           ///< holds in addition to the cause before it, not instead of it
  bool guess = false;          ///< by the size of the errors alone: most of the answers must agree
  bool of_some_ranks = false;  ///< made on some ranks alone, by their numbers: others may be right
};

/// Marks causes that hold at the same time: each but the first holds in addition to the one before it.
inline std::vector<Cause> together(std::vector<Cause> causes) {
  for (std::size_t i = 1; i < causes.size(); ++i) causes[i].also = true;
  return causes;
}

/// One claim and its verdict.
struct ReportRow {
  std::string id;     ///< "104.identity"
  std::string claim;  ///< the claim: "merging with the identity changes nothing"
  Status status = Status::kSkipped;
  double weight = 1;     ///< points
  std::string sentence;  ///< the verdict: finding, place, expectation
  std::string hint;      ///< the next thing to try; shown if the row failed
  std::vector<Figure> figures;
  std::vector<ErrorMap> maps = {};      ///< where the values are wrong; shown if the row failed
  std::vector<Cause> causes = {};       ///< at most three, the likeliest first; shown if the row failed
  std::vector<int> yours = {};          ///< lessons whose files are the student's, in a row of the ladder
  std::string remark = {};              ///< worth knowing although the row passed: compiler warnings
  bool unexplained = false;             ///< causes were searched for, but none gives the numbers
  bool timed = false;                   ///< it rests on measured time: another run may end otherwise
  std::string code = {};                ///< the kind of failure, "extra-passes": the same for every wording
  std::vector<std::string> facts = {};  ///< the sentence's contents as data: numbers and names in its order
};

/// All claims about one subject.
struct Report {
  std::string title;
  std::vector<ReportRow> rows;
  std::optional<std::uint64_t> seed = {};  ///< of all inputs, if it was chosen at random

  /// Whether no row failed, and at least one passed.
  bool good() const;
  /// Number of rows with this status.
  int count(Status status) const;
  /// Points of the rows that passed, and of all rows.
  double points() const;
  double all_points() const;
};

/// Whether text is coloured.
enum class Colour : std::uint8_t { kPlain, kTerminal };

/// Text for people: one aligned line per row, the sentence below each row that did not pass, then one line of
/// summary, and the seed.
std::string text_of(const Report& report, Colour colour = Colour::kPlain);

/// The question of a cause of the row; empty if a cause before it asks the same.
std::string_view new_question(const ReportRow& row, const Cause& cause);

/// The lines below one row, without indent, for a place that shows its id and claim elsewhere: the remark,
/// the sentence, the help if it failed, and the figures.
std::string text_of(const ReportRow& row);

/// The same in parts that a window can cut, for a reader who fixes one thing at a time.
struct BriefText {
  std::string first;   ///< the title, the beginning of remarks, and the first failed row in full
  std::string others;  ///< one line for each other failed row: its id and its claim
  std::string rest;    ///< the names of skipped and passed rows, the counts, the seed
};
BriefText brief_text_of(const Report& report, Colour colour = Colour::kPlain);

/// JSON for programs: {"title", "seed" (null if there is none), "good", "points", "all_points", "rows":
/// [{"id", "claim", "status", "weight", "sentence", "hint", "figures": [{"name", "value", "theory", "unit"}],
/// "maps": [{"tensor", "ranks"}], "causes": [{"id", "sentence", "question", "also", "guess"}], "yours":
/// [lessons], "remark", "unexplained", "timed", "code", "facts": [texts]}]}. A number that is not finite is
/// null.
std::string json_of(const Report& report);
/// Reads it back, except for Cause::guess, which is for a diagnosis under way; a figure that is null is NaN.
/// Throws Error, which begins with `place`, for any other text.
Report report_of_json(const std::string& text, const std::string& place);

}  // namespace ringcraft::verify
