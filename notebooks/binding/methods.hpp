#pragma once
/// @file
/// A method and its options, as Python names them; and timelines as lists.

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/parallel/method.hpp"
#include "tensors.hpp"
#include "verify/schedule/trace_clock.hpp"

namespace ringcraft::python {

/// A method with its options.
struct MethodChoice {
  const Method* method = nullptr;
  MethodOptions options = {};
};

/// The method of this name. Throws Error for a name that none has, and for options that it does not take.
MethodChoice method_choice(const std::string& name, int ulysses, int gather_heads, int node,
                           const std::string& schedule);

/// Bytes and messages sent, peak bytes and pairs by name, a list with an entry for each rank; "theory" has
/// those of the closed forms.
Figures figures_of(const std::vector<Traffic>& traffic, const std::vector<Index>& peak_bytes,
                   const std::vector<Index>& pairs, const Theory& theory);

/// Lists of (activity, begin, end), one for each rank.
using Stretch = nanobind::typed<nanobind::tuple, nanobind::str, nanobind::float_, nanobind::float_>;
using Lanes = nanobind::typed<nanobind::list, nanobind::typed<nanobind::list, Stretch>>;

/// For each rank a list of (activity, begin, end), in seconds.
Lanes lanes_of(const Trace& trace, verify::TraceClock clock);

}  // namespace ringcraft::python
