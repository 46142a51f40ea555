#pragma once
/// @file
/// The parts of a diagnosis; internal to the harness.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/match.hpp"
#include "verify/diagnose/solve/solve.hpp"

namespace ringcraft::verify {

/// Mistakes whose numbers match a claim, best first, and the ring in which they were found.
struct Found {
  std::vector<Match> matches;
  std::shared_ptr<const TwistedRing> ring;
  std::vector<Suspect> made;              ///< combinations of mistakes; matches may point into it
  std::vector<Suspect> low_masks = {};    ///< likewise: with numbers that were solved for
  std::optional<Problem> elsewhere = {};  ///< the ring, if it is another than that of the claim
};

/// One mistake in two wordings, found by several parts of the diagnosis; the first one says more.
inline constexpr std::pair<std::string_view, std::string_view> kSameMistakes[] = {
    {"SS3", "scan-max-zero"},
    {"scan-max-zero", "scan-max-start"},
    {"ZZ2", "solved-mask-layout"},
    {"CM1", "solved-mask-local"},
    {"RF5", "solved-mask-local"},
    {"RB-stale", "solved-back-kv-own"}};

/// Those of these ids of known mistakes, masks by other laws among them, that a wrong answer rules out which
/// another mistake explains: they would show in it, on a rank that has a wrong row, and other numbers stand
/// there.
std::vector<std::string> mistakes_ruled_out(const AttentionExhibit& exhibit,
                                            const std::vector<std::string>& ids);
/// Likewise those that a right answer of a ring rules out: they would show in it.
std::vector<std::string> mistakes_ruled_out(const Case& right, const std::vector<std::string>& ids);

/// Whether a tensor of this group is wrong.
bool any_wrong(const Comparison& comparison, TensorGroup group);

/// Masks by a finite number instead of minus infinity, with the number that the rows of out and lse give, or
/// the limits that they set; empty if no row has hidden keys that count.
std::vector<Suspect> low_mask_suspects(const Evidence& evidence);

/// Tries every mistake in one arrangement.
Found search(const Evidence& evidence, TensorGroup group, const Answer& saved,
             const Arrangement& arrangement);
/// Searches mistakes of backward on top of a mistake of forward that backward repeats; starts from the
/// claimed out and lse.
Found search_after(const Evidence& evidence, const Twist& forward, const Arrangement& arrangement);
/// Like search, with other numbers of ranks, other layouts and tiles; empty if none of them fits completely.
std::optional<Found> search_elsewhere(const Evidence& evidence, TensorGroup group, const Answer& saved);

/// Two simultaneous mistakes of forward that together explain everything.
Found search_pairs(const Evidence& evidence, const Answer& saved, const Arrangement& arrangement);

/// Explains out and lse head by head, batch entry by batch entry or rank by rank, if nothing explains all
/// rows; the mistake of most parts comes first. Empty if some part has no explanation.
std::vector<Cause> causes_by_parts(const Evidence& evidence);

/// Two simultaneous mistakes of backward that together explain everything.
Found search_gradient_pairs(const Evidence& evidence, const Answer& saved, const Arrangement& arrangement);

/// The cause if gradients are right except that their previous contents are lost.
std::optional<Cause> cause_of_lost_start(const Evidence& evidence, const Answer& before);

/// Known mistakes as causes: the best first; if no mistake explains all tensors, the best for each tensor.
/// `elsewhere` names the other arrangement in which they were found.
std::vector<Cause> causes_of_known(const Found& found, const std::string& elsewhere = "");

/// Known mistakes of one group of tensors.
struct Known {
  std::vector<Cause> causes;
  Found found;
};
/// Searches one group of tensors; if nothing fits completely, in other arrangements, too.
Known searched(const Evidence& evidence, TensorGroup group, const Answer& saved, Ranks ranks);
/// The same if out contains no number at all, which has many causes: the finding comes first, then the
/// mistakes that leave no number on these ranks. Zeros everywhere on one device have few causes, if any.
Known searched_without_numbers(const Evidence& evidence);
/// A cause by lost digits, after the known mistakes that give all of these numbers, too: where numbers are so
/// small, a part that is missing cannot be told from one without a digit.
std::vector<Cause> with_known(const Evidence& evidence, TensorGroup group, const Cause& lost);
/// Mistakes of backward if forward is wrong, too.
Known searched_after(const Evidence& evidence, const Found& forward, Ranks ranks);
/// Whether the gradients follow from the wrong forward pass, explained or not.
bool follows(const Evidence& evidence, const Found& forward);

/// Whether a mistake explains all wrong tensors, at least on some ranks.
bool explains_all(const Found& found);
/// Whether it also explains every row that was checked, on the ranks that it names.
bool explains_each_row(const Found& found);
/// Whether every wrong tensor of a group has a mistake that gives it.
bool explains_each(const Found& found, const Comparison& comparison, TensorGroup group);
/// Whether only lost keys were found, of which NaN and zeros are signs, too.
bool is_of_lost_keys(const Found& found);

/// "a, b and c".
std::string list_of(const std::vector<std::string>& words);
/// Causes that hold at the same time: one explanation.
using Conjunction = std::vector<Cause>;
/// The explanations in a list of causes: a cause alone, or with those that hold in addition to it.
std::vector<Conjunction> explanations_of(std::vector<Cause> causes);
/// The explanations of one answer, the likeliest first.
using Explanations = std::vector<Conjunction>;
/// The ids of these causes.
std::set<std::string> ids_of(const Conjunction& causes);
/// The explanations of several answers of one program.
struct ExplanationsOfEach {
  std::vector<Explanations> left;  ///< those that no other answer rules out, nor a right answer of a ring; an
                                   ///< answer that would be left without is diagnosed again
  std::vector<Explanations> all;  ///< with a remark where they are ruled out
};
ExplanationsOfEach explanations_of_each(const std::vector<Exhibit>& exhibits, const std::vector<Case>& right);
/// Adds those causes whose ids are not in the list yet.
void append(std::vector<Cause>& causes, const std::vector<Cause>& more);

/// A possible explanation, and the condition under which it is tried.
struct Attempt {
  enum class When : std::uint8_t {
    kUnsolved,  ///< nothing explains them yet
    kVague,     ///< nothing does, or only a cause that says which numbers are wrong (see is_general)
    kListed,    ///< nothing does, or only a vague cause, or one with a list of ranks and blocks
  };
  When when;
  std::function<SolvedPass()> solve;
};
/// Makes the attempts in order; keeps the last that succeeds.
void attempt(SolvedPass& solved, const std::vector<Attempt>& attempts);
/// Whether nothing explains the numbers, or only a cause that says which of them are wrong.
bool is_vague(const SolvedPass& solved);
/// Whether one particular mistake explains everything: it is then preferred to a known mistake that leaves
/// some rows unexplained.
bool is_clear(const std::vector<Cause>& causes);
/// Whether there is anything to solve for: no NaN, no infinity (except lse of a row without a key), not all
/// zero.
bool are_numbers(const Evidence& evidence, TensorGroup group);

/// The explained forward pass.
struct ForwardResult {
  std::vector<Cause> causes;
  Found found;         ///< the known mistakes
  Setting setting;     ///< the setting in which it was solved
  bool alone = false;  ///< explains everything: gradients are not examined
};
/// Explains out and lse.
ForwardResult explain_forward(const Evidence& evidence, Ranks ranks);
/// Explains dq, dk and dv, and adds the causes to the result.
void explain_backward(const Evidence& evidence, Ranks ranks, const ForwardResult& forward, Diagnosis& result);
/// The remark that wrong gradients follow from a wrong forward pass.
inline constexpr const char* kFollows =
    "the gradients are those of this wrong forward pass: nothing more is wrong in backward";

/// Whether a tensor is zero everywhere.
bool all_zero(const Buffer& tensor);
/// Whether the claim's tensors of a pass hold NaN and infinities alone, and nothing particular follows from
/// that.
bool is_without_numbers(const Evidence& evidence, TensorGroup group);
/// The cause if all wrong rows still hold what memory held before the call.
std::optional<Cause> cause_of_unwritten(const Evidence& evidence, TensorGroup group);

/// Causes derived from the size of the errors, and from NaN and infinities.
std::vector<Cause> causes_by_numbers(const Evidence& evidence, TensorGroup group);

/// The first wrong row: rank, step, tensor, chunk, head, local row. `found` may hold no match.
std::string place_of(const Evidence& evidence, const Found& found);

}  // namespace ringcraft::verify
