// The rule for float32 and bfloat16 (see compare.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"
#include "verify/compare_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

FloatRule::FloatRule(DType precision) : eps_(precision == DType::kFloat32 ? 0x1p-23 : 0x1p-7) {
  if (precision == DType::kFloat64)
    throw Error("FloatRule", "float32 or bfloat16", "float64", "use compare_exact for float64");
}

namespace {

// What a plain dense computation in the same precision is away from the oracle, for one tensor.
struct DenseError {
  double largest = 0;  // |got - want|
  double squares = 0;  // sum of (error / scale)^2
};

DenseError dense_error(const Buffer& dense, const Buffer& want, const Buffer& scale,
                       const Tolerance& tolerance) {
  DenseError result;
  if (dense.extents() != want.extents())
    throw Error("FloatRule", "a dense answer of the oracle's shapes", "another shape",
                "compute it from the same inputs");
  const Buffer numbers = ringcraft::converted(dense, DType::kFloat64);
  const auto values = numbers.values<double>(), wants = want.values<double>(),
             scales = scale.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == wants[i]) continue;
    const double relative = tolerance.error_over_scale(values[i], wants[i], scales[i]);
    if (!std::isfinite(relative))
      throw Error("FloatRule", "a dense answer of finite numbers", std::to_string(values[i]),
                  "mend the yardstick first");
    result.largest = std::max(result.largest, std::fabs(values[i] - wants[i]));
    result.squares += relative * relative;
  }
  return result;
}

}  // namespace

Comparison FloatRule::add(const Answer& got, const Answer& dense, const Oracle& oracle, Expect expect) {
  Tolerance tolerance{.relative = 8 * eps_, .tiny = 1e-30};
  std::array<DenseError, kAnswerNames.size()> yardstick;
  const auto dense_tensors = named(dense), want = named(oracle.value), scale = named(oracle.scale);
  const std::size_t count = expect == Expect::kForward ? 2 : kAnswerNames.size();
  for (std::size_t t = 0; t < count; ++t) {
    if (want[t].tensor.empty()) continue;
    yardstick[t] = dense_error(dense_tensors[t].tensor, want[t].tensor, scale[t].tensor, tolerance);
    tolerance.absolute[t] = 2 * yardstick[t].largest;
  }
  const Comparison result = compare(got, oracle, expect, tolerance);
  ++cases_;
  if (!result.good) ++broken_;
  worst_share_ = std::max(worst_share_, result.complaint.empty() ? result.worst_share : kInfinity);
  for (const TensorComparison& tensor : result.tensors) {
    const auto t = static_cast<std::size_t>(std::find(kAnswerNames.begin(), kAnswerNames.end(), tensor.name) -
                                            kAnswerNames.begin());
    sums_[t].subject += tensor.square_sum;
    sums_[t].dense += yardstick[t].squares;
    sums_[t].elements += tensor.total;
  }
  return result;
}

double FloatRule::rms_ratio(std::size_t tensor) const {
  const Sum& sum = sums_[tensor];
  if (sum.elements == 0) return std::numeric_limits<double>::quiet_NaN();
  if (sum.subject == 0 && sum.dense == 0) return 1;
  return std::sqrt(sum.subject / sum.dense);
}

double FloatRule::worst_rms_ratio() const {
  double worst = 0;
  for (std::size_t t = 0; t < sums_.size(); ++t)
    if (sums_[t].elements > 0) worst = std::max(worst, rms_ratio(t));
  return worst;
}

bool FloatRule::good() const { return cases_ > 0 && broken_ == 0 && worst_rms_ratio() <= 1.5; }

}  // namespace ringcraft::verify
