// Any words as a command line: an Error, or an action. The actions of attend and verify are
// called too, in a folder of their own, on a small file, so that every combination of their flags is either
// refused or computed; those of the other commands compile, test or write exercises, and are left alone.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "fuzz/target.hpp"
#include "ringcraft/io/safetensors.hpp"
#include "tool/commands/command_line.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::fuzz {
namespace {

// A folder with inputs IN, and the answer CLAIM to them; the process works there and prints nothing.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ringcraft-fuzz-XXXXXX").string();
    path = ::mkdtemp(name.data());
    std::filesystem::current_path(path);
    const verify::Case c = verify::make_case(
        make_problem({1, 2, 1, 13, 2}, causal_mask(), Layout::kZigzag, 3), verify::Data::kNormal, 1);
    const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
    const verify::Oracle oracle = verify::oracle(c.problem, inputs);
    std::vector<NamedTensor> tensors, claim;
    for (const auto& [tensor_name, tensor] : verify::named(inputs))
      tensors.push_back({std::string(tensor_name), &tensor});
    for (const auto& [tensor_name, tensor] : verify::named(oracle.value))
      claim.push_back({std::string(tensor_name), &tensor, tensor_name == "lse" ? Dims::kThree : Dims::kFour});
    write_safetensors("IN", tensors);
    write_safetensors("CLAIM", claim);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

// Zero bytes part the words. A slash in a word would lead out of the folder.
std::vector<std::string> words_of(const std::uint8_t* data, std::size_t size) {
  Reader from(data, size);
  std::vector<std::string> words{"ringcraft"};
  while (!from.empty() && words.size() < 24) {
    words.push_back(from.text());
    std::ranges::replace(words.back(), '/', '_');
  }
  return words;
}

// IN and CLAIM must stay what they are, whatever a word says.
bool writes_inputs(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    for (const char* flag : {"--output", "--trace"})
      if (words[i].starts_with(flag) &&
          (words[i].ends_with("CLAIM") || (i + 1 < words.size() && words[i + 1] == "CLAIM")))
        return true;
  return false;
}

}  // namespace

std::vector<std::string> seeds() {
  const auto joined = [](const std::vector<const char*>& words) {
    std::string line;
    for (const char* word : words) line += std::string(word) + '\0';
    return line;
  };
  return {joined({"attend", "--input", "IN", "--output", "OUT", "--ranks", "3", "--layout", "zigzag",
                  "--causal"}),
          joined({"attend", "--input", "IN", "--output", "OUT", "--ranks", "2", "--window", "4", "--schedule",
                  "forward", "--dtype", "float64", "--trace", "T"}),
          joined({"attend", "--input", "IN", "--output", "OUT", "--cu-seqlens", "0,5,13", "--softmax-scale",
                  "0.5"}),
          joined({"verify", "--input", "IN", "--claim", "CLAIM", "--causal", "--ranks", "3"}),
          joined({"verify", "--schedule", "IN"}),
          joined({"run", "--ranks", "3", "--tokens", "100", "--json", "J"}),
          joined({"check", "104", "--seed", "3"}),
          joined({"--help"}),
          joined({"lessons"}),
          joined({"start", "303"}),
          ""};
}

std::vector<std::string> words() {
  std::vector<std::string> all;
  for (const char* word : {"attend",
                           "verify",
                           "run",
                           "lessons",
                           "start",
                           "check",
                           "hint",
                           "test",
                           "--input",
                           "--output",
                           "--claim",
                           "--ranks",
                           "--layout",
                           "--causal",
                           "--window",
                           "--cu-seqlens",
                           "--per-sequence",
                           "--method",
                           "--ulysses",
                           "--schedule",
                           "--backend",
                           "--dtype",
                           "--trace",
                           "--softmax-scale",
                           "--help",
                           "--json",
                           "--text",
                           "--tokens",
                           "--mine",
                           "IN",
                           "OUT",
                           "CLAIM",
                           "nowhere",
                           "zigzag",
                           "contiguous",
                           "striped",
                           "zigzag-token",
                           "ring",
                           "forward",
                           "reversed",
                           "threads",
                           "float32",
                           "float64",
                           "bfloat16",
                           "0",
                           "1",
                           "2",
                           "3",
                           "7",
                           "13",
                           "-1",
                           "0.25",
                           "nan",
                           "1e308",
                           "2147483647",
                           "99999999999999999999",
                           "0x10",
                           "0,5,13",
                           "0,13",
                           "0,5,5,13",
                           "5",
                           "--ranks=3",
                           "--",
                           "-h",
                           "\xff"})
    all.push_back(std::string(word) + '\0');
  return all;
}

}  // namespace ringcraft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringcraft;
  static const fuzz::Folder folder;
  const std::vector<std::string> words = fuzz::words_of(data, size);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    const tool::Action action = tool::parse_command_line(static_cast<int>(argv.size()), argv.data());
    const bool called = words.size() > 1 && (words[1] == "attend" || words[1] == "verify");
    const auto mpi = [](const std::string& word) {
      return word.find("mpi") != word.npos;
    };  // once per process
    if (!called || fuzz::writes_inputs(words) || std::ranges::any_of(words, mpi)) return 0;
    const int code = action();
    fuzz::require(code == 0 || (code == 1 && words[1] == "verify"), "exit code " + std::to_string(code));
  } catch (const Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error without a sentence");
    fuzz::require(error.code() == Code::kWrongCall || error.code() == Code::kMissing, error.what());
  }
  return 0;
}
