// The judge of answers that somebody else computed, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "attention.hpp"
#include "bindings.hpp"
#include "interruptible.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/claims/claim.hpp"
#include "verify/claims/claim_report.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::python {
namespace {

using namespace nb::literals;

DType dtype_named(const std::string& name) {
  for (const DType type : {DType::kFloat64, DType::kFloat32, DType::kBFloat16, DType::kFloat16})
    if (name == name_of(type)) return type;
  throw Error("dtype", "float64, float32, bfloat16 or float16", shown(name),
              "it is the type that was computed in");
}

// The tensors of a dict, [batch, heads, seqlen, width], checked against the problem.
verify::Answer answer_of(const Problem& problem, const nb::dict& arrays) {
  verify::Answer answer;
  const Extents queries = problem.q_extents(0), keys = problem.kv_extents(0);
  for (const auto& [key, array] : arrays) {
    const auto name = nb::cast<std::string>(nb::str(key));
    Buffer* tensor = nullptr;
    for (auto& [known, each] : verify::named(answer))
      if (name == known) tensor = &each;
    if (tensor == nullptr)
      throw Error("claim", "the names out, lse, dq, dk and dv", shown(name), "rename it, or leave it out");
    *tensor = taken(array, name, name == "lse" ? "bhs" : "bhsd").tensor;
    Extents want = name == "dk" || name == "dv" ? keys : queries;
    want.rows = problem.shape.seqlen;
    if (name == "lse") want.width = 1;
    if (tensor->extents() != want)
      throw Error(name, "[batch, heads, seqlen, head_dim] " + described(want), described(tensor->extents()),
                  "axes and layout say how the rows and axes of a claim are ordered");
  }
  if (nb::len(arrays) == 0) throw Error("claim", "out, lse, dq, dk or dv", "no array", "return at least out");
  return answer;
}

// The answer with the rows that it has, taken as those of rank 0, rank 1, ... of another deal.
verify::Answer dealt(const verify::Answer& answer, const Sharding& sharding) {
  verify::Answer result;
  std::vector<Position> order;
  for (int rank = 0; rank < sharding.world_size; ++rank)
    for (const Position position : sharding.positions(rank)) order.push_back(position);
  const auto from = verify::named(answer);
  auto to = verify::named(result);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].tensor.empty()) continue;
    const Extents e = from[i].tensor.extents();
    Buffer rows(e, from[i].tensor.dtype());
    const std::size_t row = static_cast<std::size_t>(e.width) * size_of(rows.dtype());
    for (Index head = 0; head < e.batch * e.heads; ++head)
      for (Index s = 0; s < e.rows; ++s)
        std::memcpy(rows.bytes().data() +
                        static_cast<std::size_t>(head * e.rows + order[static_cast<std::size_t>(s)]) * row,
                    from[i].tensor.bytes().data() + static_cast<std::size_t>(head * e.rows + s) * row, row);
    to[i].tensor = std::move(rows);
  }
  return result;
}

// Deals in which the rows of the claim may lie, if they were taken to lie in the order of the sequence.
std::vector<verify::OtherRows> other_deals(const Problem& problem, const verify::Answer& answer) {
  std::vector<verify::OtherRows> others;
  for (const Layout layout : kLayouts) {
    Sharding sharding = problem.sharding();
    if (layout == Layout::kContiguous || sharding.world_size == 1) continue;
    sharding.layout = layout;
    others.push_back({"take them in the order of rank 0, rank 1, ... (" + std::string(name_of(layout)) + ")",
                      [&answer, sharding] { return dealt(answer, sharding); }});
  }
  return others;
}

void require_wanted(const std::atomic<bool>& stop) {
  if (stop) throw Error("the judge was stopped by its caller", Code::kWrongAnswer);
}

nb::typed<nb::tuple, nb::bool_, nb::str, nb::str> judge(
    const Problem& problem, nb::handle q, nb::handle k, nb::handle v, nb::handle dout, const Arrays& claim,
    bool known_ranks, std::optional<std::string> dtype, bool tf32, bool sequence_order,
    const std::string& title, std::vector<std::string> refuted, bool no_numbers_tell,
    std::optional<std::string> lse_dtype, bool causes, bool derived) {
  verify::Inputs inputs = inputs_of(problem, q, k, v, dout, "bhsd");
  verify::require_finite(inputs);
  verify::Answer answer = answer_of(problem, claim);
  verify::PrecisionOptions precision{.tf32 = tf32, .spelling = verify::Spelling::kKeywords};
  if (dtype) precision.dtype = dtype_named(*dtype);
  if (lse_dtype && !answer.lse.empty()) answer.lse = converted(answer.lse, dtype_named(*lse_dtype));
  const DType stored = inputs.q.dtype();
  std::vector<std::string> unjudged;
  if (!inputs.has_backward())
    for (auto& [name, tensor] : verify::named(answer))
      if (name[0] == 'd' && !tensor.empty()) {
        unjudged.emplace_back(name);
        tensor = Buffer();
      }
  const verify::StoredInputs given_inputs{std::move(inputs), stored};
  const verify::ClaimVerdict verdict = interruptible(false, [&](const std::atomic<bool>* stop) {
    const verify::Answer kept = sequence_order ? verify::clone(answer) : verify::Answer();
    return verify::judge_claim(
        {.problem = problem,
         .stored = given_inputs,
         .answer = std::move(answer),
         .unjudged = unjudged,
         .key_width = problem.shape.head_dim,
         .value_width = problem.shape.head_dim,
         .precision = precision,
         .title = title,
         .others = sequence_order ? other_deals(problem, kept) : std::vector<verify::OtherRows>{},
         .diagnose = {.ranks = known_ranks ? verify::Ranks::kKnown : verify::Ranks::kUnknown,
                      .no_numbers =
                          no_numbers_tell ? verify::NoNumbers::kTell : verify::NoNumbers::kTellNothing,
                      .refuted = std::move(refuted),
                      .poll = [&] { require_wanted(*stop); },
                      .causes = causes,
                      .derived = derived},
         .progress = [&](verify::JudgingPhase, double) { require_wanted(*stop); }});
  });
  return nb::make_tuple(verdict.good, verify::text_of(verdict, verify::Colour::kPlain),
                        verify::json_of(verdict));
}

std::vector<std::string> refuted_mistakes(const Problem& problem, nb::handle q, nb::handle k, nb::handle v,
                                          nb::handle dout, const Arrays& claim,
                                          const std::vector<std::string>& ids, const std::string& dtype) {
  const verify::Inputs inputs = inputs_of(problem, q, k, v, dout, "bhsd");
  const verify::Answer answer = claim.size() == 0 ? verify::Answer() : answer_of(problem, claim);
  const DType precision = dtype_named(dtype);
  return interruptible(false, [&](const std::atomic<bool>* stop) {
    return verify::refuted_mistakes(problem, inputs, answer, ids, precision, [&] { require_wanted(*stop); });
  });
}

}  // namespace

void bind_claims(nb::module_& m) {
  m.def("judge", judge, "problem"_a, "q"_a, "k"_a, "v"_a, "dout"_a.none(), "claim"_a, "known_ranks"_a = false,
        "dtype"_a = nb::none(), "tf32"_a = false, "sequence_order"_a = true, "title"_a = "claim",
        "refuted"_a = std::vector<std::string>(), "no_numbers_tell"_a = false, "lse_dtype"_a = nb::none(),
        "causes"_a = true, "derived"_a = false,
        "Judges arrays by the oracle and looks for the mistake, but for causes with the refuted ids: (right, "
        "text, JSON). derived: the gradients are known to be the derivative of out.");
  m.def("refuted_mistakes", refuted_mistakes, "problem"_a, "q"_a, "k"_a, "v"_a, "dout"_a.none(), "claim"_a,
        "ids"_a, "dtype"_a,
        "Those of these ids of causes that a claim refutes, or, if it is empty, a right one: every known "
        "mistake "
        "with the id gives plainly other numbers.");
  m.def(
      "is_general", [](const std::string& id) { return verify::is_general({.id = id}); }, "id"_a,
      "Whether the cause with this id says which numbers are wrong rather than by which mistake.");
}

}  // namespace ringcraft::python
