// Reads a roster, and finds people in it by their ids or names.
#include "grade/intake/roster.hpp"

#include <algorithm>
#include <functional>

#include "grade/intake/names.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr const char* kAdvice = "export the gradebook or the participants as CSV, in UTF-8";

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
  int line = 1;
  while (!text.empty()) {
    const bool blank = text[0] == '\n' || text[0] == '\r' || text[0] == '\t';
    const std::size_t letter = blank ? 1 : letter_at_front(text);
    if (letter == 0)
      throw Error("grade --roster", "a table as text in UTF-8",
                  place + ", line " + std::to_string(line) + ", with a byte or a letter that is none",
                  kAdvice);
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

// "Lovelace, Ada" and "lovelaceada" are one name.
std::string squeezed(std::string_view name) {
  std::string letters = lowered(name);
  std::erase_if(letters, [](char c) {
    return static_cast<unsigned char>(c) < 0x80 && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9');
  });
  return letters;
}

// A way to find people: what stands for a line, and for a person. Empty texts stand for nobody.
struct Way {
  std::function<std::string(const std::vector<std::string>& row)> of_row;
  std::function<std::string(const Person&)> of_person;
};

std::vector<Way> ways_of(const Roster& roster) {
  const auto id = [](const Person& person) { return lowered(person.id); };
  const auto name = [](const Person& person) { return squeezed(person.name); };
  std::vector<Way> by_id, by_name;
  for (std::size_t c = 0; c < roster.head.size(); ++c) {
    by_id.push_back({[c](const auto& row) {
                       constexpr std::string_view kMoodle = "participant ";
                       const std::string cell = lowered(row[c]);
                       return cell.starts_with(kMoodle) ? cell.substr(kMoodle.size()) : cell;
                     },
                     id});
    by_name.push_back({[c](const auto& row) { return squeezed(row[c]); }, name});
    if (c + 1 == roster.head.size()) continue;
    by_name.push_back({[c](const auto& row) { return squeezed(row[c] + row[c + 1]); }, name});
    by_name.push_back({[c](const auto& row) { return squeezed(row[c + 1] + row[c]); }, name});
  }
  std::ranges::move(by_name, std::back_inserter(by_id));
  return by_id;
}

std::vector<std::optional<std::size_t>> found_by(const Way& way, const Roster& roster,
                                                 const std::vector<Person>& people) {
  std::map<std::string, std::vector<std::size_t>> lines;
  for (std::size_t line = 0; line < roster.rows.size(); ++line)
    lines[way.of_row(roster.rows[line])].push_back(line);
  std::vector<std::optional<std::size_t>> found;
  for (const Person& person : people) {
    const std::string text = way.of_person(person);
    const auto at = lines.find(text);
    const bool is_one = !text.empty() && at != lines.end() && at->second.size() == 1;
    found.push_back(is_one ? std::optional(at->second.front()) : std::nullopt);
  }
  return found;
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
  std::ptrdiff_t most = 0;
  for (const Way& way : ways_of(roster)) {
    auto found = found_by(way, roster, people);
    const auto all = std::ranges::count_if(found, [](const auto& line) { return line.has_value(); });
    if (all > most) most = all, best = std::move(found);
  }
  return best;
}

std::string label_of(const Roster& roster, std::size_t line) {
  std::string label;
  for (std::size_t c = 0; c < roster.head.size(); ++c) {
    const std::string head = lowered(roster.head[c]);
    const bool is_name = head.find("name") != head.npos && head.find("user") == head.npos;
    if (is_name || head == "student") label += (label.empty() ? "" : " ") + roster.rows[line][c];
  }
  return label.empty() ? roster.rows[line].front() : label;
}

bool is_of_points(const std::vector<std::string>& row) {
  return std::ranges::any_of(row, [](const std::string& cell) { return squeezed(cell) == "pointspossible"; });
}

}  // namespace ringcraft::grade
