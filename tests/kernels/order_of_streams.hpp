#pragma once
/// @file
/// Shared by tests of transports between devices: rings under seeds of the executor's streams, and waits that
/// are left out.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "host/executor.hpp"
#include "support/catch.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::testing {

/// A ring whose key ranges differ from step to step.
inline verify::Case case_for_streams(int world_size, Layout layout) {
  return verify::make_case(make_problem({1, 2, 1, 23, 4}, causal_mask(), layout, world_size),
                           verify::Data::kNormal, 5);
}

inline bool same_bits(const verify::Answer& a, const verify::Answer& b) {
  const auto ours = verify::named(a), theirs = verify::named(b);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto x = ours[i].tensor.bytes(), y = theirs[i].tensor.bytes();
    if (x.size() != y.size() || std::memcmp(x.data(), y.data(), x.size()) != 0) return false;
  }
  return true;
}

/// While it lives, streams are late under this seed, and one place is left out.
struct WithStreams {
  explicit WithStreams(std::uint64_t seed, const simt::LeftOut& left_out = {}) {
    simt::settings().stream_seed = seed;
    simt::settings().left_out = left_out;
  }
  ~WithStreams() { simt::settings() = {}; }
};

/// The lines of a file in kernels/ that make this call.
inline std::vector<simt::LeftOut> calls_in(const std::string& path, const std::string& call) {
  std::vector<simt::LeftOut> all;
  std::ifstream file(RINGCRAFT_KERNELS "/" + path);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line)
    if (text.substr(0, text.find("//")).find(call) != std::string::npos) all.push_back({path, line});
  return all;
}

/// Without this place the answer, right(), is wrong under some seed.
template <class Right>
void check_missed(const simt::LeftOut& place, Right right) {
  constexpr std::uint64_t kMostSeeds = 40;
  bool wrong = false;
  std::size_t times = 0;
  std::uint64_t seed = 0;
  while (!wrong && ++seed <= kMostSeeds) {
    const WithStreams set(seed, place);
    wrong = !right();
    times += simt::settings().left_out.times;
  }
  std::printf("without %s:%d: %s after %d seeds\n", place.file.c_str(), place.line,
              wrong ? "other bits" : "the same bits", static_cast<int>(seed));
  INFO(place.file << ":" << place.line);
  CHECK(times > 0);  // else no ring comes there
  CHECK(wrong);      // else it is superfluous
}

}  // namespace ringcraft::testing
