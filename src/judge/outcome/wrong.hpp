#pragma once
/// @file
/// The failure of a check: a code, its observations as data, and a sentence that is put together last.

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/outcome/outcome.hpp"
#include "judge/outcome/statement.hpp"
#include "judge/run/team.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/report/error_map.hpp"

namespace ringcraft::judge {

/// The exception that a failed check throws.
class Wrong : public std::exception {
 public:
  /// `how` is one of namespace sign; `which` names this failure among those of a check, "extra-passes",
  /// and stays the same when the wording changes. `words` has a {} for each fact; further facts are data
  /// alone.
  template <class... Facts>
  Wrong(char how, std::string which, std::string words, Facts&&... facts)
      : sign(how), code(std::move(which)), said{std::move(words), {Fact(std::forward<Facts>(facts))...}} {}

  /// The same with pictures of the wrong values.
  Wrong showing(std::vector<verify::ErrorMap> where) const;
  /// The same with more data.
  Wrong knowing(std::vector<Fact> facts) const;
  /// The same with the question and its answer, for a diagnosis.
  Wrong exhibiting(verify::Exhibit what) const;
  /// The same with these words in front, or at the end.
  Wrong labelled(const std::string& front) const;
  Wrong followed_by(const std::string& end) const;  ///< see above

  /// The verdict in one sentence.
  std::string sentence() const;
  const char* what() const noexcept override { return code.c_str(); }  ///< the code

  char sign;                           ///< one of namespace sign
  std::string code;                    ///< the name of the failure: see the constructor
  std::string label;                   ///< in front of the sentence: the case
  Statement said;                      ///< the rest of it
  std::vector<verify::ErrorMap> maps;  ///< empty if there is no picture
  verify::Exhibit exhibit;             ///< null if there is none
};

/// The outcome of a check that throws this.
Outcome outcome_of(const Wrong& wrong);

/// kNoNumber if a number is NaN or infinite, otherwise kValues.
char sign_of(double number);

/// Runs `action`; the label precedes the sentence of a failure.
template <class Action>
auto with_label(const std::string& label, Action action) {
  try {
    return action();
  } catch (const Misbehaviour& misbehaviour) {
    throw misbehaviour.labelled(label);
  } catch (const Wrong& wrong) {
    throw wrong.labelled(label);
  }
}

/// An exhibit of any kind, with shared ownership.
template <class One>
verify::Exhibit exhibit_of(One exhibit) {
  return std::make_shared<const verify::Exhibit::element_type>(std::move(exhibit));
}

/// Runs `action`; a Wrong that it throws gets exhibit().
template <class Exhibit, class Action>
void exhibiting(Exhibit exhibit, Action action) {
  try {
    action();
  } catch (const Wrong& wrong) {
    throw wrong.exhibiting(exhibit_of(exhibit()));
  }
}

/// The exhibit of the Wrong that `action` throws; null if it has none, or nothing is wrong.
template <class Action>
verify::Exhibit exhibit_of_failure(Action action) {
  try {
    action();
  } catch (const Wrong& wrong) {
    return wrong.exhibit;
  }
  return nullptr;
}

/// Throws Wrong (sign::kInput), "WHO changed its argument q, which it may only read", if a bit of `changed`
/// (Answer) is set. The names are those of the function's arguments, from the first one on.
void require_unchanged(const std::string& who, std::uint32_t changed, std::span<const char* const> names);

}  // namespace ringcraft::judge
