// Counts the memory traffic of a launch.
#include "host/checker/traffic.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace ringcraft::simt {
namespace {

constexpr std::size_t kBanks = 32, kBankBytes = 4, kSectorBytes = 32, kWidest = 16;

std::mutex mutex;
std::vector<LineTraffic> last;

// Passes that these lanes need: the words that one bank has to give, where it has most.
std::size_t passes(const std::uintptr_t* address, std::size_t lanes, std::size_t bytes) {
  std::set<std::uintptr_t> words;
  for (std::size_t i = 0; i < lanes; ++i)
    if (address[i] != 0)
      for (std::size_t b = 0; b < bytes; b += kBankBytes) words.insert((address[i] + b) / kBankBytes);
  std::array<std::size_t, kBanks> of_bank{};
  for (const std::uintptr_t word : words) ++of_bank[word % kBanks];
  return *std::max_element(of_bank.begin(), of_bank.end());
}

}  // namespace

std::vector<LineTraffic> last_traffic() {
  const std::lock_guard lock(mutex);
  return last;
}

void Traffic::add(int warp, int lane, Place place, bool shared, bool writes, std::uintptr_t address,
                  std::size_t bytes) {
  for (; bytes > kWidest; address += kWidest, bytes -= kWidest)
    add(warp, lane, place, shared, writes, address, kWidest);
  if (bytes == 0) return;
  Line& line = lines_[{place, 2 * int{shared} + int{writes}}];
  line.sum.shared = shared;
  line.sum.writes = writes;
  line.sum.bytes += bytes;
  Warp& of_warp = line.warps[warp];
  const std::uint32_t turn = of_warp.done[static_cast<std::size_t>(lane)]++;
  if (turn >= of_warp.requests.size()) of_warp.requests.resize(turn + 1);
  Request& request = of_warp.requests[turn];
  request.address[static_cast<std::size_t>(lane)] = address;
  request.bytes_each = std::max(request.bytes_each, bytes);
}

void Traffic::add_rows(Place place, const void* const (&rows)[8]) {
  Line& line = lines_[{place, 2}];
  line.sum.shared = true;
  line.sum.bytes += 128;
  ++line.sum.requests;
  std::uintptr_t address[8];
  for (std::size_t i = 0; i < 8; ++i) address[i] = reinterpret_cast<std::uintptr_t>(rows[i]);
  line.sum.transfers += passes(address, 8, 16);
  ++line.sum.least_transfers;
  line.sum.words += 32;
}

void Traffic::settle(Line& line, const Request& request) {
  LineTraffic& sum = line.sum;
  const std::size_t bytes = request.bytes_each;
  if (sum.requests == 0) sum.first = request.address;
  ++sum.requests;
  if (sum.shared) {
    const std::size_t lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;  // at a time
    for (std::size_t first = 0; first < 32; first += lanes) {
      const std::size_t needed = passes(&request.address[first], lanes, bytes);
      for (std::size_t i = first; i < first + lanes; ++i)
        sum.words += request.address[i] != 0 ? (bytes + kBankBytes - 1) / kBankBytes : 0;
      sum.transfers += needed;
      sum.least_transfers += needed > 0 ? 1 : 0;
    }
    return;
  }
  std::set<std::uintptr_t> places, sectors;
  for (const std::uintptr_t address : request.address)
    if (address != 0) {
      places.insert(address);
      for (std::uintptr_t at = address / kSectorBytes; at <= (address + bytes - 1) / kSectorBytes; ++at)
        sectors.insert(at);
    }
  sum.transfers += sectors.size();
  sum.least_transfers += (places.size() * bytes + kSectorBytes - 1) / kSectorBytes;
}

void Traffic::settle() {
  for (auto& [key, line] : lines_) {
    for (const auto& [number, warp] : line.warps)
      for (const Request& request : warp.requests) settle(line, request);
    line.warps.clear();
  }
}

void Traffic::publish() {
  settle();
  std::vector<Place> places;
  for (const auto& [key, line] : lines_) places.push_back(key.first);
  const std::vector<CodePlace> lines = resolved(places);
  std::map<std::tuple<std::string, bool, bool>, LineTraffic> by_line;
  std::size_t i = 0;
  for (const auto& [key, line] : lines_) {
    const LineTraffic& one = line.sum;
    LineTraffic& sum = by_line[{text_of(lines[i]), one.shared, one.writes}];
    sum.place = lines[i++];
    if (sum.requests == 0) sum.first = one.first;
    sum.shared = one.shared;
    sum.writes = one.writes;
    sum.bytes += one.bytes;
    sum.requests += one.requests;
    sum.transfers += one.transfers;
    sum.words += one.words;
    sum.least_transfers += one.least_transfers;
    sum.products += one.products;
    sum.products_ahead += one.products_ahead;
    sum.copied += one.copied;
  }
  const std::lock_guard lock(mutex);
  last.clear();
  for (const auto& [key, sum] : by_line) last.push_back(sum);
}

}  // namespace ringcraft::simt
