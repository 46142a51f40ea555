#pragma once
/// @file
/// The parts of a diagnosis; not for users of the harness.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/match.hpp"
#include "verify/diagnose/solve/solve.hpp"

namespace ringcraft::verify {

/// The mistakes whose numbers a claim has, best first, and the ring in which they were found.
struct Found {
  std::vector<Match> matches;
  std::shared_ptr<const TwistedRing> ring;
  std::vector<Suspect> made;  ///< combinations of mistakes; matches may point into it
};

/// Whether a tensor of this group is wrong.
bool any_wrong(const Comparison& comparison, TensorGroup group);

/// Tries every mistake in one arrangement.
Found search(const Evidence& evidence, TensorGroup group, const Answer& saved,
             const Arrangement& arrangement);
/// Mistakes of backward on top of a mistake of forward that backward repeats; it starts from the claimed out
/// and lse.
Found search_after(const Evidence& evidence, const Twist& forward, const Arrangement& arrangement);
/// As search, in other numbers of ranks, other layouts and tiles; nothing if none of them fits wholly.
std::optional<Found> search_elsewhere(const Evidence& evidence, TensorGroup group, const Answer& saved);

/// Two mistakes of forward at once, which together explain all.
Found search_pairs(const Evidence& evidence, const Answer& saved, const Arrangement& arrangement);

/// Out and lse explained head by head, batch entry by batch entry or rank by rank, where nothing explains all
/// rows; the mistake that most parts have goes first. Empty if some part has no explanation.
std::vector<Cause> causes_by_parts(const Evidence& evidence);

/// Two mistakes of backward at once, which together explain all.
Found search_gradient_pairs(const Evidence& evidence, const Answer& saved, const Arrangement& arrangement);

/// If gradients are right but for what they held before, which is lost.
std::optional<Cause> cause_of_lost_start(const Evidence& evidence, const Answer& before);

/// Known mistakes as causes: the best first, where no mistake explains all tensors the best for each tensor.
/// `elsewhere` says in which other arrangement they were found.
std::vector<Cause> causes_of_known(const Found& found, const std::string& elsewhere = "");

/// Known mistakes of one group of tensors.
struct Known {
  std::vector<Cause> causes;
  Found found;
};
/// Searches one group of tensors; where nothing fits wholly, in other arrangements, too.
Known searched(const Evidence& evidence, TensorGroup group, const Answer& saved, Ranks ranks);
/// The same where no number of out is left, which has many causes: the finding goes first, then what leaves
/// none on these very ranks. Zeros everywhere on one device have few, if any.
Known searched_without_numbers(const Evidence& evidence);
/// Mistakes of backward where forward is wrong, too.
Known searched_after(const Evidence& evidence, const Found& forward, Ranks ranks);
/// Whether the gradients are those of the wrong forward pass, found or not.
bool follows(const Evidence& evidence, const Found& forward);

/// Whether a mistake explains all wrong tensors, on some ranks at least.
bool explains_all(const Found& found);
/// Whether it explains every row that was looked at, too, on the ranks that it names.
bool explains_each_row(const Found& found);
/// Whether every wrong tensor of a group has a mistake that gives it.
bool explains_each(const Found& found, const Comparison& comparison, TensorGroup group);
/// Whether all that is known is that keys are lost, which NaN and zeros are a sign of, too.
bool is_of_lost_keys(const Found& found);

/// "a, b and c".
std::string list_of(const std::vector<std::string>& words);
/// Adds those whose ids are not there yet.
void append(std::vector<Cause>& causes, const std::vector<Cause>& more);

/// Something that may explain the numbers, and when it is asked.
struct Attempt {
  enum class When : std::uint8_t {
    kUnsolved,  ///< nothing explains them yet
    kVague,     ///< nothing does, or only by which numbers are wrong (see is_general)
    kListed,    ///< nothing does, or only in a vague way, or with a list of ranks and blocks
  };
  When when;
  std::function<SolvedPass()> solve;
};
/// Makes the attempts in turn; the last that succeeds is kept.
void attempt(SolvedPass& solved, const std::vector<Attempt>& attempts);
/// Whether nothing explains the numbers, or only by which of them are wrong.
bool is_vague(const SolvedPass& solved);
/// Whether it says it all with one particular mistake: then it is preferred to a known mistake that leaves
/// some rows out.
bool is_clear(const std::vector<Cause>& causes);
/// Whether there is something to solve for: no NaN, no infinity (but lse of a row without a key), not all
/// zero.
bool are_numbers(const Evidence& evidence, TensorGroup group);

/// The forward pass, explained.
struct ForwardResult {
  std::vector<Cause> causes;
  Found found;         ///< the known mistakes
  Setting setting;     ///< in which it was solved
  bool alone = false;  ///< it says it all: nothing is asked about gradients
};
/// Of out and lse.
ForwardResult explain_forward(const Evidence& evidence, Ranks ranks);
/// Of dq, dk and dv, added to the result.
void explain_backward(const Evidence& evidence, Ranks ranks, const ForwardResult& forward, Diagnosis& result);

/// Whether a tensor is zero everywhere.
bool all_zero(const Buffer& tensor);
/// If all wrong rows still hold what was there before the call.
std::optional<Cause> cause_of_unwritten(const Evidence& evidence, TensorGroup group);

/// What the size of the errors, and numbers that are none, say.
std::vector<Cause> causes_by_numbers(const Evidence& evidence, TensorGroup group);

/// The first wrong row: rank, step, tensor, chunk, head, local row. `found` may hold no match.
std::string place_of(const Evidence& evidence, const Found& found);

}  // namespace ringcraft::verify
