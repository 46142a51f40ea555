// Names, converts, copies and checks whole tensors.
#include "verify/oracle/tensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::verify {

namespace {

template <class B, class Tensors, std::size_t... i>
auto with_names(Tensors& tensors, const auto& names, std::index_sequence<i...>) {
  auto fields = Tensors::fields(tensors);
  return std::array<Named<B>, sizeof...(i)>{Named<B>{names[i], std::get<i>(fields)}...};
}

std::string typed(const Extents& e, DType type) { return described(e) + " " + std::string(name_of(type)); }

}  // namespace

std::array<Named<Buffer>, 5> named(Answer& answer) {
  return with_names<Buffer>(answer, kAnswerNames, std::make_index_sequence<5>());
}
std::array<Named<const Buffer>, 5> named(const Answer& answer) {
  return with_names<const Buffer>(answer, kAnswerNames, std::make_index_sequence<5>());
}
std::array<Named<Buffer>, 4> named(Inputs& inputs) {
  return with_names<Buffer>(inputs, kInputNames, std::make_index_sequence<4>());
}
std::array<Named<const Buffer>, 4> named(const Inputs& inputs) {
  return with_names<const Buffer>(inputs, kInputNames, std::make_index_sequence<4>());
}

Inputs converted(const Inputs& in, DType type) {
  return {ringcraft::converted(in.q, type), ringcraft::converted(in.k, type),
          ringcraft::converted(in.v, type), ringcraft::converted(in.dout, type)};
}

Answer converted(const Answer& a, DType type) {
  return {ringcraft::converted(a.out, type), ringcraft::converted(a.lse, type),
          ringcraft::converted(a.dq, type), ringcraft::converted(a.dk, type),
          ringcraft::converted(a.dv, type)};
}

Inputs clone(const Inputs& in) { return {in.q.clone(), in.k.clone(), in.v.clone(), in.dout.clone()}; }

Answer clone(const Answer& a) {
  return {a.out.clone(), a.lse.clone(), a.dq.clone(), a.dk.clone(), a.dv.clone()};
}

void require_inputs(const Extents& q_extents, const Extents& kv_extents, const Inputs& inputs) {
  const auto require = [&](std::string_view name, const Buffer& buffer, const Extents& extents) {
    if (buffer.extents() != extents || buffer.dtype() != inputs.q.dtype())
      throw Error(std::string(name), typed(extents, inputs.q.dtype()),
                  typed(buffer.extents(), buffer.dtype()),
                  "check the shape and the number type of the inputs");
  };
  require("q", inputs.q, q_extents);
  require("k", inputs.k, kv_extents);
  require("v", inputs.v, kv_extents);
  if (inputs.has_backward()) require("dout", inputs.dout, q_extents);
}

void require_inputs(const Problem& problem, const Inputs& inputs) {
  const Shape& s = problem.shape;
  require_inputs({s.batch, s.heads, s.seqlen, s.head_dim}, {s.batch, s.kv_heads, s.seqlen, s.head_dim},
                 inputs);
}

std::optional<double> not_finite(const Buffer& tensor) {
  const Buffer numbers = ringcraft::converted(tensor, DType::kFloat64);
  for (const double x : numbers.values<double>())
    if (!std::isfinite(x)) return x;
  return {};
}

bool has_numbers(const Buffer& tensor) {
  const Buffer numbers = ringcraft::converted(tensor, DType::kFloat64);
  return std::ranges::any_of(numbers.values<double>(), [](double x) { return x != 0 && std::isfinite(x); });
}

void require_finite(const Inputs& inputs) {
  for (const auto& [name, tensor] : named(inputs)) {
    const Buffer numbers = ringcraft::converted(tensor, DType::kFloat64);
    const auto values = numbers.values<double>();
    const auto found = std::ranges::find_if(values, [](double x) { return !std::isfinite(x); });
    if (found == values.end()) continue;
    const Extents& e = tensor.extents();
    const Index at = found - values.begin(), row = at / e.width;
    const std::array<Index, 4> place{row / (e.heads * e.rows), row / e.rows % e.heads, row % e.rows,
                                     at % e.width};
    throw Error(std::string(name), "finite numbers",
                (std::isnan(*found) ? "NaN"
                 : *found > 0       ? "infinity"
                                    : "-infinity") +
                    std::string(" at [") + listed(place) + "]",
                "look where the inputs were written");
  }
}

}  // namespace ringcraft::verify
