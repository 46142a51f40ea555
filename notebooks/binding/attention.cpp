// Attention on one device and the oracle, for Python.
#include "attention.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <thread>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/core/error.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::python {
namespace {

using namespace nb::literals;

void require_typed(const Buffer& tensor, const Buffer& as, std::string_view name) {
  if (tensor.dtype() != as.dtype())
    throw Error(std::string(name), std::string(name_of(as.dtype())) + ", as q",
                std::string(name_of(tensor.dtype())), "give all arrays one type");
}

void require_extents(const Buffer& tensor, const Extents& extents, std::string_view name) {
  if (tensor.extents() != extents)
    throw Error(std::string(name), "[batch, heads, seqlen, head_dim] " + described(extents),
                described(tensor.extents()), "check the shape");
}

TwoArrays forward(const Problem& problem, nb::handle q, nb::handle k, nb::handle v, const std::string& axes,
                  std::optional<int> threads) {
  verify::Inputs in = inputs_of(problem, q, k, v, nb::none(), axes);
  const KvBlock kv{std::move(in.k), std::move(in.v)};
  Output output = interruptible(is_brief(problem), [&](const std::atomic<bool>* stop) {
    const auto engine = make_host_engine(in.q.dtype(), {.threads = threads_of(threads), .stop = stop});
    RowState state = engine->begin(in.q);
    engine->forward(state, in.q, kv, key_ranges(problem.mask, problem.shape.seqlen), problem.softmax_scale);
    return engine->finish(std::move(state));
  });
  return nb::make_tuple(given(std::move(output.out), axes), given(std::move(output.lse), row_axes(axes)));
}

ThreeArrays backward(const Problem& problem, nb::handle q, nb::handle k, nb::handle v, nb::handle out,
                     nb::handle lse, nb::handle dout, const std::string& axes, std::optional<int> threads) {
  verify::Inputs in = inputs_of(problem, q, k, v, dout, axes);
  const KvBlock kv{std::move(in.k), std::move(in.v)};
  const Buffer results = taken(out, "out", axes).tensor, sums = taken(lse, "lse", row_axes(axes)).tensor;
  require_extents(results, in.q.extents(), "out");
  require_extents(sums, {in.q.extents().batch, in.q.extents().heads, in.q.extents().rows, 1}, "lse");
  require_typed(results, in.q, "out");
  require_typed(sums, in.q, "lse");
  Gradients g = interruptible(is_brief(problem), [&](const std::atomic<bool>* stop) {
    const auto engine = make_host_engine(in.q.dtype(), {.threads = threads_of(threads), .stop = stop});
    const Buffer delta = engine->delta(results, in.dout);
    Gradients gradients{engine->allocate(in.q.extents(), Role::kAccumulator),
                        {engine->allocate(kv.k.extents(), Role::kAccumulator),
                         engine->allocate(kv.v.extents(), Role::kAccumulator)}};
    engine->set_zero(gradients.dq);
    engine->backward(gradients.dq, gradients.dkv, {in.q, results, sums, in.dout, delta}, kv,
                     key_ranges(problem.mask, problem.shape.seqlen), problem.softmax_scale);
    return gradients;
  });
  return nb::make_tuple(given(std::move(g.dq), axes), given(std::move(g.dkv.k), axes),
                        given(std::move(g.dkv.v), axes));
}

nb::typed<nb::tuple, Arrays, Arrays> oracle(const Problem& problem, nb::handle q, nb::handle k, nb::handle v,
                                            nb::handle dout, const std::string& axes) {
  const verify::Inputs in = inputs_of(problem, q, k, v, dout, axes);
  verify::Oracle oracle = interruptible(is_brief(problem), [&](const std::atomic<bool>* stop) {
    return verify::oracle(problem, in, {.threads = threads_of({}), .progress = [&](double) {
                                          if (*stop)
                                            throw Error("the oracle was stopped by its caller",
                                                        Code::kWrongAnswer);
                                        }});
  });
  return nb::make_tuple(arrays_of(std::move(oracle.value), axes), arrays_of(std::move(oracle.scale), axes));
}

}  // namespace

int threads_of(std::optional<int> threads) {
  return threads.value_or(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

bool is_brief(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.batch * s.heads * s.head_dim) * static_cast<double>(s.seqlen) *
             static_cast<double>(s.seqlen) <
         2e7;
}

verify::Inputs inputs_of(const Problem& problem, nb::handle q, nb::handle k, nb::handle v, nb::handle dout,
                         std::string_view axes) {
  require_axes(axes);
  std::optional<DType> type;  // half types, too, which are float32 once they have been taken
  const auto typed = [&](nb::handle array, const char* name) {
    Taken read = taken(array, name, axes);
    if (read.stored != type.value_or(read.stored))
      throw Error(name, std::string(name_of(*type)) + ", as q", std::string(name_of(read.stored)),
                  "give all arrays one type");
    type = read.stored;
    return std::move(read.tensor);
  };
  verify::Inputs inputs{typed(q, "q"), typed(k, "k"), typed(v, "v"),
                        dout.is_none() ? Buffer() : typed(dout, "dout")};
  verify::require_inputs(problem, inputs);
  return inputs;
}

Arrays arrays_of(verify::Answer answer, std::string_view axes) {
  nb::dict arrays;
  for (auto& [name, tensor] : verify::named(answer))
    if (tensor.extents() != Extents{})
      arrays[nb::str(name.data(), name.size())] =
          given(std::move(tensor), name == "lse" ? row_axes(axes) : std::string(axes));
  return arrays;
}

void bind_attention(nb::module_& m) {
  m.def("forward", forward, "problem"_a, "q"_a, "k"_a, "v"_a, "axes"_a = "bhsd", "threads"_a = nb::none(),
        "out and lse of attention on one device.");
  m.def("backward", backward, "problem"_a, "q"_a, "k"_a, "v"_a, "out"_a, "lse"_a, "dout"_a, "axes"_a = "bhsd",
        "threads"_a = nb::none(), "dq, dk and dv of sum(out * dout).");
  m.def(
      "read_at",
      [](nb::handle array, const std::string& axes) {
        require_axes(axes);
        const Taken read = taken(array, "array", axes);
        return reinterpret_cast<std::uintptr_t>(read.tensor.bytes().data());
      },
      "array"_a, "axes"_a = "bhsd",
      "The address that the library reads this array at: its own, unless it is copied.");
  m.def("require_axes", require_axes, "axes"_a, "Raises Error unless these are axes of a tensor.");
  m.def("oracle", oracle, "problem"_a, "q"_a, "k"_a, "v"_a, "dout"_a = nb::none(), "axes"_a = "bhsd",
        "What is right, in float64, and the scale of each element: two dicts.");
}

}  // namespace ringcraft::python
