// Finds out which layers this host has, and puts them around commands.
#include "grade/jail/jail.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "grade/jail/control_group.hpp"
#include "judge/build/toolchain.hpp"
#include "judge/tree/config.hpp"
#include "process/lock.hpp"
#include "process/reach.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBubblewrap = "/usr/bin/bwrap";

std::vector<std::string> in_namespaces() {
  std::vector<std::string> arguments{
      kBubblewrap, "--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc",
      "--dev",     "/dev",          "--tmpfs",           "/tmp"};
  for (const std::string& place : judge::kSystemPlaces)
    if (fs::exists(place)) arguments.insert(arguments.end(), {"--ro-bind", place, place});
  return arguments;
}

// Whether such a command ends well.
bool runs(std::vector<std::string> arguments, std::optional<uid_t> user) {
  if (::access(arguments[0].c_str(), X_OK) != 0) return false;
  const process::Command command{.arguments = std::move(arguments), .environment = {}, .user = user};
  return process::run_command(command, std::chrono::seconds(10)).good();
}

std::optional<uid_t> judging_user() {
  return ::geteuid() == 0 ? std::optional<uid_t>(kJudgingUser) : std::nullopt;
}

Layer namespaces() {
  Layer layer{"namespaces", "a judged file sees no network, no process and no file of yours", false, ""};
  std::vector<std::string> arguments = in_namespaces();
  arguments.emplace_back("/usr/bin/true");
  layer.here = runs(std::move(arguments), judging_user());
  if (layer.here) return layer;
  layer.reason = ::access(kBubblewrap, X_OK) == 0
                     ? "bubblewrap is installed, but this kernel or container lets it make none"
                     : "bubblewrap is not installed (package bubblewrap)";
  return layer;
}

Layer another_user(const fs::path& tree) {
  Layer layer{"user", "it runs as a user without rights on your files", false, ""};
  if (::geteuid() != 0) {
    layer.reason = "only root can start programs as another user";
    return layer;
  }
  layer.here = runs({"/usr/bin/test", "-r", (tree / "CMakeLists.txt").string()}, kJudgingUser);
  if (!layer.here)
    layer.reason = "user " + std::to_string(kJudgingUser) + " cannot read " + tree.string() +
                   ": move the project to a folder that others can read";
  return layer;
}

}  // namespace

std::vector<Layer> layers(const fs::path& tree) {
  std::vector<Layer> all{
      {"intake", "a hand-in is one small text file: no link, no pipe, no letter that reorders others", true, ""},
      {"source", "the compiler opens the file itself and public headers, and nothing else", true, ""},
      {"object", "the compiled file defines its exercise, and calls what its lesson gives", true, ""},
      {"worker", "it computes in a process that knows neither expected values nor the verdict", true, ""}};
  Layer files{"files", "compiler and linker can open no solution and no other hand-in",
              process::reach_is_held(), ""};
  if (!files.here) files.reason = "this kernel has no Landlock (Linux 5.13)";
  Layer calls{"calls", "it can open no file, start no program, and reach no socket",
              process::lock_is_held() && judge::kLockable && !judge::kSanitized, ""};
  if (!calls.here)
    calls.reason = process::lock_is_held() ? "this build links no static programs, or has sanitizers"
                                           : "this kernel has no seccomp filters";
  const std::string lack = group_place().reason;
  Layer group{"group", "the programs of one judgement have limits of memory and number together",
              lack.empty(), lack, "each program has limits of its own"};
  all.insert(all.end(), {files, calls, namespaces(), another_user(tree), group});
  return all;
}

bool has(const std::vector<Layer>& all, std::string_view id) {
  const auto found = std::ranges::find(all, id, &Layer::id);
  return found != all.end() && found->here;
}

void require(const std::vector<Layer>& all, const std::set<std::string>& without) {
  for (const std::string& name : without)
    if (std::ranges::find(all, name, &Layer::id) == all.end()) {
      std::string names;
      for (const Layer& layer : all) names += (names.empty() ? "" : ", ") + layer.id;
      throw Error("grade --without", "a layer: " + names, name, "see ./ringcraft doctor");
    }
  std::string absent, reasons, option;
  for (const Layer& layer : all) {
    if (!is_wanted(layer) || without.contains(layer.id)) continue;
    absent += (absent.empty() ? "" : ", ") + layer.id;
    reasons += (reasons.empty() ? "" : "; ") + layer.reason;
  }
  if (absent.empty()) return;
  option = absent;
  std::erase(option, ' ');
  throw Error("grade", "all layers between the hand-ins and this machine",
              "none of: " + absent + " (" + reasons + ")",
              "add --without " + option + " to grade nevertheless; the reports will say so", Code::kMissing);
}

process::Command jailed(process::Command command, const std::vector<Layer>& all, const Sight& sight) {
  if (!has(all, "namespaces")) return command;
  std::vector<std::string> arguments = in_namespaces();
  for (const fs::path& place : sight.reads) arguments.insert(arguments.end(), {"--ro-bind", place, place});
  arguments.insert(arguments.end(), {"--bind", sight.work, sight.work_place});
  for (const fs::path& place : sight.writes) arguments.insert(arguments.end(), {"--bind", place, place});
  arguments.insert(arguments.end(), {"--chdir", "/"});
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  command.arguments = std::move(arguments);
  if (has(all, "user")) command.user = kJudgingUser;
  return command;
}

}  // namespace ringcraft::grade
