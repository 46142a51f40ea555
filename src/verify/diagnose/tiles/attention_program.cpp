// Executes attention of one device with wrong addresses, loops and softmax, and compares every row with the
// claim.
#include "verify/diagnose/tiles/attention_program.hpp"

#include <algorithm>
#include <cmath>

#include "verify/diagnose/exhibit.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr unsigned kOfMaximum = 1, kOfSum = 2, kOfValues = 4;

double number_at(const Buffer& tensor, Index place, bool& known) {
  const auto numbers = tensor.values<double>();
  if (place < 0 || place >= static_cast<Index>(numbers.size())) {
    known = false;
    return 0;
  }
  return numbers[static_cast<std::size_t>(place)];
}

double in_float(double x) { return static_cast<float>(x); }

}  // namespace

AttentionProgram::AttentionProgram(const Evidence& e) : e_(e) {
  const BlockProblem& p = e.problem;
  const bool calls = e.place.row_tile == 0 && e.place.partial;  // part by part, one call each
  for (const auto& block : e.place.blocks)
    if (calls && !block.empty()) parts_.push_back({block.front(), static_cast<Index>(block.size())});
  if (!calls) parts_.push_back({0, static_cast<Index>(p.keys.size())});
  for (const Position q : p.queries) {
    Index begin = 0, end = 0;
    for (std::size_t k = 0; k < p.keys.size(); ++k)
      if (visible(p.mask, q, p.keys[k])) {
        if (end == 0) begin = static_cast<Index>(k);
        end = static_cast<Index>(k) + 1;
      }
    ranges_.emplace_back(begin, end);
  }
  std::vector<RowPlace> right;
  const auto rows = static_cast<Index>(p.queries.size()), keys = static_cast<Index>(p.keys.size());
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h) {
      std::vector<double> max(static_cast<std::size_t>(keys), -HUGE_VAL), sum(max.size(), 0.0);
      double largest = -HUGE_VAL, total = 0;
      for (const bool second : {false, true})
        for (Index i = 0; i < rows; ++i) {
          const auto [begin, end] = ranges_[static_cast<std::size_t>(i)];
          for (Index j = begin; j < end; ++j) {
            const double s =
                p.softmax_scale * dot(row_of(e.inputs.q, b, h, i), row_of(e.inputs.k, b, h / p.group(), j));
            const auto key = static_cast<std::size_t>(j);
            if (!second) max[key] = std::max(max[key], s), largest = std::max(largest, s);
            if (second) sum[key] += std::exp(s - max[key]), total += std::exp(s - largest);
          }
        }
      column_max_.insert(column_max_.end(), max.begin(), max.end());
      column_sum_.insert(column_sum_.end(), sum.begin(), sum.end());
      largest_.push_back(largest), total_.push_back(total);
      for (Index i = 0; i < rows; ++i) {
        const RowPlace row{b, h, i};
        (wrong_row(row) ? rows_ : right).push_back(row);
      }
    }
  const auto seen = [&](const RowPlace& row) {
    const auto [begin, end] = ranges_[static_cast<std::size_t>(row.row)];
    return end - begin;
  };
  std::ranges::stable_sort(rows_, std::ranges::greater(), seen);  // the most informative rows first
  wrong_ = rows_.size();
  rows_.insert(rows_.end(), right.begin(), right.end());
}

bool AttentionProgram::wrong_row(const RowPlace& r) const {
  const auto differs = [&](const Buffer& claim, const Buffer& right, const Buffer& unit) {
    return !same_row(row_of(claim, r.batch, r.head, r.row), row_of(right, r.batch, r.head, r.row),
                     row_of(unit, r.batch, r.head, r.row), e_.nearness(), false);
  };
  return (e_.has("out") && differs(e_.claim.out, e_.oracle.value.out, e_.units().out)) ||
         (e_.has("lse") && differs(e_.claim.lse, e_.oracle.value.lse, e_.units().lse));
}

bool AttentionProgram::tells_pairs() const { return wrong_ > 2 && e_.problem.head_dim > 2; }

double AttentionProgram::work_of_row() const {
  return 2 * static_cast<double>(e_.problem.keys.size()) * static_cast<double>(e_.problem.head_dim);
}

Spot AttentionProgram::spot_of_query(const RowPlace& r, Index column) const {
  const BlockProblem& p = e_.problem;
  const auto rows = static_cast<Index>(p.queries.size());
  return {.batch = r.batch,
          .head = r.head,
          .row = r.row,
          .column = column,
          .heads = p.heads,
          .rows = rows,
          .width = p.head_dim,
          .count = rows,
          .others = parts_[0].count};
}

Spot AttentionProgram::spot_of_key(const RowPlace& r, const Part& part, Index key, Index column) const {
  const BlockProblem& p = e_.problem;
  const auto [begin, end] = ranges_[static_cast<std::size_t>(r.row)];
  return {.batch = r.batch,
          .head = r.head / p.group(),
          .row = key,
          .column = column,
          .heads = p.kv_heads,
          .rows = static_cast<Index>(p.keys.size()),
          .width = p.head_dim,
          .first = part.first,
          .count = part.count,
          .query_head = r.head,
          .query_heads = p.heads,
          .other = r.row,
          .others = static_cast<Index>(p.queries.size()),
          .begin = std::clamp<Index>(begin - part.first, 0, part.count)};
}

KeySpot AttentionProgram::key_spot(const RowPlace& r, const Part& part, Index key) const {
  const auto within = [&](Index k) { return std::clamp<Index>(k - part.first, 0, part.count); };
  const auto [begin, end] = ranges_[static_cast<std::size_t>(r.row)];
  return {r.row,
          key - part.first,
          within(begin),
          within(end),
          static_cast<Index>(ranges_.size()),
          part.count,
          e_.problem.head_dim,
          within(ranges_[0].first),
          within(ranges_[0].second)};
}

double AttentionProgram::score(const AttentionLaw& law, const RowPlace& r, const Part& part, Index key,
                               bool& known) const {
  const BlockProblem& p = e_.problem;
  if (law.query == nullptr && law.key == nullptr && law.columns == nullptr)
    return p.softmax_scale * dot(row_of(e_.inputs.q, r.batch, r.head, r.row),
                                 row_of(e_.inputs.k, r.batch, r.head / p.group(), key));
  double sum = 0;
  for (Index d = 0; d < p.head_dim; ++d) {
    const Index times = law.columns != nullptr ? law.columns->of(d, p.head_dim) : 1;
    if (times == 0) continue;
    Spot q = spot_of_query(r, d);
    q.other = key - part.first;
    const Spot k = spot_of_key(r, part, key, d);
    sum += static_cast<double>(times) *
           number_at(e_.inputs.q, law.query != nullptr ? law.query->of(q) : q.at(q.row, d), known) *
           number_at(e_.inputs.k, law.key != nullptr ? law.key->of(k) : k.at(k.row, d), known);
  }
  return p.softmax_scale * sum;
}

AttentionProgram::State AttentionProgram::begun(const AttentionLaw& law, const State* before) const {
  State state{std::vector<double>(static_cast<std::size_t>(e_.problem.head_dim), 0.0), -HUGE_VAL, 0};
  if (law.softmax == nullptr) return state;
  const SoftmaxSlip slip = law.softmax->slip;
  if (slip == SoftmaxSlip::kMaximumFrom || slip == SoftmaxSlip::kMaximumIs) state.max = law.softmax->number;
  if (before == nullptr) return state;
  const bool all = slip == SoftmaxSlip::kAllGoOn, both = all || slip == SoftmaxSlip::kBothGoOn;
  if (all || slip == SoftmaxSlip::kMaximumGoesOn) state.max = before->max;
  if (both || slip == SoftmaxSlip::kSumGoesOn) state.sum = before->sum;
  if (both || slip == SoftmaxSlip::kOutGoesOn) state.out = before->out;
  if (slip == SoftmaxSlip::kQuotientGoesOn)
    for (std::size_t c = 0; c < state.out.size(); ++c)
      state.out[c] = before->sum == 0 ? before->out[c] : before->out[c] / before->sum;
  return state;
}

void AttentionProgram::add_part(const AttentionLaw& law, const RowPlace& r, const Part& part,
                                State& state) const {
  const SoftmaxSlip slip = law.softmax != nullptr ? law.softmax->slip : SoftmaxSlip::kNone;
  struct Vote {
    Index key;
    double score;
    unsigned loops;
  };
  std::vector<Vote> votes;
  for (Index key = part.first; key < part.first + part.count; ++key) {
    const KeySpot spot = key_spot(r, part, key);
    const bool seen = spot.begin <= spot.key && spot.key < spot.end;
    const bool visits = law.keys != nullptr ? law.keys->of(spot) : seen;
    const unsigned loops = (visits ? law.loops : 0u) | (seen ? 7u & ~law.loops : 0u);
    if (loops == 0) continue;
    double s = score(law, r, part, key, state.known);
    if (slip == SoftmaxSlip::kScoreGoesOn && !votes.empty()) s += votes.back().score;
    if (slip == SoftmaxSlip::kFloatScores || slip == SoftmaxSlip::kFloatBoth) s = in_float(s);
    votes.push_back({key, s, loops});
  }
  if (votes.empty() || !state.known) return;
  state.visited = true;
  const auto head = static_cast<std::size_t>(r.batch * e_.problem.heads + r.head);
  double largest = state.max;
  if (slip != SoftmaxSlip::kMaximumIs)
    for (const Vote& vote : votes)
      if ((vote.loops & kOfMaximum) != 0) largest = std::max(largest, vote.score);
  if (slip == SoftmaxSlip::kUnscaledMaximum || (slip == SoftmaxSlip::kSumGoesOn && law.softmax->number != 0))
    largest /= e_.problem.softmax_scale;
  if (slip == SoftmaxSlip::kFirstScore) largest = votes.front().score;
  if (slip == SoftmaxSlip::kSmallest)
    for (const Vote& vote : votes) largest = std::min(largest, vote.score);
  if (slip == SoftmaxSlip::kLargestOfAll || slip == SoftmaxSlip::kMatrixSum) largest = largest_[head];
  const ExponentRange range = e_.exponents();
  // A state whose m was reset is not rescaled.
  const double factor = state.max == -HUGE_VAL ? 1 : range.exp(state.max - largest);
  if (factor != 1) {
    state.sum *= factor;
    for (double& x : state.out) x *= factor;
  }
  double total = state.sum;
  for (const Vote& vote : votes)
    if ((vote.loops & kOfSum) != 0) total += range.exp(vote.score - largest);
  double so_far = -HUGE_VAL, squares = 0, moment = state.sum;
  for (const Vote& vote : votes) squares += std::pow(range.exp(vote.score - largest), 2);
  for (const Vote& vote : votes) {
    so_far = std::max(so_far, vote.score);
    const auto column = head * e_.problem.keys.size() + static_cast<std::size_t>(vote.key);
    double weight = range.exp(vote.score - largest);
    if (slip == SoftmaxSlip::kColumnMaximum || slip == SoftmaxSlip::kColumnSum)
      weight = range.exp(vote.score - column_max_[column]);
    if (slip == SoftmaxSlip::kFloatWeights || slip == SoftmaxSlip::kFloatBoth) weight = in_float(weight);
    if (slip == SoftmaxSlip::kMaximumSoFar) weight = range.exp(vote.score - so_far);
    if ((vote.loops & kOfSum) != 0)
      state.sum += slip == SoftmaxSlip::kMaximumSoFar && law.softmax->number == 0
                       ? range.exp(vote.score - largest)
                       : weight;
    moment += weight;
    if (slip == SoftmaxSlip::kSumSoFar) weight *= total / moment;
    if (slip == SoftmaxSlip::kSquares) weight *= total / std::sqrt(squares);
    if (slip == SoftmaxSlip::kColumnSum) weight /= column_sum_[column];
    if (slip == SoftmaxSlip::kMatrixSum) weight /= total_[head];
    if (slip == SoftmaxSlip::kFloatShares) weight = in_float(weight / total) * total;
    if ((vote.loops & kOfValues) == 0) continue;
    for (Index c = 0; c < e_.problem.head_dim; ++c) {
      const Spot spot = spot_of_key(r, part, vote.key, c);
      const Index place = law.value != nullptr ? law.value->of(spot) : spot.at(spot.row, c);
      state.out[static_cast<std::size_t>(c)] += weight * number_at(e_.inputs.v, place, state.known);
    }
  }
  state.max = largest;
}

AttentionProgram::State AttentionProgram::state_of(const AttentionLaw& law, const RowPlace& row,
                                                   const State* before) const {
  State state = begun(law, before);
  for (const Part& part : parts_) add_part(law, row, part, state);
  return state;
}

bool AttentionProgram::same_as_claim(const AttentionLaw& law, const RowPlace& r, const State& state) const {
  const SoftmaxSlip slip = law.softmax != nullptr ? law.softmax->slip : SoftmaxSlip::kNone;
  const bool whole = slip == SoftmaxSlip::kColumnSum || slip == SoftmaxSlip::kMatrixSum;  // never divided
  std::vector<double> out = state.out;
  const bool divides = !whole && (state.visited || state.sum != 0) && !(e_.place.partial && state.sum == 0);
  if (divides)
    for (double& x : out) x /= state.sum;
  if (e_.has("out") && law.out == nullptr &&
      !same_row(row_of(e_.claim.out, r.batch, r.head, r.row), out,
                row_of(e_.units().out, r.batch, r.head, r.row), e_.nearness(), false))
    return false;
  if (!e_.has("lse")) return true;
  const double lse =
      state.sum == 0 ? (e_.place.partial ? state.max : -HUGE_VAL) : state.max + std::log(state.sum);
  const auto fits = [&](double value) {
    return same_row(row_of(e_.claim.lse, r.batch, r.head, r.row), {&value, 1},
                    row_of(e_.units().lse, r.batch, r.head, r.row), e_.nearness(), false);
  };
  if (fits(lse)) return true;
  const double right = row_of(e_.oracle.value.lse, r.batch, r.head, r.row)[0];
  if (slip != SoftmaxSlip::kColumnMaximum && !whole) return false;
  double bare = -HUGE_VAL;  // maximum of the row's own scores, possibly without the scale
  const auto [begin, end] = ranges_[static_cast<std::size_t>(r.row)];
  bool known = true;
  for (Index key = begin; key < end; ++key) bare = std::max(bare, score({}, r, parts_[0], key, known));
  return fits(right) || fits(bare + std::log(state.sum)) ||
         fits(bare / e_.problem.softmax_scale + std::log(state.sum));
}

// Compares row by row; if a row begins with the result of the previous one, all in order.
bool AttentionProgram::explains_in_order(const AttentionLaw& law) const {
  std::size_t known = 0;
  State before;
  const BlockProblem& p = e_.problem;
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h)
      for (Index i = 0; i < static_cast<Index>(p.queries.size()); ++i) {
        State state = state_of(law, {b, h, i}, i > 0 ? &before : nullptr);
        if (!state.known || !same_as_claim(law, {b, h, i}, state)) return false;
        known += wrong_row({b, h, i}) ? 1 : 0;
        before = std::move(state);
      }
  return known > 0;
}

// Compares rows of out at wrong addresses: later ones overwrite earlier ones.
bool AttentionProgram::explains_memory(const AttentionLaw& law) const {
  const BlockProblem& p = e_.problem;
  const auto rows = static_cast<Index>(p.queries.size());
  std::vector<double> memory(static_cast<std::size_t>(e_.claim.out.extents().elements()),
                             e_.place.partial ? 0.0 : unwritten());
  std::vector<double> sums;
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h)
      for (Index i = 0; i < rows; ++i) {
        const RowPlace row{b, h, i};
        const State state = state_of(law, row, nullptr);
        if (!state.known) return false;
        if (!same_as_claim(law, row, state)) return false;  // of lse
        sums.push_back(state.sum);
        for (Index c = 0; c < p.head_dim; ++c) {
          const Index place = law.out->of(spot_of_query(row, c));
          if (place < 0 || place >= static_cast<Index>(memory.size())) continue;
          const auto at = static_cast<std::size_t>(place);
          const bool divided = !e_.place.partial && state.sum != 0;
          memory[at] = divided ? state.out[static_cast<std::size_t>(c)] / state.sum
                               : state.out[static_cast<std::size_t>(c)];
        }
      }
  const auto claim = e_.claim.out.values<double>(), unit = e_.units().out.values<double>(),
             right = e_.oracle.value.out.values<double>();
  std::size_t told = 0;
  for (std::size_t at = 0; at < memory.size(); ++at) {
    const double sum = sums[at / static_cast<std::size_t>(p.head_dim)];
    const double number = e_.place.partial && sum != 0 ? memory[at] / sum : memory[at];
    if (!same_row({&claim[at], 1}, {&number, 1}, {&unit[at], 1}, e_.nearness(), false)) return false;
    told += std::isfinite(number) && number != 0 &&
            !same_row({&right[at], 1}, {&number, 1}, {&unit[at], 1}, e_.nearness(), false);
  }
  return told > 2;
}

// Compares states at wrong addresses: a state that several rows share continues with each of them.
bool AttentionProgram::explains_states(const AttentionLaw& law) const {
  const BlockProblem& p = e_.problem;
  const auto rows = static_cast<Index>(p.queries.size());
  std::vector<State> states(static_cast<std::size_t>(p.batch * p.heads * rows), begun({}, nullptr));
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h)
      for (Index i = 0; i < rows; ++i) {
        const Index place = law.out->of(spot_of_query({b, h, i}, 0));
        if (place < 0 || place % p.head_dim != 0 || place / p.head_dim >= static_cast<Index>(states.size()) ||
            law.out->of(spot_of_query({b, h, i}, p.head_dim - 1)) != place + p.head_dim - 1)
          return false;
        State& state = states[static_cast<std::size_t>(place / p.head_dim)];
        for (const Part& part : parts_) add_part({}, {b, h, i}, part, state);
      }
  std::size_t told = 0;
  for (std::size_t n = 0; n < states.size(); ++n) {
    const RowPlace row{static_cast<Index>(n) / rows / p.heads, static_cast<Index>(n) / rows % p.heads,
                       static_cast<Index>(n) % rows};
    if (!same_as_claim({}, row, states[n])) return false;
    told += states[n].sum != 0 && wrong_row(row) ? 1 : 0;
  }
  return told > 1;
}

bool AttentionProgram::explains(const AttentionLaw& law) const {
  if (wrong_ == 0) return false;
  const SoftmaxSlip slip = law.softmax != nullptr ? law.softmax->slip : SoftmaxSlip::kNone;
  if (slip >= SoftmaxSlip::kSumGoesOn && slip <= SoftmaxSlip::kAllGoOn)
    return law.out == nullptr && explains_in_order(law);
  if (law.out != nullptr) {
    const AttentionLaw alone{.out = law.out};
    const bool one = law.query == nullptr && law.key == nullptr && law.value == nullptr &&
                     law.columns == nullptr && law.keys == nullptr && law.softmax == nullptr;
    return explains_memory(law) || (one && explains_states(alone));
  }
  std::size_t wrong = 0, told = 0;
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const State state = state_of(law, rows_[n], nullptr);
    if (!state.known) continue;
    if (!same_as_claim(law, rows_[n], state)) return false;
    wrong += n < wrong_ ? 1 : 0;
    told += n < wrong_ && std::isfinite(state.out[0]) && state.out[0] != 0 ? 1 : 0;
  }
  return wrong > 0 && 2 * wrong >= wrong_ && (told > 0 || law.softmax != nullptr);
}

}  // namespace ringcraft::verify
