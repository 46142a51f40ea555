// Validates and describes one attention problem.
#include "ringcraft/problem/problem.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

void require(bool good, const std::string& where, const std::string& expected, const std::string& actual,
             const std::string& advice) {
  if (!good) throw Error(where, expected, actual, advice);
}

void validate(const Shape& s) {
  for (const auto& [name, value] : {std::pair{"batch", s.batch},
                                    {"heads", s.heads},
                                    {"kv_heads", s.kv_heads},
                                    {"seqlen", s.seqlen},
                                    {"head_dim", s.head_dim}})
    require(value >= 1, name, "at least 1", std::to_string(value), "check the shape of q and k");
  require(s.heads % s.kv_heads == 0, "heads", "a multiple of kv_heads (" + std::to_string(s.kv_heads) + ")",
          std::to_string(s.heads), "every KV head serves the same number of query heads");
  require(s.seqlen <= std::numeric_limits<int>::max(), "seqlen", "at most 2147483647",
          std::to_string(s.seqlen), "local rows are counted in 32 bits");
  Index bytes = 8;
  for (const Index extent : {s.batch, s.heads, s.seqlen, s.head_dim}) {
    require(bytes <= std::numeric_limits<Index>::max() / extent, "shape",
            "a tensor that fits the address space", "batch x heads x seqlen x head_dim beyond 2^63 bytes",
            "check the shape");
    bytes *= extent;
  }
}

void validate(const Mask& mask, Position seqlen) {
  require(mask.left >= 0, "window", "a left limit of at least 0", std::to_string(mask.left),
          "leave it out for no limit");
  require(mask.right >= 0, "mask", "a right limit of at least 0", std::to_string(mask.right),
          "leave it out for no limit");
  const auto& cu = mask.cu_seqlens;
  if (cu.empty()) return;
  require(cu.size() >= 2 && cu.front() == 0 && cu.back() == seqlen, "cu_seqlens",
          "borders from 0 to seqlen (" + std::to_string(seqlen) + ")",
          "borders from " + std::to_string(cu.front()) + " to " + std::to_string(cu.back()),
          "give every border once, the first and the last included");
  for (std::size_t i = 1; i < cu.size(); ++i)
    require(cu[i - 1] < cu[i], "cu_seqlens", "borders that rise",
            std::to_string(cu[i - 1]) + " before " + std::to_string(cu[i]),
            "a sequence has at least one token");
}

}  // namespace

void validate(const Problem& problem) {
  validate(problem.shape);
  validate(problem.mask, problem.shape.seqlen);
  require(problem.world_size >= 1, "ranks", "at least 1", std::to_string(problem.world_size),
          "one rank has the whole sequence");
  require(!problem.per_sequence || !problem.mask.cu_seqlens.empty(), "per_sequence",
          "cu_seqlens with the borders of the packed sequences", "none",
          "leave it out, or give the borders: 0,5,24, say");
  require(std::isfinite(problem.softmax_scale), "softmax_scale", "a finite number",
          std::to_string(problem.softmax_scale), "leave it out for 1 / sqrt(head_dim)");
}

Problem make_problem(Shape shape, Mask mask, Layout layout, int world_size,
                     std::optional<double> softmax_scale) {
  const double scale = softmax_scale.value_or(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  Problem problem{shape, std::move(mask), layout, world_size, shape.head_dim >= 1 ? scale : 1.0};
  validate(problem);
  return problem;
}

BlockRanges key_ranges(const Problem& problem, int rank, int source) {
  for (const int either : {rank, source}) problem.sharding().require(either);
  return {problem, rank, source};
}

}  // namespace ringcraft
