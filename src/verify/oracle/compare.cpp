// Compares an answer with the oracle element by element, keeps the first and the worst difference of every
// tensor, and describes differences in sentences.
#include "verify/oracle/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "verify/oracle/compare_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Describes element i of a tensor, which is wrong.
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
          bound,
          e.batch,
          e.heads};
}

void record(Comparison& all, TensorComparison& tensor, const Difference& difference, double measured) {
  ++tensor.wrong;
  tensor.wrong_rows.emplace(difference.position, difference);
  if (!all.first) all.first = difference;
  if (!all.largest || measured > all.largest_measured) {
    all.largest = difference;
    all.largest_measured = measured;
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

double Tolerance::measured(double got, double want, double unit) const {
  if (got == want) return 0;
  const double quotient = std::fabs(got - want) / (unit + tiny / relative);
  return std::isnan(quotient) ? kInfinity : quotient;
}

namespace {

// One tensor of an answer, with the oracle's values and units for it.
struct Elements {
  std::string_view name;
  Extents extents;
  std::span<const double> got, want, unit;
};

TensorComparison compare_tensor(const Elements& e, const Tolerance& tolerance, Comparison& all) {
  TensorComparison tensor{.name = std::string(e.name), .total = static_cast<Index>(e.got.size())};
  for (std::size_t i = 0; i < e.got.size(); ++i) {
    const double got = e.got[i], want = e.want[i];
    if (got == want) continue;
    const double bound = std::isinf(want) ? 0 : tolerance.relative * e.unit[i] + tolerance.tiny;
    const double measured = tolerance.measured(got, want, e.unit[i]);
    const double share = std::fabs(got - want) / bound;
    tensor.worst = std::max(tensor.worst, measured);
    tensor.worst_share = std::max(tensor.worst_share, std::isnan(share) ? kInfinity : share);
    if (std::isfinite(got) && std::fabs(got - want) <= bound) continue;
    record(all, tensor, difference_at(e.name, e.extents, i, got, want, bound), measured);
  }
  return tensor;
}

}  // namespace

Comparison compare(const Answer& got, const Answer& want, const Answer& unit, Expect expect,
                   const Tolerance& tolerance) {
  Comparison result;
  const auto got_tensors = named(got), wants = named(want), units = named(unit);
  const std::size_t count = expect == Expect::kForward ? 2 : kAnswerNames.size();
  const auto absent = [&](std::size_t t) {
    return expect == Expect::kPresent && got_tensors[t].tensor.extents() == Extents{};
  };
  for (std::size_t t = 0; t < count && result.complaint.empty(); ++t)
    if (!absent(t)) result.complaint = complaint_about(wants[t].name, got_tensors[t].tensor, wants[t].tensor);
  if (!result.complaint.empty()) return result;
  for (std::size_t t = 0; t < count; ++t) {
    if (wants[t].tensor.empty() || absent(t)) continue;
    const Buffer numbers = ringcraft::converted(got_tensors[t].tensor, DType::kFloat64);
    const Elements elements{wants[t].name, wants[t].tensor.extents(), numbers.values<double>(),
                            wants[t].tensor.values<double>(), units[t].tensor.values<double>()};
    TensorComparison tensor = compare_tensor(elements, tolerance, result);
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
  return compare(got, oracle.value, oracle.scale, expect, {.relative = 1e-12, .tiny = 1e-300});
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

namespace {

// ", batch 0, head 1" of a Difference or a GroupFault; an index that has only one value is omitted.
template <class At>
std::string place_of(const At& at) {
  std::string place;
  if (at.batches > 1) place += ", batch " + std::to_string(at.batch);
  if (at.heads > 1) place += ", head " + std::to_string(at.head);
  return place;
}

// Drops the sign of NaN: 0 / 0 is -nan on some machines.
double without_sign(double number) { return std::isnan(number) ? std::fabs(number) : number; }

}  // namespace

std::string described(const Difference& d) {
  std::ostringstream text;
  text.precision(9);
  text << d.tensor << place_of(d) << ", position " << d.position << ", column " << d.column << ": got "
       << without_sign(d.got) << ", expected " << d.want;
  text.precision(2);
  text << " (error " << without_sign(d.error) << ", allowed " << d.bound << ")";
  return text.str();
}

std::string described(const GroupFault& f) {
  std::ostringstream text;
  text << f.tensor;
  switch (f.group) {
    case GroupFault::Group::kRow:
      text << place_of(f) << ", position " << f.position;
      break;
    case GroupFault::Group::kHead:
      text << place_of(f);
      break;
    case GroupFault::Group::kRank:
      text << ", rows of rank " << f.rank;
      break;
    case GroupFault::Group::kTensor:
      break;
    case GroupFault::Group::kAllCases:
      text << ", all cases together";
      break;
  }
  text.precision(3);
  const char sign = f.value < 0 ? '-' : '+';
  if (f.figure == GroupFault::Figure::kScale)
    text << ": the numbers are those of attention times 1 " << sign << ' ' << std::fabs(f.value)
         << " (rounding may make it 1 " << sign << ' ' << f.bound << ")";
  if (f.figure == GroupFault::Figure::kSize)
    text << ": the errors are " << f.value << " times as large as rounding makes them (" << f.bound
         << " may pass)";
  if (f.figure == GroupFault::Figure::kShift)
    text << ": the numbers are shifted by " << f.value << " standard deviations of rounding on average ("
         << f.bound << " may pass)";
  return text.str();
}

std::string described(const Comparison& c, const Sharding& sharding) {
  if (!c.complaint.empty()) return c.complaint;
  std::ostringstream text;
  text.precision(2);
  if (c.good) {
    text << "right: " << c.total << " elements, largest error " << c.worst
         << (c.yardstick == Yardstick::kScale ? " of the sum of its absolute terms"
                                              : " standard deviations of rounding");
    return text.str();
  }
  if (c.total == 0) return "nothing to compare: the tensors have no elements";
  if (c.wrong > 0) {
    text << c.wrong << " of " << c.total << (c.wrong == 1 ? " elements is wrong; " : " elements are wrong; ");
    if (const auto first = first_wrong(c, sharding)) {
      text << "first ";
      if (sharding.world_size > 1) text << "on rank " << first->rank << ", local row " << first->row << ": ";
      text << described(first->difference);
    }
    return text.str();
  }
  for (const TensorComparison& tensor : c.tensors)
    if (!tensor.together.empty())
      return "no element alone is wrong, but together: " + described(tensor.together.front());
  return "wrong";
}

}  // namespace ringcraft::verify
