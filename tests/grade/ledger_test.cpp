// The ledger of a class: secrets, and verdicts that are kept.
#include "grade/run/ledger.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "io/files.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::grade {
namespace {

const std::string kDigits = "00112233445566778899aabbccddeeff";

Verdict verdict_with(verify::Status status, bool timed) {
  Verdict verdict{State::kGraded, {}, {.title = "Lesson 108"}};
  verdict.report.rows.push_back(
      {.id = "108.speed", .claim = "fast", .status = status, .sentence = "so", .timed = timed});
  return verdict;
}

}  // namespace

TEST_CASE("a secret is 128 bits, and gives every student, exercise and file a seed of its own") {
  const Secret secret(kDigits);
  CHECK(secret.text() == kDigits);
  CHECK(Secret(secret.text()) == secret);
  CHECK(Secret::drawn() != Secret::drawn());
  std::set<std::uint64_t> seeds;
  for (const char* student : {"ada", "bob"})
    for (const char* exercise : {"104", "105"})
      for (const char* digest : {"1", "2"}) seeds.insert(secret.seed_for(student, exercise, digest));
  seeds.insert(Secret("10112233445566778899aabbccddeeff").seed_for("ada", "104", "1"));
  seeds.insert(secret.seed_for("ada1", "04", "1"));  // no two of the words run together
  CHECK(seeds.size() == 10);
  CHECK(*seeds.begin() >= 1);
  CHECK(*seeds.rbegin() <= 1'000'000'000'000'000);
  CHECK(secret.seed_for("ada", "104", "1") == secret.seed_for("ada", "104", "1"));
  for (const std::string wrong :
       {"", "1", "00112233445566778899AABBCCDDEEFF", "00112233445566778899aabbccddeeff0"})
    testing::check_refused([&] { Secret{wrong}; }, "32 hexadecimal digits");
}

TEST_CASE("a file's fingerprint follows from its text, and nobody without the secret can foresee it") {
  const Secret secret(kDigits);
  std::set<std::string> all;
  for (const std::string text : {"", "int a;", "int b;", "int a;\n"}) {
    CHECK(secret.fingerprint_of(text) == Secret(kDigits).fingerprint_of(text));
    CHECK(secret.fingerprint_of(text).size() == 16);
    all.insert(secret.fingerprint_of(text));
    all.insert(Secret("00112233445566778899aabbccddeefe").fingerprint_of(text));
  }
  CHECK(all.size() == 8);
}

TEST_CASE("a ledger keeps verdicts, its secret, and other processes out") {
  const test::Scratch folder;
  {
    Ledger ledger(folder / "grades", Secret(kDigits));
    CHECK(!ledger.find("ada", "104", "1"));
    ledger.keep("ada", "104", "1", {State::kUngradable, "it does not compile", {}});
    const auto kept = ledger.find("ada", "104", "1");
    REQUIRE(kept);
    CHECK(kept->state == State::kUngradable);
    CHECK(kept->sentence == "it does not compile");
    testing::check_refused([&] { Ledger(folder / "grades", {}); }, "which one is writing");
  }
  const Ledger again(folder / "grades", {});
  CHECK(again.secret() == Secret(kDigits));
  CHECK(again.find("ada", "104", "1"));
  CHECK((std::filesystem::status(folder / "grades/seed.txt").permissions() &
         std::filesystem::perms::others_all) == std::filesystem::perms::none);
}

TEST_CASE("a ledger that was begun with another secret is refused, and so is one that was damaged") {
  const test::Scratch folder;
  {
    Ledger(folder / "grades", Secret(kDigits))
        .keep("ada", "104", "1", verdict_with(verify::Status::kPassed, false));
  }
  testing::check_refused([&] { Ledger(folder / "grades", Secret::drawn()); }, "was begun with");
  for (const std::string damaged : {"", "{", "{}", "{\"format\": 0}"}) {
    std::ofstream(folder / "grades/verdicts/ada/104-1.json") << damaged;
    const auto sentence =
        testing::outcome_of([&] { Ledger(folder / "grades", {}).find("ada", "104", "1"); }).sentence;
    CHECK(testing::contains(sentence, "104-1.json"));
    CHECK(sentence.ends_with("; remove it, and grade again"));
  }
  std::ofstream(folder / "grades/seed.txt") << "0011";
  testing::check_refused([&] { Ledger(folder / "grades", {}); }, "seed.txt: expected 32 hexadecimal digits");
}

TEST_CASE("a row that ends alike keeps its first words, and one that ends otherwise has new ones") {
  const test::Scratch folder;
  Ledger ledger(folder / "grades", {});
  const auto said = [](verify::Status status, const char* sentence) {
    Verdict verdict = verdict_with(status, false);
    verdict.report.rows[0].sentence = sentence;
    return verdict;
  };
  const auto sentence = [&] { return ledger.find("ada", "303", "1")->report.rows[0].sentence; };
  ledger.keep("ada", "303", "1", said(verify::Status::kFailed, "rank 2 sends too much"));
  ledger.keep("ada", "303", "1", said(verify::Status::kFailed, "rank 1 sends too much"));
  CHECK(sentence() == "rank 2 sends too much");
  ledger.keep("ada", "303", "1", said(verify::Status::kPassed, ""));
  CHECK(sentence().empty());
}

TEST_CASE("rows that measured time decided stay as they were first") {
  const test::Scratch folder;
  Ledger ledger(folder / "grades", {});
  for (const bool timed : {true, false}) {
    const std::string digest = timed ? "1" : "2";
    ledger.keep("ada", "108", digest, verdict_with(verify::Status::kPassed, timed));
    ledger.keep("ada", "108", digest, verdict_with(verify::Status::kFailed, timed));
    const auto kept = ledger.find("ada", "108", digest);
    REQUIRE(kept);
    CHECK((kept->report.rows[0].status == verify::Status::kPassed) == timed);
  }
}

}  // namespace ringcraft::grade
