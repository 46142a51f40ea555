// Fingerprints, their tables and what a diagnosis makes of them.
#include "judge/verdict/diagnosis.hpp"

#include <filesystem>
#include <fstream>

#include "misconceptions/edit.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using testing::check_refused;

Misconception known(const char* id, const char* fingerprint) {
  return {id, id, std::string(id) + " is wrong", "why?", fingerprint_from(fingerprint)};
}

std::vector<std::string> ids(const std::vector<verify::Cause>& causes) {
  std::vector<std::string> result;
  for (const verify::Cause& cause : causes) result.push_back(cause.id);
  return result;
}

const std::vector<Misconception> kTable{
    known("RF4", "one-rank=. full=. causal=x(out:.xx.)#1111 layouts=-"),
    known("RF5", "one-rank=. full=. causal=x(out:xxxx)#2222 layouts=-"),
    known("RF5", "one-rank=. full=. causal=x(out:xxxx)#3333 layouts=-"),
    known("RX1", "one-rank=. full=m#4444 causal=- layouts=-"),
    known("BL5", "one-rank=x(out:x)#5555 full=x(out:xx)#6666 causal=- layouts=-"),
};

}  // namespace

TEST_CASE("a fingerprint as text and back") {
  const std::string text = "one-rank=. causal=x(out:.xx.,lse:.xx.)#1f0c layouts=-";
  const Fingerprint traits = fingerprint_from(text);
  REQUIRE(traits.size() == 3);
  CHECK(traits[1] == Trait{"causal", 'x', "out:.xx. lse:.xx.", "1f0c"});
  CHECK(text_of(traits) == text);
  for (const char* wrong : {"causal", "causal=", "causal=x(out", "causal=xx"})
    check_refused([&] { fingerprint_from(wrong); }, "check=sign(evidence)#digest");
}

TEST_CASE("a table as text and back") {
  const auto path = std::filesystem::path(RINGCRAFT_BINARY_DIR) / "misconceptions.csv";
  CHECK(read_misconceptions(path).empty());
  std::vector<Misconception> rows = kTable;
  rows[0].sentence = "the \"block\" in hand, taken for another";
  std::ofstream(path) << csv_of(rows);
  CHECK(read_misconceptions(path) == rows);
  std::ofstream(path, std::ios::app) << "RF9,four,fields,only\n";
  check_refused([&] { read_misconceptions(path); }, "misconceptions --write");
  std::filesystem::remove(path);
}

TEST_CASE("the same fingerprint has the same cause") {
  for (const Misconception& each : kTable) CHECK(ids(diagnose(each.fingerprint, kTable)).front() == each.id);
}

TEST_CASE("nothing fails, nothing is said") {
  CHECK(diagnose(fingerprint_from("one-rank=. full=. causal=. layouts=."), kTable).empty());
}

TEST_CASE("one mistake is named once, and at most three are") {
  CHECK(ids(diagnose(kTable[1].fingerprint, kTable)) == std::vector<std::string>{"RF5"});
  std::vector<Misconception> alike;
  for (const char* id : {"A1", "A2", "A3", "A4"}) alike.push_back(known(id, "full=x(out:xx)#1111"));
  CHECK(ids(diagnose(alike[0].fingerprint, alike)) == std::vector<std::string>{"A1", "A2", "A3"});
}

TEST_CASE("rows of one mistake that nothing tells apart are all named, behind one of every other") {
  std::vector<Misconception> alike;
  for (const char* file : {"A1 one", "A1 two", "A2 one"}) {
    alike.push_back(known(file, "full=f(6w9r@24)#1111"));
    alike.back().id = alike.back().id.substr(0, 2);
  }
  const auto sentences = [&] {
    std::vector<std::string> result;
    for (const verify::Cause& cause : diagnose(alike[0].fingerprint, alike)) result.push_back(cause.sentence);
    return result;
  };
  CHECK(sentences() == std::vector<std::string>{"A1 one is wrong", "A2 one is wrong", "A1 two is wrong"});
  alike[1].sentence = alike[0].sentence;
  CHECK(sentences() == std::vector<std::string>{"A1 one is wrong", "A2 one is wrong"});
  // The same finding in another place is the same mistake, unless there is one in this place.
  alike[0].fingerprint = fingerprint_from("full=f(7w9r@28)#1111");
  CHECK(sentences() == std::vector<std::string>{"A1 one is wrong"});
  CHECK(ids(diagnose(fingerprint_from("full=f(1w2r@4)#1111"), alike)) ==
        std::vector<std::string>{"A1", "A2"});
}

TEST_CASE("what resembles nothing gets no cause") {
  CHECK(diagnose(fingerprint_from("one-rank=. full=. causal=e#9999 layouts=-"), kTable).empty());
  CHECK(diagnose(fingerprint_from("one-rank=n(out:n)#9999 full=- causal=- layouts=-"), kTable).empty());
  // The same check failed, on other ranks and with other numbers.
  CHECK(diagnose(fingerprint_from("one-rank=. full=. causal=x(out:...x)#9999 layouts=-"), kTable).empty());
}

TEST_CASE("of several mistakes in one file each is named where it shows first") {
  const std::vector<Misconception> table{
      known("A1", "two=. high=x(out:x)#1111 low=x(out:x)#2222 none=. drives=."),
      known("A2", "two=. high=. low=. none=n#3333 drives=."),
      known("A3", "two=. high=. low=. none=. drives=x#4444"),
      known("A4", "two=x#5555 high=- low=- none=. drives=-"),
  };
  const auto parts = [&](const char* fingerprint) {
    std::string text;
    for (const Part& part : parts_of(fingerprint_from(fingerprint), table))
      text += part.check + " " + part.cause.id + ", ";
    return text;
  };
  // Two checks say so, whatever else has failed.
  CHECK(parts("two=. high=x(out:x)#1111 low=x(out:x)#2222 none=x#9999 drives=.") == "high A1, ");
  // One check says so for each, and nothing is left over.
  CHECK(parts("two=. high=. low=. none=n#3333 drives=x#4444") == "none A2, drives A3, ");
  CHECK(parts("two=. high=. low=x#9999 none=n#3333 drives=x#4444").empty());
  CHECK(parts("two=. high=. low=x#9999 none=n#3333 drives=.").empty());
  // With other numbers, on other rows, or where a check of it was not asked, it is another mistake.
  CHECK(parts("two=. high=x(out:x)#1111 low=x(out:x)#9999 none=x#9999 drives=.").empty());
  CHECK(parts("two=. high=x(out:x)#1111 low=x(out:.x)#2222 none=x#9999 drives=.").empty());
  CHECK(parts("two=x#9999 high=x(out:x)#1111 low=- none=x#9999 drives=.").empty());
}

TEST_CASE("causes stand in the row of the first failed check") {
  Verdict verdict;
  for (const char* id : {"303.compiles", "303.belongs", "303.one-rank", "303.no-deadlock"})
    verdict.report.rows.push_back({id, "claim", verify::Status::kPassed, 1, "", "", {}});
  verdict.outcomes.assign(4, {verify::Status::kPassed, sign::kPassed});
  explain(303, verdict, fingerprint_of(verdict));
  for (const verify::ReportRow& row : verdict.report.rows) CHECK(row.causes.empty());

  const auto table = read_misconceptions(misconceptions_file(303));
  const auto deadlock = std::ranges::find(table, "all_send_first", &Misconception::file);
  REQUIRE(deadlock != table.end());
  CHECK(ids(diagnose(deadlock->fingerprint, table)).front() == "RX1");
}

TEST_CASE("causes do not depend on the seed") {
  const std::filesystem::path corpus = std::filesystem::path(RINGCRAFT_SOURCE_DIR) / "tests/misconceptions";
  for (const auto& [lesson, file, id] : {std::tuple{104, "104_merge/average", "MG1"},
                                         {103, "103_online_softmax/begins_anew", "ST1"},
                                         {303, "303_ring_forward/wrong_label", "RF4"}}) {
    INFO(file);
    const HandedIn submission(lesson, corpus / file);
    CheckOptions options;
    std::vector<std::string> known, other;
    const auto causes_of = [&](std::uint64_t seed) {
      options.seed = seed;
      std::vector<std::string> found;
      for (const verify::ReportRow& row : check(lesson, submission.file(), options).report.rows)
        for (const verify::Cause& cause : row.causes) found.push_back(row.id + " " + cause.id);
      return found;
    };
    const std::vector<std::string> causes = causes_of(kSeedOfTables);
    CHECK(std::ranges::any_of(causes, [&](const std::string& c) { return c.ends_with(id); }));
    CHECK(causes_of(987654321) == causes);
  }
}

}  // namespace ringcraft::judge
