// Determines which block a rank of a twisted ring has in hand, which keys it sees, and which mistakes an
// arrangement allows.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {

int TwistedRing::steps(const Twist& twist) const {
  const int n = arrangement_.count();
  switch (twist.walk) {
    case WalkTwist::kOneShort:
      return arrangement_.hops;
    case WalkTwist::kOwnTwice:
      return n + 1;
    case WalkTwist::kOwnOnly:
      return 1;
    default:
      return n;
  }
}

// The block that each rank holds at each step, if ranks that see nothing omit a part of the exchange.
const std::vector<std::vector<int>>& TwistedRing::held(WalkTwist walk) const {
  auto& steps = held_[walk];
  if (!steps.empty()) return steps;
  const int n = arrangement_.count();
  const bool blind = walk == WalkTwist::kNotPassedOnBlind || walk == WalkTwist::kNotTakenBlind,
             sends = walk == WalkTwist::kNotTaken || walk == WalkTwist::kNotTakenBlind;
  std::vector<int> hold(static_cast<std::size_t>(n));
  for (int rank = 0; rank < n; ++rank) hold[static_cast<std::size_t>(rank)] = rank;
  for (int step = 0; step < n; ++step) {
    steps.push_back(hold);
    for (int rank = 0; rank < n; ++rank) {
      const int before = arrangement_.wrapped(rank - 1), deciding = sends ? rank : before;
      const int block =
          blind ? arrangement_.wrapped(deciding - step) : steps.back()[static_cast<std::size_t>(deciding)];
      if (has_pairs(deciding, block))
        hold[static_cast<std::size_t>(rank)] = steps.back()[static_cast<std::size_t>(before)];
    }
  }
  return steps;
}

bool TwistedRing::has_pairs(int rank, int block) const {
  const auto [known, is_new] = pairs_.try_emplace({rank, block}, false);
  if (!is_new) return known->second;
  return known->second =
             std::ranges::any_of(arrangement_.shards[static_cast<std::size_t>(rank)], [&](Index row) {
               return std::ranges::any_of(
                   arrangement_.blocks[static_cast<std::size_t>(block)], [&](Index key) {
                     return visible(problem_.mask, problem_.queries[static_cast<std::size_t>(row)],
                                    problem_.keys[static_cast<std::size_t>(key)]);
                   });
             });
}

bool TwistedRing::takes(const Twist& twist, int rank, int block) const {
  switch (twist.route) {
    case RouteTwist::kAll:
      break;
    case RouteTwist::kSeen:
      return has_pairs(rank, block);
    case RouteTwist::kReached:
      for (int t = arrangement_.wrapped(rank - block); t < arrangement_.count(); ++t)
        if (has_pairs(arrangement_.wrapped(block + t), block)) return true;
      return false;
  }
  return true;
}

// Whether the rank met a block without a visible pair before this one.
bool TwistedRing::after_empty(int rank, int block) const {
  for (int step = 0; arrangement_.wrapped(rank - step) != block; ++step)
    if (!has_pairs(rank, arrangement_.wrapped(rank - step))) return true;
  return false;
}

TwistedRing::View TwistedRing::view(const Twist& twist, int rank, int step) const {
  const auto on_ring = [&](int block) { return arrangement_.wrapped(block); };
  // On one device the steps count the blocks themselves.
  const int here = arrangement_.ring ? on_ring(rank - step) : on_ring(step);
  View view{here, here, here, twist.walk == WalkTwist::kCrossed && step % 2 == 1};
  if (twist.walk == WalkTwist::kNothingMoves || twist.walk == WalkTwist::kKeysStay) view.keys = rank;
  if (twist.walk == WalkTwist::kNothingMoves || twist.walk == WalkTwist::kValuesStay) view.values = rank;
  if (twist.walk == WalkTwist::kFirstKeys || twist.walk == WalkTwist::kFirstBoth) view.keys = 0;
  if (twist.walk == WalkTwist::kFirstValues || twist.walk == WalkTwist::kFirstBoth) view.values = 0;
  const bool both_late = twist.walk == WalkTwist::kStepLate;
  if (step > 0 && (both_late || twist.walk == WalkTwist::kKeysLate)) view.keys = on_ring(here + 1);
  if (step > 0 && (both_late || twist.walk == WalkTwist::kValuesLate)) view.values = on_ring(here + 1);
  if (twist.walk >= WalkTwist::kNotPassedOn && step < arrangement_.count()) {
    view.keys = view.values =
        held(twist.walk)[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)];
    if (twist.walk == WalkTwist::kNotPassedOn || twist.walk == WalkTwist::kNotTaken) view.label = view.keys;
  }
  switch (twist.label) {
    case LabelTwist::kRight:
      break;
    case LabelTwist::kAhead:
      view.label = on_ring(rank + step);
      break;
    case LabelTwist::kOwn:
      view.label = rank;
      break;
    case LabelTwist::kNext:
      view.label = on_ring(rank - step - 1);
      break;
    case LabelTwist::kLast:
      view.label = on_ring(rank - step + 1);
      break;
    case LabelTwist::kLastStep:
      if (step > 0 && step == arrangement_.hops) view.label = on_ring(rank - step + 1);
      break;
  }
  if (twist.nodes != NodeLabel::kRight)
    view.label = labelled(twist.nodes, arrangement_.count(), twist.inner, rank, here);
  return view;
}

TwistedRing::Query TwistedRing::query(Index batch, Index head, Index row) const {
  const auto i = static_cast<std::size_t>(row);
  return {batch, head, row, problem_.queries[i], arrangement_.row_owner[i], arrangement_.row_local[i]};
}

namespace {

// The inner borders, shifted.
std::vector<Position> moved(std::vector<Position> borders, Position by) {
  for (std::size_t i = 1; i + 1 < borders.size(); ++i)
    borders[i] = std::clamp<Position>(borders[i] + by, borders[i - 1], borders.back());
  return borders;
}

// The length of the first of two runs of neighbours; the half of other shards.
Index early_part(const std::vector<Index>& shard) {
  const auto apart = [](Index a, Index b) { return b != a + 1; };
  const auto gap = std::ranges::adjacent_find(shard, apart);
  const bool two_runs =
      gap != shard.end() && std::ranges::adjacent_find(gap + 1, shard.end(), apart) == shard.end();
  return two_runs ? gap - shard.begin() + 1 : (static_cast<Index>(shard.size()) + 1) / 2;
}

}  // namespace

Mask TwistedRing::mask_of(const Twist& twist) const {
  Mask mask = problem_.mask;
  switch (twist.mask) {
    case MaskTwist::kForgotten:
      return full_mask();
    case MaskTwist::kCausalAdded:
      mask.right = 0;
      break;
    case MaskTwist::kNoWindow:
      mask.left = kNoLimit;
      break;
    case MaskTwist::kWindowShort:
      if (mask.left != kNoLimit && mask.left > 0) --mask.left;
      break;
    case MaskTwist::kWindowLong:
      if (mask.left != kNoLimit) ++mask.left;
      break;
    case MaskTwist::kRightShort:
      --mask.right;
      break;
    case MaskTwist::kNoRight:
      mask.right = kNoLimit;
      break;
    case MaskTwist::kCentred:
      mask.left /= 2;
      mask.right = mask.left;
      break;
    case MaskTwist::kNoPacks:
      mask.cu_seqlens.clear();
      break;
    case MaskTwist::kPacksLate:
      mask.cu_seqlens = moved(mask.cu_seqlens, 1);
      break;
    case MaskTwist::kPacksEarly:
      mask.cu_seqlens = moved(mask.cu_seqlens, -1);
      break;
    case MaskTwist::kPacksLateFromZero:
      if (mask.cu_seqlens.empty()) mask.cu_seqlens = {0, static_cast<Position>(problem_.keys.size())};
      mask.cu_seqlens = moved(mask.cu_seqlens, 1);
      mask.cu_seqlens.insert(mask.cu_seqlens.begin() + 1, 1);
      break;
    case MaskTwist::kFirstPackOnly:
      if (mask.cu_seqlens.size() > 2) mask.cu_seqlens = {0, mask.cu_seqlens[1], mask.cu_seqlens.back()};
      break;
    default:
      break;
  }
  return mask;
}

bool TwistedRing::sees(const Twist& twist, const Mask& mask, const Query& query, int label, Index b) const {
  const Index key = arrangement_.at(label, b);
  if (key < 0) return false;
  if (twist.law != PairLaw{})
    return sees_by_law(twist.law, mask, arrangement_, problem_.keys, {query.rank, query.local}, {label, b});
  Position q = query.position, k = problem_.keys[static_cast<std::size_t>(key)];
  if (twist.positions == PositionTwist::kLocal || twist.positions == PositionTwist::kLocalRows)
    q = query.local;
  if (twist.positions == PositionTwist::kLocal || twist.positions == PositionTwist::kLocalKeys) k = b;
  if (twist.positions == PositionTwist::kContiguous) {
    q = arrangement_.offset[static_cast<std::size_t>(query.rank)] + query.local;
    k = arrangement_.offset[static_cast<std::size_t>(label)] + b;
  }
  const bool own = label == query.rank, later = label > query.rank;
  switch (twist.mask) {
    case MaskTwist::kWindowUnshifted:
      if (own) break;
      return !later && (mask.left == kNoLimit || query.local - b <= mask.left);
    case MaskTwist::kFlipped:
      return visible(mask, k, q);
    case MaskTwist::kComplement:
      return !visible(mask, q, k);
    case MaskTwist::kStrict:
      return visible(mask, q, k) && q != k;
    case MaskTwist::kOfNextQuery:
      return visible(mask, q + 1, k);
    case MaskTwist::kOfQueryBefore:
      return visible(mask, q - 1, k);
    case MaskTwist::kAhead:
      return visible(mask, q, k) || (k > 0 && visible(mask, q, k - 1));
    case MaskTwist::kAheadInOwnBlock:
      return visible(mask, q, k) ||
             (own && b > 0 &&
              visible(mask, q, problem_.keys[static_cast<std::size_t>(arrangement_.at(label, b - 1))]));
    case MaskTwist::kFutureVisible:
      return later || visible(mask, q, k);
    case MaskTwist::kOwnVisible:
      return own || visible(mask, q, k);
    case MaskTwist::kLaterSkipped:
      return !later && visible(mask, q, k);
    case MaskTwist::kEarlierWhole:
      return own ? visible(mask, q, k) : !later;
    case MaskTwist::kNotLastOfBlock:
      return arrangement_.at(label, b + 1) >= 0 && visible(mask, q, k);
    case MaskTwist::kNotFirstOfBlock:
      return b > 0 && visible(mask, q, k);
    case MaskTwist::kPacksInOwnBlock:
      if (own) break;
      return visible({mask.left, mask.right, {}}, q, k);
    case MaskTwist::kDoneAfterEmpty:
      return visible(mask, q, k) && !after_empty(query.rank, label);
    case MaskTwist::kOfOtherRank: {
      const Index row = arrangement_.at(label, query.local), own_key = arrangement_.at(query.rank, b);
      return row >= 0 && own_key >= 0 &&
             visible(mask, problem_.queries[static_cast<std::size_t>(row)],
                     problem_.keys[static_cast<std::size_t>(own_key)]);
    }
    default:
      break;
  }
  return visible(mask, q, k);
}

Index TwistedRing::kv_head(const Twist& twist, Index head) const {
  const BlockProblem& s = problem_;
  switch (twist.heads) {
    case HeadTwist::kModulo:
      return head % s.kv_heads;
    case HeadTwist::kByKvHeads:
      return head / s.kv_heads % s.kv_heads;
    case HeadTwist::kFirst:
      return 0;
    default:
      return head / s.group();
  }
}

Index TwistedRing::kv_batch(const Twist& twist, Index batch) const {
  return twist.heads == HeadTwist::kFirstBatch ? 0 : batch;
}

double TwistedRing::scale(const Twist& twist) const {
  const double right = problem_.softmax_scale;
  switch (twist.scale) {
    case ScaleTwist::kNone:
    case ScaleTwist::kAfterSoftmax:
      return 1;
    case ScaleTwist::kSquared:
      return right * right;
    case ScaleTwist::kInverse:
      return 1 / right;
    case ScaleTwist::kUsual:
      return 1 / std::sqrt(static_cast<double>(problem_.head_dim));
    case ScaleTwist::kWholeWidth:
      return right / std::sqrt(static_cast<double>(problem_.heads));
    case ScaleTwist::kRight:
      break;
  }
  return right;
}

Index TwistedRing::dealt(DealTwist deal, int block, Index row) const {
  const Index right = arrangement_.at(block, row);
  if (deal == DealTwist::kRight || right < 0) return right;
  if (deal == DealTwist::kPlain) return arrangement_.offset[static_cast<std::size_t>(block)] + row;
  const auto on = [&](Index at) { return arrangement_.order[static_cast<std::size_t>(at)]; };
  const auto back = [&](Index at) {
    const auto i = static_cast<std::size_t>(at);
    return arrangement_.offset[static_cast<std::size_t>(arrangement_.owner[i])] + arrangement_.local[i];
  };
  if (deal == DealTwist::kPlainTwice) return back(back(right));
  return deal == DealTwist::kThrice ? on(on(right)) : on(right);
}

RowPlace TwistedRing::source(RowTwist rows, const RowPlace& row, const Extents& extents) const {
  const auto p = static_cast<std::size_t>(row.row);
  switch (rows) {
    case RowTwist::kLayoutOrder:
      return {row.batch, row.head, arrangement_.order[p]};
    case RowTwist::kInverseOrder:
      return {row.batch, row.head,
              arrangement_.offset[static_cast<std::size_t>(arrangement_.owner[p])] + arrangement_.local[p]};
    case RowTwist::kHeadsInside: {
      const Index flat = row.head * extents.rows + row.row;
      return {row.batch, flat % extents.heads, flat / extents.heads};
    }
    case RowTwist::kHeadsOutside: {
      const Index flat = row.row * extents.heads + row.head;
      return {row.batch, flat / extents.rows, flat % extents.rows};
    }
    case RowTwist::kShardInside:
    case RowTwist::kShardOutside: {
      const int rank = arrangement_.owner[p];
      const auto length = static_cast<Index>(arrangement_.blocks[static_cast<std::size_t>(rank)].size());
      const bool inside = rows == RowTwist::kShardInside;
      const Index local = arrangement_.local[p];
      const Index flat = inside ? row.head * length + local : local * extents.heads + row.head;
      return {row.batch, inside ? flat % extents.heads : flat / length,
              arrangement_.at(rank, inside ? flat / extents.heads : flat % length)};
    }
    case RowTwist::kRankBefore:
    case RowTwist::kNextRank: {
      const int step = rows == RowTwist::kNextRank ? 1 : -1;
      const Index from =
          arrangement_.at(arrangement_.wrapped(arrangement_.owner[p] + step), arrangement_.local[p]);
      return {row.batch, row.head, from < 0 ? row.row : from};
    }
    case RowTwist::kHalves: {
      const std::vector<Index>& shard = arrangement_.blocks[static_cast<std::size_t>(arrangement_.owner[p])];
      const auto length = static_cast<Index>(shard.size());
      return {row.batch, row.head,
              shard[static_cast<std::size_t>((arrangement_.local[p] + early_part(shard)) % length)]};
    }
    case RowTwist::kRight:
      break;
  }
  return row;
}

bool TwistedRing::can_be(const Twist& twist) const {
  const bool square = problem_.queries.size() == problem_.keys.size();
  if (!square && (twist.dv_turned == Done::kYes || twist.dk_turned == Done::kYes)) return false;
  const bool of_tiles = twist.walk == WalkTwist::kFirstValues || twist.walk == WalkTwist::kFirstKeys ||
                        twist.walk == WalkTwist::kFirstBoth;
  // Beyond the last key head a program reads memory outside the tensor.
  if (twist.heads == HeadTwist::kByKvHeads && problem_.heads > problem_.kv_heads * problem_.kv_heads)
    return false;
  if (twist.mask == MaskTwist::kWindowUnshifted && problem_.mask.left == kNoLimit) return false;
  // A window on both sides or on the left: elsewhere the same as a mask that is off by one.
  const bool of_window = twist.mask >= MaskTwist::kCentred && twist.mask <= MaskTwist::kOfQueryBefore;
  const Position to_the_right = problem_.mask.right;
  if (of_window && (problem_.mask.left == kNoLimit || to_the_right == kNoLimit)) return false;
  if (of_window && !problem_.mask.cu_seqlens.empty()) return false;
  if (twist.mask == MaskTwist::kCentred && to_the_right != 0) return false;
  // Without a limit to the left it is a mask forgotten.
  if (twist.mask == MaskTwist::kNoRight && (problem_.mask.left == kNoLimit || to_the_right == kNoLimit))
    return false;
  const bool joins = twist.merge == MergeTwist::kBase2Blocks || twist.merge == MergeTwist::kBase2Joined;
  if (joins && arrangement_.count() == 1) return false;  // it is the lse of all, to another base
  const double usual = 1 / std::sqrt(static_cast<double>(problem_.head_dim));
  if (twist.scale == ScaleTwist::kUsual && std::fabs(problem_.softmax_scale / usual - 1) < 1e-9) return false;
  if (twist.mask == MaskTwist::kRightShort && (to_the_right == 0 || to_the_right == kNoLimit)) return false;
  if (twist.mask == MaskTwist::kAheadInOwnBlock && to_the_right != 0) return false;
  // Without any key: the zeros of many other mistakes.
  if (twist.tail == TailTwist::kDropped && first_dropped(twist) == 0) return false;
  const Twist right;
  const bool on_the_way = twist.tail >= TailTwist::kLostOnTheWay;
  if (on_the_way && (!arrangement_.ring || problem_.keys.size() % arrangement_.blocks.size() == 0))
    return false;
  constexpr std::size_t kMostRows = 4096;  // whose visible pairs are searched one by one
  const bool asks_for_pairs = twist.walk >= WalkTwist::kNotPassedOn || twist.route != RouteTwist::kAll ||
                              twist.mask == MaskTwist::kDoneAfterEmpty;
  if (asks_for_pairs && (!arrangement_.ring || problem_.queries.size() > kMostRows)) return false;
  const bool walks = twist.journey != right.journey || twist.stale != right.stale ||
                     twist.walk != right.walk || twist.dq != right.dq;
  const bool nothing_added = twist.scan.out_when == ScanTwist::When::kNever;  // in a ring: zeros, as of many
  if (arrangement_.ring) return !of_tiles && !nothing_added && (arrangement_.hops > 0 || !walks);
  const bool of_masks = twist.mask == MaskTwist::kWindowUnshifted ||
                        twist.mask == MaskTwist::kAheadInOwnBlock ||
                        twist.mask == MaskTwist::kFutureVisible || twist.mask == MaskTwist::kOwnVisible ||
                        twist.mask == MaskTwist::kLaterSkipped || twist.mask == MaskTwist::kEarlierWhole ||
                        twist.mask == MaskTwist::kPacksInOwnBlock || twist.mask == MaskTwist::kOfOtherRank;
  if (arrangement_.count() == 1 && twist.dq != right.dq) return false;  // there is no other step
  return !of_masks && twist.label == right.label && (twist.walk == right.walk || of_tiles) &&
         twist.keys == right.keys && twist.only_k == right.only_k && twist.only_v == right.only_v &&
         twist.positions != PositionTwist::kContiguous && twist.journey == right.journey &&
         twist.stale == right.stale && twist.dkv_ranks == 0 && twist.dq_ranks == 0 &&
         twist.dout == right.dout && twist.delta != DeltaTwist::kPlainRows &&
         twist.rows != RowTwist::kLayoutOrder && twist.rows != RowTwist::kInverseOrder &&
         twist.rows < RowTwist::kShardInside && twist.kv_rows == right.kv_rows &&
         twist.lse != LseTwist::kOwnBlock;
}

}  // namespace ringcraft::verify
