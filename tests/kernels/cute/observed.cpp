// The executor's layouts, seen from outside.
#include "observed.hpp"

#include <cmath>
#include <numeric>

#include "warp_kernels.hpp"

namespace ringcraft::layouts::executors {
namespace {

// Calls body(lane, value) for each value of a map.
template <class Body>
void for_values(const LaneMap& map, Body body) {
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) body(lane, value);
}

// The one row (or column) of C that is not 0, and its numbers less 1, if they are all the same and fill it.
struct Line {
  int index = -1, code = -1;
};
Line line_of(const Product& product, const LaneMap& c, int Place::*coordinate, int length) {
  Line line;
  int met = 0;
  bool one = true;
  for_values(c, [&](int lane, int value) {
    const float x = product.c[lane][value];
    if (x == 0) return;
    const int index = c.at(lane, value).*coordinate, code = static_cast<int>(std::lround(x)) - 1;
    one =
        one && static_cast<float>(code + 1) == x && (met == 0 || (index == line.index && code == line.code));
    line = {index, code};
    ++met;
  });
  return one && met == length ? line : Line{};
}

// A single 1 in A, at (row, k), and in B everywhere the number of its row plus 1: C is 0 outside of this row,
// and k + 1 in it.
LaneMap fragment_a(Format format, const Operands& given) {
  std::vector<Product> products;
  for_values(given.a, [&](int lane, int value) {
    Product& product = products.emplace_back();
    product.a[lane][value] = 1;
    for_values(given.b,
               [&](int l, int v) { product.b[l][v] = static_cast<float>(given.b.at(l, v).row + 1); });
  });
  multiply(format, products);
  LaneMap map{"A of mma", given.a.lanes, given.a.values};
  for (const Product& product : products) {
    const Line line = line_of(product, given.c, &Place::row, 8);
    map.places.push_back({line.index, line.code});
  }
  return map;
}

// The same for B, with the columns of A.
LaneMap fragment_b(Format format, const Operands& given) {
  std::vector<Product> products;
  for_values(given.b, [&](int lane, int value) {
    Product& product = products.emplace_back();
    product.b[lane][value] = 1;
    for_values(given.a,
               [&](int l, int v) { product.a[l][v] = static_cast<float>(given.a.at(l, v).column + 1); });
  });
  multiply(format, products);
  LaneMap map{"B of mma", given.b.lanes, given.b.values};
  for (const Product& product : products) {
    const Line line = line_of(product, given.c, &Place::column, 16);
    map.places.push_back({line.code, line.index});
  }
  return map;
}

// C[row][column] = 8 row 1 + 1 (column + 1): two columns of A and two rows of B suffice.
LaneMap fragment_c(Format format, const Operands& given) {
  std::vector<Product> products(1);
  for_values(given.a, [&](int lane, int value) {
    const Place place = given.a.at(lane, value);
    if (place.column < 2)
      products[0].a[lane][value] = place.column == 0 ? static_cast<float>(8 * place.row) : 1.0f;
  });
  for_values(given.b, [&](int lane, int value) {
    const Place place = given.b.at(lane, value);
    if (place.row < 2)
      products[0].b[lane][value] = place.row == 0 ? 1.0f : static_cast<float>(place.column + 1);
  });
  multiply(format, products);
  LaneMap map{"C of mma", given.c.lanes, given.c.values};
  for_values(map, [&](int lane, int value) {
    const int code = static_cast<int>(std::lround(products[0].c[lane][value])) - 1;
    map.places.push_back(code < 0 ? kNowhere : Place{code / 8, code % 8});
  });
  return map;
}

}  // namespace

LaneMap fragment(Format format, Operand operand, const Operands& given) {
  return operand == Operand::kA   ? fragment_a(format, given)
         : operand == Operand::kB ? fragment_b(format, given)
                                  : fragment_c(format, given);
}

LaneMap matrix_load(Load load) {
  constexpr const char* kNames[] = {"ldmatrix.x4", "ldmatrix.x4.trans", "ldmatrix.x2", "ldmatrix.x2.trans"};
  std::vector<int> row_of_lane(32);  // not in order: the address counts
  std::vector<std::uint16_t> rows(32 * 8);
  for (int lane = 0; lane < 32; ++lane) {
    row_of_lane[lane] = (11 * lane + 7) % 32;
    std::iota(&rows[8 * row_of_lane[lane]], &rows[8 * row_of_lane[lane]] + 8,
              static_cast<std::uint16_t>(8 * lane));
  }
  const auto numbers = layouts::load(load, rows, row_of_lane);
  LaneMap map{kNames[static_cast<int>(load)], 32, static_cast<int>(numbers.size()) / 32};
  for (const int number : numbers) map.places.push_back({number / 8, number % 8});
  return map;
}

LaneMap async_copy() {
  LaneMap map{"cp.async", 32, 16};
  std::vector<std::uint8_t> low(32 * 16), high(32 * 16);  // a byte alone does not tell 512 places apart
  for (int i = 0; i < 32 * 16; ++i) {
    low[i] = static_cast<std::uint8_t>(i % 16);
    high[i] = static_cast<std::uint8_t>(i / 16);
  }
  const auto bytes = copy(low, true), lanes = copy(high, true);
  for (std::size_t i = 0; i < bytes.size(); ++i) map.places.push_back({lanes[i], bytes[i]});
  return map;
}

int bytes_of_invalid_copies() {
  int count = 0;
  for (const std::uint8_t byte : copy(std::vector<std::uint8_t>(32 * 16, 0x5a), false)) count += byte != 0;
  return count;
}

}  // namespace ringcraft::layouts::executors
