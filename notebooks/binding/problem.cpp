// Mask, Problem, layouts and the table of cases, for Python.
#include "ringcraft/problem/problem.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
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
  of.def(
        "__eq__",
        [](const T& a, const nb::object& b) {
          return nb::isinstance<T>(b) &&
                 nb::cast(state_of(a)).equal(nb::cast(state_of(nb::cast<const T&>(b))));
        },
        nb::arg().none(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
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

int rank_of(nb::handle given, const char* method) {
  const std::string of = "ringcraft.Problem." + std::string(method);
  return argument(given, "rank", of).whole<int>();
}

constexpr auto kMaskSignature =
    "def __init__(self, left: int | None = None, right: int | None = None, cu_seqlens: Sequence[int] | None "
    "= None) -> None";

void init_mask(Mask* self, const nb::args& args, const nb::kwargs& kwargs) {
  const Arguments a("ringcraft.Mask", {"left", "right", "cu_seqlens"}, 0, {}, args, kwargs);
  const auto limit = [&](std::string_view name) {
    return a[name].missing() ? std::nullopt : std::optional(a[name].whole<Position>());
  };
  const Argument& borders = a["cu_seqlens"];
  new (self) Mask(
      make_mask(limit("left"), limit("right"), borders.missing() ? std::vector<Position>() : borders.list()));
}

constexpr auto kProblemSignature =
    "def __init__(self, seqlen: int, heads: int, head_dim: int, *, kv_heads: int | None = None, batch: int = "
    "1, "
    "mask: Mask | None = None, ranks: int = 1, layout: str = 'contiguous', per_sequence: bool = False, "
    "softmax_scale: float | None = None) -> None";

void init_problem(Problem* self, const nb::args& args, const nb::kwargs& kwargs) {
  const Arguments a("ringcraft.Problem", {"seqlen", "heads", "head_dim"}, 3,
                    {"kv_heads", "batch", "mask", "ranks", "layout", "per_sequence", "softmax_scale"}, args,
                    kwargs);
  const auto heads = a["heads"].whole<Index>();
  const Argument &mask = a["mask"], &scale = a["softmax_scale"];
  new (self) Problem(make({a["batch"].whole_or<Index>(1), heads, a["kv_heads"].whole_or(heads),
                           a["seqlen"].whole<Position>(), a["head_dim"].whole<Index>()},
                          mask.missing() ? Mask{} : mask.object<Mask>("a ringcraft.Mask"),
                          a["ranks"].whole_or(1), a["layout"].text_or("contiguous"),
                          !a["per_sequence"].missing() && a["per_sequence"].truth(),
                          scale.missing() ? std::nullopt : std::optional(scale.number())));
}

constexpr auto kCaseSignature =
    "def __init__(self, problem: Problem, data: str = 'normal', seed: int = 1) -> None";

void init_case(verify::Case* self, const nb::args& args, const nb::kwargs& kwargs) {
  const Arguments a("ringcraft.Case", {"problem", "data", "seed"}, 1, {}, args, kwargs);
  new (self) verify::Case(case_of(a["problem"].object<Problem>("a ringcraft.Problem"),
                                  a["data"].text_or("normal"), a["seed"].whole_or<std::uint64_t>(1)));
}

}  // namespace

void bind_problem(nb::module_& m) {
  nb::class_<Mask> masks(
      m, "Mask",
      "Which keys a query sees: those from `left` before it to `right` after it, in its own sequence.\n\n"
      "None is no limit: causal is Mask(None, 0). cu_seqlens: [sequences + 1], the borders of packed "
      "sequences.");
  masks.def("__init__", &init_mask, nb::sig(kMaskSignature))
      .def_prop_ro(
          "left", [](const Mask& mask) { return limit_of(mask.left); },
          "How many keys before it a query sees, besides its own; None: all.")
      .def_prop_ro(
          "right", [](const Mask& mask) { return limit_of(mask.right); },
          "How many keys after it a query sees; None: all.")
      .def_prop_ro(
          "cu_seqlens", [](const Mask& mask) { return mask.cu_seqlens; },
          "[sequences + 1]: where packed sequences begin, from 0 to seqlen; empty: one sequence.")
      .def("__repr__", [](const Mask& mask) { return "<Mask: " + described(mask) + ">"; });
  bind_value(masks);

  nb::class_<Problem> problems(m, "Problem",
                               "One attention problem, dealt to ranks: shapes, mask, layout and scale.\n\n"
                               "q [batch, heads, seqlen, head_dim]; k, v [batch, kv_heads, seqlen, "
                               "head_dim]. kv_heads divides heads, which it is "
                               "by default. softmax_scale is 1 / sqrt(head_dim) by default.");
  problems.def("__init__", &init_problem, nb::sig(kProblemSignature))
      .def_prop_ro(
          "seqlen", [](const Problem& p) { return p.shape.seqlen; }, "Tokens of the whole sequence.")
      .def_prop_ro(
          "heads", [](const Problem& p) { return p.shape.heads; }, "Heads of q.")
      .def_prop_ro(
          "kv_heads", [](const Problem& p) { return p.shape.kv_heads; }, "Heads of k and v.")
      .def_prop_ro(
          "head_dim", [](const Problem& p) { return p.shape.head_dim; }, "Numbers of one token in one head.")
      .def_prop_ro(
          "batch", [](const Problem& p) { return p.shape.batch; },
          "Sequences computed at once, all with this mask.")
      .def_prop_ro(
          "mask", [](const Problem& p) { return p.mask; }, "Which keys a query sees.")
      .def_prop_ro(
          "ranks", [](const Problem& p) { return p.world_size; }, "How many ranks share the sequence.")
      .def_prop_ro(
          "layout", [](const Problem& p) { return std::string(name_of(p.layout)); },
          "Which tokens a rank has: a name of ringcraft.layouts().")
      .def_prop_ro(
          "per_sequence", [](const Problem& p) { return p.per_sequence; },
          "Whether each packed sequence is dealt to the ranks by itself.")
      .def_prop_ro(
          "softmax_scale", [](const Problem& p) { return p.softmax_scale; }, "The factor of the scores.")
      .def(
          "positions",
          [](const Problem& p, nb::object rank) {
            const std::vector<Position> rows = p.sharding().positions(rank_of(rank, "positions"));
            return nb::module_::import_("numpy").attr("array")(nb::cast(rows),
                                                               "int64");  // an index, if empty too
          },
          "rank"_a.none(), nb::sig("def positions(self, rank: int) -> numpy.ndarray"),
          "[rows]: the positions of a rank's rows in the whole sequence, increasing.")
      .def(
          "rows", [](const Problem& p, nb::object rank) { return p.sharding().rows(rank_of(rank, "rows")); },
          "rank"_a.none(), nb::sig("def rows(self, rank: int) -> int"), "How many rows a rank has.")
      .def(
          "owner_of",
          [](const Problem& p, nb::object position) {
            return p.sharding().owner_of(
                argument(position, "position", "ringcraft.Problem.owner_of").whole<Position>());
          },
          "position"_a.none(), nb::sig("def owner_of(self, position: int) -> int"),
          "The rank that owns this position.")
      .def(
          "keys_seen",
          [](const Problem& p, nb::object position) {
            return keys_seen(p,
                             argument(position, "position", "ringcraft.Problem.keys_seen").whole<Position>());
          },
          "position"_a.none(), nb::sig("def keys_seen(self, position: int) -> tuple[int, int]"),
          "The keys that the query at this position sees: (first, one past the last), as positions.")
      .def(
          "key_ranges",
          [](const Problem& p, nb::object rank, nb::object source) {
            const int queries = rank_of(rank, "key_ranges");
            const int keys = argument(source, "source", "ringcraft.Problem.key_ranges").whole<int>();
            p.sharding().require(queries);
            p.sharding().require(keys);
            const KeyRanges ranges = key_ranges(p, queries, keys).by_row();
            return std::pair{ranges.begin, ranges.end};
          },
          "rank"_a.none(), "source"_a.none(),
          nb::sig("def key_ranges(self, rank: int, source: int) -> tuple[list[int], list[int]]"),
          "For each row of `rank` the local keys of `source` that it sees: (begins, ends), each [rows].")
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

  nb::class_<verify::Case> cases(m, "Case",
                                 "A problem with a recipe for its inputs.\n\n"
                                 "data, the distribution of the scores: normal, hot, negative, gap, peaked "
                                 "or huge. Equal seeds make equal inputs.");
  cases.def("__init__", &init_case, nb::sig(kCaseSignature))
      .def_prop_ro(
          "name", [](const verify::Case& c) { return c.name; }, "All of it in a line.")
      .def_prop_ro(
          "problem", [](const verify::Case& c) { return c.problem; }, "Shapes, mask and ranks.")
      .def_prop_ro(
          "data", [](const verify::Case& c) { return std::string(verify::name_of(c.data)); },
          "The distribution of the scores.")
      .def_prop_ro(
          "seed", [](const verify::Case& c) { return c.seed; }, "That of the random numbers.")
      .def(
          "inputs",
          [](const verify::Case& c, nb::object wide) {
            const bool doubles = argument(wide, "wide", "ringcraft.Case.inputs").truth();
            verify::Inputs inputs = verify::make_inputs(c, doubles ? DType::kFloat64 : DType::kFloat32);
            Arrays arrays;
            for (auto& [name, tensor] : verify::named(inputs))
              arrays[nb::str(name.data(), name.size())] = given(std::move(tensor), "bhsd");
            return arrays;
          },
          "wide"_a.none() = false, nb::sig("def inputs(self, wide: bool = False) -> dict[str, typing.Any]"),
          "q, dout [batch, heads, seqlen, head_dim]; k, v [batch, kv_heads, seqlen, head_dim]. wide: in "
          "float64.")
      .def("__repr__", [](const verify::Case& c) { return "<Case: " + c.name + ">"; });
  bind_value(cases);

  m.def(
      "case_table",
      [](nb::object full) {
        return verify::case_table(argument(full, "full", "ringcraft.case_table").truth()
                                      ? verify::CaseSet::kFull
                                      : verify::CaseSet::kBrief);
      },
      "full"_a.none() = false, nb::sig("def case_table(full: bool = False) -> list[Case]"),
      "The table of cases that every implementation of this library runs.");
  m.def(
      "layouts",
      [] {
        std::vector<std::string> names;
        for (const Layout layout : kLayouts) names.emplace_back(name_of(layout));
        return names;
      },
      "Names of the ways to deal tokens to ranks.");
}

}  // namespace ringcraft::python
