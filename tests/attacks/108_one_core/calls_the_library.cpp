// Lets the library's matrix products do the work.
// Fails: belongs "calls ringcraft::multiply_transposed, which lesson 108 does not give you"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/fast/register_kernel.hpp"

namespace ringcraft {

template <class T>
void multiply_panel(Matrix<const T> panel, Strided<const T> b, Start, Strided<T> c) {
  multiply_transposed<T>({b.data, b.cols, b.rows}, panel, T(1), {c.data, c.rows, c.cols});
}

template void multiply_panel(Matrix<const float>, Strided<const float>, Start, Strided<float>);
template void multiply_panel(Matrix<const double>, Strided<const double>, Start, Strided<double>);

}  // namespace ringcraft
