// Shows the files lessons/NNN_name/hints/N.md as plain text.
#include "tool/course/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "tool/terminal/columns.hpp"

namespace ringcraft::tool {
namespace {

std::vector<std::string> hints_of(const Course& course, const std::string& id) {
  const auto folder = course.reading(id).parent_path() / "hints";
  std::vector<std::string> pages;
  for (int level = 1; std::filesystem::exists(folder / (std::to_string(level) + ".md")); ++level)
    pages.push_back(read_text_file("hint", folder / (std::to_string(level) + ".md"), 1 << 16));
  return pages;
}

}  // namespace

std::string next_hint(Course& course, const std::string& id, std::size_t width) {
  const std::vector<std::string> pages = hints_of(course, id);
  const int all = static_cast<int>(pages.size()), before = course.progress().hints(id);
  const int shown = std::min(all, before + 1);
  std::string text;
  for (int level = 1; level <= shown; ++level)
    text += fmt::format("{}: hint {} of {}\n\n{}\n", title_of(course, id), level, all,
                        plain_of_markdown(pages[static_cast<std::size_t>(level - 1)], width));
  if (before >= all)
    text += "These are all hints. The reading says more: " + shown_path(course.reading(id)) + "\n";
  try {
    course.progress().add_hints(id, shown);
  } catch (const Error& error) {
    text +=
        std::string("\nThe next call shows this one again: ") + ringcraft::shown(error.what(), 4000) + "\n";
  }
  return text;
}

}  // namespace ringcraft::tool
