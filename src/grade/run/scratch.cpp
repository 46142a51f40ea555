// Makes, tries and removes the folder of a grading run.
#include "grade/run/scratch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "ringcraft/core/error.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTmpdirAdvice =
    "set TMPDIR to a folder with 128 MB of room that everyone can reach, where programs may start";
constexpr std::uintmax_t kRoom = 128 << 20;  // bytes

// Writes a program, starts it and removes it.
constexpr const char* kProbe =
    R"(file=$0/probe-$$; cp /usr/bin/true "$file" && "$file"; code=$?; rm -f "$file"; exit $code)";

const fs::path& work_of(const Sight& sight, const std::vector<Layer>& all) {
  return has(all, "namespaces") ? sight.work : sight.work_place;
}

}  // namespace

process::OwnFolder scratch_folder() {
  const process::OwnFolder::Told told{"grade", kTmpdirAdvice};
  return {process::temporary_place(told), "ringcraft-grade", told};
}

void give(const fs::path& folder, const std::vector<Layer>& all) {
  if (!has(all, "namespaces") || !has(all, "user")) return;
  const auto one = [](const fs::path& path) {
    if (::lchown(path.c_str(), kJudgingUser, kJudgingUser) != 0)
      throw Error("grade", "a folder that another user can read", std::strerror(errno),
                  "see ./ringcraft doctor", Code::kMissing);
  };
  one(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) one(entry.path());
}

bool has_room(const Sight& sight, const std::vector<Layer>& all) {
  std::error_code failed;
  const fs::space_info space = fs::space(work_of(sight, all), failed);
  return failed || space.available >= kRoom;
}

void require_work(const Sight& sight, const std::vector<Layer>& all) {
  const fs::path& work = work_of(sight, all);
  if (!has_room(sight, all))
    throw Error("grade", "room for the judges' files in " + work.string(),
                fmt::format("less than {} MB", kRoom >> 20), kTmpdirAdvice, Code::kMissing);
  process::Command command{.arguments = {"/bin/sh", "-c", kProbe, sight.work_place.string()},
                           .environment = {"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"},
                           .folder = "/"};
  const process::Finished finished =
      process::run_command(jailed(std::move(command), all, sight), std::chrono::seconds(60));
  if (!finished.good())
    throw Error("grade", "that a judged program can be written to " + work.string() + " and started there",
                finished.printed.substr(0, finished.printed.find('\n')), kTmpdirAdvice, Code::kMissing);
}

}  // namespace ringcraft::grade
