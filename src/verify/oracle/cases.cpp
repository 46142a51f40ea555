// Makes the inputs of cases. Scores are shaped along one random unit vector u of each KV head:
//   q_i = f_i length u + jitter normal,  k_j = g_j length u + jitter normal,
// so score_ij is about f_i g_j level with length = sqrt(level / softmax_scale), and keys of equal g differ by
// a few units, which leaves a softmax with more than one weight.
#include "verify/oracle/cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::verify {

std::string_view name_of(Data data) {
  switch (data) {
    case Data::kNormal:
      return "normal";
    case Data::kHot:
      return "hot";
    case Data::kNegative:
      return "negative";
    case Data::kGap:
      return "gap";
    case Data::kPeaked:
      return "peaked";
    case Data::kHuge:
      return "huge";
  }
  return "?";
}

namespace {

// The score level of each kind; 0: no shaping.
double level_of(Data data) {
  switch (data) {
    case Data::kNormal:
      return 0;
    case Data::kHot:
      return 250;
    case Data::kNegative:
      return 200;
    case Data::kGap:
      return 150;
    case Data::kPeaked:
      return 20;
    case Data::kHuge:
      return 2e4;
  }
  return 0;
}

// f of the query at this position.
double query_factor(Data data, Position p) {
  if (data == Data::kHot) return std::array{1.0, -1.0, 0.4, -0.4}[static_cast<std::size_t>(p % 4)];
  return data == Data::kHuge && p % 2 == 1 ? -1.0 : 1.0;
}

// g of the key at a position; a gap separates the shards of `sharding`.
struct KeyFactor {
  Data data;
  std::uint64_t seed;
  Sharding sharding;

  double operator()(Position p) const {
    switch (data) {
      case Data::kHot:
      case Data::kHuge:
        return p / 3 % 2 == 0 ? 1.0 : -1.0;
      case Data::kNegative:
        return -1.0;
      case Data::kGap:
        return static_cast<std::uint64_t>(sharding.owner_of(p)) == hot_rank() ? 1.0 : 0.0;
      case Data::kPeaked:
        return p % 7 == 2 ? 1.0 : 0.0;
      case Data::kNormal:
        return 0.0;
    }
    return 0.0;
  }
  std::uint64_t hot_rank() const { return seed % static_cast<std::uint64_t>(sharding.world_size); }
};

std::vector<double> unit_vector(Random& random, Index width) {
  std::vector<double> u(static_cast<std::size_t>(width));
  double square = 0;
  for (double& x : u) {
    x = random.normal();
    square += x * x;
  }
  for (double& x : u) x /= std::sqrt(square);
  return u;
}

// Scales the normal numbers of one head by `jitter` and adds factor(position) * length * u to each row.
template <class Factor>
void shape_rows(Matrix<double> rows, const std::vector<Position>& positions, const std::vector<double>& u,
                double length, double jitter, Factor factor) {
  for (Index i = 0; i < rows.rows; ++i)
    for (Index c = 0; c < rows.cols; ++c)
      rows(i, c) = jitter * rows(i, c) +
                   factor(positions[static_cast<std::size_t>(i)]) * length * u[static_cast<std::size_t>(c)];
}

Inputs make(const BlockProblem& p, const Sharding& sharding, Data data, std::uint64_t seed, DType type) {
  Random random(seed);
  Inputs in;
  in.q = random_normal(p.q_extents(), DType::kFloat64, random);
  in.k = random_normal(p.kv_extents(), DType::kFloat64, random);
  in.v = random_normal(p.kv_extents(), DType::kFloat64, random);
  in.dout = random_normal(p.q_extents(), DType::kFloat64, random);
  if (data == Data::kNormal) return converted(in, type);
  if (!(p.softmax_scale > 0))
    throw Error("case", "a positive softmax_scale for shaped scores", std::to_string(p.softmax_scale),
                "use normal data");
  const double level = level_of(data), length = std::sqrt(level / p.softmax_scale);
  const double jitter =
      std::min(1.0, 2.0 / std::sqrt(level * p.softmax_scale));  // scores of one kind differ by about 3
  const KeyFactor key_factor{data, seed, sharding};
  for (Index b = 0; b < p.batch; ++b)
    for (Index g = 0; g < p.kv_heads; ++g) {
      const std::vector<double> u = unit_vector(random, p.head_dim);
      shape_rows(head_of<double>(in.k, b, g), p.keys, u, length, jitter, key_factor);
      const Index group = p.heads / p.kv_heads;
      for (Index head = g * group; head < (g + 1) * group; ++head)
        shape_rows(head_of<double>(in.q, b, head), p.queries, u, length, jitter,
                   [&](Position position) { return query_factor(data, position); });
    }
  return converted(in, type);
}

}  // namespace

Inputs make_inputs(const Case& c, DType type) {
  const Sharding thirds{Layout::kContiguous, c.problem.shape.seqlen,
                        3};  // one rank has no other block to differ from
  return make(whole(c.problem), c.problem.world_size > 1 ? c.problem.sharding() : thirds, c.data, c.seed,
              type);
}

Inputs make_inputs(const BlockCase& c, DType type) {
  const Position seqlen = std::max(c.problem.queries.empty() ? 0 : c.problem.queries.back(),
                                   c.problem.keys.empty() ? 0 : c.problem.keys.back()) +
                          1;
  return make(c.problem, {Layout::kContiguous, seqlen, 2}, c.data, c.seed, type);
}

Case make_case(Problem problem, Data data, std::uint64_t seed) {
  const Shape& s = problem.shape;
  std::ostringstream name;
  name << "n=" << problem.world_size << " " << described(problem.sharding()) << " " << described(problem.mask)
       << " s=" << s.seqlen << " h=" << s.heads << "/" << s.kv_heads << " d=" << s.head_dim;
  if (s.batch != 1) name << " b=" << s.batch;
  if (problem.softmax_scale != 1.0 / std::sqrt(static_cast<double>(s.head_dim)))
    name << " scale=" << problem.softmax_scale;
  name << " " << name_of(data);
  return {name.str(), std::move(problem), data, seed};
}

}  // namespace ringcraft::verify
