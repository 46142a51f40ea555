// The instructions of kernels/engine/ptx.cuh on a GPU: a plain main, as test_forward.
// Exit code: 0 all checks hold, 1 one does not, 77 no device (ctest reports that as skipped).
#include <cstdio>
#include <string>

#include "../kernels/ptx_checks.hpp"
#include "engine/device_memory.hpp"
#include "ringcraft/core/error.hpp"
#include "runner.hpp"

namespace {

using namespace ringcraft::kernels;

Verdict verdict(const Found& found) {
  return {found.numbers > 0 && found.wrong == 0
              ? ""
              : std::to_string(found.wrong) + " of " + std::to_string(found.numbers) + " numbers are wrong",
          {{"worst error", found.worst}}};
}

int run() {
  try {
    std::printf("%s\n", use_device().name.c_str());
  } catch (const ringcraft::Error& error) {
    if (error.code() != ringcraft::Code::kMissing) throw;
    std::printf("skipped: no CUDA device (%s)\n", error.what());
    return 77;
  }
  Runner runner;
  for (const auto& [format, name] : {std::pair{Format::kBf16, "bf16"}, std::pair{Format::kHalf, "fp16"}}) {
    for (const auto& [fragments, loaded] :
         {std::pair{Fragments::kByHand, "by hand"}, std::pair{Fragments::kLdmatrix, "by ldmatrix"},
          std::pair{Fragments::kLdmatrixTrans, "by ldmatrix.trans"}})
      runner.check(std::string(name) + " products, fragments " + loaded,
                   [&, f = format, l = fragments] { return verdict(check_products(f, l, 300)); });
    runner.check(std::string(name) + " conversions", [f = format] { return verdict(check_conversions(f)); });
  }
  runner.check("powers of 2", [] { return verdict(check_exponentials()); });
  for (const int valid : {128, 100, 0})
    runner.check("asynchronous copies, " + std::to_string(valid) + " numbers valid",
                 [valid] { return verdict(check_copies(Waiting::kRight, valid)); });
  std::printf("%d of %d checks failed\n", runner.failed(), runner.total());
  return runner.failed() == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
