// Writes tensors to files in the orders and paddings of other people's dumps.
#include "tool/claim_dumps.hpp"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace ringcraft::tests {

namespace {

double element(const Buffer& tensor, Index b, Index h, Position p, Index d) {
  const Extents& e = tensor.extents();
  if (p < 0) return 777;
  return tensor.values<double>()[static_cast<std::size_t>(((b * e.heads + h) * e.rows + p) * e.width + d)];
}

}  // namespace

Dumped dumped(const Buffer& tensor, const std::string& code, const std::vector<Position>& rows, Index width) {
  const Extents& e = tensor.extents();
  std::map<char, Index> extent{
      {'b', e.batch}, {'h', e.heads}, {'s', static_cast<Index>(rows.size())}, {'d', width}, {'1', 1}};
  Dumped result;
  std::string letters;
  bool inside = false;
  for (const char c : code) {
    if (c == '[') result.shape.push_back(1);
    if (c == '[' || c == ']') {
      inside = c == '[';
      continue;
    }
    letters += c;
    if (!inside) result.shape.push_back(1);
    result.shape.back() *= extent.at(c);
  }
  Index count = 1;
  for (const Index n : result.shape) count *= n;
  for (Index i = 0; i < count; ++i) {
    std::map<char, Index> at{{'b', 0}, {'h', 0}, {'s', 0}, {'d', 0}};
    Index rest = i;
    for (auto letter = letters.rbegin(); letter != letters.rend(); ++letter) {
      at[*letter] = rest % extent.at(*letter);
      rest /= extent.at(*letter);
    }
    result.numbers.push_back(
        element(tensor, at['b'], at['h'], rows[static_cast<std::size_t>(at['s'])], at['d']));
  }
  return result;
}

void write_dump(const std::string& path, const std::map<std::string, Dumped>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string bytes;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = bytes.size(), size = tensor.numbers.size() * sizeof(double);
    bytes.resize(begin + size);
    if (size > 0) std::memcpy(bytes.data() + begin, tensor.numbers.data(), size);
    header[name] = {{"dtype", "F64"}, {"shape", tensor.shape}, {"data_offsets", {begin, begin + size}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << text << bytes;
}

std::vector<Position> all_rows(Position count) {
  std::vector<Position> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), Position{0});
  return rows;
}

}  // namespace ringcraft::tests
