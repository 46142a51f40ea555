// Makes, tries and removes the folder of a grading run.
#include "grade/run/scratch.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "ringcraft/core/error.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTmpdirAdvice =
    "set TMPDIR to a folder with 128 MB of room that everyone can reach, where programs may start";
constexpr std::uintmax_t kRoom = 128 << 20;  // bytes
constexpr std::string_view kPrefix = "ringcraft-grade-";

// Writes a program, starts it and removes it.
constexpr const char* kProbe =
    R"(file=$0/probe-$$; cp /usr/bin/true "$file" && "$file"; code=$?; rm -f "$file"; exit $code)";

// The folder below which runs make theirs.
fs::path above() {
  std::error_code failed;
  const fs::path place = fs::temp_directory_path(failed);
  if (failed) {
    const char* named = std::getenv("TMPDIR");
    throw Error("grade", "a folder to work in", named != nullptr ? named : failed.message(), kTmpdirAdvice,
                Code::kMissing);
  }
  return fs::absolute(place);
}

// Removes the folders of runs that were killed.
void sweep() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(above(), ignored)) {
    const std::string name = entry.path().filename().string();
    const long pid = name.starts_with(kPrefix) ? std::atol(name.c_str() + kPrefix.size()) : 0;
    if (pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)
      fs::remove_all(entry.path(), ignored);
  }
}

const fs::path& work_of(const Sight& sight, const std::vector<Layer>& all) {
  return has(all, "namespaces") ? sight.work : sight.work_place;
}

}  // namespace

Scratch::Scratch() {
  sweep();
  std::string name = (above() / fmt::format("{}{}-XXXXXX", kPrefix, ::getpid())).string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error("grade", "a folder to work in below " + above().string(), std::strerror(errno), kTmpdirAdvice,
                Code::kMissing);
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
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
