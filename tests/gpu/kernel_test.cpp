// The main of every test of kernels, on a GPU or, through kernels/host, on the CPU: a plain one, since a GPU
// node may have nothing but nvcc and CMake.
//   test_NAME [--small] [--time] [--json FILE]
// Exit code: 0 all checks hold, 1 one does not, 2 a wrong call, 77 no device (ctest reports that as skipped).
#include <cstdio>
#include <fstream>
#include <string>

#include "checks.hpp"
#include "engine/device_memory.hpp"
#include "ringcraft/core/error.hpp"

namespace {

using namespace ringcraft;
using namespace ringcraft::kernels;

constexpr int kSkipped = 77;

struct Options {
  verify::CaseSet set = verify::CaseSet::kFull;
  bool time = false;
  std::string json;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--small")
      options.set = verify::CaseSet::kBrief;
    else if (flag == "--time")
      options.time = true;
    else if (flag == "--json" && i + 1 < argc)
      options.json = argv[++i];
    else
      throw Error(argv[0], "[--small] [--time] [--json FILE]", flag, "give only these");
  }
  return options;
}

std::string described(const Device& device) {
  return device.name + ", compute capability " + std::to_string(device.major) + "." +
         std::to_string(device.minor);
}

void write_record(const std::string& path, const Device& device, const Runner& runner) {
  std::ofstream file(path);
  file << "{\n  \"device\": \"" << device.name << "\",\n  \"compute_capability\": \"" << device.major << '.'
       << device.minor << "\",\n  \"checks\": " << runner.json() << "\n}\n";
  file.close();
  if (!file) throw Error("cannot write " + path);
}

int run(const Options& options) {
  Device device;
  try {
    device = use_device();
  } catch (const Error& error) {
    if (error.code() != Code::kMissing) throw;
    std::printf("skipped: no CUDA device (%s)\n", error.what());
    return kSkipped;
  }
  std::printf("%s\n", described(device).c_str());
  Runner runner;
  run_checks(runner, options.set);
  if (options.time) time_kernels(runner);
  if (!options.json.empty()) write_record(options.json, device, runner);
  std::printf("%d of %d checks failed\n", runner.failed(), runner.total());
  return runner.failed() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
