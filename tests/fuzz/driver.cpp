// The seeded driver, for machines without libFuzzer: changes valid inputs at random, from a printed seed, for
// some seconds (RINGCRAFT_LONG=1: two minutes), and tries each. The input that ends the process is left in a
// file.
//   fuzz_NAME [SECONDS]      tries changed inputs; RINGCRAFT_SEED repeats a run
//   fuzz_NAME FILE...        tries these files once
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz/target.hpp"
#include "ringcraft/core/random.hpp"
#include "support/effort.hpp"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace ringcraft::fuzz {
namespace {

constexpr std::size_t kLongestInput = 8192;
constexpr unsigned kSlowest = 20;  // seconds for one input

std::string input;  // the one that is tried now
const char* crash_file = "fuzz-crash";

// Called while the process dies: plain system calls only.
void leave_input() {
  const int file = ::open(crash_file, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) return;
  for (std::size_t done = 0; done < input.size();) {
    const ssize_t written = ::write(file, input.data() + done, input.size() - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  ::close(file);
}

void die(int signal) {
  leave_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal == SIGALRM ? SIGABRT : signal);
}

void watch() {
  for (const int signal : {SIGABRT, SIGALRM}) std::signal(signal, die);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(leave_input);  // it catches the others itself
  } else {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, die);
  }
}

void try_input() {
  ::alarm(kSlowest);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  ::alarm(0);
}

std::size_t below(Random& random, std::size_t n) {
  return n == 0 ? 0 : static_cast<std::size_t>(random.integer(0, static_cast<Index>(n) - 1));
}

const std::string& pick(Random& random, const std::vector<std::string>& list) {
  return list[below(random, list.size())];
}

// One change at a random place.
void change(Random& random, std::string& text, const std::vector<std::string>& words,
            const std::string& other) {
  const std::size_t at = below(random, text.size() + 1),
                    length = below(random, 1 + std::min<std::size_t>(text.size() - at, 64));
  switch (random.integer(0, 8)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.integer(0, 7)));
      break;
    case 1:
      if (at < text.size()) text[at] = static_cast<char>(random.integer(0, 255));
      break;
    case 2:
      text.insert(at, 1, static_cast<char>(random.integer(0, 255)));
      break;
    case 3:
      text.erase(at, length);
      break;
    case 4:
      text.insert(at, text.substr(at, length));
      break;
    case 5:
    case 6:
      text.replace(at, random.integer(0, 1) == 0 ? 0 : length, words.empty() ? "" : pick(random, words));
      break;
    case 7:
      if (at < text.size()) text[at] = static_cast<char>('0' + random.integer(0, 9));
      break;
    default: {
      const std::size_t from = below(random, other.size() + 1);
      text.replace(at, text.size() - at, other.substr(from));
    }
  }
}

int run(double seconds) {
  const char* given = std::getenv("RINGCRAFT_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::fprintf(stderr, "fuzzing for %g s from RINGCRAFT_SEED=%llu\n", seconds,
               static_cast<unsigned long long>(seed));
  Random random(seed);
  std::vector<std::string> pool = seeds();
  const std::vector<std::string> dictionary = words();
  for (const std::string& valid : pool) {
    input = valid;
    try_input();
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  long long count = 0;
  const std::size_t valid = pool.size();
  for (; passed() < seconds; ++count) {
    input = pick(random, pool);
    for (Index left = random.integer(1, 6); left > 0; --left)
      change(random, input, dictionary, pick(random, pool));
    if (input.size() > kLongestInput) input.resize(kLongestInput);
    try_input();
    if (random.integer(0, 19) != 0) continue;
    if (pool.size() < 4 * valid + 64)
      pool.push_back(input);  // changes of changes
    else
      pool[valid + below(random, pool.size() - valid)] = input;
  }
  std::fprintf(stderr, "%lld inputs in %.1f s, nothing found\n", count, passed());
  return 0;
}

int replay(int count, char** files) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(files[i], std::ios::binary);
    input = {std::istreambuf_iterator<char>(file), {}};
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", files[i]);
      return 2;
    }
    try_input();
    std::fprintf(stderr, "%s: nothing found\n", files[i]);
  }
  return 0;
}

}  // namespace
}  // namespace ringcraft::fuzz

int main(int argc, char** argv) {
  using namespace ringcraft::fuzz;
  watch();
  if (argc > 1 && std::filesystem::exists(argv[1])) return replay(argc - 1, argv + 1);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 4;
  return run(ringcraft::testing::long_run() ? 120 : seconds);
}
