// Starts and checks side exercises from the command line.
#include "tool/course/puzzles.hpp"

#include <cstdio>
#include <cstdlib>

#include "judge/puzzle/puzzle.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"
#include "tool/course/course.hpp"

namespace ringcraft::tool {
namespace {

// The same for one person on every day: a hash of the login name, brought to four digits.
std::uint64_t seed_of_this_person() {
  std::string login;
  for (const char* variable : {"USER", "LOGNAME"})
    if (const char* name = std::getenv(variable)) login = name;
  return 1000 + fnv1a<std::uint32_t>(login) % 9000;
}

}  // namespace

std::optional<std::uint64_t> seed_of_form(const std::string& id) {
  if (!judge::is_puzzle(id) || !judge::puzzle_named(id).seeded) return {};
  return seed_of_this_person();
}

void start_puzzle(const std::string& id, std::optional<std::uint64_t> seed,
                  const std::filesystem::path& workspace) {
  const judge::Puzzle& puzzle = judge::puzzle_named(id);
  if (seed && !puzzle.seeded)
    throw Error("start", "--seed with an exercise whose numbers it chooses", id, "leave it out");
  const auto file = judge::start_puzzle(id, workspace, seed.value_or(seed_of_this_person()));
  std::printf("%s is yours: %s.\nAbout it: %s\nThen: ./ringcraft check %s\n", shown_path(file).c_str(),
              puzzle.task.c_str(), shown_path(judge::puzzle_folder(puzzle) / "README.md").c_str(),
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
