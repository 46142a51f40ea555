// Mask, Problem, layouts and the table of cases, for Python.
#include "ringcraft/problem/problem.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/problem/reach.hpp"
#include "tensors.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::python {
namespace {

using namespace nb::literals;

Layout layout_named(const std::string& name) {
  std::string names;
  for (const Layout layout : kLayouts) {
    if (name == name_of(layout)) return layout;
    names += (names.empty() ? "" : ", ") + std::string(name_of(layout));
  }
  throw Error("layout", "one of " + names, shown(name), "see the page on token layouts");
}

std::optional<Position> limit_of(Position limit) {
  return limit == kNoLimit ? std::nullopt : std::optional(limit);
}

Mask make_mask(std::optional<Position> left, std::optional<Position> right,
               std::vector<Position> cu_seqlens) {
  return {left.value_or(kNoLimit), right.value_or(kNoLimit), std::move(cu_seqlens)};
}

Problem make(Shape shape, Mask mask, int ranks, const std::string& layout, bool per_sequence,
             std::optional<double> softmax_scale) {
  Problem problem = make_problem(shape, std::move(mask), layout_named(layout), ranks, softmax_scale);
  problem.per_sequence = per_sequence;
  validate(problem);
  return problem;
}

verify::Case case_of(const Problem& problem, const std::string& data, std::uint64_t seed) {
  for (const verify::Data each : verify::kAllData)
    if (data == verify::name_of(each)) return verify::make_case(problem, each, seed);
  throw Error("data", "normal, hot, negative, gap, peaked or huge", shown(data),
              "it is the distribution of the scores");
}

// What objects of these classes consist of, by which they are compared and pickled.
using Borders = nb::typed<nb::tuple, Position, nb::ellipsis>;
using MaskState = std::tuple<std::optional<Position>, std::optional<Position>, Borders>;
using ProblemState = std::tuple<Position, Index, Index, Index, Index, Mask, int, std::string, bool, double>;
using CaseState = std::tuple<Problem, std::string, std::uint64_t>;

MaskState state_of(const Mask& mask) {
  return {limit_of(mask.left), limit_of(mask.right), Borders(nb::tuple(nb::cast(mask.cu_seqlens)))};
}
ProblemState state_of(const Problem& p) {
  const Shape& s = p.shape;
  return {s.seqlen,       s.heads,        s.head_dim,   s.kv_heads,
          s.batch,        p.mask,         p.world_size, std::string(name_of(p.layout)),
          p.per_sequence, p.softmax_scale};
}
CaseState state_of(const verify::Case& c) {
  return {c.problem, std::string(verify::name_of(c.data)), c.seed};
}

Mask restored(const MaskState& state) {
  const auto& [left, right, borders] = state;
  return make_mask(left, right, nb::cast<std::vector<Position>>(borders));
}
Problem restored(const ProblemState& state) {
  const auto& [seqlen, heads, head_dim, kv_heads, batch, mask, ranks, layout, per_sequence, scale] = state;
  return make({batch, heads, kv_heads, seqlen, head_dim}, mask, ranks, layout, per_sequence, scale);
}
verify::Case restored(const CaseState& state) {
  const auto& [problem, data, seed] = state;
  return case_of(problem, data, seed);
}

// Equal parts make equal objects, which also come back from a pickle.
template <class T>
void bind_value(nb::class_<T>& of) {
  using State = decltype(state_of(std::declval<const T&>()));
  of.def("__eq__",
         [](const T& a, const nb::object& b) {
           return nb::isinstance<T>(b) &&
                  nb::cast(state_of(a)).equal(nb::cast(state_of(nb::cast<const T&>(b))));
         })
      .def("__hash__", [](const T& a) { return nb::hash(nb::cast(state_of(a))); })
      .def("__getstate__", [](const T& a) { return state_of(a); })
      .def("__setstate__", [](T& self, const State& state) { new (&self) T(restored(state)); });
}

// The keys that the query at `position` sees, as positions [first, last + 1).
std::pair<Position, Position> keys_seen(const Problem& p, Position position) {
  if (position < 0 || position >= p.shape.seqlen)
    throw Error("position", "0 to " + std::to_string(p.shape.seqlen - 1), std::to_string(position),
                "positions count from 0");
  const KeyInterval keys = MaskCursor(p.mask, p.shape.seqlen).at(position);
  return {keys.lo, keys.hi};
}

}  // namespace

void bind_problem(nb::module_& m) {
  nb::class_<Mask> masks(
      m, "Mask",
      "Which keys a query sees: those from `left` before it to `right` after it, in its own sequence.");
  masks
      .def(
          "__init__",
          [](Mask* self, std::optional<Position> left, std::optional<Position> right,
             std::vector<Position> cu) { new (self) Mask(make_mask(left, right, std::move(cu))); },
          "left"_a = nb::none(), "right"_a = nb::none(), "cu_seqlens"_a = std::vector<Position>{})
      .def_prop_ro("left", [](const Mask& mask) { return limit_of(mask.left); })
      .def_prop_ro("right", [](const Mask& mask) { return limit_of(mask.right); })
      .def_prop_ro("cu_seqlens", [](const Mask& mask) { return mask.cu_seqlens; })
      .def("__repr__", [](const Mask& mask) { return "<Mask: " + described(mask) + ">"; });
  bind_value(masks);

  nb::class_<Problem> problems(m, "Problem",
                               "One attention problem, dealt to ranks: shapes, mask, layout and scale.");
  problems
      .def(
          "__init__",
          [](Problem* self, Position seqlen, Index heads, Index head_dim, std::optional<Index> kv_heads,
             Index batch, const Mask& mask, int ranks, const std::string& layout, bool per_sequence,
             std::optional<double> softmax_scale) {
            new (self) Problem(make({batch, heads, kv_heads.value_or(heads), seqlen, head_dim}, mask, ranks,
                                    layout, per_sequence, softmax_scale));
          },
          "seqlen"_a, "heads"_a, "head_dim"_a, nb::kw_only(), "kv_heads"_a = nb::none(), "batch"_a = 1,
          "mask"_a = Mask{}, "ranks"_a = 1, "layout"_a = "contiguous", "per_sequence"_a = false,
          "softmax_scale"_a = nb::none())
      .def_prop_ro("seqlen", [](const Problem& p) { return p.shape.seqlen; })
      .def_prop_ro("heads", [](const Problem& p) { return p.shape.heads; })
      .def_prop_ro("kv_heads", [](const Problem& p) { return p.shape.kv_heads; })
      .def_prop_ro("head_dim", [](const Problem& p) { return p.shape.head_dim; })
      .def_prop_ro("batch", [](const Problem& p) { return p.shape.batch; })
      .def_prop_ro("mask", [](const Problem& p) { return p.mask; })
      .def_prop_ro("ranks", [](const Problem& p) { return p.world_size; })
      .def_prop_ro("layout", [](const Problem& p) { return std::string(name_of(p.layout)); })
      .def_prop_ro("per_sequence", [](const Problem& p) { return p.per_sequence; })
      .def_prop_ro("softmax_scale", [](const Problem& p) { return p.softmax_scale; })
      .def(
          "positions", [](const Problem& p, int rank) { return p.sharding().positions(rank); }, "rank"_a,
          "The positions of a rank's rows, increasing.")
      .def(
          "rows", [](const Problem& p, int rank) { return p.sharding().rows(rank); }, "rank"_a,
          "How many rows a rank has.")
      .def(
          "owner_of", [](const Problem& p, Position position) { return p.sharding().owner_of(position); },
          "position"_a, "The rank that owns this position.")
      .def("keys_seen", keys_seen, "position"_a,
           "The keys that the query at this position sees: (first, one past the last), as positions.")
      .def(
          "key_ranges",
          [](const Problem& p, int rank, int source) {
            p.sharding().require(rank);
            p.sharding().require(source);
            const KeyRanges ranges = key_ranges(p, rank, source).by_row();
            return std::pair{ranges.begin, ranges.end};
          },
          "rank"_a, "source"_a,
          "For each row of `rank` the local keys of `source` that it sees: (begins, ends).")
      .def(
          "hops", [](const Problem& p) { return hops(p); }, "How often a ring passes its KV blocks on.")
      .def("__repr__", [](const Problem& p) {
        const Shape& s = p.shape;
        return "<Problem: " + counted(s.seqlen, "token") + ", " + described(p.mask) + ", batch " +
               std::to_string(s.batch) + ", heads " + std::to_string(s.heads) + "/" +
               std::to_string(s.kv_heads) + ", head_dim " + std::to_string(s.head_dim) + ", " +
               counted(p.world_size, "rank") + ", " + described(p.sharding()) + ">";
      });
  bind_value(problems);

  nb::class_<verify::Case> cases(m, "Case", "A problem with a recipe for its inputs.");
  cases
      .def(
          "__init__",
          [](verify::Case* self, const Problem& problem, const std::string& data, std::uint64_t seed) {
            new (self) verify::Case(case_of(problem, data, seed));
          },
          "problem"_a, "data"_a = "normal", "seed"_a = 1)
      .def_prop_ro("name", [](const verify::Case& c) { return c.name; })
      .def_prop_ro("problem", [](const verify::Case& c) { return c.problem; })
      .def_prop_ro("data", [](const verify::Case& c) { return std::string(verify::name_of(c.data)); })
      .def_prop_ro("seed", [](const verify::Case& c) { return c.seed; })
      .def(
          "inputs",
          [](const verify::Case& c, bool wide) {
            verify::Inputs inputs = verify::make_inputs(c, wide ? DType::kFloat64 : DType::kFloat32);
            Arrays arrays;
            for (auto& [name, tensor] : verify::named(inputs))
              arrays[nb::str(name.data(), name.size())] = given(std::move(tensor), "bhsd");
            return arrays;
          },
          "wide"_a = false, "q, k, v and dout, [batch, heads, seqlen, head_dim]; wide: in float64.")
      .def("__repr__", [](const verify::Case& c) { return "<Case: " + c.name + ">"; });
  bind_value(cases);

  m.def(
      "case_table",
      [](bool full) { return verify::case_table(full ? verify::CaseSet::kFull : verify::CaseSet::kBrief); },
      "full"_a = false, "The table of cases that every implementation of this library runs.");
  m.def("layouts", [] {
    std::vector<std::string> names;
    for (const Layout layout : kLayouts) names.emplace_back(name_of(layout));
    return names;
  });
}

}  // namespace ringcraft::python
