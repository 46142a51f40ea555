// Break it 303: the student writes cases, the judge runs the rings on them. The grade depends on whether a
// case tells a wrong ring from the right one, and whether it is small.
#include <map>
#include <memory>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "rings.hpp"

namespace ringcraft::judge {
namespace {

using verify::Case;

constexpr Index kMostRanks = 8, kMostTokens = 64, kMostHeads = 16;

// The words of a case, in their order: "ranks 3 tokens 6 ...".
class CaseReader {
 public:
  explicit CaseReader(const TextLine& line) : line_(line) {}

  Case read();

 private:
  std::string word() { return next_ < line_.words.size() ? line_.words[next_++] : ""; }

  std::string value_of(const std::string& name) {
    if (const std::string got = word(); got != name) line_.refuse("'" + name + "' and its value", got);
    return word();
  }

  Index number(const std::string& name, Index most) { return line_.number_in(value_of(name), 1, most, name); }

  template <class Values, class Name>
  auto one_of(const std::string& what, const Values& values, Name name) {
    const std::string got = value_of(what);
    std::string known;
    for (const auto value : values) {
      if (got == name(value)) return value;
      known += (known.empty() ? "" : ", ") + std::string(name(value));
    }
    line_.refuse(what + " " + known, got);
  }

  Mask read_mask() {
    const std::string kind = value_of("mask");
    if (kind == "full") return full_mask();
    if (kind == "causal") return causal_mask();
    if (kind == "window") return window_mask(line_.number_in(word(), 0, kMostTokens, "a window"));
    line_.refuse("mask full, causal or window W", kind);
  }

  const TextLine& line_;
  std::size_t next_ = 1;  // after "A:"
};

Case CaseReader::read() {
  const Index ranks = number("ranks", kMostRanks);
  Shape shape{.seqlen = number("tokens", kMostTokens), .head_dim = 4};
  shape.heads = number("heads", kMostHeads);
  shape.kv_heads = number("kv_heads", kMostHeads);
  const Mask mask = read_mask();
  const Layout layout = one_of("layout", kLayouts, [](Layout each) { return name_of(each); });
  const verify::Data data = one_of("data", verify::kAllData, [](verify::Data each) { return name_of(each); });
  if (next_ < line_.words.size()) line_.refuse("the end of the line", line_.words[next_]);
  try {
    return verify::make_case(make_problem(shape, mask, layout, static_cast<int>(ranks)), data, 1);
  } catch (const Error& error) {
    throw Error(line_.place() + ": " + error.what());
  }
}

using Cases = std::map<std::string, Case>;

// "A: ...", "B: ...", ..., "all: ...", each once.
Cases read_cases(const std::vector<TextLine>& lines) {
  std::vector<std::string> names;
  for (const WrongRing& ring : wrong_rings()) names.push_back(ring.name);
  names.push_back("all");
  Cases cases;
  std::size_t next = 0;
  for (const TextLine& line : lines) {
    if (next == names.size()) line.refuse("the end of the file", line.text());
    if (line.words[0] != names[next] + ":") line.refuse("the case '" + names[next] + ":'", line.words[0]);
    cases.emplace(names[next++], CaseReader(line).read());
  }
  if (next < names.size())
    throw Error("the cases", "a line '" + names[next] + ": ...'", "the end of the file",
                "the README of the exercise shows the form");
  return cases;
}

void require_told_apart(const WrongRing& ring, const Case& c) {
  if (const std::string flaw = flaw_of({}, c); !flaw.empty())
    throw Error("the right ring is wrong on " + c.name + ": " + flaw);  // never: a test proves it
  if (flaw_of(ring.habit, c).empty())
    throw Wrong(sign::kValues, "survives", "ring {} survives {}: every element is that of the right ring",
                ring.name, c.name);
}

void require_small(const Case& c, Index smallest) {
  if (size_of(c) > smallest)
    throw Wrong(sign::kValues, "too-large", "ranks x tokens x heads is {}, and a smaller product is enough",
                size_of(c));
}

std::vector<PuzzleRow> rows_of(const std::shared_ptr<Cases>& cases) {
  std::vector<PuzzleRow> rows;
  for (const WrongRing& ring : wrong_rings()) {
    rows.push_back({ring.name,
                    1,
                    {"reads"},
                    "Case " + ring.name + " tells ring " + ring.name + " from the right one.",
                    ring.hint,
                    [=, &ring] { require_told_apart(ring, cases->at(ring.name)); }});
    rows.push_back({ring.name + "-smallest",
                    1,
                    {ring.name},
                    "No smaller case tells ring " + ring.name + " from the right one.",
                    "Take one rank, one token or one head away, and see whether it still tells them apart.",
                    [=, &ring] { require_small(cases->at(ring.name), ring.smallest); }});
  }
  rows.push_back(
      {"all",
       2,
       {"reads"},
       "The last case tells all five from the right one.",
       "What does each of the five cases need? A case with all of it has all their sizes, at least.",
       [=] {
         for (const WrongRing& ring : wrong_rings()) require_told_apart(ring, cases->at("all"));
       }});
  rows.push_back(
      {"all-smallest",
       2,
       {"all"},
       "No smaller case tells all five apart.",
       "Which of ranks, tokens and heads is larger than the most demanding of the five rings needs?",
       [=] { require_small(cases->at("all"), kSmallestForAll); }});
  return rows;
}

std::vector<PuzzleRow> rows(const Submission& handed_in) {
  const auto cases = std::make_shared<Cases>();
  std::vector<PuzzleRow> all{{"reads",
                              0,
                              {},
                              "The file has a case for each ring, and one for all.",
                              "One line for each case, with all seven words in their order.",
                              [cases, &handed_in] { *cases = read_cases(lines_of(handed_in)); }}};
  for (PuzzleRow& row : rows_of(cases)) all.push_back(std::move(row));
  return all;
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return {.id = RINGCRAFT_PUZZLE,
          .kind = "break it",
          .title = "Five wrong rings",
          .task = "write for each wrong ring the smallest case that tells it from the right one",
          .file = "break_it.txt",
          .given = [](std::uint64_t) { return given_file(RINGCRAFT_PUZZLE, "break_it.txt"); },
          .rows = rows};
}

}  // namespace ringcraft::judge
