#pragma once
/// @file
/// Heads whose sizes, mask and numbers a check chooses itself, beside the table of block_trial.hpp: their
/// right answer by the oracle, parts of their keys, and pieces of a head that is too long for the oracle.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/checks/lesson.hpp"
#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/twisted/arrangement.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {

/// Queries at the positions [first_query, first_query + rows), keys at [first_key, first_key + keys).
struct HeadShape {
  Index rows, keys, head_dim;
  Position first_query = 0, first_key = 0;
  Index batch = 1, heads = 1, kv_heads = 1;
};

/// Inputs of attention, float64; rounded to the precision of the instantiation that is judged. The views are
/// those of a single head.
struct HeadCase {
  std::string name;  ///< "7 queries, 9 keys, head_dim 5, causal, normal"
  verify::BlockProblem problem;
  KeyRanges ranges;
  verify::Inputs in;
  DType precision = DType::kFloat64;  ///< of the answers: the rule by which they are compared

  Index rows() const { return in.q.extents().rows; }
  Index keys() const { return in.k.extents().rows; }
  Index head_dim() const { return problem.head_dim; }
  Matrix<const double> q() const { return head_of<double>(in.q, 0, 0); }
  Matrix<const double> k() const { return head_of<double>(in.k, 0, 0); }
  Matrix<const double> v() const { return head_of<double>(in.v, 0, 0); }
  Matrix<const double> dout() const { return head_of<double>(in.dout, 0, 0); }
};

/// The inputs of a single block.
HeadCase make_head(const verify::BlockCase& block);
/// Random numbers of this kind, from the trial's seed, in the trial's precision.
HeadCase make_head(const Trial& trial, const HeadShape& shape, const Mask& mask,
                   verify::Data data = verify::Data::kNormal);

/// For a diagnosis, heads without dout that tell one mistake from another: rows that see 5 to 13 keys; scores
/// that grow from row to row until no exponential holds them; rows without a key; more keys and columns than
/// there is room for in a small array.
std::vector<HeadCase> telling_heads(const Trial& trial);

/// The ranges of the keys [first, last) alone, counted from `first`.
KeyRanges part_of(const KeyRanges& ranges, Index first, Index last);

/// delta[i] = sum over columns of out(i, .) * dout(i, .), by a plain loop.
std::vector<double> plain_delta(Matrix<const double> out, Matrix<const double> dout);

/// The rounding of attention in this precision: none for float64, whose rule is exact.
std::optional<verify::Rounding> rounding_in(DType precision);
/// Compares by the rule for this rounding, with which the oracle was made; without one by the exact rule.
verify::Comparison compared(const verify::Answer& got, const verify::Oracle& want,
                            const std::optional<verify::Rounding>& rounding,
                            verify::Expect expect = verify::Expect::kAll);

/// Throws Wrong with `label` in front unless the comparison is good. `only` names the tensors that were
/// compared; none: all that the oracle has.
void require_comparison(const std::string& label, const verify::Comparison& comparison,
                        const verify::Oracle& want, const std::vector<std::string_view>& only = {});

/// Throws Wrong with `label` in front unless `got` is the oracle's answer. `only` names the
/// tensors that are compared; none: all that the oracle has. `place` names the tiles in which it was
/// computed.
void require_head(const std::string& label, const HeadCase& head, const verify::Answer& got,
                  const std::vector<std::string_view>& only = {},
                  std::optional<verify::Arrangement> place = {});

/// For a diagnosis of gradients that held `before` and grew by `grown`: null if that is right.
verify::Exhibit exhibit_of_growth(const HeadCase& head, verify::Answer grown, verify::Answer before);

/// The tiles of a head whose keys come in these parts; none: all at once.
verify::Arrangement in_tiles(const HeadCase& head, TileSize tile,
                             const std::vector<std::pair<Index, Index>>& parts = {});

/// A stretch of rows and keys [first, last) of a long head under a sliding window, with as many neighbours
/// around it as the window reaches: within the stretch every tensor equals that of the whole.
struct Piece {
  HeadCase head;                 ///< the stretch and its neighbours
  verify::Oracle want;           ///< of this head
  Index first, last;             ///< the stretch, counted in the whole
  Index first_query, first_key;  ///< where the queries and the keys of `head` begin, counted in the whole
};

/// Cuts a head of equally many rows and keys with window_mask(window) into pieces.
std::vector<Piece> pieces_of(const HeadCase& whole, Position window);

/// require_head for a whole that was cut, piece by piece. `got` has the whole's extents.
void require_pieces(const std::string& label, const std::vector<Piece>& pieces, const verify::Answer& got,
                    const std::vector<std::string_view>& only);

}  // namespace ringcraft::judge
