// A rank whose messages Python sends: torch.distributed, mpi4py, sockets. The methods of the library run on
// it as on any other Communicator.
#include "ringcraft/comm/communicator.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <map>
#include <memory>
#include <optional>

#include "attention.hpp"
#include "bindings.hpp"
#include "methods.hpp"
#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::python {
namespace {

using namespace nb::literals;

// Hands operations to Python: start(list of ("send" or "recv", peer, bytes as a NumPy array of uint8))
// returns anything, which wait(that) gets back.
class PythonCommunicator final : public Communicator {
 public:
  PythonCommunicator(int rank, int world_size, nb::object start, nb::object wait)
      : Communicator(rank, world_size, Space::kHost), start_(std::move(start)), wait_(std::move(wait)) {}

 private:
  std::uint64_t do_start(std::span<const Op> ops) override {
    const nb::gil_scoped_acquire lock;
    nb::list list;
    for (const Op& op : ops) {
      const std::size_t size = op.bytes.size();
      list.append(nb::make_tuple(op.kind == Op::kSend ? "send" : "recv", op.peer,
                                 nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(op.bytes.data(), 1, &size),
                                          nb::rv_policy::reference)));
    }
    open_.emplace(next_, start_(list));
    return next_++;
  }
  void do_wait(std::uint64_t ticket) override {
    const nb::gil_scoped_acquire lock;
    const nb::object handle = std::move(open_.at(ticket));
    open_.erase(ticket);
    wait_(handle);
  }

  nb::object start_, wait_;
  std::map<std::uint64_t, nb::object> open_;
  std::uint64_t next_ = 0;
};

// What a forward pass leaves for the backward pass.
struct Saved {
  Forward forward;
  Problem problem;
  MethodChoice choice;
  DType type;
};

// One rank. Its calls are collective: every rank makes them in the same order.
class Rank {
 public:
  Rank(int rank, int world_size, nb::object start, nb::object wait, int threads)
      : comm_(rank, world_size, std::move(start), std::move(wait)), threads_(threads) {}

  nb::typed<nb::tuple, nb::any, nb::any, Saved> forward(const Problem& problem, const MethodChoice& choice,
                                                        nb::handle q, nb::handle k, nb::handle v,
                                                        const std::string& axes) {
    require_axes(axes);
    Buffer queries = shard(q, "q", axes, problem.q_extents(comm_.rank()), {});
    const DType type = queries.dtype();
    KvBlock block{
        shard(k, "k", axes, problem.kv_extents(comm_.rank()), type).clone(),
        shard(v, "v", axes, problem.kv_extents(comm_.rank()), type).clone()};  // a ring receives into them
    auto saved = std::make_unique<Saved>(Saved{{}, problem, choice, type});
    {
      const nb::gil_scoped_release unlocked;
      const auto engine = make_host_engine(type, {.threads = threads_});
      HostPlace place(comm_, *engine);
      refuse(*choice.method, problem, choice.options, Pass::kBackward, comm_, *engine);
      saved->forward =
          choice.method->forward(place, saved->problem, choice.options, std::move(queries), std::move(block));
    }
    const Output& output = saved->forward.output;
    nb::object out = given(output.out.clone(), axes), lse = given(output.lse.clone(), row_axes(axes));
    return nb::make_tuple(out, lse, nb::cast(saved.release(), nb::rv_policy::take_ownership));
  }

  ThreeArrays backward(const Saved& saved, nb::handle dout, const std::string& axes) {
    const Buffer gradient = shard(dout, "dout", axes, saved.problem.q_extents(comm_.rank()), saved.type);
    Gradients g;
    {
      const nb::gil_scoped_release unlocked;
      const auto engine = make_host_engine(saved.type, {.threads = threads_});
      HostPlace place(comm_, *engine);
      g = saved.choice.method->backward(place, saved.problem, saved.choice.options, saved.forward, gradient);
    }
    return nb::make_tuple(given(std::move(g.dq), axes), given(std::move(g.dkv.k), axes),
                          given(std::move(g.dkv.v), axes));
  }

 private:
  static Buffer shard(nb::handle array, std::string_view name, std::string_view axes, const Extents& want,
                      std::optional<DType> type) {
    Buffer tensor = taken(array, name, axes).tensor;
    if (tensor.extents() != want)
      throw Error(std::string(name), "this rank's shard, [batch, heads, rows, head_dim] " + described(want),
                  described(tensor.extents()), "Problem.positions(rank) says which rows these are");
    if (type && tensor.dtype() != *type)
      throw Error(std::string(name), std::string(name_of(*type)) + ", as q",
                  std::string(name_of(tensor.dtype())), "give all arrays one type");
    return tensor;
  }

  PythonCommunicator comm_;
  int threads_;
};

}  // namespace

void bind_communicator(nb::module_& m) {
  nb::class_<Saved>(m, "Saved", "What a forward pass leaves for the backward pass.");
  nb::class_<Rank>(m, "Rank", "One rank of a job whose messages Python sends.")
      .def(nb::init<int, int, nb::object, nb::object, int>(), "rank"_a, "world_size"_a, "start"_a, "wait"_a,
           "threads"_a = 1)
      .def("forward", &Rank::forward, "problem"_a, "method"_a, "q"_a, "k"_a, "v"_a, "axes"_a = "bhsd",
           "This rank's out and lse, and what the backward pass needs.")
      .def("backward", &Rank::backward, "saved"_a, "dout"_a, "axes"_a = "bhsd", "This rank's dq, dk and dv.");
}

}  // namespace ringcraft::python
