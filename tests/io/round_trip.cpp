// Written tensors are read back, bit for bit, and the bytes of a file are the ones that the format
// prescribes.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "files.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/io/safetensors.hpp"

using namespace ringcraft;
using namespace ringcraft::test;

namespace {

bool same(const Buffer& a, const Buffer& b) {
  return a.extents() == b.extents() && a.dtype() == b.dtype() && a.bytes().size() == b.bytes().size() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin());
}

}  // namespace

TEST_CASE("tensors of all three types come back bit for bit") {
  Scratch folder;
  Random random(1);
  const Buffer q = random_normal({2, 3, 5, 7}, DType::kFloat32, random);
  const Buffer dq = random_normal({1, 2, 3, 4}, DType::kFloat64, random);
  const Buffer k = random_normal({1, 1, 3, 3}, DType::kBFloat16, random);  // 18 bytes: no multiple of 4
  Buffer lse = random_normal({2, 3, 5, 1}, DType::kFloat32, random);
  lse.values<float>()[3] = -std::numeric_limits<float>::infinity();
  const Buffer narrow =
      random_normal({2, 1, 5, 1}, DType::kFloat64, random);  // head_dim 1 keeps its 4 dimensions
  const Buffer nothing({1, 2, 0, 4}, DType::kFloat32);
  const std::map<std::string, std::string> metadata{{"format", "pt"},
                                                    {"note", "a \"quoted\"\nline, \u00fcml\u00e4ut"}};

  const std::vector<NamedTensor> tensors{{"k", &k},         {"q", &q},
                                         {"dq", &dq},       {"lse", &lse, Dims::kThree},
                                         {"\"\n", &narrow}, {"nothing", &nothing}};
  write_safetensors(folder / "a.safetensors", tensors, metadata);
  TensorFile file(folder / "a.safetensors");

  CHECK(file.metadata() == metadata);
  CHECK(file.tensors().size() == tensors.size());
  CHECK(file.tensors().at("lse").shape == std::vector<Index>{2, 3, 5});
  CHECK(file.tensors().at("k").shape == std::vector<Index>{1, 1, 3, 3});
  for (const NamedTensor& named : tensors) {
    INFO(named.name);
    REQUIRE(file.contains(named.name));
    CHECK(same(file.read(named.name, named.dims), *named.tensor));
  }
  CHECK_FALSE(file.contains("v"));
}

TEST_CASE("all elements of a tensor are read in the order of the file, for any shape") {
  Scratch folder;
  Random random(1);
  const Buffer q = random_normal({2, 3, 5, 7}, DType::kFloat32, random);
  const Buffer nothing({1, 2, 0, 4}, DType::kFloat32);
  const std::vector<NamedTensor> tensors{{"q", &q}, {"nothing", &nothing}};
  write_safetensors(folder / "f", tensors);
  TensorFile file(folder / "f");
  const Buffer elements = file.read_elements("q");
  CHECK(elements.extents() == Extents{1, 1, 1, 210});
  CHECK(std::ranges::equal(elements.bytes(), q.bytes()));
  CHECK(file.read_elements("nothing").empty());
  CHECK_THROWS_AS(file.read_elements("k"), Error);
}

TEST_CASE("every tensor starts at a multiple of its element size") {
  Scratch folder;
  const Buffer odd({1, 1, 1, 3}, DType::kBFloat16), single({1, 1, 1, 1}, DType::kFloat32);
  const Buffer wide({1, 1, 1, 1}, DType::kFloat64);
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"}) {
    const std::vector<NamedTensor> tensors{{name, &odd}, {"s", &single}, {"w", &wide}};
    write_safetensors(folder / "f", tensors);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes_of(folder / "f").data(), 8);
    TensorFile file(folder / "f");
    CHECK(header % 8 == 0);
    CHECK(file.tensors().at("w").begin % 8 == 0);
    CHECK(file.tensors().at("s").begin % 4 == 0);
    CHECK(file.tensors().at(name).begin % 2 == 0);
  }
}

TEST_CASE("a written file has exactly these bytes") {
  Scratch folder;
  Buffer q({1, 1, 1, 2}, DType::kFloat32);
  q.values<float>()[0] = 1.0f;
  q.values<float>()[1] = -2.0f;
  write_safetensors(folder / "f", std::vector<NamedTensor>{{"q", &q}});
  const std::string header = R"({"q":{"data_offsets":[0,8],"dtype":"F32","shape":[1,1,1,2]}}    )";
  CHECK(bytes_of(folder / "f") == file_of(header, std::string("\0\0\x80\x3F\0\0\0\xC0", 8)));
}

TEST_CASE("a file as other programs write it is read") {
  Scratch folder;
  // Names in any order, white space, escapes, and tensors of types and shapes that ringcraft does not know.
  const std::string header = R"( "__metadata__" : {"by": "hand"},
    "\u0076":   {"dtype":"BF16","shape":[1,1,2,1],"data_offsets":[24,28]},
    "position_ids": {"dtype":"I64","shape":[2],"data_offsets":[0,16]},
    "lse":      {"shape":[1,1,2],"data_offsets":[16,24],"dtype":"F32"},
    "step":     {"dtype":"F32","shape":[],"data_offsets":[28,32]},
    "tiny":     {"dtype":"F8_E4M3","shape":[1,1,1,1],"data_offsets":[32,33]} })";
  std::string data(33, '\x7F');
  data.replace(16, 12,
               std::string("\0\0\x80\x3F\0\0\0\xC0\xC0\x3F\x80\xFF", 12));  // lse = 1, -2; v = 1.5, -inf
  write_bytes(folder / "f", file_of("{" + header + "   ", data));

  TensorFile file(folder / "f");
  CHECK(file.tensors().size() == 5);
  CHECK(file.metadata().at("by") == "hand");
  const Buffer lse = file.read("lse", Dims::kThree);
  CHECK(lse.extents() == Extents{1, 1, 2, 1});
  CHECK(lse.values<float>()[0] == 1.0f);
  CHECK(lse.values<float>()[1] == -2.0f);
  const Buffer v = converted(file.read("v"), DType::kFloat32);
  CHECK(v.extents() == Extents{1, 1, 2, 1});
  CHECK(v.values<float>()[0] == 1.5f);
  CHECK(v.values<float>()[1] == -std::numeric_limits<float>::infinity());

  const auto message = [&](const std::string& name, Dims dims = Dims::kFour) {
    return error_of([&] { file.read(name, dims); });
  };
  require_fragment(message("position_ids"),
                   "tensor \"position_ids\": expected dtype F32, F64, BF16 or F16, got \"I64\"; convert");
  require_fragment(message("tiny"), "got \"F8_E4M3\"; convert it to float32");
  require_fragment(message("step"), "expected 4 dimensions [batch, heads, seqlen, head_dim], got []");
  require_fragment(message("lse"), "expected 4 dimensions [batch, heads, seqlen, head_dim], got [1, 1, 2]");
  require_fragment(message("v", Dims::kThree),
                   "expected 3 dimensions [batch, heads, seqlen], got [1, 1, 2, 1]");
  require_fragment(
      message("dout"),
      "tensor \"dout\": expected a tensor of this name, got a file with \"lse\", \"position_ids\"");
}

TEST_CASE("only the tensor that is asked for takes memory") {
  Scratch folder;
  const Buffer large({1, 8, 128, 64}, DType::kFloat32), small({1, 1, 128, 64}, DType::kFloat32);
  write_safetensors(folder / "f", std::vector<NamedTensor>{{"large", &large}, {"small", &small}});
  const auto meter = std::make_shared<MemoryMeter>();
  const MeterScope scope(meter);
  const Buffer read = TensorFile(folder / "f").read("small");
  CHECK(meter->peak() == static_cast<Index>(small.bytes().size()));
}
