// The table of lessons (see lesson.hpp).
#include "judge/checks/lesson.hpp"

#include <algorithm>

#include "judge/tree/config.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {

const std::vector<Lesson>& all_lessons() {
  static const std::vector<Lesson> lessons{
      lesson_101(), lesson_102(), lesson_103(), lesson_104(), lesson_105(), lesson_106(), lesson_107(),
      lesson_108(), lesson_201(), lesson_202(), lesson_203(), lesson_204(), lesson_205(), lesson_206(),
      lesson_301(), lesson_302(), lesson_303(), lesson_304(), lesson_401(), lesson_402(), lesson_403()};
  return lessons;
}

bool Lesson::can_be_judged() const { return !is_kernel() || !kKernelCompile.empty(); }

const Lesson& lesson_numbered(int number) {
  const auto& lessons = all_lessons();
  const auto found = std::ranges::find(lessons, number, &Lesson::number);
  if (found != lessons.end()) return *found;
  std::string known;
  for (const Lesson& lesson : lessons) known += (known.empty() ? "" : ", ") + std::to_string(lesson.number);
  throw Error("lesson", "one of " + known, std::to_string(number), "see ./ringcraft lessons for the road");
}

}  // namespace ringcraft::judge
