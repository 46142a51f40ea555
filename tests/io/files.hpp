#pragma once
// Helpers of the io tests: a temporary folder, files from bytes, and the error sentence of a call.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"

namespace ringcraft::test {

/// A new empty folder, removed with all that is in it at the end of the test.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringcraft-io-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw Error("no folder for temporary files");
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  /// Number of entries in the folder.
  auto size() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }

 private:
  std::filesystem::path folder_;
};

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream << bytes;
  REQUIRE(stream.flush().good());
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A safetensors file: the length of the header, the header, data.
inline std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// The sentence of the Error that the call throws, or "no error".
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Fails unless the sentence contains the fragment, and shows both.
inline void require_fragment(const std::string& sentence, const std::string& fragment) {
  INFO("sentence: " << sentence << "\nexpected in it: " << fragment);
  const bool found = sentence.find(fragment) != std::string::npos;
  REQUIRE(found);
}

}  // namespace ringcraft::test
