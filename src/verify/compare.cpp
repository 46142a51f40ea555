// Comparison of an answer with the oracle (see compare.hpp).
#include "verify/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "verify/compare_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Element i of a tensor, which is wrong.
Difference difference_at(std::string_view name, const Extents& e, std::size_t i, double got, double want,
                         double bound) {
  const Index row = static_cast<Index>(i) / e.width;
  return {std::string(name),
          row / (e.heads * e.rows),
          row / e.rows % e.heads,
          row % e.rows,
          static_cast<Index>(i) % e.width,
          got,
          want,
          std::fabs(got - want),
          bound};
}

void record(Comparison& all, TensorComparison& tensor, const Difference& difference, double relative) {
  ++tensor.wrong;
  tensor.wrong_rows.emplace(difference.position, difference);
  if (!all.first) all.first = difference;
  if (!all.largest || relative > all.largest_over_scale) {
    all.largest = difference;
    all.largest_over_scale = relative;
  }
}

std::string complaint_about(std::string_view name, const Buffer& got, const Buffer& want) {
  if (got.extents() == want.extents()) return {};
  if (got.empty()) return std::string(name) + " is missing: expected a tensor " + described(want.extents());
  if (want.empty()) return std::string(name) + " was not asked for: there is no dout to judge it by";
  return std::string(name) + " has the wrong shape: expected " + described(want.extents()) + ", got " +
         described(got.extents());
}

}  // namespace

double Tolerance::error_over_scale(double got, double want, double scale) const {
  if (got == want) return 0;
  const double quotient = std::fabs(got - want) / (scale + tiny / relative);
  return std::isnan(quotient) ? kInfinity : quotient;
}

namespace {

// One tensor of an answer beside what the oracle says about it.
struct Elements {
  std::string_view name;
  Extents extents;
  std::span<const double> got, want, scale;
};

TensorComparison compare_tensor(const Elements& e, double absolute, const Tolerance& tolerance,
                                Comparison& all) {
  TensorComparison tensor{.name = std::string(e.name), .total = static_cast<Index>(e.got.size())};
  for (std::size_t i = 0; i < e.got.size(); ++i) {
    const double got = e.got[i], want = e.want[i], error = std::fabs(got - want);
    const double bound = std::isinf(want) ? 0 : absolute + tolerance.relative * e.scale[i] + tolerance.tiny;
    const double relative = tolerance.error_over_scale(got, want, e.scale[i]);
    tensor.worst = std::max(tensor.worst, relative);
    tensor.square_sum += relative * relative;
    if (got == want) continue;
    const double share = error / bound;
    tensor.worst_share = std::max(tensor.worst_share, std::isnan(share) ? kInfinity : share);
    if (std::isfinite(got) && error <= bound) continue;
    record(all, tensor, difference_at(e.name, e.extents, i, got, want, bound), relative);
  }
  return tensor;
}

}  // namespace

Comparison compare(const Answer& got, const Oracle& oracle, Expect expect, const Tolerance& tolerance) {
  Comparison result;
  const auto got_tensors = named(got), want = named(oracle.value), scale = named(oracle.scale);
  const std::size_t count = expect == Expect::kForward ? 2 : kAnswerNames.size();
  const auto absent = [&](std::size_t t) {
    return expect == Expect::kPresent && got_tensors[t].tensor.extents() == Extents{};
  };
  for (std::size_t t = 0; t < count && result.complaint.empty(); ++t)
    if (!absent(t)) result.complaint = complaint_about(want[t].name, got_tensors[t].tensor, want[t].tensor);
  if (!result.complaint.empty()) return result;
  for (std::size_t t = 0; t < count; ++t) {
    if (want[t].tensor.empty() || absent(t)) continue;
    const Buffer numbers = ringcraft::converted(got_tensors[t].tensor, DType::kFloat64);
    const Elements elements{want[t].name, want[t].tensor.extents(), numbers.values<double>(),
                            want[t].tensor.values<double>(), scale[t].tensor.values<double>()};
    TensorComparison tensor = compare_tensor(elements, tolerance.absolute[t], tolerance, result);
    result.wrong += tensor.wrong;
    result.total += tensor.total;
    result.worst = std::max(result.worst, tensor.worst);
    result.worst_share = std::max(result.worst_share, tensor.worst_share);
    result.tensors.push_back(std::move(tensor));
  }
  result.good = result.total > 0 && result.wrong == 0;
  return result;
}

Comparison compare_exact(const Answer& got, const Oracle& oracle, Expect expect) {
  return compare(got, oracle, expect, {.relative = 1e-12, .tiny = 1e-300});
}

std::optional<FirstWrong> first_wrong(const Comparison& comparison, const Sharding& sharding) {
  for (int rank = 0; rank < sharding.world_size; ++rank) {
    const std::vector<Position> positions = sharding.positions(rank);
    for (const TensorComparison& tensor : comparison.tensors)
      for (std::size_t row = 0; row < positions.size(); ++row)
        if (const auto found = tensor.wrong_rows.find(positions[row]); found != tensor.wrong_rows.end())
          return FirstWrong{rank, static_cast<Index>(row), found->second};
  }
  return {};
}

std::string described(const Difference& d) {
  std::ostringstream text;
  text.precision(9);
  text << d.tensor << ", batch " << d.batch << ", head " << d.head << ", position " << d.position
       << ", column " << d.column << ": got " << d.got << ", expected " << d.want;
  text.precision(2);
  text << " (error " << d.error << ", allowed " << d.bound << ")";
  return text.str();
}

std::string described(const Comparison& c, const Sharding& sharding) {
  if (!c.complaint.empty()) return c.complaint;
  std::ostringstream text;
  text.precision(2);
  if (c.good) {
    text << "right: " << c.total << " elements, largest error " << c.worst << " of its scale";
    return text.str();
  }
  if (c.total == 0) return "nothing to compare: the tensors have no elements";
  text << c.wrong << " of " << c.total << (c.wrong == 1 ? " elements is wrong; " : " elements are wrong; ");
  if (const auto first = first_wrong(c, sharding))
    text << "first on rank " << first->rank << ", local row " << first->row << ": "
         << described(first->difference);
  return text.str();
}

}  // namespace ringcraft::verify
