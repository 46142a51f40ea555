// Runs the tool in a folder, captures its output, and reads and writes its tensors.
#include "tool/tool_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "ringcraft/io/safetensors.hpp"

namespace ringcraft::tests {

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "ringcraft-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Ran run_command(const Folder& folder, const std::string& command) {
  const std::string out = folder.file("stdout"), err = folder.file("stderr");
  const int status = std::system((command + " >'" + out + "' 2>'" + err + "' </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}

Ran run_tool(const Folder& folder, const std::string& arguments) {
  return run_command(folder, std::string("'") + RINGCRAFT_TOOL + "' " + arguments);
}

void write_inputs(const std::string& path, const verify::Inputs& inputs) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : verify::named(inputs))
    if (!tensor.empty()) tensors.push_back({std::string(name), &tensor});
  write_safetensors(path, tensors);
}

void write_inputs(const std::string& path, const Problem& problem, std::uint64_t seed) {
  write_inputs(path,
               verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, seed), DType::kFloat32));
}

verify::Answer read_answer(const std::string& path) {
  TensorFile file(path);
  verify::Answer answer;
  for (const auto& [name, tensor] : verify::named(answer)) {
    const std::string key(name);
    if (file.contains(key)) tensor = file.read(key, key == "lse" ? Dims::kThree : Dims::kFour);
  }
  return answer;
}

}  // namespace ringcraft::tests
