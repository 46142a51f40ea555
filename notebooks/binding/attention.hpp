#pragma once
/// @file
/// What the bindings of attention share: inputs from arrays, and answers to arrays.

#include <optional>
#include <string_view>

#include "tensors.hpp"
#include "verify/oracle/tensors.hpp"

namespace ringcraft::python {

/// That many threads, or one for each processor.
int threads_of(std::optional<int> threads);

/// Whether attention over this problem takes milliseconds.
bool is_brief(const Problem& problem);

/// q, k, v and, unless it is None, dout, checked against the problem: the whole sequence, float32 or float64.
verify::Inputs inputs_of(const Problem& problem, nb::handle q, nb::handle k, nb::handle v, nb::handle dout,
                         std::string_view axes);

/// The tensors of an answer by name, without empty ones.
Arrays arrays_of(verify::Answer answer, std::string_view axes);

}  // namespace ringcraft::python
