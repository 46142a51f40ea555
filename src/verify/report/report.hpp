#pragma once
/// @file
/// Report: what a tool tells about a judgement, once, for people and for programs. `run`, `verify` and
/// `check` fill the same struct; text and JSON are two renderings of it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/report/error_map.hpp"

namespace ringcraft::verify {

/// What became of one claim.
enum class Status : std::uint8_t {
  kPassed,
  kFailed,
  kSkipped,  ///< not tried: something that it needs failed, or is not on this machine
};

/// "passed", "failed" or "skipped".
std::string_view name_of(Status status);

/// A measured number beside what theory says.
struct Figure {
  std::string name;  ///< "bytes sent per rank"
  double value = 0;
  std::optional<double> theory;  ///< nothing if there is no closed form
  std::string unit;              ///< "B", "s"; empty for a plain number
};

/// A likely reason why something is wrong: a misconception that others have had.
struct Cause {
  std::string id;        ///< "RF4": the same mistake has the same id in every lesson
  std::string sentence;  ///< "the block in hand at step t is taken for that of rank + t"
  std::string question;  ///< one question that leads on, without the solution
  bool also = false;     ///< it holds besides the one before it, and not instead of that one
};

/// One claim and its verdict.
struct ReportRow {
  std::string id;     ///< "104.identity"
  std::string claim;  ///< what should hold: "merging with the identity changes nothing"
  Status status = Status::kSkipped;
  double weight = 1;     ///< points
  std::string sentence;  ///< the verdict: what was found, where, what was expected
  std::string hint;      ///< the next thing to try; shown if the row failed
  std::vector<Figure> figures;
  std::vector<ErrorMap> maps = {};  ///< where the values are wrong; shown if the row failed
  std::vector<Cause> causes = {};   ///< at most three, the likeliest first; shown if the row failed
  std::vector<int> yours = {};      ///< lessons whose files are the student's, in a row of the ladder
  std::string remark = {};          ///< worth knowing although it passed: the warnings of a compiler
  bool unexplained = false;         ///< a cause was looked for, and none gives the numbers
  std::string code = {};            ///< which way to fail it is, "extra-passes": the same in every wording
  std::vector<std::string> facts = {};  ///< what the sentence tells, as data: numbers and names in its order
};

/// All claims about one thing.
struct Report {
  std::string title;
  std::vector<ReportRow> rows;
  std::optional<std::uint64_t> seed = {};  ///< of all inputs, where it was chosen at random

  /// No row failed, and at least one passed.
  bool good() const;
  /// Rows of this status.
  int count(Status status) const;
  /// Points of the rows that passed, and of all rows.
  double points() const;
  double all_points() const;
};

/// Whether text is coloured.
enum class Colour : std::uint8_t { kPlain, kTerminal };

/// For people: one aligned line per row, the sentence below it where a row did not pass, then one line of
/// summary, and the seed.
std::string text_of(const Report& report, Colour colour = Colour::kPlain);

/// The same for whoever mends one thing at a time, in parts, so that a window can cut them.
struct BriefText {
  std::string first;   ///< the title, the beginning of remarks, and the first row that failed, whole
  std::string others;  ///< a line for each other row that failed: its id and its claim
  std::string rest;    ///< the names of the rows that were skipped and that passed, the counts, the seed
};
BriefText brief_text_of(const Report& report, Colour colour = Colour::kPlain);

/// For programs: {"title", "seed" (null if there is none), "good", "points", "all_points", "rows": [{"id",
/// "claim", "status", "weight", "sentence", "hint", "figures": [{"name", "value", "theory", "unit"}], "maps":
/// [{"tensor", "ranks"}], "causes": [{"id", "sentence", "question"}], "yours": [lessons], "remark",
/// "unexplained", "code", "facts": [texts]}]}. A number that is not finite is null.
std::string json_of(const Report& report);

}  // namespace ringcraft::verify
