// Paths that cannot be read or written: one Error each, no new file, and no file lost that was there.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "files.hpp"
#include "ringcraft/io/pending_file.hpp"
#include "ringcraft/io/safetensors.hpp"

using namespace ringcraft;
using namespace ringcraft::test;

namespace {

std::string open_error(const std::filesystem::path& path) {
  return error_of([&] { TensorFile file(path); });
}

std::string write_error(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                        const std::map<std::string, std::string>& metadata = {}) {
  return error_of([&] { write_safetensors(path, tensors, metadata); });
}

// While it lives, no file can grow beyond this size, as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

}  // namespace

TEST_CASE("a path that is no readable file is refused without waiting") {
  Scratch folder;
  std::filesystem::create_directory(folder / "directory");
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  require_fragment(open_error(folder / "missing"),
                   "missing: expected a safetensors file, got No such file or directory");
  require_fragment(open_error(folder / "directory"),
                   "expected a regular file, got a folder, a pipe or a device");
  require_fragment(open_error(folder / "pipe"), "expected a regular file, got a folder, a pipe or a device");
  require_fragment(open_error("/dev/zero"), "expected a regular file, got a folder, a pipe or a device");
  require_fragment(open_error(folder / "loop"), "Too many levels of symbolic links");
  require_fragment(open_error(""), "expected a safetensors file");
}

TEST_CASE("a file without permission is refused") {
  Scratch folder;
  write_bytes(folder / "f", file_of("{}", ""));
  std::filesystem::permissions(folder / "f", std::filesystem::perms::none);
  const bool may_read_all = std::ifstream(folder / "f").good();  // root
  require_fragment(open_error(folder / "f"),
                   may_read_all ? "no error" : "expected a readable file, got Permission denied");
}

TEST_CASE("a file that shrinks after it was opened is refused, its remaining part is read") {
  Scratch folder;
  const Buffer k({1, 1, 2, 2}, DType::kFloat32), q({1, 1, 2, 2}, DType::kFloat32);
  write_safetensors(folder / "f", std::vector<NamedTensor>{{"k", &k}, {"q", &q}});
  TensorFile file(folder / "f");
  const auto bytes = std::filesystem::file_size(folder / "f");
  std::filesystem::resize_file(folder / "f", bytes - 1);
  require_fragment(error_of([&] { file.read("q"); }),
                   "expected 16 bytes from byte " + std::to_string(bytes - 16) + " on, got fewer");
  CHECK(error_of([&] { file.read("k"); }) == "no error");
}

TEST_CASE("a file that is replaced while it is read keeps its bytes") {
  Scratch folder;
  Buffer q({1, 1, 1, 1}, DType::kFloat32);
  const std::vector<NamedTensor> tensors{{"q", &q}};
  q.values<float>()[0] = 1.0f;
  write_safetensors(folder / "f", tensors);
  TensorFile before(folder / "f");
  q.values<float>()[0] = 2.0f;
  write_safetensors(folder / "f", tensors);
  CHECK(before.read("q").values<float>()[0] == 1.0f);
  CHECK(TensorFile(folder / "f").read("q").values<float>()[0] == 2.0f);
  CHECK(folder.size() == 1);
}

TEST_CASE("a link stays, and the file that it leads to is replaced") {
  Scratch folder;
  const Buffer q({1, 1, 2, 2}, DType::kFloat32);
  std::filesystem::create_directory(folder / "elsewhere");
  write_bytes(folder / "elsewhere" / "f", "old");
  std::filesystem::create_symlink("elsewhere/f", folder / "link");
  write_safetensors(folder / "link", std::vector<NamedTensor>{{"q", &q}});
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(TensorFile(folder / "elsewhere" / "f").contains("q"));
  CHECK(folder.size() == 2);
}

TEST_CASE("a temporary file of another program is left alone") {
  Scratch folder;
  const Buffer q({1, 1, 2, 2}, DType::kFloat32);
  const std::string other = ".ringcraft-" + std::to_string(::getpid()) + "-0.tmp";
  write_bytes(folder / other, "kept");
  write_safetensors(folder / "f", std::vector<NamedTensor>{{"q", &q}});
  CHECK(TensorFile(folder / "f").contains("q"));
  CHECK(bytes_of(folder / other) == "kept");
  CHECK(folder.size() == 2);
}

TEST_CASE("temporary files of a killed process are removed, and nothing else") {
  Scratch folder;
  for (const char* name : {"f", ".ringcraft-7-0.tmp", ".ringcraft-7-2.tmp", ".ringcraft-71-0.tmp"})
    write_bytes(folder / name, "x");
  remove_unfinished(folder / "f", 7);
  CHECK(bytes_of(folder / "f") == "x");
  CHECK(bytes_of(folder / ".ringcraft-71-0.tmp") == "x");
  CHECK(folder.size() == 2);
}

TEST_CASE("a path that cannot be written is refused and no file is left") {
  Scratch folder;
  const Buffer q({1, 1, 2, 2}, DType::kFloat32);
  const std::vector<NamedTensor> tensors{{"q", &q}};
  std::filesystem::create_directory(folder / "directory");
  write_bytes(folder / "file", "kept");
  require_fragment(write_error(folder / "missing" / "f", tensors),
                   "expected a folder that can be written to, got No such file");
  require_fragment(write_error(folder / "file" / "f", tensors),
                   "expected a folder that can be written to, got Not a directory");
  require_fragment(write_error(folder / "directory", tensors),
                   "expected a regular file or a new name, got a folder");
  require_fragment(write_error("/dev/null", tensors),
                   "expected a regular file or a new name, got a folder, a pipe or a device");
  require_fragment(write_error(folder / std::string(300, 'x'), tensors), "File name too long");
  CHECK(folder.size() == 2);
  CHECK(bytes_of(folder / "file") == "kept");
}

TEST_CASE("a full disk leaves the old file and no temporary one") {
  Scratch folder;
  const Buffer q({1, 8, 64, 64}, DType::kFloat32), small({1, 1, 2, 2}, DType::kFloat32);
  write_bytes(folder / "f", "kept");
  {
    const FileSizeLimit limit(4096);
    require_fragment(write_error(folder / "f", {{"q", &q}}),
                     "expected room for all of the file, got File too large");
  }
  {
    const FileSizeLimit limit(64);  // fails when the last, small piece is flushed
    require_fragment(write_error(folder / "f", {{"small", &small}}),
                     "expected room for all of the file, got File too large");
  }
  CHECK(folder.size() == 1);
  CHECK(bytes_of(folder / "f") == "kept");
}

TEST_CASE("tensors that no file can hold are refused before anything is written") {
  static const Memory device{Space::kDevice, host_memory().allocate, host_memory().release};
  Scratch folder;
  const Buffer q({1, 1, 2, 2}, DType::kFloat32), far({1, 1, 2, 2}, DType::kFloat32, device);
  const auto error = [&](const std::vector<NamedTensor>& tensors,
                         const std::map<std::string, std::string>& metadata = {}) {
    return write_error(folder / "f", tensors, metadata);
  };
  require_fragment(error({{"q", &q}, {"q", &q}}), "tensor \"q\": expected each name once");
  require_fragment(error({{"__metadata__", &q}}), "none of them __metadata__");
  require_fragment(error({{"\xFF", &q}}), "expected names and metadata in UTF-8");
  require_fragment(error({{"q", &q}}, {{"note", "\xC3"}}), "expected names and metadata in UTF-8");
  require_fragment(error({{"lse", &q, Dims::kThree}}),
                   "tensor \"lse\": expected width 1, to be written with 3 dimensions, got width 2");
  require_fragment(error({{"q", &far}}), "expected a tensor in host memory, got one in device memory");
  require_fragment(error({{"q", &q}}, {{"note", std::string(100'000'000, 'x')}}),
                   "expected a header of at most 100000000 bytes");
  CHECK(folder.size() == 0);
}
