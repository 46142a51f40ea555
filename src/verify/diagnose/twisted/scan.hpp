#pragma once
/// @file
/// An online softmax with mistakes: one scan over the scores of a row, part by part (see scan_twist.hpp).

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/diagnose/twisted/scan_twist.hpp"
#include "verify/diagnose/twisted/twisted_merge.hpp"

namespace ringcraft::verify {

/// A key of a row.
struct ScanKey {
  double score;
  bool seen;
  std::span<const double> value;  ///< empty: only m and l are requested
};

/// (O, m, l), before and after a scan.
struct ScanState {
  std::vector<double> out;
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  double previous = -std::numeric_limits<double>::infinity();  ///< the last score of the part before
};

/// The state after a scan over these parts: O (not divided), m and l.
ScanState scanned(const ScanTwist& twist, const std::vector<std::vector<ScanKey>>& parts, ScanState state,
                  const ExponentRange& range);
/// The same, divided, with lse = m + log l. `partial`: a row whose l is 0 is not divided, and its lse is m.
Merged scan_result(const ScanTwist& twist, const std::vector<std::vector<ScanKey>>& parts, std::size_t width,
                   bool partial, const ExponentRange& range);

/// One mistake of a scan, with its name.
struct ScanMistake {
  const char* id;
  const char* sentence;  ///< {part} stands for a block, a tile or a score
  const char* question;
  ScanTwist twist;
};
/// All mistakes to try, the more common first.
const std::vector<ScanMistake>& scan_mistakes();
/// Those that concern the weights of keys.
const std::vector<ScanMistake>& scan_mistakes_of_weights();
/// Additional ones, for scans over scores alone.
const std::vector<ScanMistake>& scan_mistakes_of_scores();
/// Two mistakes at once; empty if both concern the same place.
std::optional<ScanTwist> both(ScanTwist a, const ScanTwist& b);
/// Replaces {part} in a sentence.
std::string with_part(std::string sentence, const std::string& part);

}  // namespace ringcraft::verify
