// Orders of axes and of rows, on tensors in memory.
#include <set>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "verify/claims/forms/axes.hpp"
#include "verify/claims/forms/reading.hpp"
#include "verify/claims/forms/row_order.hpp"

namespace ringcraft::verify {
namespace {

// The number of an element, which encodes its place.
double number_at(Index b, Index h, Index s, Index d) {
  return static_cast<double>(((b * 10 + h) * 100 + s) * 10 + d);
}

// Extents by letter of an order.
struct ByLetter {
  Index b, h, s, d;
  Index of(char letter) const {
    return letter == 'b' ? b : letter == 'h' ? h : letter == 's' ? s : letter == 'd' ? d : 1;
  }
};

// A tensor with its axes in this order, each element its own number: shape and elements.
std::pair<std::vector<Index>, Buffer> written(std::string_view code, const ByLetter& extents) {
  std::vector<Index> shape;
  std::string letters;
  bool inside = false;
  for (const char letter : code) {
    if (letter == '[' || letter == ']') {
      inside = letter == '[';
      if (inside) shape.push_back(1);
      continue;
    }
    if (!inside) shape.push_back(1);
    shape.back() *= extents.of(letter);
    letters += letter;
  }
  Index count = 1;
  for (const Index extent : shape) count *= extent;
  Buffer elements({1, 1, 1, count}, DType::kFloat64);
  for (Index i = 0; i < count; ++i) {
    ByLetter at{0, 0, 0, 0};
    Index rest = i;
    for (std::size_t l = letters.size(); l-- > 0;) {
      const Index extent = extents.of(letters[l]), digit = rest % extent;
      (letters[l] == 'b' ? at.b : letters[l] == 'h' ? at.h : letters[l] == 's' ? at.s : at.d) += digit;
      rest /= extent;
    }
    elements.values<double>()[static_cast<std::size_t>(i)] = number_at(at.b, at.h, at.s, at.d);
  }
  return {shape, std::move(elements)};
}

// Whether each element of a tensor [batch, heads, rows, width] is at the place of its number, its rows
// reversed.
bool reversed(const Buffer& whole) {
  const Extents& e = whole.extents();
  std::size_t i = 0;
  bool all = true;
  for (Index b = 0; b < e.batch; ++b)
    for (Index h = 0; h < e.heads; ++h)
      for (Index s = 0; s < e.rows; ++s)
        for (Index d = 0; d < e.width; ++d)
          all = all && whole.values<double>()[i++] == number_at(b, h, e.rows - 1 - s, d);
  return all;
}

}  // namespace

TEST_CASE("a tensor in any order of axes is read element by element, with its rows in their places") {
  for (const auto& [orders, width] : {std::pair{wide_orders(), Index{3}}, {lse_orders(), Index{1}}})
    for (const AxisOrder& order : orders)
      for (const Index batch : {1, 2}) {
        if (batch > 1 && order.code.find('b') == order.code.npos) continue;
        CAPTURE(order.code, batch);
        const ByLetter extents{batch, 4, 5, width};
        const auto [shape, elements] = written(order.code, extents);
        const auto stored = read_as(order.code, shape, {batch, 4, 5, width});
        REQUIRE(stored);
        CHECK(stored->rows == 5);
        Buffer whole = zeros({batch, 4, 5, width}, DType::kFloat64);
        place_rows(whole, elements, *stored, width, std::vector<Position>{4, 3, 2, 1, 0});
        CHECK(reversed(whole));
      }
}

TEST_CASE("a shape that lacks an axis, or has another extent, is not read") {
  const Extents want{2, 4, 5, 3};
  CHECK(read_as("bshd", {2, 5, 4, 3}, want));
  CHECK(read_as("bshd", {2, 9, 4, 3}, want)->rows == 9);
  CHECK_FALSE(read_as("bshd", {2, 4, 5, 3}, want));
  CHECK_FALSE(read_as("bshd", {2, 5, 4}, want));
  CHECK_FALSE(read_as("hsd", {4, 5, 3}, want));
  CHECK_FALSE(read_as("[bs]hd", {9, 4, 3}, want));
}

TEST_CASE("rows of a layout belong where the sharding says, and padding nowhere in the sequence") {
  for (const Layout layout : kLayouts) {
    const RowOrder order(layout, 25, 4, 2);  // two virtual ranks in each file
    const auto counts = order.counts();
    REQUIRE(counts);
    const auto places = order.places(*counts);
    REQUIRE(places);
    const Sharding sharding{layout, 25, 4};
    std::vector<Position> first = sharding.positions(0);
    for (const Position p : sharding.positions(1)) first.push_back(p);
    CHECK((*places)[0] == first);
    CHECK_FALSE(order.places({25, 0}));
    const auto padded = order.padded_places({16, 16});
    REQUIRE(padded);
    std::set<Position> seen;
    for (const auto& file : *padded) seen.insert(file.begin(), file.end());
    CHECK(seen.size() == 32);
    CHECK(*seen.rbegin() == 31);
  }
  CHECK_THROWS_AS(RowOrder(Layout::kZigzag, 25, 3, 2), Error);
}

TEST_CASE("one sentence reports tensors that were read alike, documented ones are not reported") {
  const Reading odd{
      .tensor = "out", .shape = {}, .order = "[a]", .documented = false, .other = "", .rows = 4};
  Reading same = odd, plain = odd, likely = odd;
  same.tensor = "dq";
  plain.documented = true;
  likely = {
      .tensor = "lse", .shape = {}, .order = "[b]", .other = "[c]", .other_python = "lse.T", .likely = true};
  CHECK(sentences_of({odd, plain, same}, Doubt::kAll).size() == 1);
  CHECK(sentences_of({odd, same}, Doubt::kAll)[0] == "out, dq were read as [a]");
  CHECK(sentences_of({plain, likely}, Doubt::kUnlikely).empty());
  CHECK(sentences_of({likely}, Doubt::kAll)[0] ==
        "lse was read as [b]; [c] has the same shape: if it is that, write lse.T");
}

}  // namespace ringcraft::verify
