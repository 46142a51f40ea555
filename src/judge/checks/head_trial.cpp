// Makes heads of a check's own choice, computes their answers by the oracle, and compares.
#include "judge/checks/head_trial.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "judge/outcome/comparison.hpp"
#include "verify/oracle/rounding_rule.hpp"

namespace ringcraft::judge {
namespace {

constexpr Index kPieceRows = 256;

std::vector<Position> positions(Position first, Index count) {
  std::vector<Position> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

// The rows [first, first + count) of a tensor of one head.
Buffer rows_of(const Buffer& from, Index first, Index count) {
  const Extents& e = from.extents();
  Buffer to({1, 1, count, e.width}, DType::kFloat64);
  std::ranges::copy(head_of<double>(from, 0, 0).slice(first, count).data, to.values<double>().begin());
  return to;
}

// Copies rows of one head into another, from row `first` on.
void paste(Buffer& to, Index first, const Buffer& rows) {
  std::ranges::copy(rows.values<double>(),
                    head_of<double>(to, 0, 0).slice(first, rows.extents().rows).data.begin());
}

KeyRanges ranges_of(const verify::BlockProblem& p) {
  const Position seqlen =
      std::max(p.queries.empty() ? 0 : p.queries.back(), p.keys.empty() ? 0 : p.keys.back()) + 1;
  return ringcraft::ranges_of(p.mask, seqlen, p.queries, p.keys);
}

bool among(const std::vector<std::string_view>& only, std::string_view name) {
  return only.empty() || std::ranges::find(only, name) != only.end();
}

std::string number(double x) {
  if (std::isnan(x)) return "NaN";
  std::ostringstream digits;
  digits.precision(9);
  digits << x;
  return digits.str();
}

// "dk of batch 1, head 0, key 3, column 2 is 0.5, and must be 0.25 (error 0.25, allowed 1e-13)". Batch and
// head are left out where there is one.
std::string text(const verify::Difference& d, const Extents& queries) {
  const bool of_keys = d.tensor == "dk" || d.tensor == "dv";
  std::ostringstream text;
  text << d.tensor << " of ";
  if (queries.batch > 1) text << "batch " << d.batch << ", ";
  if (queries.heads > 1) text << (of_keys ? "KV head " : "head ") << d.head << ", ";
  text << (of_keys ? "key " : "row ") << d.position << ", column " << d.column << " is " << number(d.got)
       << ", and must be " << number(d.want);
  text.precision(2);
  if (std::isfinite(d.got)) text << " (error " << d.error << ", allowed " << d.bound << ")";
  return text.str();
}

}  // namespace

std::optional<verify::Rounding> rounding_in(DType precision) {
  if (precision == DType::kFloat64) return {};
  return verify::rounding_of(precision);
}

verify::Comparison compared(const verify::Answer& got, const verify::Oracle& want,
                            const std::optional<verify::Rounding>& rounding, verify::Expect expect) {
  if (!rounding) return verify::compare_exact(got, want, expect);
  return verify::RoundingRule(*rounding).add(got, want, expect);
}

void require_comparison(const std::string& label, const verify::Comparison& comparison,
                        const verify::Oracle& want, const std::vector<std::string_view>& only) {
  if (comparison.good || (comparison.total == 0 && comparison.complaint.empty())) return;
  if (!comparison.complaint.empty())
    throw Wrong(sign::kValues, "not-comparable", "{}: {}", label, comparison.complaint);
  if (!comparison.first)
    for (const verify::TensorComparison& tensor : comparison.tensors)
      if (!tensor.together.empty())
        throw Wrong(sign::kValues, "together", "{}: each number is near enough, but together: {}", label,
                    verify::described(tensor.together.front()))
            .knowing(facts_of(tensor.together.front()));
  Index total = 0;
  for (const verify::TensorComparison& tensor : comparison.tensors)
    total += among(only, tensor.name) ? tensor.total : 0;
  throw wrong_values(
      verify::error_maps(comparison, want.value.out.extents().rows, want.value.dk.extents().rows),
      "{}: {}; {} of {} elements {} wrong", label, text(*comparison.first, want.value.out.extents()),
      comparison.wrong, total, comparison.wrong == 1 ? "is" : "are")
      .knowing(facts_of(*comparison.first));
}

HeadCase make_head(const verify::BlockCase& block) {
  return {block.name, block.problem, block.ranges, verify::make_inputs(block, DType::kFloat64)};
}

namespace {

HeadCase rounded(HeadCase head, DType precision) {
  head.precision = precision;
  if (precision == DType::kFloat64) return head;
  head.in = verify::converted(verify::converted(head.in, precision), DType::kFloat64);
  head.problem.softmax_scale = as_float(head.problem.softmax_scale);
  return head;
}

}  // namespace

HeadCase make_head(const Trial& trial, const HeadShape& s, const Mask& mask, verify::Data data) {
  std::ostringstream name;
  if (s.heads != 1) name << s.heads << " heads on " << s.kv_heads << ", ";
  if (s.batch != 1) name << "batch " << s.batch << ", ";
  name << s.rows << " queries, " << s.keys << " keys, head_dim " << s.head_dim << ", " << described(mask)
       << ", " << verify::name_of(data);
  const verify::BlockProblem problem{.batch = s.batch,
                                     .heads = s.heads,
                                     .kv_heads = s.kv_heads,
                                     .head_dim = s.head_dim,
                                     .mask = mask,
                                     .queries = positions(s.first_query, s.rows),
                                     .keys = positions(s.first_key, s.keys),
                                     .softmax_scale = 1 / std::sqrt(static_cast<double>(s.head_dim))};
  return rounded(make_head({name.str(), problem, ranges_of(problem), data, trial.seed()}), trial.precision());
}

namespace {

// Every second row has scores far below zero, the others far above; from row to row they grow by a quarter.
void make_scores_grow(HeadCase& head) {
  const auto q = head_of<double>(head.in.q, 0, 0), k = head_of<double>(head.in.k, 0, 0);
  for (Index j = 0; j < k.rows; ++j) k(j, 0) = 1 + 0.02 * k(j, 0);
  double size = 1;
  for (Index i = 0; i < q.rows; ++i, size *= 1.25) {
    for (double& x : q.row(i)) x *= 0.1 * size;
    q(i, 0) = (i % 2 == 0 ? size : -size) / head.problem.softmax_scale;
  }
  head.name += ", scores that grow from row to row";
}

}  // namespace

std::vector<HeadCase> telling_heads(const Trial& trial) {
  std::vector<HeadCase> heads;
  heads.push_back(make_head(trial, {9, 13, 16, 4, 0}, causal_mask()));
  heads.push_back(make_head(trial, {40, 11, 6}, full_mask()));
  heads.push_back(make_head(trial, {10, 9, 5, 0, 4}, causal_mask()));
  heads.push_back(make_head(trial, {6, 204, 94}, full_mask()));
  heads[0].problem.softmax_scale = 0.3;
  make_scores_grow(heads[1]);
  for (HeadCase& head : heads) {
    head.in.dout = Buffer();
    head = rounded(std::move(head), trial.precision());
  }
  return heads;
}

KeyRanges part_of(const KeyRanges& ranges, Index first, Index last) {
  KeyRanges part;
  for (std::size_t a = 0; a < ranges.begin.size(); ++a) {
    part.begin.push_back(static_cast<int>(std::clamp<Index>(ranges.begin[a], first, last) - first));
    part.end.push_back(static_cast<int>(std::clamp<Index>(ranges.end[a], first, last) - first));
  }
  return part;
}

std::vector<double> plain_delta(Matrix<const double> out, Matrix<const double> dout) {
  std::vector<double> delta(static_cast<std::size_t>(out.rows), 0.0);
  for (Index i = 0; i < out.rows; ++i)
    for (Index j = 0; j < out.cols; ++j) delta[static_cast<std::size_t>(i)] += out(i, j) * dout(i, j);
  return delta;
}

verify::Arrangement in_tiles(const HeadCase& head, TileSize tile,
                             const std::vector<std::pair<Index, Index>>& parts) {
  if (parts.empty()) {
    verify::Arrangement whole = verify::tiled_arrangement(head.rows(), head.keys(), tile.keys, tile.rows);
    whole.partial = true;
    return whole;
  }
  std::vector<std::vector<Index>> tiles;
  for (const auto& [first, last] : parts)
    for (Index begin = first; begin < last; begin += tile.keys) {
      std::vector<Index>& keys = tiles.emplace_back();
      for (Index key = begin; key < std::min(begin + tile.keys, last); ++key) keys.push_back(key);
    }
  verify::Arrangement parted = verify::parted_arrangement(head.rows(), head.keys(), std::move(tiles));
  parted.partial = true;
  return parted;
}

void require_head(const std::string& label, const HeadCase& head, const verify::Answer& got,
                  const std::vector<std::string_view>& only, std::optional<verify::Arrangement> place) {
  const std::optional<verify::Rounding> rounding = rounding_in(head.precision);
  const verify::Oracle want = verify::oracle(head.problem, head.in, {.rounding = rounding});
  verify::Answer looked_at = verify::clone(want.value);
  const auto given = verify::named(got);
  auto kept = verify::named(looked_at);
  for (std::size_t t = 0; t < kept.size(); ++t)
    if (among(only, kept[t].name)) kept[t].tensor = given[t].tensor.clone();
  const verify::Comparison comparison = compared(looked_at, want, rounding);
  exhibiting(
      [&] {
        return verify::AttentionExhibit{head.problem,
                                        place.value_or(verify::one_block(head.problem)),
                                        {},
                                        verify::clone(head.in),
                                        std::move(looked_at),
                                        comparison,
                                        rounding,
                                        head.precision};
      },
      [&] { require_comparison(label, comparison, want, only); });
}

verify::Exhibit exhibit_of_growth(const HeadCase& head, verify::Answer grown, verify::Answer before) {
  // Of numbers of some hundreds.
  const double rounded_by = head.precision == DType::kFloat64 ? 1e-11 : 1e-3;
  const std::optional<verify::Rounding> rounding = rounding_in(head.precision);
  const verify::Oracle want = verify::oracle(head.problem, head.in, {.rounding = rounding});
  verify::Answer looked_at = verify::clone(want.value);
  const auto numbers = verify::named(grown);
  const auto right = verify::named(want.value);
  auto kept = verify::named(looked_at);
  for (std::size_t t = 2; t < kept.size(); ++t)  // rounding of the subtraction is no mistake
    for (std::size_t i = 0; i < kept[t].tensor.values<double>().size(); ++i) {
      const double got = numbers[t].tensor.values<double>()[i], wanted = right[t].tensor.values<double>()[i];
      if (!(std::fabs(got - wanted) <= rounded_by)) kept[t].tensor.values<double>()[i] = got;
    }
  verify::Comparison comparison = compared(looked_at, want, rounding);
  if (comparison.good) return nullptr;
  verify::AttentionExhibit exhibit{
      head.problem,         verify::one_block(head.problem), {},       verify::clone(head.in),
      std::move(looked_at), std::move(comparison),           rounding, head.precision};
  exhibit.before = std::move(before);
  return exhibit_of(std::move(exhibit));
}

std::vector<Piece> pieces_of(const HeadCase& whole, Position window) {
  std::vector<Piece> pieces;
  const Index seqlen = whole.rows();
  for (Index first = 0; first < seqlen; first += kPieceRows) {
    const Index last = std::min(first + kPieceRows, seqlen);
    const Index queries = std::min(last + window, seqlen) - first;  // all that see a key of the stretch
    const Index first_key = std::max<Index>(first - window, 0), keys = first + queries - first_key;
    Piece piece{{whole.name, whole.problem, {}, {}}, {}, first, last, first, first_key};
    piece.head.problem.queries = positions(first, queries);
    piece.head.problem.keys = positions(first_key, keys);
    piece.head.ranges = ranges_of(piece.head.problem);
    piece.head.in = {rows_of(whole.in.q, first, queries), rows_of(whole.in.k, first_key, keys),
                     rows_of(whole.in.v, first_key, keys), rows_of(whole.in.dout, first, queries)};
    piece.want = verify::oracle(piece.head.problem, piece.head.in);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

void require_pieces(const std::string& label, const std::vector<Piece>& pieces, const verify::Answer& got,
                    const std::vector<std::string_view>& only) {
  for (const Piece& piece : pieces) {
    verify::Answer looked_at = verify::clone(piece.want.value);
    const auto given = verify::named(got);
    auto kept = verify::named(looked_at);
    for (std::size_t t = 0; t < kept.size(); ++t) {
      if (!among(only, kept[t].name)) continue;
      const bool of_keys = kept[t].name == "dk" || kept[t].name == "dv";
      paste(kept[t].tensor, piece.first - (of_keys ? piece.first_key : piece.first_query),
            rows_of(given[t].tensor, piece.first, piece.last - piece.first));
    }
    require_comparison(
        label + ", tokens " + std::to_string(piece.first) + " to " + std::to_string(piece.last - 1),
        verify::compare_exact(looked_at, piece.want), piece.want, only);
  }
}

}  // namespace ringcraft::judge
