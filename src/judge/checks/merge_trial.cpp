// Runs merges of kernels, and compares the results with the formula in double.
#include "judge/checks/merge_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/checks/row_trial.hpp"

namespace ringcraft::judge {
namespace {

constexpr float kUnseen = -std::numeric_limits<float>::infinity();
constexpr double kRounding = 4 * double{std::numeric_limits<float>::epsilon()};  // of one merge
constexpr float kMarker = -7.25f;  // fills the memory around the rows

std::size_t place(Index i) { return static_cast<std::size_t>(i); }

// The names of m and O in sentences.
const char* name_of_max(const PartialRows& part) { return part.sum.empty() ? "lse" : "m"; }
const char* name_of_out(const PartialRows& part) { return part.sum.empty() ? "out" : "O"; }

// An array with markers before and after it.
std::vector<float> surrounded(const std::vector<float>& array, Index front, Index behind) {
  if (array.empty()) return {};
  std::vector<float> whole(place(front), kMarker);
  whole.insert(whole.end(), array.begin(), array.end());
  whole.insert(whole.end(), place(behind), kMarker);
  return whole;
}

// Takes the array out again.
void unwrap(const std::string& label, const char* name, const std::vector<float>& whole, Index front,
            std::vector<float>& array) {
  if (array.empty()) return;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool inside = i >= place(front) && i < place(front) + array.size();
    if (inside)
      array[i - place(front)] = whole[i];
    else if (whole[i] != kMarker)
      throw Wrong(sign::kValues, i < place(front) ? "written-before" : "written-after",
                  "{}: {} is written {}", label, Name{name},
                  i < place(front) ? "in front of its first row" : "past the last row that is merged");
  }
}

// Throws Wrong, "WHAT is GOT, and must be WANT", with all digits, unless both are the same number.
void require_exact(const std::string& what, float got, float want) {
  if (got == want) return;
  throw Wrong(got == kUnseen ? sign::kValues : sign_of(got), "number", "{} is {}, and must be {}", what,
              digits_of(got), digits_of(want));
}

// The weights of the parts of a row, in double, with the relative error that each of them may have.
struct RowWeights {
  double largest = kUnseen, norm = 0, error = 0;
  std::vector<double> weight, errors;
};
RowWeights weights_of(MergeForm form, const std::vector<PartialRows>& parts, Index row) {
  RowWeights result;
  double lse = 0;  // the largest one in size: earlier merges have rounded by that much
  for (const PartialRows& part : parts) {
    const double max = part.max[place(row)];
    result.largest = std::fmax(result.largest, max);
    if (max != kUnseen && form == MergeForm::kNormalized && parts.size() > 2)
      lse = std::fmax(lse, std::fabs(max));
  }
  for (const PartialRows& part : parts) {
    const double max = part.max[place(row)];
    const bool seen = max != kUnseen;
    result.weight.push_back(seen ? std::exp(max - result.largest) : 0);
    result.errors.push_back(seen ? 1 + result.largest - max + lse : 0);
    result.norm += result.weight.back();
    result.error += result.weight.back() * result.errors.back();
  }
  return result;
}

void require_merged_row(MergeForm form, const std::string& label, const PartialRows& got,
                        const std::vector<PartialRows>& parts, Index row) {
  const RowWeights w = weights_of(form, parts, row);
  if (w.largest == kUnseen)
    return require_same_row(label, "has seen no key on any side", got, parts.front(), row);
  const double rounding = kRounding * static_cast<double>(parts.size() - 1);
  const std::string where = label + ": row " + std::to_string(row) + ": ";
  const double max = got.max[place(row)];
  const bool normalized = form == MergeForm::kNormalized;
  if (normalized) {
    const double lse = w.largest + std::log(w.norm);
    require_near(where + "lse", max, lse, rounding * (1 + std::fabs(lse) + w.error / w.norm));
  } else {
    double sum = 0, bound = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      sum += w.weight[p] * parts[p].sum[place(row)];
      bound += w.weight[p] * parts[p].sum[place(row)] * w.errors[p];
    }
    require_exact(where + "m", got.max[place(row)], static_cast<float>(w.largest));
    require_near(where + "l", got.sum[place(row)], sum, rounding * bound);
  }
  for (Index d = 0; d < got.head_dim; ++d) {
    const std::size_t at = place(row * got.head_dim + d);
    double out = 0, bound = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const double term = w.weight[p] * parts[p].out[at];
      out += term;
      bound += std::fabs(term) * (w.errors[p] + (normalized ? w.error / w.norm : 0));
    }
    const double divisor = normalized ? w.norm : 1;
    require_near(where + name_of_out(got) + ", column " + std::to_string(d), got.out[at], out / divisor,
                 rounding * bound / divisor);
  }
}

// The state of one row after the keys [first, last): scores and sums in double.
struct KeySums {
  double max = kUnseen, sum = 0;
  std::vector<double> out;
};
KeySums sums_of(std::span<const float> q, Matrix<const float> k, Matrix<const float> v, double scale,
                Index first, Index last) {
  KeySums sums{.out = std::vector<double>(v.row(0).size())};
  std::vector<double> scores;
  for (Index b = first; b < last; ++b) {
    double score = 0;
    for (std::size_t d = 0; d < q.size(); ++d) score += double{q[d]} * k.row(b)[d];
    scores.push_back(scale * score);
    sums.max = std::fmax(sums.max, scores.back());
  }
  sums.max = static_cast<float>(sums.max);  // in the precision of a state; O and l are relative to it
  for (Index b = first; b < last; ++b) {
    const double weight = std::exp(scores[place(b - first)] - sums.max);
    sums.sum += weight;
    for (std::size_t d = 0; d < sums.out.size(); ++d) sums.out[d] += weight * v.row(b)[d];
  }
  return sums;
}

}  // namespace

PartialRows identity_rows(MergeForm form, Index rows, Index head_dim) {
  return {rows, head_dim, std::vector<float>(place(rows * head_dim)),
          std::vector<float>(place(rows), kUnseen),
          std::vector<float>(form == MergeForm::kPartials ? place(rows) : 0)};
}

PartialRows random_rows(MergeForm form, Index rows, Index head_dim, double level, Random& random) {
  PartialRows part = identity_rows(form, rows, head_dim);
  for (float& x : part.out) x = static_cast<float>(random.normal());
  for (float& x : part.max) x = static_cast<float>(level + random.normal());
  for (float& x : part.sum) x = static_cast<float>(1 + std::fabs(random.normal()));
  return part;
}

PartialRows rows_after(MergeForm form, KernelHead& head, Index first, Index last) {
  const verify::BlockProblem& problem = head.problem();
  const double scale = static_cast<float>(problem.softmax_scale);
  PartialRows part = identity_rows(form, problem.batch * problem.heads * head.rows(), problem.head_dim);
  Index row = 0;
  for (Index batch = 0; batch < problem.batch; ++batch)
    for (Index h = 0; h < problem.heads; ++h) {
      const Index kv_head = h / (problem.heads / problem.kv_heads);
      const auto q = head_of<float>(head.inputs().q, batch, h);
      const auto k = head_of<float>(head.inputs().k, batch, kv_head);
      const auto v = head_of<float>(head.inputs().v, batch, kv_head);
      for (Index a = 0; a < head.rows(); ++a, ++row) {
        const Index begin = std::max<Index>(first, head.ranges().begin[place(a)]);
        const Index end = std::min<Index>(last, head.ranges().end[place(a)]);
        if (begin >= end) continue;
        const KeySums sums = sums_of(q.row(a), k, v, scale, begin, end);
        const bool normalized = form == MergeForm::kNormalized;
        part.max[place(row)] = static_cast<float>(normalized ? sums.max + std::log(sums.sum) : sums.max);
        if (!normalized) part.sum[place(row)] = static_cast<float>(sums.sum);
        for (Index d = 0; d < part.head_dim; ++d)
          part.out[place(row * part.head_dim + d)] =
              static_cast<float>(sums.out[place(d)] / (normalized ? sums.sum : 1));
      }
    }
  return part;
}

void forget(PartialRows& part, Index row) {
  part.max[place(row)] = kUnseen;
  if (!part.sum.empty()) part.sum[place(row)] = 0;
  std::fill_n(part.out.begin() + row * part.head_dim, part.head_dim, 0.0f);
}

KernelRun merge_rows(const MergeKernelCall& kernel, const std::string& label, PartialRows& acc,
                     const PartialRows& block, HowMerged how) {
  const Index left = how.rows_left;
  const auto wide = [&](const std::vector<float>& out) {
    return surrounded(out, how.skipped, left * acc.head_dim);
  };
  const auto narrow = [&](const std::vector<float>& rows) { return surrounded(rows, 0, left); };
  auto out = wide(acc.out), max = narrow(acc.max), sum = narrow(acc.sum);
  auto block_out = wide(block.out), block_max = narrow(block.max), block_sum = narrow(block.sum);
  const Kept<float> kept[] = {{"block.out", block_out}, {"block.max", block_max}, {"block.sum", block_sum}};
  const MergeStep step{.out = out,
                       .max = max,
                       .sum = sum,
                       .block_out = block_out,
                       .block_max = block_max,
                       .block_sum = block_sum,
                       .rows = acc.rows,
                       .head_dim = static_cast<int>(acc.head_dim),
                       .skipped = how.skipped,
                       .order = how.order,
                       .count_traffic = how.count_traffic};
  KernelRun answer = without_finding(label, with_label(label + ": ", [&] { return kernel.call(step); }));
  for (const auto& each : kept) each.require_same();
  unwrap(label, name_of_out(acc), out, how.skipped, acc.out);
  unwrap(label, name_of_max(acc), max, 0, acc.max);
  unwrap(label, "l", sum, 0, acc.sum);
  return answer;
}

verify::MergeExhibit exhibit_of_merge(const PartialRows& acc, const PartialRows& block,
                                      const PartialRows& result) {
  const auto wide = [](const std::vector<float>& x) { return std::vector<double>(x.begin(), x.end()); };
  const auto numbers = [&](const PartialRows& p) {
    return verify::PartialNumbers{wide(p.out), wide(p.max), wide(p.sum)};
  };
  return {acc.rows, acc.head_dim, numbers(acc), numbers(block), numbers(result), DType::kFloat32};
}

void require_merged(MergeForm form, const std::string& label, const PartialRows& got,
                    const std::vector<PartialRows>& parts) {
  require_each("state", got.rows, [&](Index row) { require_merged_row(form, label, got, parts, row); });
}

void require_same_row(const std::string& label, const std::string& seen, const PartialRows& got,
                      const PartialRows& want, Index row) {
  const std::string where = label + ": row " + std::to_string(row) + " " + seen + ": its ";
  require_exact(where + name_of_max(got), got.max[place(row)], want.max[place(row)]);
  if (!got.sum.empty()) require_exact(where + "l", got.sum[place(row)], want.sum[place(row)]);
  for (Index d = 0; d < got.head_dim; ++d) {
    const std::size_t at = place(row * got.head_dim + d);
    require_exact(where + name_of_out(got) + " in column " + std::to_string(d), got.out[at], want.out[at]);
  }
}

}  // namespace ringcraft::judge
