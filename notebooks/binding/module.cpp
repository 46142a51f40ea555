// The module ringcraft._core: the library for Python. ringcraft/*.py make it pleasant.
#include <nanobind/nanobind.h>

#include "bindings.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::python {

// Defined once for each kind of processor (variant.cpp).
const char* processor();

}  // namespace ringcraft::python

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using namespace ringcraft::python;
  m.doc() = "Ring attention and its harness, in C++.";
  // At exit an object may be alive with no leak: one that a graph of PyTorch, a closure or another module's
  // global holds, since the interpreter does not clear all of these. Nothing that a reader of the report
  // could mend.
  nb::set_leak_warnings(false);
  nb::exception<ringcraft::Error>(m, "Error", PyExc_ValueError).doc() =
      "Any failure of ringcraft: what was expected, what came, what to try.";
  m.def("processor", &processor, "The processors that the attention kernels in use were compiled for.");
  bind_problem(m);
  bind_attention(m);
  bind_runs(m);
  bind_claims(m);
  bind_simulation(m);
  bind_communicator(m);
}
