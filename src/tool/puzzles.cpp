// Side exercises from the command line (see puzzles.hpp).
#include "tool/puzzles.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "judge/puzzle.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

// The same for one person on every day: the FNV hash of the login name, brought to four digits.
std::uint64_t seed_of_this_person() {
  std::uint32_t hash = 2166136261;
  for (const char* variable : {"LOGNAME", "USER"})
    if (const char* name = std::getenv(variable)) {
      for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619;
      break;
    }
  return 1000 + hash % 9000;
}

}  // namespace

bool is_puzzle(const std::string& id) { return id.find('.') != id.npos; }

int lesson_of(const std::string& id) {
  int number = 0;
  const auto [end, failure] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (failure != std::errc() || end != id.data() + id.size())
    throw Error("lesson", "a number as in 104, or a side exercise as in 301.deadlock", shown(id),
                "see ./ringcraft lessons for the road");
  return number;
}

void start_puzzle(const std::string& id, std::optional<std::uint64_t> seed,
                  const std::filesystem::path& workspace) {
  const judge::Puzzle& puzzle = judge::puzzle_named(id);
  if (seed && !puzzle.seeded)
    throw Error("start", "--seed with an exercise whose numbers it chooses", id, "leave it out");
  const auto file = judge::start_puzzle(id, workspace, seed.value_or(seed_of_this_person()));
  const std::filesystem::path root = workspace.parent_path();
  std::printf("%s is yours: %s.\nWhat it is: %s\nThen: ./ringcraft check %s\n",
              std::filesystem::relative(file, root).c_str(), puzzle.task.c_str(),
              (std::filesystem::relative(judge::puzzle_folder(puzzle), root) / "README.md").c_str(),
              id.c_str());
}

std::optional<std::string> puzzle_newer(std::optional<std::filesystem::file_time_type> than,
                                        const std::filesystem::path& workspace) {
  std::optional<std::string> newest;
  for (const judge::Puzzle& puzzle : judge::puzzles()) {
    const auto file = judge::puzzle_file(puzzle, workspace);
    if (!std::filesystem::exists(file)) continue;
    const auto time = std::filesystem::last_write_time(file);
    if (than && time <= *than) continue;
    than = time;
    newest = puzzle.id;
  }
  return newest;
}

}  // namespace ringcraft::tool
