// Hostile files: each malformed file gives its own sentence, and random damage gives an Error or a tensor,
// nothing else.
#include <array>
#include <vector>

#include "files.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/io/safetensors.hpp"

using namespace ringcraft;
using namespace ringcraft::test;

namespace {

// A tensor "q" of 16 bytes with these fields, and its data.
std::string with_q(const std::string& fields, std::size_t data = 16) {
  return file_of(R"({"q":{)" + fields + "}}", std::string(data, '\0'));
}

// A tensor "q" of this shape and these offsets.
std::string with_shape(const std::string& shape, const std::string& offsets = "[0,16]",
                       std::size_t data = 16) {
  return with_q(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets, data);
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// Tensors "a", "b" and so on, of 4 floats each, with these offsets.
std::string with_ranges(const std::vector<std::string>& ranges, std::size_t data) {
  std::string header;
  char name = 'a';
  for (const std::string& range : ranges)
    header += std::string(header.empty() ? "" : ",") + "\"" + name++ +
              R"(":{"dtype":"F32","shape":[1,1,1,4],"data_offsets":)" + range + "}";
  return file_of("{" + header + "}", std::string(data, '\0'));
}

const std::string kQ = R"("q":{"dtype":"F32","shape":[1,1,2,2],"data_offsets":[0,16]})";
const std::string kData(16, '\0');

struct Row {
  std::string name, bytes, fragment;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table{
      // The length of the header.
      {"empty file", "", "expected at least 8 bytes, the length of the header, got 0 bytes"},
      {"half a length", std::string("\x10\0\0\0", 4), "got 4 bytes"},
      {"header longer than the file", file_of("{}", "").replace(0, 1, "\x03"),
       "expected a header of at most 2 bytes, got 3 bytes"},
      {"largest length", std::string(8, '\xFF') + "{}", "got 18446744073709551615 bytes"},
      {"length with the sign bit", std::string("\0\0\0\0\0\0\0\x80{}", 10), "got 9223372036854775808 bytes"},
      {"no header", std::string(8, '\0'), "expected a header that starts with {, got an empty header"},
      // The text of the header.
      {"another format", "\x93NUMPY\x01" + std::string(200, ' '),
       "the file is cut off or no safetensors file"},
      {"white space first", file_of(" {}", ""), "expected a header that starts with {, got something else"},
      {"byte order mark first", file_of("\xEF\xBB\xBF{}", ""), "got something else"},
      {"a list", file_of("[]", ""), "got something else"},
      {"no JSON", file_of("{q:1}", ""), "got a syntax error at byte 2 of the header"},
      {"cut JSON", file_of("{" + kQ, kData), "got a syntax error at byte"},
      {"text after the header", file_of("{" + kQ + "} x", kData), "got a syntax error at byte"},
      {"zero byte", file_of("{" + kQ + "}" + std::string(1, '\0') + "x", kData), "a header with a zero byte"},
      {"no UTF-8", file_of("{\"\xFF\":1}", ""), "got a syntax error at byte 3"},
      {"comment", file_of("{/**/" + kQ + "}", kData), "got a syntax error at byte 2"},
      {"nested lists", with_shape(repeated("[", 100000)),
       "tensor \"q\": expected one shape of at most 64 integers"},
      {"nested objects", file_of(R"({"q":)" + repeated(R"({"dtype":)", 100000), ""),
       "tensor \"q\": expected one string as dtype, got an object"},
      {"nested metadata", file_of(R"({"__metadata__":{"a":{}}})", ""),
       "expected an object of strings, each key once, got an object"},
      // The objects in it.
      {"tensor is a number", file_of(R"({"q":5})", ""), "tensor \"q\": expected an object, got 5"},
      {"tensor is a list", file_of(R"({"q":[5]})", ""), "tensor \"q\": expected an object, got a list"},
      {"tensor is null", file_of(R"({"q":null})", ""), "tensor \"q\": expected an object, got null"},
      {"empty tensor", with_q("", 0), "expected dtype, shape and data_offsets, got less"},
      {"no dtype", with_q(R"("shape":[1,1,2,2],"data_offsets":[0,16])"),
       "expected dtype, shape and data_offsets, got less"},
      {"no shape", with_q(R"("dtype":"F32","data_offsets":[0,16])"),
       "expected dtype, shape and data_offsets, got less"},
      {"no offsets", with_q(R"("dtype":"F32","shape":[1,1,2,2])"),
       "expected dtype, shape and data_offsets, got less"},
      {"unknown key", with_q(R"("dtype":"F32","strides":[1])"),
       "expected only the keys dtype, shape and data_offsets, got \"strides\""},
      {"dtype is a number", with_q(R"("dtype":32)"), "expected one string as dtype, got 32"},
      {"dtype is a list", with_q(R"("dtype":["F32"])"), "expected one string as dtype, got a list"},
      {"shape is a string", with_shape("\"4\""),
       "expected one shape of at most 64 integers from 0 on, got a string"},
      {"offsets are true", with_shape("[1]", "true"),
       "expected one pair of data_offsets, integers from 0 on, got true"},
      {"metadata is a string", file_of(R"({"__metadata__":"a"})", ""), "expected an object, got a string"},
      {"metadata holds a number", file_of(R"({"__metadata__":{"a":1}})", ""),
       "expected an object of strings, each key once, got 1"},
      {"metadata holds a list", file_of(R"({"__metadata__":{"a":["b"]}})", ""),
       "expected an object of strings, each key once, got a list"},
      // The same twice.
      {"a name twice", file_of("{" + kQ + "," + kQ + "}", kData), "tensor \"q\": expected each name once"},
      {"a name twice, once escaped", file_of("{" + kQ + R"(,"\u0071":{}})", kData),
       "tensor \"q\": expected each name once"},
      {"metadata twice", file_of(R"({"__metadata__":{},"__metadata__":{}})", ""),
       "\"__metadata__\": expected each name once"},
      {"a metadata key twice", file_of(R"({"__metadata__":{"a":"1","a":"2"}})", ""),
       "got the same key a second time"},
      {"dtype twice", with_q(R"("dtype":"F32","dtype":"F64")"), "got the same key a second time"},
      {"offsets twice", with_shape("[4]", R"([0,16],"data_offsets":[0,16])"),
       "got the same key a second time"},
      // Shapes.
      {"negative extent", with_shape("[1,1,-2,-2]"), "integers from 0 on, got -2"},
      {"fractional extent", with_shape("[1,1,2,2.0]"), "integers from 0 on, got 2.0"},
      {"extent above 64 bits", with_shape("[1,1,2,18446744073709551616]"),
       "integers from 0 on, got 18446744073709551616"},
      {"extent above 63 bits", with_shape("[1,1,2,9223372036854775808]"),
       "integers from 0 on, got 9223372036854775808"},
      {"extent beyond every number", with_shape("[1,1,2,1e999]"), "got a syntax error"},
      {"extent is a string", with_shape("[1,1,2,\"2\"]"), "integers from 0 on, got a string"},
      {"65 dimensions", with_shape("[4" + repeated(",1", 64) + "]"),
       "at most 64 integers from 0 on, got a longer list"},
      {"product overflows to 16 bytes", with_shape("[1,1,4,1152921504606846977]"),
       "expected a shape that fits into memory"},
      {"product overflows before a zero", with_shape("[4294967296,4294967296,0,1]", "[0,0]", 0),
       "expected a shape that fits into memory"},
      {"shape too large for its bytes", with_shape("[1,1,2,3]"),
       "expected 24 bytes for F32 [1, 1, 2, 3], got data_offsets of 16 bytes"},
      {"shape too small for its bytes", with_shape("[1,1,2,1]"),
       "expected 8 bytes for F32 [1, 1, 2, 1], got data_offsets of 16 bytes"},
      {"zero extent with bytes", with_shape("[1,1,0,2]"),
       "expected 0 bytes for F32 [1, 1, 0, 2], got data_offsets of 16 bytes"},
      {"size of another dtype", with_q(R"("dtype":"BF16","shape":[1,1,2,2],"data_offsets":[0,16])"),
       "expected 8 bytes for BF16"},
      // Byte ranges.
      {"negative offset", with_shape("[1,1,2,2]", "[-16,0]"), "data_offsets, integers from 0 on, got -16"},
      {"huge offset", with_shape("[1,1,2,2]", "[0,99999999999999999999]"),
       "integers from 0 on, got 99999999999999999999"},
      {"fractional offset", with_shape("[1,1,2,2]", "[0,16.5]"), "integers from 0 on, got 16.5"},
      {"one offset", with_shape("[1,1,2,2]", "[16]"),
       "expected data_offsets [begin, end] with begin <= end, got [16]"},
      {"three offsets", with_shape("[1,1,2,2]", "[0,16,16]"),
       "data_offsets, integers from 0 on, got a longer list"},
      {"end before begin", with_shape("[1,1,2,2]", "[16,0]"),
       "expected data_offsets [begin, end] with begin <= end, got [16, 0]"},
      {"offsets beyond the file", with_shape("[1,1,1152921504606846976,2]", "[0,9223372036854775807]"),
       "expected a shape that fits into memory"},
      {"tensor of 4 exabytes", with_shape("[1,1,1024,1125899906842624]", "[0,4611686018427387904]"),
       "expected 4611686018427387904 bytes of data, as its header says, got 16 bytes"},
      {"range does not start at zero", with_shape("[1,1,2,2]", "[4,20]", 20),
       "data from byte 0 on, where the one before ends, got a gap, data from byte 4 on"},
      {"gap", with_ranges({"[0,16]", "[20,36]"}, 36),
       "tensor \"b\": expected data from byte 16 on, where the one before ends, got a gap"},
      {"overlap", with_ranges({"[0,16]", "[12,28]"}, 28),
       "tensor \"b\": expected data from byte 16 on, where the one before ends, got an overlap"},
      {"the same bytes twice", with_ranges({"[0,16]", "[0,16]"}, 16), "got an overlap"},
      {"data cut off", with_ranges({"[0,16]", "[16,32]"}, 31),
       "expected 32 bytes of data, as its header says, got 31 bytes"},
      {"bytes after the data", with_ranges({"[0,16]", "[16,32]"}, 33),
       "expected 32 bytes of data, as its header says, got 33 bytes"},
      {"data without tensors", file_of("{}", "x"),
       "expected 0 bytes of data, as its header says, got 1 bytes"},
  };
  return table;
}

void read_all(const std::filesystem::path& path) {
  TensorFile file(path);
  for (const auto& [name, tensor] : file.tensors())
    file.read(name, tensor.shape.size() == 3 ? Dims::kThree : Dims::kFour);
}

}  // namespace

TEST_CASE("each malformed file has its sentence") {
  Scratch folder;
  for (const Row& row : rows()) {
    DYNAMIC_SECTION(row.name) {
      write_bytes(folder / "bad.safetensors", row.bytes);
      const std::string sentence = error_of([&] { TensorFile file(folder / "bad.safetensors"); });
      require_fragment(sentence, "bad.safetensors: ");
      require_fragment(sentence, row.fragment);
      CHECK(sentence.size() < 500);
    }
  }
}

TEST_CASE("the pieces of the malformed files are well-formed") {
  Scratch folder;
  for (const std::string& bytes :
       {file_of("{}", ""), file_of("{" + kQ + "}", kData), with_shape("[1,1,2,2]"),
        with_ranges({"[16,32]", "[0,16]"}, 32), with_shape("[1,1,0,2]", "[0,0]", 0)}) {
    write_bytes(folder / "good", bytes);
    CHECK(error_of([&] { read_all(folder / "good"); }) == "no error");
  }
}

TEST_CASE("a hostile name cannot write to the terminal") {
  Scratch folder;
  write_bytes(folder / "f", file_of(R"({"\u001b[31m)" + repeated("\xC3\xBC", 40) + R"(":5})", ""));
  const std::string sentence = error_of([&] { TensorFile file(folder / "f"); });
  require_fragment(sentence, "tensor \"?[31m" + repeated("\xC3\xBC", 27) + "...\": expected an object");
  CHECK(sentence.find('\x1b') == std::string::npos);
}

TEST_CASE("a header above the limit of the format is refused") {
  Scratch folder;
  write_bytes(folder / "f", file_of("{}", ""));
  std::filesystem::resize_file(folder / "f", 100'000'100);  // sparse
  const auto with_length = [&](std::uint64_t length) {
    std::fstream stream(folder / "f", std::ios::binary | std::ios::in | std::ios::out);
    stream.write(reinterpret_cast<const char*>(&length), 8).flush();
    return error_of([&] { TensorFile file(folder / "f"); });
  };
  require_fragment(with_length(100'000'001),
                   "expected a header of at most 100000000 bytes, got 100000001 bytes");
  require_fragment(with_length(100'000'000), "a header with a zero byte");
}

TEST_CASE("random damage gives an Error or tensors, nothing else") {
  Scratch folder;
  Random random(2024);
  const Buffer q = random_normal({1, 2, 3, 4}, DType::kFloat32, random);
  const Buffer k = random_normal({1, 1, 3, 3}, DType::kBFloat16, random);
  const Buffer lse = random_normal({1, 2, 3, 1}, DType::kFloat64, random);
  const std::vector<NamedTensor> tensors{{"q", &q}, {"k", &k}, {"lse", &lse, Dims::kThree}};
  write_safetensors(folder / "valid", tensors, {{"format", "pt"}});
  const std::string valid = bytes_of(folder / "valid");
  const Index header_end = static_cast<Index>(valid.size()) - 96 - 48 - 18;

  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = valid;
    if (round % 4 == 0)
      damaged.resize(static_cast<std::size_t>(random.integer(0, static_cast<Index>(valid.size()) - 1)));
    const Index flips = round % 4 == 0 ? random.integer(0, 1) : random.integer(1, 3);
    const Index reach =
        std::min(header_end, static_cast<Index>(damaged.size()));  // damage to data is not detected
    for (Index flip = 0; flip < flips && reach > 0; ++flip) {
      char& byte = damaged[static_cast<std::size_t>(random.integer(0, reach - 1))];
      // Half of the time a digit, so that the JSON stays whole and the numbers lie.
      byte = static_cast<char>(random.integer(0, 1) == 0 ? random.integer(0, 255) : random.integer('0', '9'));
    }
    INFO("round " << round);
    write_bytes(folder / "damaged", damaged);
    const bool error =
        error_of([&] { read_all(folder / "damaged"); }) != "no error";  // anything else ends the test
    CHECK((error || damaged.size() == valid.size()));
    refused += error ? 1 : 0;
  }
  CHECK(refused > 1500);
  CHECK(refused < 2000);  // a metadata letter or a tensor's name may change
}
