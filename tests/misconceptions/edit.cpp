// Applies edits to the library's files, or to those that they name.
#include "edit.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "judge/tree/marks.hpp"
#include "judge/tree/text_file.hpp"
#include "judge/verdict/judge.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kNamed = "--- ";  // in front of the name of the original file

struct Hunk {
  Lines before, after;
};

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// An editor may have taken the blank from an empty line.
void add(Hunk& hunk, const std::string& line) {
  const std::string rest = line.substr(std::min<std::size_t>(1, line.size()));
  if (!line.starts_with('+')) hunk.before.push_back(rest);
  if (!line.starts_with('-')) hunk.after.push_back(rest);
}

std::size_t place_of(const Hunk& hunk, const Lines& original) {
  const auto find = [&](auto from) {
    return std::search(from, original.end(), hunk.before.begin(), hunk.before.end());
  };
  const auto found = find(original.begin());
  const bool twice = found != original.end() && find(std::next(found)) != original.end();
  if (hunk.before.empty() || found == original.end() || twice)
    throw Error(
        "edit", "lines that stand once in the library's file",
        (twice ? "these, which stand there more than once:\n" : "these, which do not stand there:\n") +
            joined(hunk.before),
        "has the library's file changed? Change the edit with it");
  return static_cast<std::size_t>(found - original.begin());
}

Lines edited_lines(const std::string& original) {
  Lines lines = lines_of(without_marks(original));
  lines.erase(lines.begin(),
              std::ranges::find_if(lines, [](const std::string& line) { return !line.starts_with("//"); }));
  return lines;
}

std::filesystem::path with_ending(const std::filesystem::path& place) {
  for (const char* ending : {"", ".cpp", ".cu", ".edit"})
    if (const std::filesystem::path path = place.string() + ending; std::filesystem::is_regular_file(path))
      return path;
  throw Error("corpus", "a file of a submission", place.string(), "see tests/misconceptions/corpus.hpp");
}

// The file that an edit changes: the library's, unless it names another one in front of its hunks.
std::filesystem::path original_of(const std::filesystem::path& edit, const std::string& text, int lesson) {
  for (const std::string& line : lines_of(text.substr(0, text.find("\n@@\n"))))
    if (line.starts_with(kNamed)) return edit.parent_path() / line.substr(kNamed.size());
  return original_file(lesson);
}

}  // namespace

std::string applied(const std::string& edit, const std::string& original) {
  Lines result = edited_lines(original);
  std::string first_lines;
  std::vector<Hunk> hunks;
  for (const std::string& line : lines_of(edit))
    if (line == "@@")
      hunks.emplace_back();
    else if (hunks.empty())
      first_lines += line.starts_with(kNamed) ? "" : line + "\n";
    else
      add(hunks.back(), line);
  std::vector<std::size_t> places;  // before any of them changes the others'
  for (const Hunk& hunk : hunks) places.push_back(place_of(hunk, result));
  for (std::size_t i = hunks.size(); i-- > 0;) {
    if (i + 1 < hunks.size() && places[i] + hunks[i].before.size() > places[i + 1])
      throw Error("edit", "hunks in the order of the library's file, side by side",
                  "two that overlap, or stand the other way round", "put them in order");
    const auto at = result.begin() + static_cast<std::ptrdiff_t>(places[i]);
    const auto after = result.erase(at, at + static_cast<std::ptrdiff_t>(hunks[i].before.size()));
    result.insert(after, hunks[i].after.begin(), hunks[i].after.end());
  }
  return first_lines + joined(result);
}

HandedIn::HandedIn(int lesson, const std::filesystem::path& place) : file_(with_ending(place)) {
  if (file_.extension() != ".edit") return;
  const std::string edit = read_text(file_);
  const std::filesystem::path original = original_of(file_, edit, lesson);
  std::string text;
  try {
    text = applied(edit, read_text(original));
  } catch (const Error& error) {
    throw Error(file_.string() + ": " + error.what());
  }
  folder_.emplace();
  file_ = folder_->path() / file_.stem().concat(original.extension().string());
  std::ofstream(file_) << text;
}

}  // namespace ringcraft::judge
