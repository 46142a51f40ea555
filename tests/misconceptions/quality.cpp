// Places of the right causes, and what becomes of a file when its row is taken out (see quality.hpp).
#include "quality.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

#include "judge/verdict/diagnosis.hpp"

namespace ringcraft::judge {
namespace {

// Places of an id among causes: 1 is the first, 0 is not there.
int place_of(const std::string& id, const std::vector<verify::Cause>& causes) {
  const auto found = std::ranges::find(causes, id, &verify::Cause::id);
  return found == causes.end() ? 0 : static_cast<int>(found - causes.begin()) + 1;
}

// What a report on this fingerprint would say.
std::vector<verify::Cause> causes_of(const Fingerprint& seen, const std::vector<Misconception>& known) {
  std::vector<verify::Cause> causes = diagnose(seen, known);
  if (causes.empty())
    for (const Part& part : parts_of(seen, known)) causes.push_back(part.cause);
  return causes;
}

struct Tally {
  int files = 0, first = 0, named = 0;        // with all rows of the table
  int kin = 0, kin_first = 0, kin_named = 0;  // without its own row, while another has its id
  int strange = 0, strange_silent = 0;        // without its own row, and none has its id
  void add(const Tally& t) {
    files += t.files, first += t.first, named += t.named, kin += t.kin, kin_first += t.kin_first;
    kin_named += t.kin_named, strange += t.strange, strange_silent += t.strange_silent;
  }
};

Tally tally_of(const LessonInfo& lesson) {
  const std::vector<Misconception> table = read_misconceptions(misconceptions_file(lesson.number));
  Tally tally;
  for (const Misconception& row : table) {
    const int place = place_of(row.id, causes_of(row.fingerprint, table));
    if (place != 1)
      std::printf("  %s/%s: %s is in place %d\n", lesson.name.c_str(), row.file.c_str(), row.id.c_str(),
                  place);
    ++tally.files;
    tally.first += place == 1;
    tally.named += place > 0;
    std::vector<Misconception> others;
    std::ranges::copy_if(table, std::back_inserter(others),
                         [&](const Misconception& o) { return o.file != row.file; });
    const auto causes = causes_of(row.fingerprint, others);
    if (std::ranges::find(others, row.id, &Misconception::id) != others.end()) {
      ++tally.kin;
      tally.kin_first += place_of(row.id, causes) == 1;
      tally.kin_named += place_of(row.id, causes) > 0;
    } else {
      ++tally.strange;
      tally.strange_silent += causes.empty();
      if (!causes.empty())
        std::printf("  %s/%s: without its row %s is taken for %s\n", lesson.name.c_str(), row.file.c_str(),
                    row.id.c_str(), causes.front().id.c_str());
    }
  }
  return tally;
}

void print(const std::string& name, const Tally& t) {
  std::printf("%-24s %5d %5d %5d   %5d %5d %5d   %7d %7d\n", name.c_str(), t.files, t.first, t.named, t.kin,
              t.kin_first, t.kin_named, t.strange, t.strange_silent);
}

}  // namespace

std::vector<std::string> complaints_about_diagnosis() {
  std::vector<std::string> found;
  std::map<std::string, Tally> tallies;
  Tally all;
  for (const LessonInfo& lesson : lessons()) all.add(tallies[lesson.name] = tally_of(lesson));
  std::printf("%-24s %-19s %-19s %s\n%-24s %5s %5s %5s   %5s %5s %5s   %7s %7s\n", "", "  whole table",
              "    without its row,", "    without its kind", "", "files", "first", "named", "files", "first",
              "named", "files", "silent");
  for (const auto& [name, tally] : tallies) print(name, tally);
  print("all", all);
  if (all.named != all.files) found.push_back("not every known file is given its cause");
  if (all.first * 100 < all.files * 80) found.push_back("less than 80 % are given their cause first");
  if (all.strange_silent * 100 < all.strange * 80)
    found.push_back("more than 20 % of unknown mistakes are taken for known ones");
  return found;
}

}  // namespace ringcraft::judge
