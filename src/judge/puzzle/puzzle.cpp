// Finds puzzles by their id, writes the given file, and judges a student's.
#include "judge/puzzle/puzzle.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "judge/tree/config.hpp"
#include "judge/tree/text_file.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"

namespace ringcraft::judge {

const Puzzle& puzzle_named(const std::string& id) {
  const auto found = std::ranges::find(puzzles(), id, &Puzzle::id);
  if (found != puzzles().end()) return *found;
  std::string known;
  for (const Puzzle& puzzle : puzzles()) known += (known.empty() ? "" : ", ") + puzzle.id;
  throw Error("side exercise", "one of " + known, shown(id), "see ./ringcraft lessons for the road");
}

std::filesystem::path puzzle_folder(const Puzzle& puzzle) {
  return std::filesystem::path(kSourceRoot) / "lessons" / lesson_numbered(puzzle.lesson()).name / "puzzles" /
         puzzle.name();
}

std::filesystem::path puzzle_file(const Puzzle& puzzle, const std::filesystem::path& workspace) {
  return workspace / lesson_numbered(puzzle.lesson()).name / puzzle.file;
}

std::string given_file(const std::string& puzzle_id, const std::string& name) {
  const std::filesystem::path path = puzzle_folder(puzzle_named(puzzle_id)) / name;
  if (!std::filesystem::is_regular_file(path))
    throw Error("side exercise " + puzzle_id, "its file", "none in this tree",
                "a tree for students has it once lesson " + puzzle_id.substr(0, 3) + " is solved in it",
                Code::kMissing);
  return read_text(path);
}

std::filesystem::path start_puzzle(const std::string& id, const std::filesystem::path& workspace,
                                   std::uint64_t seed) {
  const Puzzle& puzzle = puzzle_named(id);
  const std::filesystem::path target = puzzle_file(puzzle, workspace);
  if (seed < 1 || seed > kLargestSeed)
    throw Error("start", "a seed from 1 to " + std::to_string(kLargestSeed), std::to_string(seed),
                "choose another");
  begin_file(target, puzzle.given(seed), id);
  return target;
}

verify::Report check_puzzle(const std::string& id, const std::filesystem::path& workspace,
                            const CheckOptions& options) {
  const std::filesystem::path file = puzzle_file(puzzle_named(id), workspace);
  if (!std::filesystem::exists(file))
    throw Error("check", "your file " + file.string(), "none", "type ./ringcraft start " + id + " to get it");
  return check_puzzle_file(id, file, options);
}

verify::Report check_puzzle_file(const std::string& id, const std::filesystem::path& file,
                                 const CheckOptions& options) {
  const Puzzle& puzzle = puzzle_named(id);
  return {"Lesson " + id + ", " + puzzle.kind + ": " + puzzle.title,
          puzzle.judge({file, read_text_file("check", file, kLargestOwnFile), options})};
}

}  // namespace ringcraft::judge
