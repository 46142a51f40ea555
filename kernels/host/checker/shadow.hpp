#pragma once
/// @file
/// The record of each byte of an array: one Cell for every 4 bytes, until an access touches fewer.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "host/checker/race_rule.hpp"

namespace ringcraft::simt {

/// The cells of an array. Pages of it that are never touched cost nothing.
class Shadow {
 public:
  /// Forgets everything about an array of so many bytes.
  void reset(std::size_t bytes) {
    const std::size_t cells = (bytes + 3) / 4;
    if (unit_ != 4 || cells > capacity_ || !cells_) {
      cells_ = blank(cells);
      capacity_ = cells;
    } else {
      std::fill_n(cells_.get(), cells, Cell{});
    }
    bytes_ = bytes;
    unit_ = 4;
  }
  /// Whether reset() was called.
  bool exists() const { return cells_ != nullptr; }

  /// Calls visit(cell, offset of its first byte) for each cell of these bytes until it returns false.
  template <class Visit>
  void for_each(std::size_t offset, std::size_t bytes, Visit visit) {
    while ((offset | bytes) % unit_ != 0) refine();
    const std::size_t end = (offset + bytes) / unit_;
    for (std::size_t i = offset / unit_; i < end; ++i)
      if (!visit(cells_[i], i * unit_)) return;
  }

 private:
  struct Free {
    void operator()(Cell* cells) const { std::free(cells); }
  };
  using Cells = std::unique_ptr<Cell[], Free>;

  static Cells blank(std::size_t count) {
    auto* const cells = static_cast<Cell*>(std::calloc(count + 1, sizeof(Cell)));
    if (cells == nullptr) throw std::bad_alloc();
    return Cells(cells);
  }
  // Cells of half the size: both halves get the record of the whole.
  void refine() {
    const std::size_t count = (bytes_ + 3) / 4 * 4 / unit_;
    Cells halves = blank(2 * count);
    for (std::size_t i = 0; i < 2 * count; ++i) halves[i] = cells_[i / 2];
    cells_ = std::move(halves);
    capacity_ = 2 * count;
    unit_ /= 2;
  }

  Cells cells_;
  std::size_t bytes_ = 0, capacity_ = 0, unit_ = 4;
};

}  // namespace ringcraft::simt
