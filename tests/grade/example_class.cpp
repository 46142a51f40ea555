// The class that the tests of pages render: some right, most partly, a few hostile.
#include "grade/example_class.hpp"

#include <array>
#include <utility>

namespace ringcraft::grade {
namespace {

using verify::Cause;
using verify::Report;
using verify::ReportRow;
using verify::Status;

struct Mistake {
  const char *check, *sentence, *hint;
  Cause cause;
};

const std::array<Mistake, 6> kMistakes{{
    {"rescale",
     "rank 1, row 3: 0.2518 instead of 0.7143, the largest error of 96 wrong rows",
     "Which of the two maxima do both sums have to refer to?",
     {"OS2", "the sum that was there is not rescaled when the maximum grows",
      "By which factor does exp(s - m) change when m grows?"}},
    {"empty",
     "a block without keys: no number in row 0, where the row must stay as it was",
     "Try exp(-inf - (-inf)) on paper.",
     {"OS5", "the difference of two maxima that are both -inf is no number",
      "How many keys has this row seen?"}},
    {"tiles",
     "the last tile of 5 keys: 40 rows wrong, all of the last tile",
     "How long is the last tile?",
     {"BW1", "the last tile is read as if it were full", "Where does tile 3 of 29 keys end?"}},
    {"phases",
     "deadlock: ranks 0, 1, 2 and 3 all wait in send",
     "Let half of the ranks receive first.",
     {"EX1", "every rank sends first", "Rank 0 waits for rank 1. Rank 1 waits for whom?"}},
    {"causal",
     "rank 2: all rows wrong from step 2 on",
     "Whose block is in hand at step t?",
     {"RF4", "the block in hand at step t is taken for that of rank + t",
      "Blocks move to rank + 1. Whose block arrives at rank 0?"}},
    {"balance",
     "rank 3 works on 7 of 16 chunks, and 4 is the share of each",
     "Which two chunks together always cost the same?",
     {"ZZ2", "a rank has neighbouring chunks instead of one from each end",
      "How many keys does the last chunk see?"}},
}};

const std::array<std::array<const char*, 4>, 6> kClaims{{
    {"Merging with the identity changes nothing.", "Both parts are rescaled to the new maximum.",
     "The order of two parts does not matter.", "Merged tiles equal the whole row."},
    {"One tile equals dense attention.", "A block without keys changes nothing.",
     "Any tile size gives the same.", "No score matrix is kept."},
    {"One block is one tile.", "Tiles need not divide the keys.", "The last tile may be short.",
     "Gradients, too."},
    {"Two ranks exchange.", "An odd number of ranks exchanges.", "No more phases than needed.",
     "No deadlock at all."},
    {"One rank alone is dense attention.", "Four ranks without a mask.", "A causal mask, four ranks.",
     "Every block moves as often as theory says."},
    {"Every token has one owner.", "Causal, four ranks.", "The work of all ranks is equal.",
     "Ragged lengths."},
}};

std::vector<Exercise> exercises() {
  return {{"104", "Merge", "104_merge", "merge.cpp"},
          {"105", "Blockwise attention", "105_blockwise", "blockwise.cpp"},
          {"106", "Backward", "106_backward", "backward.cpp"},
          {"301.deadlock", "Find the deadlock", "301_exchange", "deadlock.cpp"},
          {"303", "Ring attention forward", "303_ring_forward", "ring_forward.cpp"},
          {"403", "Chunk zig-zag", "403_chunk_zigzag", "chunk_layouts.cpp"}};
}

// A report of which check `wrong` fails, and the one after it waits; 4 and more: all pass.
Report report_of(std::size_t exercise, std::size_t wrong) {
  const std::string id = exercises()[exercise].id;
  Report report{exercises()[exercise].title, {}, 8123456789012345678ULL};
  report.rows.push_back(
      {.id = id + ".compiles", .claim = "The file compiles.", .status = Status::kPassed, .weight = 0});
  if (wrong == 4) report.rows[0].remark = "merge.cpp:14: warning: unused variable 'scale'";
  for (std::size_t i = 0; i < 4; ++i) {
    ReportRow row{.id = id + ".c" + std::to_string(i + 1),
                  .claim = kClaims[exercise][i],
                  .status = Status::kPassed,
                  .weight = static_cast<double>(i) + 1.5};
    if (i == 2) row.figures = {{"your kernel", 3.25, {}, "GFLOP/s"}}, row.timed = true;
    if (i == 3) row.figures = {{"bytes sent by rank 0", 3072, 3072.0, "B"}};
    if (i == wrong) {
      const Mistake& mistake = kMistakes[exercise];
      row.status = Status::kFailed;
      row.sentence = mistake.sentence;
      row.hint = mistake.hint;
      row.causes = {mistake.cause};
      row.code = "wrong-rows";
      row.maps = {{"out", {"............", "...xxxxxxxxx", "xxxxxxxxxxxx", "nn..xxxx...."}},
                  {"lse", {std::string(40, '.') + "xx", std::string(42, 'x')}}};
    }
    if (wrong < 4 && i == wrong + 1) {
      row.status = Status::kSkipped;
      row.figures.clear();
      row.sentence = "needs: " + std::string(kClaims[exercise][wrong]);
    }
    report.rows.push_back(std::move(row));
  }
  return report;
}

Record graded(std::size_t exercise, std::size_t wrong) {
  const Exercise each = exercises()[exercise];
  return {each.id,
          "exercises/" + each.folder + "/" + each.file,
          "5eed" + std::to_string(wrong),
          State::kGraded,
          "",
          report_of(exercise, wrong),
          1'790'000'000,
          false};
}

Record refused(std::size_t exercise, State state, const std::string& sentence) {
  Record record = graded(exercise, 4);
  record.state = state, record.sentence = sentence, record.report = {};
  return record;
}

Record not_compiled(std::size_t exercise) {
  Record record = graded(exercise, 4);
  record.state = State::kUngradable;
  record.sentence = "it does not compile";
  record.report.rows.resize(1);
  ReportRow& row = record.report.rows[0];
  row.status = Status::kFailed;
  row.sentence =
      "the compiler says:\nmerge.cpp:12:31: error: expected ';' before '}' token\n   12 |   acc.m = "
      "std::max(a, b)"
      "\n      |                         ^\n      |                         "
      ";\x1b[31m]]><script>alert(2)</script>";
  row.remark = "";
  row.hint = "Begin with the first message: the others often follow from it.";
  return record;
}

}  // namespace

ClassResults example_class() {
  const std::vector<std::pair<std::string, std::string>> names{
      {"ada", "Ada Lovelace"},
      {"bidi",
       "Ahmad \xE2\x80\xAE"
       "gnp.exe"},
      {"csv", "=HYPERLINK(\"http://example.com\",\"full points\")"},
      {"emmy", "Emmy Noether"},
      {"esc", "\x1b]0;owned\x07\x1b[31mred \xFF\xFE bytes"},
      {"grace", "Grace Hopper"},
      {"html", "<script>alert(1)</script>\" onmouseover='x' &amp;"},
      {"lise", "Lise Meitner"},
      {"long300", std::string(300, 'W')},
      {"sofja", "Со\u0301фья Ковалевская"},
      {"wide", "＝1+1 \uFFFF"},
      {"xml", "]]></system-out></testsuite><testcase name='ok'/>\t\r\n&#0;"}};
  ClassResults results{"Ring attention, autumn", exercises(), std::vector<double>(6, 12), {}, {}};
  for (std::size_t s = 0; s < names.size(); ++s) {
    StudentResults student{names[s].first, names[s].second, {}, std::vector<Result>(6)};
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t wrong = (s * 5 + i * 3 + s * i * i) % 8;
      student.results[i].attempts = {graded(i, wrong)};
    }
    results.students.push_back(std::move(student));
  }
  const auto result = [&](std::size_t student, std::size_t exercise) -> Result& {
    return results.students[student].results[exercise];
  };
  for (const std::size_t student : {3, 7}) result(student, 5).attempts.clear();
  result(9, 4).attempts.clear();
  result(0, 0) = {{graded(0, 2), graded(0, 0), graded(0, 1)}, 1};
  result(0, 0).attempts[1].late = true;
  result(0, 0).on_time = 2;
  result(0, 4).attempts = {graded(4, 2)};
  result(0, 4).attempts[0].report.rows[3].causes.push_back(
      {"RF5", "the mask is applied to local positions", "Which position has row 0 of rank 2?", true});
  result(0, 4).attempts[0].report.rows[3].causes.push_back(
      {"RF9", "the first step is left out", "How many blocks does a rank see?"});
  result(1, 2).attempts = {not_compiled(2)};
  result(2, 1).attempts = {
      refused(1, State::kUngradable, "the file is a symbolic link, and links are not followed")};
  result(4, 3).attempts = {refused(3, State::kUnjudged, "no memory was left \x1b[2J<b>")};
  result(5, 2).attempts = {graded(2, 3)};
  ReportRow& puzzling = result(5, 2).attempts[0].report.rows[4];
  puzzling.causes.clear();
  puzzling.unexplained = true;
  puzzling.sentence +=
      "\nbelow is printed by the program:\n<img src=x onerror=alert(3)>\x1b[2J\n" + std::string(9000, '#');
  result(6, 0).attempts[0].name = "<b>merge</b>.cpp";
  result(6, 0).attempts[0].late = true;
  result(6, 0).attempts.push_back(refused(0, State::kUngradable, "its name is no name of a file"));
  result(6, 0).attempts[1].name = "<b>merge\x1b[2J</b>.cpp";
  results.students[6].remarks = {
      "\"><script>\x1b[2J.cpp was passed over: no exercise has a file of this name"};
  results.layers = {{"namespaces", "A program sees no network and no other process.", true, ""},
                    {"memory", "A program has no more memory than it is given.", false,
                     "no cgroup v2 that this user may write to: run under systemd-run --user",
                     "each program has a limit of its own"}};
  results.alike = {{"104", "emmy", "html", 0.93}, {"303", "ada", "lise", 0.67}};
  results.remarks = {"notes.txt belongs to no student"};
  return results;
}

}  // namespace ringcraft::grade
