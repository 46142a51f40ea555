// Recognises a gradient that is rounded on its way: its running sum between two steps, while it travels, or
// each part. Recomputes the sum with these roundings, which must give nearly every number: a few lie where
// two ways of computing a part round to different sides.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/solve/gradient/share_parts.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

struct Narrow {
  DType type;
  const char* name;
};
constexpr Narrow kNarrow[] = {
    {DType::kBFloat16, "bfloat16"}, {DType::kFloat16, "float16"}, {DType::kFloat32, "float32"}};

// The value that is rounded, and the order of the steps.
struct Rounds {
  enum class What : std::uint8_t {
    kSum,     // after each step
    kTravel,  // before each step
    kPart,    // each part, not the sum
    kBoth,    // each part, and the sum
  };
  What what;
  DType type;
  const char* name;
  bool unscaled;  // the softmax scale is applied after the sum
  int first;      // steps run from here,
  int by;         // in this direction
};

// The parts of each step of a sum.
std::vector<Numbers> steps_of(const ShareSum& sum, int ranks) {
  std::vector<Numbers> steps(static_cast<std::size_t>(ranks), Numbers(sum.claimed.size(), 0.0));
  for (const ShareSum::Part& part : sum.parts)
    for (std::size_t i = 0; i < part.values.size(); ++i)
      steps[static_cast<std::size_t>(part.share.step)][i] += part.values[i];
  return steps;
}

double summed(const std::vector<Numbers>& steps, std::size_t at, const Rounds& r, double scale) {
  using What = Rounds::What;
  const int ranks = static_cast<int>(steps.size());
  double sum = 0;
  for (int k = 0; k < ranks; ++k) {
    const int t = ((r.first + r.by * k) % ranks + ranks) % ranks;
    double part = steps[static_cast<std::size_t>(t)][at] / scale;
    if (r.what == What::kPart || r.what == What::kBoth) part = rounded(part, r.type);
    if (r.what == What::kTravel) sum = rounded(sum, r.type);
    sum += part;
    if (r.what == What::kSum || r.what == What::kBoth) sum = rounded(sum, r.type);
  }
  return sum * scale;
}

// The share of the claimed numbers that a way of rounding gives.
double share_given(const Evidence& e, const std::vector<ShareSum>& sums,
                   const std::vector<std::vector<Numbers>>& steps, const Rounds& rounds) {
  const double scale = rounds.unscaled ? e.problem.softmax_scale : 1;
  double given = 0, all = 0;
  for (std::size_t s = 0; s < sums.size(); ++s)
    for (std::size_t i = 0; i < sums[s].claimed.size(); ++i, ++all) {
      const double got = sums[s].claimed[i], want = summed(steps[s], i, rounds, scale);
      const double off = is_half(e.precision) ? 0x1p-12 * std::fabs(want) : sums[s].tolerance[i];
      if (std::fabs(rounded(want, e.precision) - got) <= off) ++given;
    }
  return all >= 50 ? given / all : 0;
}

std::vector<Rounds> ways(const Evidence& e, GradientName name) {
  std::vector<Rounds> all;
  const int ranks = e.place.count();
  for (const Narrow& narrow : kNarrow) {
    if (narrow.type == DType::kFloat32 && e.precision != DType::kFloat64) continue;
    for (const auto what :
         {Rounds::What::kSum, Rounds::What::kTravel, Rounds::What::kPart, Rounds::What::kBoth})
      for (const bool unscaled : {false, true})
        for (const auto& [first, by] :
             {std::pair{0, 1}, std::pair{0, -1}, std::pair{1, 1}, std::pair{ranks - 1, -1}})
          if (!unscaled || name != GradientName::kDv)
            all.push_back({what, narrow.type, narrow.name, unscaled, first, by});
  }
  return all;
}

Cause cause_of(const Rounds& rounds, bool of_keys) {
  const std::string type = rounds.name, sum = of_keys ? "the sum that travels" : "the running sum";
  constexpr const char* kQuestion = "Where do small numbers meet a large sum: in which precision is it kept?";
  switch (rounds.what) {
    case Rounds::What::kSum:
      return {
          "solved-sum-rounded",
          sum + " is kept in " + type + ": it is rounded after each step, and the error grows with the steps",
          kQuestion};
    case Rounds::What::kTravel:
      return {"solved-sum-rounded",
              sum + " is rounded to " + type + " between two steps, before the next part is added",
              kQuestion};
    case Rounds::What::kPart:
      return {"solved-part-rounded", "the part of each step is rounded to " + type + " before it is added",
              kQuestion};
    case Rounds::What::kBoth:
      return {"solved-sum-rounded", "the part of each step and " + sum + " are rounded to " + type,
              kQuestion};
  }
  return {};
}

// Whether the errors look like rounding, not like a visible mistake.
bool is_near(const std::vector<ShareSum>& sums, const std::vector<std::vector<Numbers>>& steps) {
  double errors = 0, squares = 0;
  for (std::size_t s = 0; s < sums.size(); ++s)
    for (std::size_t i = 0; i < sums[s].claimed.size(); ++i) {
      double want = 0;
      for (const Numbers& step : steps[s]) want += step[i];
      errors += (sums[s].claimed[i] - want) * (sums[s].claimed[i] - want), squares += want * want;
    }
  return errors < 1e-3 * squares;
}

}  // namespace

std::optional<Cause> cause_of_rounded_shares(const Evidence& e, GradientName name, const Setting& forward) {
  constexpr double kMost = 0.9, kMore = 0.2;  // of the numbers; more than without any rounding
  const std::vector<ShareSum> sums = share_sums(e, name, {.setting = forward});
  std::vector<std::vector<Numbers>> steps;
  for (const ShareSum& sum : sums) steps.push_back(steps_of(sum, e.place.count()));
  if (sums.empty() || !is_near(sums, steps)) return {};
  const Rounds none{Rounds::What::kSum, DType::kFloat64, "", false, 0, 1};
  double best = std::max(kMost, share_given(e, sums, steps, none) + kMore);
  std::optional<Cause> cause;
  for (const Rounds& rounds : ways(e, name)) {
    const double given = share_given(e, sums, steps, rounds);
    if (given <= best) continue;
    best = given;
    cause = cause_of(rounds, name != GradientName::kDq);
  }
  return cause;
}

}  // namespace ringcraft::verify
