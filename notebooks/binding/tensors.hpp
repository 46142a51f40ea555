#pragma once
/// @file
/// Arrays of Python as tensors of the library and back. Anything that speaks DLPack or the buffer protocol is
/// taken: arrays in the memory of the CPU, of NumPy, PyTorch, JAX and others.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <string_view>

#include "ringcraft/core/buffer.hpp"

namespace ringcraft::python {

namespace nb = nanobind;

/// Types of results, as stubs for type checkers show them.
using Arrays = nb::typed<nb::dict, nb::str, nb::any>;   ///< tensors by name
using Figures = nb::typed<nb::dict, nb::str, nb::any>;  ///< costs by name
using TwoArrays = nb::typed<nb::tuple, nb::any, nb::any>;
using ThreeArrays = nb::typed<nb::tuple, nb::any, nb::any, nb::any>;

/// An array of Python as a tensor [batch, heads, rows, width].
struct Taken {
  Buffer tensor;                   ///< float32 or float64; borrowed from the array where that is possible
  DType stored = DType::kFloat32;  ///< the type of the array's numbers
};

/// Takes an array whose axes are these, in this order: b batch, h heads, s tokens, d head_dim, each at most
/// once; an axis that is not named has extent 1. A contiguous array of float32 or float64 in the order bhsd
/// is borrowed; any other is copied, and half types are widened to float32. Throws Error for what is no
/// array, for another memory than the CPU's, another number of axes, and numbers of another kind. `name` is
/// for errors.
Taken taken(nb::handle array, std::string_view name, std::string_view axes);

/// The axes of lse for those of q: "bhs" for "bhsd".
std::string row_axes(std::string_view axes);

/// A NumPy array with these axes over the tensor's memory, which it owns from now on. An axis that is not
/// named must have extent 1.
nb::object given(Buffer tensor, std::string_view axes);

/// Throws Error unless these are axes of a tensor: letters of bhsd, each at most once, s and d among them.
void require_axes(std::string_view axes);

}  // namespace ringcraft::python
