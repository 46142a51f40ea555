#pragma once
/// @file
/// The one table of cases that every implementation runs. Each axis is here because its easy values let a
/// wrong implementation pass: one rank hides everything, two ranks hide direction, small scores hide an
/// unsafe softmax, divisible lengths hide tails, equal heads hide grouping, one sequence hides packing, full
/// attention hides labels.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {

/// The distribution of the numbers. dout and v are always standard normal; q and k decide the scores.
enum class Data : std::uint8_t {
  kNormal,    ///< scores of about 1
  kHot,       ///< most scores beyond +-88 (exp overflows in float), row maxima more than 88 apart
  kNegative,  ///< every score below -88 (all exp underflow in float without the maximum)
  kGap,       ///< the keys of one rank's block score more than 88 above all others
  kPeaked,    ///< every seventh key is 20 above the others: one or few keys dominate
  kHuge,      ///< scores near +-20000
};
/// All kinds of data.
inline constexpr Data kAllData[] = {Data::kNormal, Data::kHot,    Data::kNegative,
                                    Data::kGap,    Data::kPeaked, Data::kHuge};

/// The word for a kind of data in the names of cases.
std::string_view name_of(Data data);

/// One problem with a recipe for its inputs.
struct Case {
  std::string name;  ///< for people: "n=3 zigzag causal s=97 h=8/2 d=16 hot"
  Problem problem;
  Data data = Data::kNormal;
  std::uint64_t seed = 1;
};

/// One shard of queries against one KV block of another rank, as an engine or a kernel receives it. Only here
/// do rows without any key occur: a query always sees itself, but not always a key of another rank's block.
struct BlockCase {
  std::string name;  ///< "8 of 23 queries from 3 on, 7 of 23 keys from 0 on, causal, heads 8/2, head_dim 16, hot"
  BlockProblem problem;
  KeyRanges ranges;  ///< the same mask as the library sees it
  Data data = Data::kNormal;
  std::uint64_t seed = 1;
};

/// Inputs of a case, the same on every machine; rounded from float64 to `type`.
Inputs make_inputs(const Case& c, DType type);
/// The same for a single block.
Inputs make_inputs(const BlockCase& c, DType type);

/// Makes a case and names it after its contents. `seed` decides the numbers.
Case make_case(Problem problem, Data data, std::uint64_t seed);

/// How much of the table.
enum class CaseSet : std::uint8_t {
  kBrief,  ///< about a tenth of it, every value of every axis included
  kFull,
};

/// The cases, in a fixed order.
std::vector<Case> case_table(CaseSet set);
/// The cases of single blocks: every pair of ranks of a few problems.
std::vector<BlockCase> block_case_table(CaseSet set);

}  // namespace ringcraft::verify
