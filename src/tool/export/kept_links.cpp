// Finds links in Markdown pages and drops those that lead nowhere.
#include "tool/export/kept_links.hpp"

#include <algorithm>
#include <filesystem>

namespace ringcraft::tool {
namespace {

// Where the words of the link whose "](" is at `middle` begin: after the '[' that fits; npos without one.
std::size_t begin_of_words(std::string_view line, std::size_t middle) {
  int open = 1;
  for (std::size_t at = middle; at > 0; --at) {
    if (line[at - 1] == ']') ++open;
    if (line[at - 1] == '[' && --open == 0) return at;
  }
  return line.npos;
}

bool in_code(std::string_view line, std::size_t at) {
  return std::ranges::count(line.substr(0, at), '`') % 2 == 1;
}

// The file that a link names: nothing for one to the web, or to a part of its own page.
std::string target_of(std::string_view page_path, std::string_view link) {
  link = link.substr(0, link.find('#'));
  if (link.empty() || link.find(':') != link.npos || link.find(' ') != link.npos) return {};
  return (std::filesystem::path(page_path).parent_path() / link).lexically_normal().generic_string();
}

std::string line_without(std::string_view page_path, std::string line,
                         const std::function<bool(const std::string&)>& is_there) {
  for (std::size_t middle = 0; (middle = line.find("](", middle)) != line.npos; ++middle) {
    const std::size_t words = begin_of_words(line, middle), end = line.find(')', middle);
    if (words == line.npos || end == line.npos || in_code(line, middle)) continue;
    const std::string target =
        target_of(page_path, std::string_view(line).substr(middle + 2, end - middle - 2));
    if (target.empty() || is_there(target)) continue;
    line.erase(middle, end + 1 - middle);
    line.erase(words - 1, 1);
    middle -= 2;  // of the words; the loop adds one
  }
  return line;
}

}  // namespace

std::string without_dead_links(std::string_view page_path, std::string_view text,
                               const std::function<bool(const std::string&)>& is_there) {
  std::string result;
  bool fenced = false;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string line(text.substr(0, length));
    if (line.find_first_not_of(' ') != line.npos &&
        line.substr(line.find_first_not_of(' ')).starts_with("```"))
      fenced = !fenced;
    result += fenced ? line : line_without(page_path, line, is_there);
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace ringcraft::tool
