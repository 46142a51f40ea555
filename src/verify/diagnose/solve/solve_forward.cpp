// Solves for out and lse. With E = exp(score - lse of the row), of all pairs, masked or not,
//   sum of c_x (sum over x of E v, sum over x of E) = (out, 1)
// over the cells x, where c is 1 for visible cells and 0 for the rest.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/solve/tell.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kFar = 60;  // a claimed lse that is further off is no reference

// The set of equations.
enum class Form : std::uint8_t {
  kJoint,  // out and lse
  kMixed,  // the same, and keys and values may come from different blocks
};

class ForwardLines {
 public:
  ForwardLines(const Evidence& e, const Setting& setting, Form form, MaskSet masks, KnownCells& cells,
               Index first_batch, Index last_batch)
      : e_(e),
        setting_(setting),
        first_(first_batch),
        last_(last_batch),
        first_head_(std::max<Index>(e.part.head, 0)),
        last_head_(e.part.head < 0 ? e.problem.heads : e.part.head + 1),
        width_(e.inputs.v.extents().width),
        rows_(sampled(e.place.shards, most_rows(e))) {
    for (std::size_t shard = 0; shard < rows_.size(); ++shard)
      if (e.part.rank >= 0 && e.part.rank != static_cast<int>(shard)) rows_[shard].clear();
    std::vector<std::vector<Index>> keys = sampled(e.place.blocks, static_cast<std::size_t>(-1));
    from_ = std::make_unique<Ingredients>(
        Ingredients{e.problem, e.place, named_masks(e.problem, e.place, masks), rows_, std::move(keys),
                    [this](std::vector<double>& column, int shard, Index i, int block, Index n) {
                      add(column, shard, i, block, n, block);
                    },
                    &cells});
    if (form == Form::kMixed)
      from_->add_mixed = [this](std::vector<double>& column, int shard, Index i, int block, Index n,
                                int values) { add(column, shard, i, block, n, values); };
  }

  // Solves the lines of all shards; stops at the first that no coefficients explain.
  bool solve_all(std::vector<LineSystem>& lines) {
    const Yardsticks y = yardsticks_of(e_);
    for (int shard = 0; shard < static_cast<int>(rows_.size()); ++shard) {
      prepare(shard);
      if (wanted_.empty()) continue;
      lines.push_back(line_system(*from_, shard, false, wanted_, static_cast<int>(width_) + 1));
      solve(lines.back(), y.threshold);
      if (!lines.back().possible) return false;
    }
    return true;
  }

 private:
  static std::size_t most_rows(const Evidence& e) {
    const auto heads = static_cast<std::size_t>(e.problem.batch * e.problem.heads);
    const std::size_t equations = heads * static_cast<std::size_t>(e.problem.head_dim + 1);
    return std::max<std::size_t>(4, 4000 / std::max<std::size_t>(equations, 1));
  }

  Index row_at(int shard, Index i) const {
    return e_.place.shards[static_cast<std::size_t>(shard)][static_cast<std::size_t>(i)];
  }

  // Sets the reference level, the tolerances and the right-hand side of a shard's rows.
  void prepare(int shard) {
    wanted_.clear(), level_.clear(), tolerance_.clear(), at_.clear();
    std::size_t next = 0;
    at_.assign(e_.place.shards[static_cast<std::size_t>(shard)].size(), 0);
    for (const Index i : rows_[static_cast<std::size_t>(shard)]) {
      const Index row = row_at(shard, i);
      at_[static_cast<std::size_t>(i)] = next;
      for (Index b = first_; b < last_; ++b)
        for (Index h = first_head_; h < last_head_; ++h, ++next) {
          const double right = row_of(e_.oracle.value.lse, b, h, row)[0],
                       claimed = row_of(e_.claim.lse, b, h, row)[0];
          const double known = std::isfinite(right) ? right : 0;
          const double level = std::fabs(claimed - known) < kFar ? claimed : known;
          const std::vector<double> out = out_of(e_, setting_, b, h, row);
          const auto of_out = tolerance_of(e_, e_.claim.out, e_.units().out, e_.oracle.scale.out, b, h, row);
          const double of_lse =
              tolerance_of(e_, e_.claim.lse, e_.units().lse, e_.oracle.scale.lse, b, h, row)[0];
          const double mass = std::exp(std::min(claimed - level, kFar));
          level_.push_back(level);
          for (Index c = 0; c < width_; ++c) {
            const auto at = static_cast<std::size_t>(c);
            const double t = of_out[at] + std::fabs(out[at]) * of_lse;
            tolerance_.push_back(t);
            wanted_.push_back(out[at] * mass / t);
          }
          tolerance_.push_back(of_lse);
          wanted_.push_back(mass / of_lse);
        }
    }
    for (double& x : wanted_)
      if (!std::isfinite(x)) x = 1e30;  // a value that no sum gives
  }

  void add(std::vector<double>& column, int shard, Index i, int block, Index n, int values) {
    const Index row = row_at(shard, i), key = e_.place.at(block, n);
    const Index value = values < 0 ? key : e_.place.at(values, n);
    if (value < 0) return;
    const std::size_t wide = static_cast<std::size_t>(width_) + 1;
    std::size_t line = at_[static_cast<std::size_t>(i)];
    const double scale = setting_.scale_by_step
                             ? std::pow(setting_.scale, 1 + e_.place.wrapped(shard - block))
                             : setting_.scale_of(shard, block);
    for (Index b = first_; b < last_; ++b)
      for (Index h = first_head_; h < last_head_; ++h, ++line) {
        const double score = scale * product_of(e_, setting_, b, h, row, key);
        const double weight = std::exp(std::min(score - level_[line], 80.0));
        Setting read = setting_;
        read.values_are_keys = read.values_are_keys || values < 0;
        const auto v = value_of(e_, read, b, h, row, value);
        const std::size_t base = line * wide;
        for (std::size_t c = 0; c < v.size(); ++c) column[base + c] += weight * v[c] / tolerance_[base + c];
        column[base + v.size()] += weight / tolerance_[base + v.size()];
      }
  }

  const Evidence& e_;
  const Setting& setting_;
  Index first_, last_, first_head_, last_head_, width_;
  std::vector<std::vector<Index>> rows_;
  std::unique_ptr<Ingredients> from_;
  std::vector<double> wanted_, level_, tolerance_;
  std::vector<std::size_t> at_;  // first equation of each sampled row
};

// The causes in one form and one setting, over some batch entries.
std::optional<std::vector<Cause>> told_in(const Evidence& e, const Setting& setting, Form form, MaskSet masks,
                                          KnownCells& known, Index first, Index last) {
  std::vector<LineSystem> lines;
  if (!ForwardLines(e, setting, form, masks, known, first, last).solve_all(lines)) return {};
  const std::string words =
      last - first < e.problem.batch && e.part.batch < 0 ? "in batch entry " + std::to_string(first) : "";
  std::vector<Cause> causes;
  if (const auto told = tell(e.place, lines, yardsticks_of(e).threshold)) {
    for (const Told& each : *told) causes.push_back(cause_of(each, e.place, words));
    return causes;
  }
  const auto cells = cause_of_cells(e.place, e.problem, lines, words);
  if (!cells) return {};
  return std::vector<Cause>{*cells};
}

bool lse_fits(const Evidence& e) {
  if (!e.has("lse")) return false;
  return std::ranges::none_of(e.claim.lse.values<double>(),
                              [](double x) { return std::isnan(x) || x == HUGE_VAL; });
}

}  // namespace

SolvedPass solve_forward(const Evidence& e) {
  SolvedPass best;
  const Index first = std::max<Index>(e.part.batch, 0),
              last = e.part.batch < 0 ? e.problem.batch : e.part.batch + 1;
  std::size_t fewest = static_cast<std::size_t>(-1);
  using Try = std::pair<Form, MaskSet>;
  const std::vector<Try> tries = lse_fits(e) ? std::vector<Try>{{Form::kJoint, MaskSet::kCommon},
                                                                {Form::kJoint, MaskSet::kAll},
                                                                {Form::kMixed, MaskSet::kCommon}}
                                             : std::vector<Try>{};
  for (const auto& [form, masks] : tries) {
    if (form == Form::kMixed && !e.place.ring) continue;
    KnownCells cells;
    for (const Setting& setting : settings_of(e)) {
      if (form == Form::kMixed && !causes_of(setting).empty()) continue;
      std::vector<Cause> causes = causes_of(setting);
      const bool as_it_should_be = causes.empty();
      std::optional<std::vector<Cause>> told = told_in(e, setting, form, masks, cells, first, last);
      if (told) {
        causes.insert(causes.end(), told->begin(), told->end());
      } else if (last - first > 1 && causes.empty()) {
        bool all = true;
        for (Index b = 0; b < e.problem.batch && all; ++b) {
          told = told_in(e, setting, form, masks, cells, b, b + 1);
          all = told.has_value();
          if (all) causes.insert(causes.end(), told->begin(), told->end());
        }
        if (!all) continue;
      } else {
        continue;
      }
      if (as_it_should_be && causes.empty()) return {};  // the mistake is too small to be described
      const std::size_t size = causes.size() + (std::ranges::any_of(causes, is_general) ? 3 : 0);
      if (size >= fewest) continue;
      fewest = size;
      best = {true, std::move(causes), setting};
    }
    if (best.solved && (masks == MaskSet::kAll || fewest < 2)) break;
  }
  return best;
}

}  // namespace ringcraft::verify
