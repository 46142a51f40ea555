// ldmatrix and mma on the CPU.
#include "host/warp_matrix.hpp"

#include <cstring>

#include "host/async_copies.hpp"
#include "host/checker/checker.hpp"
#include "host/thread_block.hpp"

namespace ringcraft::simt {
namespace {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kSide = 8;  // of the matrices that ldmatrix loads

// The lanes that receive part of a row read it, as far as the checker is concerned; for a transposed one they
// read the 4-byte words that contain it.
void check(MatrixLoad* const (&lanes)[32], int matrix) {
  Checker* const checker = Checker::running;
  if (checker == nullptr) return;
  const void* rows[kSide];
  const Place place = place_of(lanes[0]->site);
  for (int row = 0; row < kSide; ++row) {
    rows[row] = lanes[kSide * matrix + row]->row;
    if (lanes[0]->order == Order::kRows) {
      checker->matrix_row(rows[row], 4 * row, 1, place);
    } else {
      checker->matrix_row(rows[row], row / 2, kSide, place);      // even columns
      checker->matrix_row(rows[row], row / 2 + 4, kSide, place);  // odd ones
    }
  }
  checker->count_matrix(rows, place);
}

std::uint64_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void load_matrices(MatrixLoad mine) {
  const ThreadBlock& block = ThreadBlock::current();
  if (this_lane() < kSide * mine.matrices) block.require_aligned(mine.row, 16, "ldmatrix", mine.site);
  warp_operation(WarpOperation::kLoadMatrix, kAllLanes, number(&mine), 0, mine.site);
}

void multiply_matrices(MatrixProduct mine, Site site) {
  mine.site = site;
  warp_operation(WarpOperation::kMultiply, kAllLanes, number(&mine), 0, site);
}

void load_together(MatrixLoad* const (&lanes)[32]) {
  for (int matrix = 0; matrix < lanes[0]->matrices; ++matrix) {
    std::uint16_t element[kSide][kSide];
    for (int row = 0; row < kSide; ++row)
      std::memcpy(element[row], lanes[kSide * matrix + row]->row, sizeof element[row]);
    check(lanes, matrix);
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      const bool rows = lanes[lane]->order == Order::kRows;
      const unsigned low = rows ? element[g][2 * t] : element[2 * t][g];
      const unsigned high = rows ? element[g][2 * t + 1] : element[2 * t + 1][g];
      lanes[lane]->registers[matrix] = low | high << 16;
    }
  }
}

void multiply_together(MatrixProduct* const (&lanes)[32]) {
  if (Checker* const checker = Checker::running; checker != nullptr) {
    const Place place = place_of(lanes[0]->site);
    for (const MatrixProduct* lane : lanes)
      for (const void* operand : {static_cast<const void*>(lane->a), static_cast<const void*>(lane->b),
                                  static_cast<const void*>(lane->c)})
        checker->product_takes(operand, place);
    checker->count_product(place, async_copies().under_way());
  }
  const auto widened = lanes[0]->widened;
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int half = 0; half < 2; ++half) {
      const auto part = [half](unsigned two) { return static_cast<std::uint16_t>(two >> 16 * half); };
      for (int i = 0; i < 4; ++i)
        a[g + 8 * (i % 2)][2 * t + half + 8 * (i / 2)] = widened(part(lanes[lane]->a[i]));
      for (int i = 0; i < 2; ++i) b[2 * t + half + 8 * i][g] = widened(part(lanes[lane]->b[i]));
    }
  }
  float c[16][8] = {};
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) lanes[lane]->c[i] += c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
}

}  // namespace ringcraft::simt
