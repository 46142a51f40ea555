#pragma once
/// @file
/// The parts of the module ringcraft._core, one for each file.

#include <nanobind/nanobind.h>

namespace ringcraft::python {

void bind_problem(nanobind::module_& m);       ///< Mask, Problem, layouts, cases
void bind_attention(nanobind::module_& m);     ///< attention on one device, the oracle
void bind_runs(nanobind::module_& m);          ///< methods on ranks of this process, traces and their proofs
void bind_claims(nanobind::module_& m);        ///< the judge
void bind_simulation(nanobind::module_& m);    ///< simulated machines
void bind_communicator(nanobind::module_& m);  ///< a rank whose messages Python sends

}  // namespace ringcraft::python
