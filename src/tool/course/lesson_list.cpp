// Reads and prints lists of lessons.
#include "tool/course/lesson_list.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "judge/verdict/judge.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

[[noreturn]] void malformed(const std::string& flag, const std::string& part) {
  throw Error(flag, "lessons such as 101-103,201", "'" + shown(part) + "'",
              "write numbers and ranges, with commas between them");
}

int one_lesson(const std::string& flag, const std::string& part, std::string_view digits,
               const std::set<int>& known) {
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.size() != 3 || error != std::errc() || end != digits.data() + digits.size())
    malformed(flag, part);
  if (!known.contains(number)) {
    std::set<int> all;  // so that a gap between two lessons shows
    for (int each = *known.begin(); each <= *known.rbegin(); ++each) all.insert(each);
    throw Error(flag, "lessons with an exercise: " + listed_lessons(known, all), std::to_string(number),
                "see ./ringcraft lessons for the road");
  }
  return number;
}

}  // namespace

std::set<int> lessons_with_exercise() {
  std::set<int> numbers;
  for (const judge::LessonInfo& lesson : judge::lessons()) numbers.insert(lesson.number);
  return numbers;
}

std::set<int> judged_lessons() {
  std::set<int> numbers;
  for (const judge::LessonInfo& lesson : judge::lessons())
    if (lesson.checkable) numbers.insert(lesson.number);
  return numbers;
}

std::set<int> lessons_listed(const std::string& flag, const std::string& text, const std::set<int>& known) {
  std::set<int> lessons;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const std::size_t dash = part.find('-');
    const std::string_view whole = part;
    const int first = one_lesson(flag, part, whole.substr(0, dash), known);
    const int last = dash == part.npos ? first : one_lesson(flag, part, whole.substr(dash + 1), known);
    if (last < first) malformed(flag, part);
    std::ranges::copy_if(known, std::inserter(lessons, lessons.end()),
                         [=](int lesson) { return lesson >= first && lesson <= last; });
    at = comma + 1;
  }
  return lessons;
}

std::string listed_lessons(const std::set<int>& lessons, const std::set<int>& known) {
  std::string text;
  int first = 0, last = 0;  // of the run that is open
  const auto close = [&] {
    if (first == 0) return;
    text +=
        (text.empty() ? "" : ", ") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    first = 0;
  };
  for (const int lesson : known) {
    if (!lessons.contains(lesson)) {
      close();
    } else {
      first = first == 0 ? lesson : first;
      last = lesson;
    }
  }
  close();
  return text.empty() ? "none" : text;
}

}  // namespace ringcraft::tool
