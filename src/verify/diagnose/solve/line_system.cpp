// Builds the linear system of a line: cuts pairs into cells, computes their columns, and lists the states of
// every slot.
#include "verify/diagnose/solve/line_system.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

using Kind = NamedMask::Kind;

Cells cells_of(const Ingredients& from, int shard, int block) {
  Cells cells;
  std::map<std::vector<bool>, std::size_t> known;
  for (const Index i : from.rows[static_cast<std::size_t>(shard)])
    for (const Index n : from.keys[static_cast<std::size_t>(block)]) {
      std::vector<bool> signature;
      for (const NamedMask& mask : from.masks)
        signature.push_back(sees(from.problem, from.place, mask, shard, i, block, n));
      const auto [at, added] = known.emplace(signature, cells.masks.size());
      if (added) cells.masks.push_back(std::move(signature));
      cells.of_pair.push_back(at->second);
    }
  return cells;
}

std::vector<Law> laws_of_other(Law::Deed deed, const Arrangement& place, int shard, int block, int other) {
  std::vector<Law> laws;
  const int apart = place.wrapped(2 * shard - block - other);
  if (apart == 0) laws.push_back({deed, {}, Law::Which::kMirror});
  if (apart != 0 && place.count() > 2) laws.push_back({deed, {}, Law::Which::kReflected, apart});
  laws.push_back({deed, {}, Law::Which::kOffset, place.wrapped(other - block)});
  if (other == shard) laws.push_back({deed, {}, Law::Which::kOwn});
  laws.push_back({deed, {}, Law::Which::kFixed, other});
  return laws;
}

std::vector<Law> laws_of_mask(const Arrangement& place, NamedMask mask, int shard, int block) {
  if (mask.kind == Kind::kLabel) {
    if (mask.other == block) return {};
    return laws_of_other(Law::Deed::kTakenFor, place, shard, block, mask.other);
  }
  if (mask.kind == Kind::kRowsOf) {
    if (mask.other == shard) return {};
    return {{Law::Deed::kRowsTaken, {}, Law::Which::kOffset, place.wrapped(mask.other - shard)}};
  }
  return {{Law::Deed::kMask, mask}};
}

// Whether a mask has a formula of its own and may hide a whole block; for the other masks that only means
// that the block is missing.
bool is_formula(NamedMask mask) {
  return mask.kind == Kind::kLayout || mask.kind == Kind::kKeysOfLayout || mask.kind == Kind::kEqualShards ||
         mask.kind == Kind::kOwnLengths || mask.kind >= Kind::kZigzagSwapped;
}

// Builds one system.
class Builder {
 public:
  Builder(const Ingredients& from, LineSystem& system) : from_(from), system_(system) {}

  void build() {
    const int slots =
        static_cast<int>(system_.of_keys ? from_.place.shards.size() : from_.place.blocks.size());
    for (int slot = 0; slot < slots; ++slot) add_cells(slot);
    if (system_.of_keys && from_.add_share) add_shares(slots);
    if (system_.of_keys && from_.add_other)
      for (int slot = 0; slot < slots; ++slot) {
        others_.push_back(system_.columns.size());
        from_.add_other(new_column(slot), slot, system_.line);
      }
    if (!system_.of_keys && from_.add_mixed) add_mixtures(slots);
    for (int slot = 0; slot < slots; ++slot) add_states(slot);
  }

 private:
  int shard(int slot) const { return system_.of_keys ? slot : system_.line; }
  int block(int slot) const { return system_.of_keys ? system_.line : slot; }

  std::vector<double>& new_column(int slot) {
    system_.slot_of.push_back(slot);
    return system_.columns.emplace_back(system_.wanted.size(), 0.0);
  }

  void add_cells(int slot) {
    KnownCells own;
    KnownCells& known = from_.known != nullptr ? *from_.known : own;
    const std::pair<int, int> place(shard(slot), block(slot));
    if (!known.contains(place)) known[place] = cells_of(from_, place.first, place.second);
    const Cells& cells = known[place];
    std::vector<std::size_t> column_of(cells.masks.size());
    for (std::size_t cell = 0; cell < cells.masks.size(); ++cell) {
      if (std::ranges::none_of(cells.masks[cell], [](bool seen) { return seen; })) continue;
      column_of[cell] = system_.columns.size();
      new_column(slot);
      masks_of_.push_back(cells.masks[cell]);
      system_.cells.push_back({-1, -1, 0, cells.masks[cell][0]});
    }
    std::size_t pair = 0;
    for (const Index i : from_.rows[static_cast<std::size_t>(shard(slot))])
      for (const Index n : from_.keys[static_cast<std::size_t>(block(slot))]) {
        const std::size_t cell = cells.of_pair[pair++];
        if (std::ranges::none_of(cells.masks[cell], [](bool seen) { return seen; })) continue;
        from_.add(system_.columns[column_of[cell]], shard(slot), i, block(slot), n);
        LineSystem::Cell& at = system_.cells[column_of[cell]];
        if (at.pairs++ == 0) at.row = i, at.key = n;
      }
  }

  void add_shares(int slots) {
    for (int rank = 0; rank < slots; ++rank)
      for (int other = 0; other < from_.place.count(); ++other) {
        if (other == system_.line) continue;
        extra_.push_back({rank, other, system_.columns.size()});
        from_.add_share(new_column(rank), rank, other, system_.line);
      }
  }

  // Adds mixtures: keys of one block with the values of another, masked as the one or as the other.
  void add_mixtures(int slots) {
    for (int keys = 0; keys < slots; ++keys)
      for (int values = -1; values < slots; ++values)
        for (const bool as_values : {false, true}) {
          if (keys == values || (as_values && values < 0)) continue;
          extra_.push_back({keys, values, system_.columns.size(), as_values});
          add_mixture(new_column(as_values ? values : keys), keys, values, as_values ? values : keys);
        }
  }

  void add_mixture(std::vector<double>& column, int keys, int values, int seen_as) {
    for (const Index i : from_.rows[static_cast<std::size_t>(system_.line)])
      for (const Index n : from_.keys[static_cast<std::size_t>(keys)])
        if (from_.place.at(seen_as, n) >= 0 &&
            sees(from_.problem, from_.place, {}, system_.line, i, seen_as, n))
          from_.add_mixed(column, system_.line, i, keys, n, values);
  }

  // 1 for each cell of a slot that the mask has.
  std::vector<double> through(int slot, std::size_t mask) const {
    std::vector<double> weights(system_.columns.size(), 0.0);
    for (std::size_t c = 0; c < masks_of_.size(); ++c)
      if (system_.slot_of[c] == slot && masks_of_[c][mask]) weights[c] = 1;
    return weights;
  }

  std::size_t index_of(NamedMask mask) const {
    return static_cast<std::size_t>(std::ranges::find(from_.masks, mask) - from_.masks.begin());
  }

  void add_states(int slot) {
    std::vector<SlotState>& states = system_.slots.emplace_back();
    const std::vector<double> right = through(slot, 0), nothing(right.size(), 0.0);
    std::vector<double> twice = right;
    for (double& x : twice) x *= 2;
    states.push_back({{}, right});
    states.push_back({{{Law::Deed::kMissing}}, nothing});
    states.push_back({{{Law::Deed::kTwice}}, twice});
    for (std::size_t m = 1; m < from_.masks.size(); ++m) {
      auto laws = laws_of_mask(from_.place, from_.masks[m], shard(slot), block(slot));
      std::vector<double> weights = through(slot, m);
      if (laws.empty() || weights == right) continue;
      if (weights != nothing || laws[0].deed != Law::Deed::kMask || is_formula(from_.masks[m]))
        states.push_back({std::move(laws), std::move(weights)});
    }
    if (!system_.of_keys && from_.place.ring) add_other_data(slot, states);
    if (!others_.empty()) {
      std::vector<double> other(right.size(), 0.0), both = right;
      other[others_[static_cast<std::size_t>(slot)]] = both[others_[static_cast<std::size_t>(slot)]] = 1;
      states.push_back({{{Law::Deed::kOtherTensor}}, other, false});
      states.push_back({{{Law::Deed::kOtherToo}}, both, false});
    }
    for (const Extra& extra : extra_) add_extra(slot, extra, right, states);
  }

  void add_other_data(int slot, std::vector<SlotState>& states) const {
    const std::size_t label = index_of({Kind::kLabel, slot});
    if (label == from_.masks.size()) return;
    for (int other = 0; other < from_.place.count(); ++other)
      if (other != slot)
        states.push_back({laws_of_other(Law::Deed::kHolds, from_.place, system_.line, slot, other),
                          through(other, label), false});
  }

  // A column for a whole: of a share (shard, block), or of a mixture (keys, values).
  struct Extra {
    int first, second;
    std::size_t column;
    bool as_second = false;  ///< of a mixture: masked as the block of the values
  };
  void add_extra(int slot, const Extra& extra, const std::vector<double>& right,
                 std::vector<SlotState>& states) const {
    std::vector<double> alone(right.size(), 0.0);
    alone[extra.column] = 1;
    std::vector<double> too = right;
    too[extra.column] = 1;
    if (system_.of_keys) {
      if (extra.first != slot) return;
      const auto laws = [&](Law::Deed deed) {
        return laws_of_other(deed, from_.place, slot, system_.line, extra.second);
      };
      states.push_back({laws(Law::Deed::kShareOf), alone, false});
      states.push_back({laws(Law::Deed::kShareToo), too, false});
    } else if (extra.as_second) {
      if (extra.second == slot)
        states.push_back(
            {laws_of_other(Law::Deed::kKeysOf, from_.place, system_.line, slot, extra.first), alone, false});
    } else if (extra.first == slot && extra.second < 0) {
      states.push_back({{{Law::Deed::kKeysForValues}}, alone, false});
    } else if (extra.first == slot) {
      states.push_back(
          {laws_of_other(Law::Deed::kValuesOf, from_.place, system_.line, slot, extra.second), alone, false});
    }
  }

  const Ingredients& from_;
  LineSystem& system_;
  std::vector<std::vector<bool>> masks_of_;  // of the columns that are cells
  std::vector<Extra> extra_;
  std::vector<std::size_t> others_;  // column of the other tensor, for each slot
};

}  // namespace

LineSystem line_system(const Ingredients& from, int line, bool of_keys, std::vector<double> wanted,
                       int group) {
  LineSystem system;
  system.line = line;
  system.of_keys = of_keys;
  system.group = group;
  system.wanted = std::move(wanted);
  Builder(from, system).build();
  return system;
}

}  // namespace ringcraft::verify
