// Turns text bytes into q, k and v by fixed embeddings and projections.
#include "tool/ranks/text_problem.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ringcraft/attention/products.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/io/text_file.hpp"

namespace ringcraft::tool {
namespace {

constexpr std::uint64_t kSeed = 2310'01889;  // the number of the ring attention paper

constexpr std::uintmax_t kLargestText = 256 << 20;  // bytes; a token is a byte

// Token t: the embedding of its byte plus sines and cosines of its position, [seqlen, width].
std::vector<float> embedded(const std::string& text, Position seqlen, Index width, Random& random) {
  const Buffer table = random_normal({1, 1, 256, width}, DType::kFloat32, random);
  const Matrix<const float> rows = head_of<float>(table, 0, 0);
  std::vector<float> x(static_cast<std::size_t>(seqlen * width));
  for (Position t = 0; t < seqlen; ++t)
    for (Index j = 0; j < width; ++j) {
      const auto byte = static_cast<unsigned char>(text[static_cast<std::size_t>(t) % text.size()]);
      const double angle = static_cast<double>(t) *
                           std::pow(10000.0, -static_cast<double>(j - j % 2) / static_cast<double>(width));
      x[static_cast<std::size_t>(t * width + j)] =
          rows(byte, j) + static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return x;
}

// x [seqlen, width] times one fixed random matrix per head, [1, heads, seqlen, head_dim]; the entries keep
// unit size.
Buffer projected(const std::vector<float>& x, Position seqlen, Index width, Index heads, Index head_dim,
                 Random& random) {
  Buffer result({1, heads, seqlen, head_dim}, DType::kFloat32);
  std::ranges::fill(result.values<float>(), 0.0f);
  const double deviation =
      1.0 / std::sqrt(1.5 * static_cast<double>(width));  // an entry of x has variance 1 + 1/2
  for (Index head = 0; head < heads; ++head) {
    const Buffer weights = random_normal({1, 1, width, head_dim}, DType::kFloat32, random, deviation);
    multiply_add<float>(Matrix<const float>{x, seqlen, width}, head_of<float>(weights, 0, 0), 1.0f,
                        head_of<float>(result, 0, head));
  }
  return result;
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  std::string text;
  if (std::filesystem::is_directory(path)) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.path().filename() == "README.md") files.push_back(entry.path());
    std::ranges::sort(files);
    for (const auto& file : files) text += read_text_file("--text", file, kLargestText);
  } else {
    text = read_text_file("--text", path, kLargestText);
  }
  if (text.empty())
    throw Error("--text", "at least one byte of text", "none in " + path.string(), "give another file");
  return text;
}

verify::Inputs text_inputs(const std::string& text, const Shape& shape) {
  Random random(kSeed);
  const Index width = shape.heads * shape.head_dim;
  const auto x = embedded(text, shape.seqlen, width, random);
  Buffer q = projected(x, shape.seqlen, width, shape.heads, shape.head_dim, random);
  Buffer k = projected(x, shape.seqlen, width, shape.kv_heads, shape.head_dim, random);
  Buffer v = projected(x, shape.seqlen, width, shape.kv_heads, shape.head_dim, random);
  Buffer dout = random_normal(q.extents(), DType::kFloat32, random);
  return {std::move(q), std::move(k), std::move(v), std::move(dout)};
}

}  // namespace ringcraft::tool
