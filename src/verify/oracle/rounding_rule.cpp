// Judges answers that rounded: every element against its deviation, then the errors of each row, head, rank
// and tensor as a group, and at last all cases together.
#include "verify/oracle/rounding_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"
#include "verify/oracle/compare_detail.hpp"

namespace ringcraft::verify {

ErrorSums& ErrorSums::operator+=(const ErrorSums& other) {
  squares += other.squares;
  sum += other.sum;
  along += other.along;
  length += other.length;
  elements += other.elements;
  rows += other.rows;
  return *this;
}

double ErrorSums::size() const { return std::sqrt(squares / static_cast<double>(elements)); }
double ErrorSums::scale() const { return length > 0 ? along / length : 0; }
double ErrorSums::shift() const { return sum / static_cast<double>(elements); }
namespace {

double unlike(Index rows, const Alike& alike) {
  return std::max(1.0, static_cast<double>(rows) / alike.rows);
}

}  // namespace

double ErrorSums::most_size(const Alike& alike) const { return 2 + 6 / std::sqrt(unlike(rows, alike)); }
double ErrorSums::most_scale(const Rounding& rounding, const Alike& alike, const SharedErrors& shared) const {
  const double all = static_cast<double>(rows), width = static_cast<double>(elements) / all;
  return rounding.unit / 4 + alike.factor +
         rounding.alike * std::sqrt(width / length * all / unlike(rows, alike) * shared.factor);
}
double ErrorSums::most_shift(const Rounding& rounding, const Alike& alike, const SharedErrors& shared) const {
  return 0.1 + rounding.alike * std::sqrt(shared.shift / unlike(rows, alike));
}

namespace {

constexpr Tolerance kTolerance{.relative = RoundingRule::kElement, .tiny = 1e-30};

// Judges groups of one tensor, and keeps the worst of each kind.
class Groups {
 public:
  Groups(TensorComparison& tensor, const Rounding& rounding, const Alike& alike)
      : tensor_(tensor), rounding_(rounding), alike_(alike) {}

  // lse has one number per row and is nowhere systematically near zero: its size alone suffices.
  void judge(const ErrorSums& sums, const GroupFault& where) {
    if (sums.elements == 0) return;
    judge(GroupFault::Figure::kSize, sums.size(), sums.most_size(alike_), where);
    if (where.group == GroupFault::Group::kRow || tensor_.name == "lse") return;
    const SharedErrors shared = alike_.shared(tensor_.name);
    if (sums.length > 0)
      judge(GroupFault::Figure::kScale, sums.scale(), sums.most_scale(rounding_, alike_, shared), where);
    judge(GroupFault::Figure::kShift, sums.shift(), sums.most_shift(rounding_, alike_, shared), where);
  }

 private:
  void judge(GroupFault::Figure figure, double value, double bound, GroupFault fault) {
    const double share = std::fabs(value) / bound;
    tensor_.worst_share = std::max(tensor_.worst_share, share);
    if (share <= 1) return;
    fault.figure = figure;
    fault.tensor = tensor_.name;
    fault.value = value;
    fault.bound = bound;
    for (GroupFault& known : tensor_.together) {
      if (known.group != fault.group || known.figure != figure) continue;
      if (share > std::fabs(known.value) / known.bound) known = fault;
      return;
    }
    tensor_.together.push_back(fault);
  }

  TensorComparison& tensor_;
  const Rounding& rounding_;
  Alike alike_;
};

// One row of a tensor: its sums, and the location of its largest error.
struct Row {
  ErrorSums sums;
  std::size_t worst = 0;
};
Row row_of(std::span<const double> got, std::span<const double> want, std::span<const double> deviation) {
  Row row;
  double worst = 0;
  for (std::size_t c = 0; c < got.size(); ++c) {
    if (!std::isfinite(got[c]) || !std::isfinite(want[c])) continue;  // judged element by element
    if (deviation[c] == 0 && got[c] == want[c]) continue;
    const double unit = deviation[c] + kTolerance.tiny / kTolerance.relative;
    const double z = (got[c] - want[c]) / unit, y = want[c] / unit;
    row.sums.squares += z * z;
    row.sums.sum += z;
    row.sums.along += z * y;
    row.sums.length += y * y;
    ++row.sums.elements;
    if (std::fabs(z) > worst) {
      worst = std::fabs(z);
      row.worst = c;
    }
  }
  row.sums.rows = row.sums.elements > 0 ? 1 : 0;
  return row;
}

// The rank of every position; empty without a sharding.
std::vector<int> ranks_of_positions(const Sharding* sharding) {
  if (sharding == nullptr) return {};
  std::vector<int> ranks(static_cast<std::size_t>(sharding->seqlen));
  for (int rank = 0; rank < sharding->world_size; ++rank)
    for (const Position p : sharding->positions(rank)) ranks[static_cast<std::size_t>(p)] = rank;
  return ranks;
}

// Judges the rows of one tensor by row, head, rank and as a whole; returns the sums of the whole.
ErrorSums judge_groups(TensorComparison& tensor, const Buffer& got, const Buffer& want,
                       const Buffer& deviation, const std::vector<int>& rank_of, Groups groups) {
  const Extents& e = want.extents();
  ErrorSums all;
  std::vector<ErrorSums> ranks(rank_of.empty() ? 0 : *std::max_element(rank_of.begin(), rank_of.end()) + 1u);
  for (Index batch = 0; batch < e.batch; ++batch)
    for (Index head = 0; head < e.heads; ++head) {
      const auto numbers = head_of<double>(got, batch, head), wants = head_of<double>(want, batch, head),
                 deviations = head_of<double>(deviation, batch, head);
      ErrorSums of_head;
      for (Index i = 0; i < e.rows; ++i) {
        const Row row = row_of(numbers.row(i), wants.row(i), deviations.row(i));
        groups.judge(row.sums, {.group = GroupFault::Group::kRow,
                                .batch = batch,
                                .head = head,
                                .position = i,
                                .batches = e.batch,
                                .heads = e.heads});
        if (row.sums.elements > 0 && !(row.sums.size() <= row.sums.most_size({})))
          tensor.wrong_rows.emplace(
              i, Difference{tensor.name, batch, head, i, static_cast<Index>(row.worst),
                            numbers.row(i)[row.worst], wants.row(i)[row.worst],
                            std::fabs(numbers.row(i)[row.worst] - wants.row(i)[row.worst]),
                            kTolerance.relative * deviations.row(i)[row.worst] + kTolerance.tiny, e.batch,
                            e.heads});
        of_head += row.sums;
        if (!ranks.empty()) ranks[static_cast<std::size_t>(rank_of[static_cast<std::size_t>(i)])] += row.sums;
      }
      if (e.batch * e.heads > 1)
        groups.judge(of_head, {.group = GroupFault::Group::kHead,
                               .batch = batch,
                               .head = head,
                               .batches = e.batch,
                               .heads = e.heads});
      all += of_head;
    }
  for (std::size_t rank = 0; ranks.size() > 1 && rank < ranks.size(); ++rank)
    groups.judge(ranks[rank], {.group = GroupFault::Group::kRank, .rank = static_cast<int>(rank)});
  groups.judge(all, {});
  return all;
}

std::size_t index_of(std::string_view tensor) {
  return static_cast<std::size_t>(std::find(kAnswerNames.begin(), kAnswerNames.end(), tensor) -
                                  kAnswerNames.begin());
}

}  // namespace

Comparison RoundingRule::add(const Answer& got, const Oracle& oracle, Expect expect, const Sharding* ranks) {
  if (oracle.deviation.lse.empty() && !oracle.value.lse.empty())
    throw Error("RoundingRule", "an oracle with standard deviations", "one without",
                "give the oracle a Rounding");
  Comparison result = compare(got, oracle.value, oracle.deviation, expect, kTolerance);
  result.yardstick = Yardstick::kDeviation;
  const std::vector<int> rank_of = ranks_of_positions(ranks);
  const auto got_tensors = named(got), wants = named(oracle.value), deviations = named(oracle.deviation);
  for (TensorComparison& tensor : result.tensors) {
    const std::size_t t = index_of(tensor.name);
    sums_[t] +=
        judge_groups(tensor, ringcraft::converted(got_tensors[t].tensor, DType::kFloat64), wants[t].tensor,
                     deviations[t].tensor, rank_of, {tensor, rounding_, oracle.alike});
    result.good = result.good && tensor.good();
    result.worst_share = std::max(result.worst_share, tensor.worst_share);
  }
  alike_ = larger(alike_, oracle.alike);
  ++cases_;
  if (!result.good) ++broken_;
  worst_share_ = std::max(
      worst_share_, result.complaint.empty() ? result.worst_share : std::numeric_limits<double>::infinity());
  return result;
}

std::optional<GroupFault> RoundingRule::together() const {
  for (std::size_t t = 0; t < sums_.size(); ++t) {
    TensorComparison tensor{.name = std::string(kAnswerNames[t])};
    Groups(tensor, rounding_, alike_).judge(sums_[t], {.group = GroupFault::Group::kAllCases});
    if (!tensor.together.empty()) return tensor.together.front();
  }
  return {};
}

bool RoundingRule::good() const { return cases_ > 0 && broken_ == 0 && !together(); }

double RoundingRule::worst_share() const {
  double worst = worst_share_;
  for (std::size_t t = 0; t < sums_.size(); ++t) {
    TensorComparison tensor{.name = std::string(kAnswerNames[t])};
    Groups(tensor, rounding_, alike_).judge(sums_[t], {});
    worst = std::max(worst, tensor.worst_share);
  }
  return worst;
}

double RoundingRule::size(std::size_t tensor) const {
  return sums_[tensor].elements > 0 ? sums_[tensor].size() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ringcraft::verify
