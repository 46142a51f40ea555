// Finds lessons and their checks by number, and counts the answers of a Trial.
#include "judge/checks/lesson.hpp"

#include <algorithm>
#include <map>

#include "judge/tree/config.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {

void Trial::note_unanswered(const Misbehaviour& misbehaviour) {
  using Kind = Misbehaviour::Kind;
  const bool for_good = misbehaviour.kind() == Kind::kSilent || misbehaviour.kind() == Kind::kUnwritten;
  constexpr int kFilledMemory = 6;  // it takes seconds, where the end of a worker takes none
  unanswered_ = for_good                               ? kMostUnanswered
                : misbehaviour.kind() == Kind::kMemory ? unanswered_ + kFilledMemory
                                                       : unanswered_ + 1;
}

bool Lesson::can_be_judged() const { return !is_kernel() || !kKernelCompile.empty(); }

const std::vector<Check>& checks_of(const Lesson& lesson) {
  static std::map<int, std::vector<Check>> made;
  if (const auto found = made.find(lesson.number); found != made.end()) return found->second;
  if (const auto make = checks_in_program(lesson.number)) return made[lesson.number] = make();
  throw Error("lesson " + std::to_string(lesson.number), "a program with its checks", "one without",
              "call ./ringcraft check " + std::to_string(lesson.number), Code::kMissing);
}

double all_points(const std::vector<Check>& checks) {
  double points = 0;
  for (const Check& check : checks) points += check.weight;
  return points;
}

const Lesson& lesson_numbered(int number) {
  const auto& lessons = all_lessons();
  const auto found = std::ranges::find(lessons, number, &Lesson::number);
  if (found != lessons.end()) return *found;
  std::string known;
  for (const Lesson& lesson : lessons) known += (known.empty() ? "" : ", ") + std::to_string(lesson.number);
  throw Error("lesson", "one of " + known, std::to_string(number), "see ./ringcraft lessons for the road");
}

}  // namespace ringcraft::judge
