#pragma once
// Runs the tool as a user does, in a separate folder, and keeps its output.

#include <filesystem>
#include <string>

#include "verify/oracle/cases.hpp"

namespace ringcraft::tests {

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

// A folder that exists while this object lives.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Runs a shell command line and waits for it.
Ran run_command(const Folder& folder, const std::string& command);

// Runs the tool with these arguments.
Ran run_tool(const Folder& folder, const std::string& arguments);

// Writes q, k, v and (unless empty) dout of inputs.
void write_inputs(const std::string& path, const verify::Inputs& inputs);
// Writes normal float32 inputs of a problem, dout too.
void write_inputs(const std::string& path, const Problem& problem, std::uint64_t seed);

// Reads out, lse and the gradients that are there.
verify::Answer read_answer(const std::string& path);

// Replaces the contents of a file by a text.
void write(const std::filesystem::path& path, const std::string& text);

// The whole contents of a file.
std::string contents(const std::string& path);

}  // namespace ringcraft::tests
