// The merge kernels beside the merge of lesson 104 in float: the same formulas, so that an element may differ
// by the rounding of two exponentials and no more.
#include <cmath>
#include <limits>
#include <span>

#include "checks.hpp"
#include "direct.hpp"
#include "merge/merge.hpp"
#include "ringcraft/attention/merge.hpp"

namespace ringcraft::kernels {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// (O, m, l) of some rows on the host. Each row has seen keys, or none, as `seen` says.
struct Rows {
  Index rows, head_dim;
  std::vector<float> out, max, sum;

  Partial<float> partial() { return {{std::span(out), rows, head_dim}, max, sum}; }
};

// The level of the maxima of one side.
struct Levels {
  const char* name;
  float acc, block;          // kNothing: no row of this side has seen a key
  bool every_third = false;  // of the rows has seen no key, on either side in turn
};
constexpr Levels kLevels[] = {{"normal", 0, 0},
                              {"some rows without a key", 0, 0, true},
                              {"nothing before", kNothing, 0},
                              {"nothing new", 0, kNothing},
                              {"nothing at all", kNothing, kNothing},
                              {"hot", 20000, 20010},
                              {"negative", -500, -480},
                              {"gap below", -300, 0},
                              {"gap above", 0, -300}};

Rows random_rows(Index rows, Index head_dim, float level, int unseen, Random& random) {
  const auto normal = [&](Index count) {
    const Buffer numbers = random_normal({1, 1, count, 1}, DType::kFloat32, random);
    return std::vector<float>(numbers.values<float>().begin(), numbers.values<float>().end());
  };
  Rows result{rows, head_dim, normal(rows * head_dim), normal(rows), normal(rows)};
  for (Index i = 0; i < rows; ++i) {
    const auto row = static_cast<std::size_t>(i), d = static_cast<std::size_t>(head_dim);
    result.max[row] += level;
    result.sum[row] = 1 + std::fabs(result.sum[row]);
    if (level != kNothing && i % 3 != unseen) continue;
    result.max[row] = kNothing;
    result.sum[row] = 0;
    for (std::size_t j = row * d; j < (row + 1) * d; ++j) result.out[j] = 0;
  }
  return result;
}

// On the device, `shift` numbers past an aligned address.
class OnDevice {
 public:
  OnDevice(const std::vector<float>& numbers, Index shift, const Stream& stream)
      : shift_(shift), stream_(stream) {
    Buffer host({1, 1, static_cast<Index>(numbers.size()) + shift, 1}, DType::kFloat32);
    std::copy(numbers.begin(), numbers.end(), host.values<float>().begin() + shift);
    device_ = copied_to_device(host, stream);
  }
  float* gmem() { return device_floats(device_) + shift_; }
  std::vector<float> numbers() const {
    std::vector<float> all = numbers_of(device_, stream_);
    all.erase(all.begin(), all.begin() + shift_);
    return all;
  }

 private:
  Index shift_;
  const Stream& stream_;
  Buffer device_;
};

// |got - want| <= 8 eps (|a| + |b|), where a and b are the two terms of the sum; equal where both are 0 or
// infinite.
bool near(float got, float want, double terms) {
  return got == want || std::fabs(double{got} - double{want}) <= 8 * 0x1p-23 * terms;
}

// One pair of partials through both merges.
std::string compared(Rows acc, Rows block, Index shift) {
  const Stream stream;
  OnDevice out(acc.out, shift, stream), max(acc.max, 0, stream), sum(acc.sum, 0, stream);
  OnDevice block_out(block.out, 0, stream), block_max(block.max, 0, stream), block_sum(block.sum, 0, stream);
  OnDevice normal_out(acc.out, shift, stream), lse(acc.max, 0, stream);
  const int head_dim = static_cast<int>(acc.head_dim);
  merge({out.gmem(), max.gmem(), sum.gmem()}, {block_out.gmem(), block_max.gmem(), block_sum.gmem()},
        acc.rows, head_dim, stream.get());
  merge_normalized(normal_out.gmem(), lse.gmem(), block_out.gmem(), block_max.gmem(), acc.rows, head_dim,
                   stream.get());

  Rows want = acc, want_normal = acc;
  ringcraft::merge<float>(want.partial(), block.partial());
  ringcraft::merge_normalized<float>(want_normal.partial().out, want_normal.max, block.partial().out,
                                     block.max);
  const auto got_out = out.numbers(), got_max = max.numbers(), got_sum = sum.numbers(),
             got_normal = normal_out.numbers(), got_lse = lse.numbers();
  for (std::size_t i = 0; i < got_max.size(); ++i) {
    const std::string where = " is wrong in row " + std::to_string(i);
    if (got_max[i] != want.max[i]) return "m" + where;
    if (!near(got_sum[i], want.sum[i], double{want.sum[i]})) return "l" + where;
    if (!near(got_lse[i], want_normal.max[i], 1 + std::fabs(double{want_normal.max[i]})))
      return "lse" + where;
    for (std::size_t j = i * acc.head_dim; j < (i + 1) * static_cast<std::size_t>(acc.head_dim); ++j) {
      const double terms = std::fabs(double{acc.out[j]}) + std::fabs(double{block.out[j]});
      if (!near(got_out[j], want.out[j], terms)) return "O" + where;
      if (!near(got_normal[j], want_normal.out[j], terms)) return "out" + where;
      const bool no_news = block.max[i] == kNothing;
      if (no_news && (got_out[j] != acc.out[j] || got_normal[j] != acc.out[j] || got_sum[i] != acc.sum[i]))
        return "merging with the identity changed row " + std::to_string(i);
    }
  }
  return "";
}

Verdict merges_as_lesson_104(const Levels& levels) {
  Random random(104);
  double cases = 0;
  for (const Index rows : {1, 2, 17, 130})
    for (const Index head_dim : {1, 5, 64, 66, 96, 128, 200})
      for (const Index shift : {0, 1}) {  // 1: O begins where four numbers cannot be read at once
        const Rows acc = random_rows(rows, head_dim, levels.acc, levels.every_third ? 0 : -1, random);
        const Rows block = random_rows(rows, head_dim, levels.block, levels.every_third ? 1 : -1, random);
        const std::string failure = compared(acc, block, shift);
        if (!failure.empty())
          return {std::to_string(rows) + " rows, head_dim " + std::to_string(head_dim) + ", shift " +
                  std::to_string(shift) + ": " + failure};
        ++cases;
      }
  return {"", {{"cases", cases}}};
}

}  // namespace

void run_merge_checks(Runner& runner) {
  for (const Levels& levels : kLevels)
    runner.check(std::string("merge as in lesson 104, ") + levels.name,
                 [&] { return merges_as_lesson_104(levels); });
}

}  // namespace ringcraft::kernels
