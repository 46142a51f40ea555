// Reads a roster, and finds people in it by their ids or names.
#include "grade/intake/roster.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "grade/intake/folded.hpp"
#include "grade/intake/names.hpp"
#include "grade/intake/text_rules.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr const char* kAdvice = "save or export it as CSV in UTF-8";

// The one that the first line has most of, outside of quotes.
char separator_of(std::string_view text) {
  std::map<char, int> counts;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '\n') break;
    if (!quoted && (c == ',' || c == ';' || c == '\t')) ++counts[c];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? ',' : most->first;
}

void require_text(std::string_view text, const std::string& place) {
  const auto refuse = [&](const std::string& what) {
    throw Error("grade --roster", "a table as text in UTF-8", place + what, kAdvice);
  };
  if (text.starts_with("PK\x03\x04")) refuse(", which is a workbook or an archive");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) refuse(", which is in UTF-16");
  int line = 1;
  while (!text.empty()) {
    const std::size_t letter = first_code_point(text).bytes;
    if (letter == 0) refuse(", whose line " + std::to_string(line) + " is not in UTF-8 (perhaps in Latin-1)");
    if (text[0] == '\0') refuse(", with a zero byte in line " + std::to_string(line));
    line += text[0] == '\n' ? 1 : 0;
    text.remove_prefix(letter);
  }
}

// Lines of cells.
std::vector<std::vector<std::string>> cells_of(std::string_view text, char separator,
                                               const std::string& place) {
  std::vector<std::vector<std::string>> lines(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& cell = lines.back().back();
    if (quoted && text[i] == '"' && text.substr(i + 1).starts_with('"'))
      cell += text[i++];
    else if (text[i] == '"' && (quoted || cell.empty()))
      quoted = !quoted;
    else if (quoted)
      cell += text[i];
    else if (text[i] == separator)
      lines.back().emplace_back();
    else if (text[i] == '\n')
      lines.emplace_back(1);
    else if (text[i] != '\r')
      cell += text[i];
  }
  if (quoted)
    throw Error("grade --roster", "a table in which every quote ends",
                place + ", where the last one does not", kAdvice);
  std::erase_if(lines, [](const auto& line) { return std::ranges::all_of(line, &std::string::empty); });
  return lines;
}

std::string id_in(const std::string& cell) {
  constexpr std::string_view kMoodle = "participant ";
  const std::string id = lowered(cell);
  return id.starts_with(kMoodle) ? id.substr(kMoodle.size()) : id;
}

bool is_of_names(const std::string& head) {
  const std::string words = lowered(head);
  return words == "student" || (words.find("name") != words.npos && words.find("user") == words.npos);
}

// People and lines, with all names folded once.
struct Search {
  const Roster& roster;
  const std::vector<Person>& people;
  std::vector<std::vector<std::string>> cells = {};  // folded, of each line
  std::vector<std::string> names = {};               // folded, of each person
  bool has_names = std::ranges::any_of(roster.head, is_of_names);

  Search(const Roster& all, const std::vector<Person>& who) : roster(all), people(who) {
    for (const auto& row : roster.rows) {
      cells.emplace_back();
      for (const std::string& cell : row) cells.back().push_back(folded(cell));
    }
    for (const Person& person : people) names.push_back(folded(person.name));
  }

  // Whether the person's name stands in the line, in one cell or in two. A person without a name contradicts
  // none.
  bool bears_name(std::size_t line, std::size_t person) const {
    const std::string& name = names[person];
    const std::vector<std::string>& row = cells[line];
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (row[c] == name) return true;
      if (c + 1 < row.size() && (row[c] + row[c + 1] == name || row[c + 1] + row[c] == name)) return true;
    }
    return name.empty();
  }
};

// A way to find people: what stands for a line, and for a person. Empty texts stand for nobody.
struct Way {
  std::function<std::string(std::size_t line)> of_line;
  std::function<std::string(std::size_t person)> of_person;
};
using Ways = std::vector<Way>;

// By ids, by names as they are typed, and by names without their case, marks and blanks: the surest first.
std::vector<Ways> ways_of(const Search& search) {
  const auto& rows = search.roster.rows;
  const auto& people = search.people;
  const auto& cells = search.cells;
  const auto id = [&](std::size_t p) { return lowered(people[p].id); };
  const auto typed = [&](std::size_t p) { return lowered(people[p].name); };
  const auto name = [&](std::size_t p) { return search.names[p]; };
  std::vector<Ways> all(3);
  for (std::size_t c = 0; c < search.roster.head.size(); ++c) {
    all[0].push_back({[&rows, c](std::size_t line) { return id_in(rows[line][c]); }, id});
    all[1].push_back({[&rows, c](std::size_t line) { return lowered(rows[line][c]); }, typed});
    all[2].push_back({[&cells, c](std::size_t line) { return cells[line][c]; }, name});
    if (c + 1 == search.roster.head.size()) continue;
    all[2].push_back({[&cells, c](std::size_t line) { return cells[line][c] + cells[line][c + 1]; }, name});
    all[2].push_back({[&cells, c](std::size_t line) { return cells[line][c + 1] + cells[line][c]; }, name});
  }
  return all;
}

std::vector<std::optional<std::size_t>> found_by(const Way& way, const Search& search) {
  std::map<std::string, std::vector<std::size_t>> lines;
  for (std::size_t line = 0; line < search.roster.rows.size(); ++line)
    lines[way.of_line(line)].push_back(line);
  std::vector<std::optional<std::size_t>> found;
  for (std::size_t person = 0; person < search.people.size(); ++person) {
    const std::string text = way.of_person(person);
    const auto at = lines.find(text);
    const bool is_one = !text.empty() && at != lines.end() && at->second.size() == 1;
    const bool fits = is_one && (!search.has_names || search.bears_name(at->second.front(), person));
    found.push_back(fits ? std::optional(at->second.front()) : std::nullopt);
  }
  return found;
}

std::ptrdiff_t count_of(const std::vector<std::optional<std::size_t>>& found) {
  return std::ranges::count_if(found, [](const auto& line) { return line.has_value(); });
}

// Different people on one line are on none; a person may have handed in several times.
void leave_out_shared(std::vector<std::optional<std::size_t>>& found, const std::vector<Person>& people) {
  const auto before = found;
  for (std::size_t p = 0; p < people.size(); ++p)
    for (std::size_t other = 0; other < people.size(); ++other) {
      const bool same = p == other || (!people[p].id.empty() && people[p].id == people[other].id);
      if (before[p] && before[p] == before[other] && !same) found[p].reset();
    }
}

}  // namespace

Roster read_roster(std::string_view text, const std::string& place) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  require_text(text, place);
  Roster roster{.separator = separator_of(text), .head = {}, .rows = {}};
  roster.rows = cells_of(text, roster.separator, place);
  if (roster.rows.size() < 2)
    throw Error("grade --roster", "a line with the names of columns, and one for each person",
                place + ", with " + counted(roster.rows.size(), "line"), kAdvice);
  roster.head = roster.rows.front();
  roster.rows.erase(roster.rows.begin());
  for (std::size_t line = 0; line < roster.rows.size(); ++line) {
    if (roster.rows[line].size() > roster.head.size())
      throw Error("grade --roster", counted(roster.head.size(), "cell") + " in each line, as in the first",
                  place + ", where " + shown(roster.rows[line].front()) + " has " +
                      std::to_string(roster.rows[line].size()),
                  kAdvice);
    roster.rows[line].resize(roster.head.size());
  }
  return roster;
}

std::vector<std::optional<std::size_t>> lines_of(const Roster& roster, const std::vector<Person>& people) {
  std::vector<std::optional<std::size_t>> best(people.size());
  const Search search(roster, people);
  for (const Ways& ways : ways_of(search)) {
    for (const Way& way : ways)
      if (auto found = found_by(way, search); count_of(found) > count_of(best)) best = std::move(found);
    if (2 * count_of(best) >= std::ssize(people)) break;  // a surer way that finds most of them
  }
  leave_out_shared(best, people);
  return best;
}

std::string label_of(const Roster& roster, std::size_t line) {
  std::string label;
  for (std::size_t c = 0; c < roster.head.size(); ++c)
    if (is_of_names(roster.head[c])) label += (label.empty() ? "" : " ") + roster.rows[line][c];
  if (folded(label).empty()) label = roster.rows[line].front();
  return folded(label).empty() ? "" : label;
}

bool is_of_points(const Roster& roster, std::size_t line) {
  return line < 2 && lowered(roster.head.front()) == "student" &&
         folded(roster.rows[line].front()) == "pointspossible";
}

}  // namespace ringcraft::grade
