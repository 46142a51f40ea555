// Whole verdicts on files of wrong/ and right/ (see verdicts.hpp).
#include "verdicts.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "judge/config.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::Status;

// The names in this folder of tests/judge that start with the lesson's number, without ".cpp".
std::multiset<std::string> files_of(int lesson, const char* folder) {
  std::multiset<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "tests/judge" / folder))
    if (const std::string name = entry.path().stem(); name.starts_with(std::to_string(lesson) + "_"))
      names.insert(name);
  return names;
}

template <class File>
std::multiset<std::string> names_of(const std::vector<File>& files) {
  std::multiset<std::string> names;
  for (const File& each : files) names.insert(each.file);
  return names;
}

}  // namespace

Report verdict(const std::string& file, std::chrono::milliseconds per_call) {
  CheckOptions options;
  options.per_call = per_call;
  return check_file(std::stoi(file.substr(file.find('/') + 1)), kRoot / "tests/judge" / (file + ".cpp"),
                    options);
}

std::set<std::string> failed(const Report& report) {
  std::set<std::string> ids;
  for (const auto& row : report.rows)
    if (row.status == Status::kFailed) ids.insert(row.id);
  return ids;
}

const verify::ReportRow& row(const Report& report, const std::string& id) {
  const auto found = std::ranges::find(report.rows, id, &verify::ReportRow::id);
  REQUIRE(found != report.rows.end());
  return *found;
}

std::size_t looked_at_count(std::size_t all) {
  if (!kSanitized || std::getenv("RINGCRAFT_LONG") != nullptr) return all;
  const std::size_t count = (all + 5) / 6;
  std::printf("under a sanitizer: %zu of %zu files\n", count, all);
  return count;
}

void require_caught(const WrongFile& wrong) {
  INFO(wrong.file);
  const bool hangs = testing::contains(wrong.fragment, "did not come back") ||
                     testing::contains(wrong.fragment, "the beginning of");
  const Report report =
      verdict(std::string("wrong/") + wrong.file, hangs ? std::chrono::seconds(2) : std::chrono::seconds(20));
  INFO(verify::text_of(report));
  CHECK_FALSE(report.good());
  const std::string id = std::string(wrong.file, 3) + "." + wrong.check;
  CHECK(row(report, id).status == Status::kFailed);
  CHECK(testing::contains(row(report, id).sentence, wrong.fragment));
}

void require_accepted(const RightFile& right) {
  INFO(right.file);
  const Report report = verdict(std::string("right/") + right.file);
  INFO(verify::text_of(report));
  CHECK(failed(report) == right.may_fail);
  CHECK(report.count(Status::kSkipped) == 0);
}

void require_listed(int lesson, const std::vector<WrongFile>& wrong, const std::vector<RightFile>& right) {
  CHECK(names_of(wrong) == files_of(lesson, "wrong"));
  CHECK(names_of(right) == files_of(lesson, "right"));
}

}  // namespace ringcraft::judge
