// Matrix views: element order, slices, and the heads of a buffer.
#include "ringcraft/core/matrix.hpp"

#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

TEST_CASE("a matrix is row-major and does not own") {
  std::vector<int> data{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Matrix<int> m{data, 4, 3};
  CHECK(m(0, 0) == 0);
  CHECK(m(1, 0) == 3);
  CHECK(m(3, 2) == 11);
  CHECK(m.row(2).size() == 3);
  CHECK(m.row(2)[1] == 7);
  m(2, 1) = 70;
  CHECK(data[7] == 70);

  const Matrix<int> middle = m.slice(1, 2);
  CHECK(middle.rows == 2);
  CHECK(middle.cols == 3);
  CHECK(middle.data.size() == 6);
  CHECK(middle(1, 1) == 70);
  CHECK(m.slice(4, 0).data.empty());

  const Matrix<const int> constant = m;
  CHECK(constant(2, 1) == 70);
  CHECK(constant.data.data() == data.data());
}

TEST_CASE("head_of finds every head of a batch") {
  Buffer buffer({2, 3, 4, 5}, DType::kFloat64);
  double next = 0;
  for (double& x : buffer.values<double>()) x = next++;
  for (Index b = 0; b < 2; ++b)
    for (Index h = 0; h < 3; ++h) {
      const Matrix<double> m = head_of<double>(buffer, b, h);
      const Matrix<const double> same = head_of<double>(std::as_const(buffer), b, h);
      CHECK(m.rows == 4);
      CHECK(m.cols == 5);
      CHECK(m.data.data() == same.data.data());
      for (Index i = 0; i < 4; ++i)
        for (Index j = 0; j < 5; ++j) CHECK(m(i, j) == static_cast<double>(((b * 3 + h) * 4 + i) * 5 + j));
    }
  buffer.set_rows(2);  // heads move together: the tensor stays contiguous
  CHECK(head_of<double>(buffer, 1, 2)(1, 4) == 59);
  check_refused([&] { return head_of<float>(buffer, 0, 0).rows; }, "expected float32");
}
