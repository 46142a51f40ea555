// The failure of a check: the facts that programs compare, and the sentence that is put together last.
#include "judge/outcome/wrong.hpp"

#include <cmath>

#include "judge/outcome/outcome.hpp"
#include "support/catch.hpp"

namespace ringcraft::judge {
namespace {

// The code, and the facts without their words.
std::vector<std::string> key(const Wrong& wrong) {
  std::vector<std::string> all = wrong.said.keys();
  all.insert(all.begin(), wrong.code);
  return all;
}

Wrong number(const char* words, double got, int row = 3) {
  return {sign::kValues, "number", words, "m + log l", row, got};
}

simt::Finding race(simt::Access earlier, simt::Access access) {
  simt::Finding finding;
  finding.mistake = simt::Mistake::kRace;
  finding.ordering = simt::Ordering::kBlock;
  finding.earlier = {.thread = 6, .what = earlier, .place = {"naive.cu:9"}};
  finding.access = {.thread = 9, .what = access, .place = {"naive.cu:12"}};
  finding.memory = {simt::FoundMemory::Kind::kDevice, "the workspace", 13, 24, 240};
  return finding;
}

std::vector<std::string> launch(const simt::Finding& finding) {
  return key(Wrong(sign::kFinding, "launch", "{}: {}", "6 rows", finding));
}

}  // namespace

TEST_CASE("a failed check says in words what it carries as data") {
  const Wrong wrong = number("{} of row {} is {}", 3.693147181).labelled("7 keys: ");
  CHECK(wrong.sentence() == "7 keys: m + log l of row 3 is 3.69315");
  CHECK(std::string(wrong.what()) == "number");
  CHECK(Wrong(sign::kNoNumber, "number", "{} {}", Shown{NAN, "NaN"}, Name{"dk"}).sentence() == "NaN dk");
}

TEST_CASE("facts are the same in every wording, and for numbers that differ by rounding") {
  const auto said = key(number("{} of row {} is {}", 3.693147181));
  CHECK(said == key(number("what {1} shows for {0} was {2}", 3.693147181000001)));
  CHECK(said == key(number("{} of row {} is {}", 3.693147181).labelled("another case: ")));
  CHECK(said != key(number("{} of row {} is {}", 3.793147181)));
  CHECK(said != key(number("{} of row {} is {}", 3.693147181, 4)));
  CHECK(key({sign::kCounts, "bytes", "{}", 512}) != key({sign::kCounts, "bytes", "{}", 513}));
  CHECK(key({sign::kCounts, "bytes", "{}", 512}) != key({sign::kCounts, "messages", "{}", 512}));
  CHECK(key({sign::kInput, "changed", "{}", Name{"q"}}) != key({sign::kInput, "changed", "{}", Name{"k"}}));
  CHECK(key(Wrong(sign::kCounts, "bytes", "{}", 512).knowing({7})) !=
        key({sign::kCounts, "bytes", "{}", 512}));
  // Places are another line of every student's file.
  CHECK(key({sign::kCounts, "banks", "{}", simt::CodePlace{"a.cu:3"}}) ==
        key({sign::kCounts, "banks", "{}", simt::CodePlace{"b.cu:7"}}));
}

TEST_CASE("of a finding the mistake, the memory and the access count, not the thread that comes first") {
  using simt::Access;
  const auto seen = launch(race(Access::kWrite, Access::kRead));
  CHECK(seen == launch(race(Access::kRead, Access::kWrite)));
  CHECK(seen != launch(race(Access::kWrite, Access::kWrite)));
  simt::Finding other = race(Access::kWrite, Access::kRead);
  other.earlier.thread = 1;
  other.access.place.line = "other.cu:70";
  other.memory.offset = 8;
  CHECK(launch(other) == seen);
  other.memory.name = "q_gmem";
  CHECK(launch(other) != seen);
  other.memory = {simt::FoundMemory::Kind::kStatic, "k_smem", 0, 24, 240};
  const auto shared = launch(other);
  other.memory.name = "keys";  // a student's own name
  CHECK(launch(other) == shared);
  other.ordering = simt::Ordering::kWarp;
  CHECK(launch(other) != shared);
}

TEST_CASE("of ranks in trouble the code does not say which was the first") {
  CHECK(sign_of(Misbehaviour::Kind::kUnwritten) == sign::kThrew);
  using Failure = Switchboard::Failure;
  const auto knot = [](Op::Kind one, Op::Kind other) {
    return code_of(Failure{Failure::Why::kDeadlock, {{0, one, 1, 8}, {1, other, 0, 8}}, ""});
  };
  CHECK(knot(Op::kSend, Op::kSend) != knot(Op::kRecv, Op::kRecv));
  CHECK(knot(Op::kSend, Op::kRecv) == knot(Op::kRecv, Op::kSend));
  CHECK(knot(Op::kSend, Op::kRecv) != code_of(Failure{Failure::Why::kEnded, {{0, Op::kSend, 1, 8}}, ""}));
}

TEST_CASE("lines of machine code are named before anything is said") {
  simt::Finding finding = race(simt::Access::kWrite, simt::Access::kRead);
  finding.access.place = {"", 0x1f};
  Wrong wrong(sign::kFinding, "launch", "{}", finding);
  CHECK(wrong.sentence().find("at machine code +0x1f") != std::string::npos);
  for (Fact& fact : wrong.said.facts)
    fact.for_each_place([](simt::CodePlace& place) {
      if (place.code == 0x1f) place.line = "mine.cu:5";
    });
  CHECK(wrong.sentence().find("thread 9 reads at mine.cu:5") != std::string::npos);
}

}  // namespace ringcraft::judge
