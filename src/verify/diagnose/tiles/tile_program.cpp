// Searches the wrong indices of a program on tiles for one, or two alike, that explain an answer.
#include "verify/diagnose/tiles/tile_program.hpp"

#include <algorithm>
#include <vector>

#include "verify/diagnose/tiles/tile_head.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Operand = TileOperand;
using Rows = TileRows;

// Whether all rows of one head of a tensor agree with these.
bool same_rows(const Evidence& e, const Buffer& claim, const Buffer& unit, Index b, Index h,
               const Rows& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (!same_row(row_of(claim, b, h, static_cast<Index>(row)), rows[row],
                  row_of(unit, b, h, static_cast<Index>(row)), e.nearness(), false))
      return false;
  return true;
}

bool explains_forward(const Evidence& e, TileSize tile, const TileSlip& slip) {
  for (Index b = 0; b < e.problem.batch; ++b)
    for (Index h = 0; h < e.problem.heads; ++h) {
      const auto got = TileHead(e, b, h, tile, slip).forward();
      if (!got) return false;
      Rows lse;
      for (const double x : got->second) lse.push_back({x});
      if ((e.has("out") && !same_rows(e, e.claim.out, e.units().out, b, h, got->first)) ||
          (e.has("lse") && !same_rows(e, e.claim.lse, e.units().lse, b, h, lse)))
        return false;
    }
  return true;
}

bool explains_backward(const Evidence& e, TileSize tile, const TileSlip& slip) {
  const BlockProblem& p = e.problem;
  for (Index b = 0; b < p.batch; ++b)
    for (Index g = 0; g < p.kv_heads; ++g) {
      Rows dk, dv;
      for (Index h = g * p.group(); h < (g + 1) * p.group(); ++h) {
        auto got = TileHead(e, b, h, tile, slip).backward();
        if (!got || (e.has("dq") && !same_rows(e, e.claim.dq, e.units().dq, b, h, got->dq))) return false;
        if (dk.empty()) {
          dk = std::move(got->dk), dv = std::move(got->dv);
          continue;
        }
        for (std::size_t key = 0; key < dk.size(); ++key)
          add(dk[key], 1, got->dk[key]), add(dv[key], 1, got->dv[key]);
      }
      if ((e.has("dk") && !same_rows(e, e.claim.dk, e.units().dk, b, g, dk)) ||
          (e.has("dv") && !same_rows(e, e.claim.dv, e.units().dv, b, g, dv)))
        return false;
    }
  return true;
}

std::vector<Operand> operands_of(TensorGroup pass) {
  if (pass == TensorGroup::kForward)
    return {Operand::kMax,     Operand::kSum, Operand::kOutScaled, Operand::kOut,  Operand::kQuery,
            Operand::kMaskRow, Operand::kKey, Operand::kMaskKey,   Operand::kValue};
  return {Operand::kLse,   Operand::kDelta,   Operand::kQuery,  Operand::kMaskRow, Operand::kDout,
          Operand::kDq,    Operand::kDkQuery, Operand::kDvDout, Operand::kKey,     Operand::kMaskKey,
          Operand::kValue, Operand::kDk,      Operand::kDv,     Operand::kDqKey};
}

// Single operands, then pairs of one kind.
std::vector<TileSlip> slips_of(TensorGroup pass) {
  constexpr TileIndex kAll[] = {TileIndex::kWithinTile, TileIndex::kFirstOfTile, TileIndex::kOtherBase,
                                TileIndex::kNext,       TileIndex::kBefore,      TileIndex::kTransposed,
                                TileIndex::kStored};
  const std::vector<Operand> operands = operands_of(pass);
  std::vector<TileSlip> slips;
  const auto possible = [](Operand operand, TileIndex index) {
    const bool of_keys = operand == Operand::kDk || operand == Operand::kDv;
    if (index == TileIndex::kTransposed) return of_keys;
    return index != TileIndex::kStored || operand == Operand::kDq || of_keys;
  };
  for (const TileIndex index : kAll)
    for (const Operand each : operands)
      if (possible(each, index)) slips.push_back({each, each, index});
  for (const TileIndex index : kAll)
    for (std::size_t a = 0; a < operands.size(); ++a)
      for (std::size_t b = a + 1; b < operands.size(); ++b)
        if ((operands[a] < Operand::kKey) == (operands[b] < Operand::kKey) && possible(operands[a], index) &&
            possible(operands[b], index))
          slips.push_back({operands[a], operands[b], index});
  return slips;
}

// The tiles that the answer was computed in, or those that kernels have.
std::vector<TileSize> tiles_of(const Evidence& e) {
  const auto rows = static_cast<Index>(e.problem.queries.size()),
             keys = static_cast<Index>(e.problem.keys.size());
  if (e.place.row_tile > 0)
    return {{e.place.row_tile, std::max<Index>(1, static_cast<Index>(e.place.blocks.front().size()))}};
  std::vector<TileSize> tiles;
  for (const Index size : {16, 32, 64, 128})
    if (size < std::max(rows, keys)) tiles.push_back({size, size});
  return tiles;
}

// Whether wrong indices are tried: on one device, on few numbers, some of which are clearly wrong.
bool is_indexed(const Evidence& e, TensorGroup pass) {
  constexpr double kMostWork = 2e6;  // multiplications of one slip
  const BlockProblem& p = e.problem;
  const double work = static_cast<double>(p.batch * p.heads) *
                      static_cast<double>(p.queries.size() * p.keys.size()) * static_cast<double>(p.head_dim);
  return e.ring == nullptr && work <= kMostWork && !is_near_right(e, pass);
}

bool only_reads(const TileSlip& slip) {
  constexpr Operand kRead[] = {Operand::kQuery, Operand::kMaskRow, Operand::kKey, Operand::kMaskKey,
                               Operand::kValue};
  return std::ranges::count(kRead, slip.first) > 0 && std::ranges::count(kRead, slip.second) > 0;
}

using Parts = std::vector<std::vector<ScanKey>>;

// All rows of out and lse, with the parts that a slip makes of each; wrong rows first, since they rule most
// mistakes out. Empty if the slip is impossible.
std::vector<std::pair<RowPlace, Parts>> scanned_rows(const Evidence& e, TileSize tile, const TileSlip& slip) {
  std::vector<std::pair<RowPlace, Parts>> rows;
  for (Index b = 0; b < e.problem.batch; ++b)
    for (Index h = 0; h < e.problem.heads; ++h) {
      TileHead head(e, b, h, tile, slip);
      for (Index row = 0; row < static_cast<Index>(e.problem.queries.size()); ++row) {
        std::optional<Parts> parts = head.parts_of(row);
        if (!parts) return {};
        rows.push_back({{.batch = b, .head = h, .row = row}, std::move(*parts)});
      }
    }
  std::ranges::stable_partition(rows, [&](const auto& each) {
    const RowPlace& at = each.first;
    return !is_claimed_row(e, e.claim.out, e.units().out, at,
                           row_of(e.oracle.value.out, at.batch, at.head, at.row));
  });
  return rows;
}

bool explains_row(const Evidence& e, const ScanTwist& twist, const RowPlace& at, const Parts& parts) {
  const Merged got =
      scan_result(twist, parts, static_cast<std::size_t>(e.problem.head_dim), e.place.partial, e.exponents());
  return (!e.has("out") || is_claimed_row(e, e.claim.out, e.units().out, at, got.out)) &&
         (!e.has("lse") || is_claimed_row(e, e.claim.lse, e.units().lse, at, {&got.lse, 1}));
}

}  // namespace

std::optional<Cause> cause_of_tile_index(const Evidence& e, TensorGroup pass) {
  if (!is_indexed(e, pass)) return {};
  for (const TileSize tile : tiles_of(e))
    for (TileSlip slip : slips_of(pass))
      for (const bool by_row : {false, true}) {
        slip.by_row = by_row;
        if (pass == TensorGroup::kForward ? explains_forward(e, tile, slip)
                                          : !by_row && explains_backward(e, tile, slip))
          return cause_of_slip(slip);
      }
  return {};
}

std::vector<Cause> causes_of_tile_index_and_scan(const Evidence& e) {
  if (!is_indexed(e, TensorGroup::kForward)) return {};
  for (const TileSize tile : tiles_of(e))
    for (const TileSlip& slip : slips_of(TensorGroup::kForward)) {
      if (!only_reads(slip)) continue;
      const auto rows = scanned_rows(e, tile, slip);
      for (const ScanMistake& mistake : rows.empty() ? std::vector<ScanMistake>{} : scan_mistakes())
        if (std::ranges::all_of(
                rows, [&](const auto& row) { return explains_row(e, mistake.twist, row.first, row.second); }))
          return together(
              {cause_of_slip(slip), {mistake.id, with_part(mistake.sentence, "tile"), mistake.question}});
    }
  return {};
}

}  // namespace ringcraft::verify
