#pragma once
/// @file
/// Compares every element of every tensor with the oracle's value and scale. Every comparison is written so
/// that NaN fails it.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {

/// One wrong element.
struct Difference {
  std::string tensor;  ///< "out", "lse", "dq", "dk" or "dv"
  Index batch = 0, head = 0;
  Position position = 0;  ///< global row
  Index column = 0;
  double got = 0, want = 0;
  double error = 0;              ///< |got - want|; NaN if `got` is not a number
  double bound = 0;              ///< the largest error that passes
  Index batches = 1, heads = 1;  ///< of the tensor: a sentence does not name the only one
};

/// "dk, batch 0, head 1, position 17, column 3: got 0.5, expected 0.25 (error 0.25, allowed 1e-13)".
std::string described(const Difference& difference);

/// Numbers that are wrong as a group: each one may be as far off as it is, but not all of them in this way.
struct GroupFault {
  /// The group of numbers.
  enum class Group : std::uint8_t { kRow, kHead, kRank, kTensor, kAllCases };
  /// The statistic that is too large.
  enum class Figure : std::uint8_t {
    kSize,   ///< RMS of error / deviation
    kScale,  ///< the numbers are the right ones times 1 + value
    kShift,  ///< mean of error / deviation
  };
  Group group = Group::kTensor;
  Figure figure = Figure::kSize;
  std::string tensor;
  Index batch = 0, head = 0;  ///< of a row, a head
  Position position = 0;      ///< of a row
  int rank = 0;               ///< of a rank
  double value = 0;
  double bound = 0;              ///< the largest magnitude of the value that passes
  Index batches = 1, heads = 1;  ///< of the tensor
};

/// "dv, batch 0, head 3: the numbers are those of attention times 1 + 0.0041 (rounding may make it 1 +
/// 0.0006)".
std::string described(const GroupFault& fault);

/// The findings in one tensor.
struct TensorComparison {
  std::string name;
  Index wrong = 0, total = 0;  ///< elements
  double worst = 0;  ///< largest error in units of the yardstick; infinite if an element is not a number
  double worst_share =
      0;  ///< largest error / bound, of elements and of groups: at most 1 if nothing is wrong
  std::map<Position, Difference>
      wrong_rows;  ///< the first wrong element of each wrong row, by global position, or the worst one
  std::vector<GroupFault> together;  ///< of each group and figure, the worst that does not pass

  /// Whether nothing is wrong, neither a single element nor a group.
  bool good() const { return wrong == 0 && together.empty(); }
};

/// The unit in which errors are measured.
enum class Yardstick : std::uint8_t {
  kScale,      ///< the element's scale: exact mode
  kDeviation,  ///< the standard deviation that rounding gives the element
};

/// The verdict on an Answer.
struct Comparison {
  bool good = false;
  Yardstick yardstick = Yardstick::kScale;
  Index wrong = 0, total = 0;         ///< elements of all tensors
  double worst = 0;                   ///< largest error of all tensors, in units of the yardstick
  double worst_share = 0;             ///< largest error / bound of all tensors
  std::optional<Difference> first;    ///< first wrong element, in the order of tensors and elements
  std::optional<Difference> largest;  ///< wrong element with the largest error in units of the yardstick
  double largest_measured = 0;        ///< that error
  std::vector<TensorComparison> tensors;
  std::string complaint;  ///< why nothing could be compared: a tensor is missing or misshapen
};

/// The tensors that an answer must have.
enum class Expect : std::uint8_t {
  kAll,      ///< out, lse, and the gradients if the oracle has them
  kForward,  ///< out and lse; gradients are ignored
  kPresent,  ///< those that the answer has, at least one; missing tensors do not count
};

/// Exact mode, for double: right iff every element is finite and |got - want| <= 1e-12 scale + 1e-300; lse =
/// -inf must match exactly. `got` may have any number type; a type other than float64 fails unless its
/// numbers happen to be exact.
Comparison compare_exact(const Answer& got, const Oracle& oracle, Expect expect = Expect::kAll);

/// The first wrong element, to start debugging a ring from.
struct FirstWrong {
  int rank = 0;
  Index row = 0;          ///< local row on that rank
  Difference difference;  ///< difference.position is the global position of the row
};

/// The lowest rank with a wrong row, there the first wrong tensor (out, lse, dq, dk, dv), there the first
/// local row. Empty if no element is wrong.
std::optional<FirstWrong> first_wrong(const Comparison& comparison, const Sharding& sharding);

/// One sentence: "right: 1024 elements, largest error 3.1e-16 of the sum of its absolute terms",
/// the complaint, the first wrong element with its rank and local row, or the group that is wrong.
std::string described(const Comparison& comparison, const Sharding& sharding);

}  // namespace ringcraft::verify
