// Compares names with tables of forms.
#include "grade/intake/names.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>

#include "grade/intake/folded.hpp"

namespace ringcraft::grade {
namespace {

bool is_name_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_letter(char c) { return is_name_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name_of(std::string_view name, std::initializer_list<std::string_view> known) {
  return std::ranges::find(known, name) != known.end();
}

// ---- exports

// *: the student, as short as possible; #: digits, an id; $: letters and digits, an id; +: digits, in the
// order of uploads; &: the rest; =: a text that was typed in; all else stands for itself.
struct ExportForm {
  std::string_view pattern;
  bool late = false, id_stays = false;
  bool is_of_files = true;  // the name of a file of the student's stands in it; all of these come first
};

// The one with the shortest student, then the first that fits. Moodle: "Ada
// Lovelace_123_assignsubmission_file_", a folder or in front of a file's name. Canvas:
// "lovelaceada_LATE_123_456_merge-1.cpp". Gradescope: "submission_123", a folder.
constexpr ExportForm kExportForms[] = {
    {"*_#_assignsubmission_file_&"},
    {"*_#_assignsubmission_file"},
    {"*_#_assignsubmission_onlinetext_&"},
    {"*_#_assignsubmission_onlinetext"},
    {"*_LATE_#_+_&", true, true},
    {"*_#_+_&", false, true},
    {"LATE_anon_$_+_&", true, false, false},
    {"anon_$_+_&", false, false, false},
    {"*_LATE_#_=", true, true, false},
    {"*_#_=", false, true, false},
    {"submission_#", false, false, false},
};

bool export_fits(std::string_view name, std::string_view pattern, ExportedName& found);

bool export_fits_from(std::size_t taken, std::string_view name, std::string_view pattern,
                      ExportedName& found) {
  return taken > 0 && export_fits(name.substr(taken), pattern.substr(1), found);
}

bool export_fits(std::string_view name, std::string_view pattern, ExportedName& found) {
  if (pattern.empty()) return name.empty();
  const auto run = [&](auto belongs) {
    return static_cast<std::size_t>(std::ranges::find_if_not(name, belongs) - name.begin());
  };
  const std::size_t digits = run(is_name_digit), letters = run(is_name_letter);
  switch (pattern.front()) {
    case '*':
      for (auto end = name.find('_', 1); end < name.size(); end = name.find('_', end + 1))
        if (export_fits_from(end, name, pattern, found)) {
          found.student = name.substr(0, end);
          return true;
        }
      return false;
    case '#':
    case '$': {
      const std::size_t taken = pattern.front() == '#' ? digits : letters;
      found.id = name.substr(0, taken);
      return export_fits_from(taken, name, pattern, found);
    }
    case '+':
      found.order = 0;
      for (const char digit : name.substr(0, std::min<std::size_t>(digits, 18)))
        found.order = 10 * found.order + static_cast<std::uint64_t>(digit - '0');
      return export_fits_from(digits, name, pattern, found);
    case '&':
      found.rest = name;
      return true;
    case '=':
      found.rest = name;
      return name == "text.html" || name == "link.html";
    default:
      return !name.empty() && name.front() == pattern.front() && export_fits_from(1, name, pattern, found);
  }
}

// ---- files

constexpr std::string_view kArchiveEndings[] = {".zip",    ".tar",     ".tar.gz", ".tgz", ".tar.bz2",
                                                ".tar.xz", ".tar.zst", ".7z",     ".rar"};

// "merge-2", "merge_v2", "merge (1)", "merge copy": what stands before, and the number.
std::pair<std::string_view, int> split_attempt(std::string_view stem) {
  for (const std::string_view word : {" - copy", " copy"})
    if (stem.ends_with(word)) return {stem.substr(0, stem.size() - word.size()), 1};
  const bool bracketed = stem.ends_with(")");
  const std::string_view whole = stem;
  if (bracketed) stem.remove_suffix(1);
  int number = 0, digits = 0;
  for (int unit = 1; !stem.empty() && is_name_digit(stem.back()) && digits < 6; unit *= 10, ++digits) {
    number += unit * (stem.back() - '0');
    stem.remove_suffix(1);
  }
  if (digits == 0 || stem.empty()) return {whole, 0};
  if (!bracketed && stem.ends_with("v")) stem.remove_suffix(1);
  const std::string_view marks = bracketed ? "(" : "-_ ";
  if (stem.empty() || marks.find(stem.back()) == marks.npos) return {whole, 0};
  stem.remove_suffix(1);
  if (bracketed && stem.ends_with(" ")) stem.remove_suffix(1);
  return stem.empty() ? std::pair{whole, 0} : std::pair{stem, number};
}

std::string ending_of(std::string_view name) { return std::filesystem::path(name).extension().string(); }

}  // namespace

std::optional<ExportedName> exported_name(std::string_view name) {
  std::optional<ExportedName> best;
  for (const ExportForm& form : kExportForms) {
    ExportedName found;
    const bool rival = best && form.is_of_files;  // what a student called a file may have another form
    if ((best && !rival) || !export_fits(name, form.pattern, found)) continue;
    if (rival && found.student.size() >= best->student.size()) continue;
    if (found.student.empty()) found.student = found.id;
    found.late = form.late;
    found.id_stays = form.id_stays;
    best = std::move(found);
  }
  return best;
}

bool is_passed_over(std::string_view name) {
  return name.starts_with(".") || name.starts_with("#") || name.ends_with("~") || name.ends_with(".orig") ||
         name.ends_with(".bak") || name.ends_with(".o") || name.ends_with(".before-reset") ||
         name.starts_with("cmake-build") ||
         is_name_of(name, {"build", "__MACOSX", "__pycache__", "node_modules", "Thumbs.db", "desktop.ini",
                           "README.md", "LICENSE", "progress.txt"});
}

std::optional<std::string> stem_of_archive(std::string_view name) {
  const std::string small = lowered(name);
  for (const std::string_view ending : kArchiveEndings)
    if (small.size() > ending.size() && small.ends_with(ending))
      return std::string(name.substr(0, name.size() - ending.size()));
  return {};
}

bool is_header_name(std::string_view name) {
  return is_name_of(ending_of(name), {".hpp", ".cuh", ".h"});  // those that the judge reads
}

bool may_matter(std::string_view name, const std::vector<Exercise>& exercises) {
  const auto is_work = [&, small = lowered(name)](const Exercise& one) {
    const std::string_view ending =
        std::string_view(one.file).substr(std::min(one.file.rfind('.'), one.file.size()));
    const bool ends_alike = small.ends_with(ending) || small.ends_with(".txt");  // most names end here
    return name == one.folder || (ends_alike && fit(name, one.file));
  };
  return stem_of_archive(name) || is_header_name(name) || name == kGradescopeMetadata ||
         name == "exercises" || std::ranges::any_of(exercises, is_work);
}

std::optional<Fit> fit(std::string_view name, std::string_view file) {
  std::string small = lowered(name);
  const std::string wanted = lowered(file), ending = ending_of(wanted);
  Fit result;
  if (small.ends_with(ending + ".txt")) {
    result.as_txt = true;
    small.resize(small.size() - 4);
  }
  if (!small.ends_with(ending)) return {};
  const std::string_view stem = std::string_view(small).substr(0, small.size() - ending.size());
  const std::string_view wanted_stem = std::string_view(wanted).substr(0, wanted.size() - ending.size());
  for (const auto& [before, attempt] : {std::pair{stem, 0}, split_attempt(stem)}) {
    if (!before.ends_with(wanted_stem)) continue;
    const std::size_t front = before.size() - wanted_stem.size();
    if (front > 0 && std::string_view("_- ").find(before[front - 1]) == std::string_view::npos) continue;
    result.before = name.substr(0, front);
    result.attempt = attempt;
    return result;
  }
  return {};
}

std::string without_attempt(const std::string& name) {
  const std::string ending = ending_of(name);
  const std::string_view stem = std::string_view(name).substr(0, name.size() - ending.size());
  return std::string(split_attempt(stem).first) + ending;
}

Identified identify(std::string_view name, const std::vector<std::string>& folders,
                    const std::vector<Exercise>& exercises) {
  const auto lies_there = [&](const Exercise& one) {
    return std::ranges::any_of(folders,
                               [&](const auto& folder) { return lowered(folder) == lowered(one.folder); });
  };
  // The longest name, for forward.cpp is the end of blockwise_forward.cpp; then the one whose folder it lies
  // in.
  Identified best;
  std::pair<std::size_t, bool> best_rank;
  for (const Exercise& one : exercises) {
    std::optional<Fit> found = fit(name, one.file);
    if (!found) continue;
    const std::pair rank{one.file.size(), lies_there(one)};
    if (best.exercise != nullptr && rank < best_rank) continue;
    best = {&one, best.exercise != nullptr && rank == best_rank, std::move(*found)};
    best_rank = rank;
  }
  if (best.several) best.exercise = nullptr;
  return best;
}

std::string safe_name(std::string_view name) {
  std::string safe;
  for (const char c : transliterated(name)) {
    if (is_name_letter(c) || c == '_' || c == '.')
      safe += c;
    else if (!safe.empty() && safe.back() != '-')
      safe += '-';
    if (safe.size() == 60) break;
  }
  safe.erase(0, std::min(safe.find_first_not_of(".-"), safe.size()));
  while (safe.ends_with('.') || safe.ends_with('-')) safe.pop_back();
  return safe.empty() ? std::string(kNoName) : safe;
}

std::string lowered(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

}  // namespace ringcraft::grade
