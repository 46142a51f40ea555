// The student's files on the ladder: run --mine, and the stages that check runs for a kernel on a GPU.
#include "judge/verdict/mine.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/attention/kernel_ladder.hpp"
#include "tool/attention/ladder_report.hpp"
#include "tool/attention/own_files.hpp"
#include "tool/course/course.hpp"
#include "tool/terminal/output.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::tool {
namespace {

// Seconds that a stage may take, beside the oracle's, which computes in plain loops on all cores and keeps
// scales, too.
constexpr double kFloor = 5, kPerOracle = 10;
// The same for a stage of kernels, where a core runs a thousand threads.
constexpr double kKernelFloor = 30;

// The files that take part, and those that the ladder does not need.
void introduce(const judge::Mine& mine) {
  std::vector<int> part;
  const std::vector<int> unused = mine.unused();
  for (const judge::OwnFile& file : mine.files())
    if (file.obstacle.empty()) part.push_back(file.lesson);
  if (!part.empty())
    std::printf("your files: %s; the library's own stand in for the others\n", listed(part).c_str());
  if (!mine.unwritten().empty())
    std::printf("still as given, so the library's own: %s\n", listed(mine.unwritten()).c_str());
  if (!unused.empty()) std::printf("no stage of the ladder runs your %s\n", listed(unused).c_str());
  std::printf("\n");
  std::fflush(stdout);
}

verify::ReportRow row_of(const judge::OwnFile& file) {
  verify::ReportRow row;
  row.id = std::to_string(file.lesson) + " your " + file.path.filename().string();
  row.claim = "takes part in the ladder";
  row.status = verify::Status::kFailed;
  row.weight = 0;  // no stage
  row.sentence = file.obstacle + "\nThe library's own file stands in for it.";
  row.yours = {file.lesson};
  return row;
}

Climbed climbed(judge::Mine& mine, const verify::Stage& stage, const Problem& problem,
                const verify::Inputs& inputs, double seconds) {
  const std::chrono::seconds limit(static_cast<int>(seconds));
  try {
    return {mine.climb(stage, problem, inputs, limit), ""};
  } catch (const judge::Misbehaviour& misbehaviour) {
    return {{}, misbehaviour.what(), misbehaviour.kind() == judge::Misbehaviour::Kind::kSilent};
  }
}

// The ladder with the student's files instead of the library's own.
Climber climber(judge::Mine& mine, double floor) {
  return {[&mine, floor](const verify::Stage& stage, const Problem& problem, const verify::Inputs& inputs,
                         double oracle_seconds) {
            return climbed(mine, stage, problem, inputs, floor + kPerOracle * oracle_seconds);
          },
          [&mine](const verify::Stage& stage) { return mine.lessons_in(stage); }};
}

judge::Device device_of(const KernelPlace& place) {
  return place.gpu ? judge::Device::kGpu : judge::Device::kCpu;
}

// "203 tensor-core kernel" among a lesson's checks: "203.tensor-core-kernel".
std::string as_check(int lesson, std::string id) {
  id.erase(0, id.find(' ') + 1);
  std::ranges::replace(id, ' ', '-');
  return std::to_string(lesson) + "." + id;
}

}  // namespace

verify::Report climb_with_own_files(const std::string& title, const Problem& problem,
                                    const verify::Inputs& inputs, std::optional<Layout> only,
                                    KernelPlace kernels) {
  judge::Mine mine(workspace(), device_of(kernels));
  introduce(mine);
  verify::Report report = climb_ladder(title, problem, inputs, only, climber(mine, kFloor));
  add_kernel_stages(report, std::move(kernels), problem, inputs, climber(mine, kKernelFloor));
  std::vector<verify::ReportRow> rows;
  for (const judge::OwnFile& file : mine.files())
    if (!file.obstacle.empty()) rows.push_back(row_of(file));
  report.rows.insert(report.rows.begin(), rows.begin(), rows.end());
  return report;
}

std::vector<verify::ReportRow> stages_with_own_file(int lesson, KernelPlace place, std::uint64_t seed) {
  verify::ReportRow built;
  built.id = std::to_string(lesson) + ".compiles-for-the-device";
  built.claim = "your file compiles for " + place.kernels.device;
  built.status = verify::Status::kFailed;
  built.weight = 0;
  std::optional<judge::Mine> mine;
  try {
    mine.emplace(workspace(), device_of(place), lesson);
    built.sentence = mine->files().front().obstacle;
  } catch (const Error& error) {  // the earlier verdict is still valid
    if (error.code() == Code::kMissing) built.status = verify::Status::kSkipped;
    built.sentence = error.what();
  }
  if (!built.sentence.empty()) return {built};
  const verify::Case c = make_case(make_problem({1, 6, 2, 389, 64}, causal_mask(), Layout::kZigzag, 3),
                                   verify::Data::kNormal, seed);
  verify::Report report;
  add_kernel_stages(report, up_to(lesson, std::move(place)), c.problem,
                    verify::make_inputs(c, DType::kFloat32), climber(*mine, kKernelFloor));
  std::erase_if(report.rows, [](const verify::ReportRow& row) {
    return row.yours.empty() && row.status == verify::Status::kPassed;
  });
  for (verify::ReportRow& row : report.rows) {
    row.id = as_check(lesson, row.id);
    row.weight = 0;  // points must be the same on every machine
    row.figures.clear();
  }
  return report.rows;
}

}  // namespace ringcraft::tool
