// run --mine: the student's files on the ladder.
#include "judge/mine.hpp"

#include <cstdio>

#include "ringcraft/core/shown.hpp"
#include "tool/course.hpp"
#include "tool/course_commands.hpp"
#include "tool/kernel_ladder.hpp"
#include "tool/ladder_report.hpp"
#include "tool/output.hpp"

namespace ringcraft::tool {
namespace {

// Seconds that a stage may take: plain loops are some twenty times as slow as the library's.
constexpr double kFloor = 5, kPerOracle = 20;
// The same for a stage of kernels, where a core runs a thousand threads.
constexpr double kKernelFloor = 30;

// Which files take part, and which the ladder does not need.
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

}  // namespace

verify::Report climb_with_own_files(const std::string& title, const Problem& problem,
                                    const verify::Inputs& inputs, std::optional<Layout> only,
                                    KernelPlace kernels) {
  judge::Mine mine(workspace(), kernels.gpu ? judge::Device::kGpu : judge::Device::kCpu);
  introduce(mine);
  const auto climber = [&](double floor) {
    return Climber{[&mine, floor](const verify::Stage& stage, const Problem& of_stage,
                                  const verify::Inputs& its_inputs, double oracle_seconds) {
                     return climbed(mine, stage, of_stage, its_inputs, floor + kPerOracle * oracle_seconds);
                   },
                   [&mine](const verify::Stage& stage) { return mine.lessons_in(stage); }};
  };
  verify::Report report = climb_ladder(title, problem, inputs, only, climber(kFloor));
  add_kernel_stages(report, std::move(kernels), problem, inputs, climber(kKernelFloor));
  std::vector<verify::ReportRow> rows;
  for (const judge::OwnFile& file : mine.files())
    if (!file.obstacle.empty()) rows.push_back(row_of(file));
  report.rows.insert(report.rows.begin(), rows.begin(), rows.end());
  return report;
}

}  // namespace ringcraft::tool
