// Hooks that a checked launch runs on every access and barrier. Their findings are built in findings.cpp.
#include "host/checker/checker.hpp"

#include <link.h>

#include <algorithm>
#include <atomic>

#include "host/thread_block.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::simt {
namespace {

// The place of the `thread_local` variables of the program in this thread of the operating system,
// `__shared__` ones among them.
struct Storage {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;
};

int compare_storage(dl_phdr_info* info, std::size_t, void* result) {
  const auto mine = reinterpret_cast<std::uintptr_t>(&Checker::running);
  const auto first = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_TLS || mine - first >= header.p_memsz) continue;
    *static_cast<Storage*>(result) = {first, header.p_memsz};
    return 1;
  }
  return 0;
}

// Memory past the storage belongs to the C library, and a kernel that writes there would crash it.
constexpr std::size_t kBehindStorage = 4096;

constexpr std::size_t kPageBytes = 4096;

std::atomic<bool> instrumented{false};

}  // namespace

constinit thread_local Checker* Checker::running = nullptr;

bool checks_launches() {
  return instrumented.load(std::memory_order_relaxed) && (settings().check || settings().count_traffic);
}
void expect_instrumented_kernels() { instrumented = true; }

Checker::Checker() {
  if (settings().check) {
    static const std::optional<Finding> too_much = too_much_shared(static_arrays());
    if (too_much) throw LaunchError(*too_much);
  }
  Storage storage;
  dl_iterate_phdr(compare_storage, &storage);
  static_first_ = storage.first;
  static_bytes_ = storage.bytes;
  for (const Piece& piece : DeviceHeap::get().pieces()) pieces_.push_back({piece, {}});
  clock_.begin_launch();
  running = this;
}

Checker::~Checker() {
  running = nullptr;
  if (counts_) traffic_.publish();
}

void Checker::begin_block(const Triple& block, const std::byte* shared, std::size_t bytes) {
  clock_.begin_block();
  blocks_.emplace_back(clock_.now(), block);
  dynamic_first_ = reinterpret_cast<std::uintptr_t>(shared);
  dynamic_bytes_ = bytes;
  dynamic_.reset(bytes);
  static_.reset(static_bytes_);
  no_stack_.fill(0);  // it may have more threads than the one before
}

void Checker::end_block() {
  if (counts_) traffic_.settle();
  if (const auto& found = finding_ ? finding_ : suspicion_) throw LaunchError(*found);
}

void Checker::sync_block() {
  clock_.sync_block();
  if (counts_) traffic_.settle();
}

// ---- The memory of an address

Checker::Region Checker::find(std::uintptr_t address) {
  if (stack_end_ - address <= kStackBytes) return {};
  if (address - dynamic_first_ + kRedZone < dynamic_bytes_ + 2 * kRedZone)
    return {Region::kDynamic, dynamic_first_, dynamic_bytes_, &dynamic_, nullptr};
  if (address - static_first_ < static_bytes_ + kBehindStorage)
    return {Region::kStatic, static_first_, static_bytes_, &static_, nullptr};
  return find_piece(address);
}

Checker::Region Checker::find_piece(std::uintptr_t address) {
  const auto near = [address](const Piece& piece) {
    return address - piece.first + kRedZone < piece.bytes + 2 * kRedZone;
  };
  if (last_piece_ == nullptr || !near(last_piece_->piece)) {
    const auto next =
        std::upper_bound(pieces_.begin(), pieces_.end(), address,
                         [](std::uintptr_t a, const Known& known) { return a < known.piece.first; });
    if (next != pieces_.begin() && near(std::prev(next)->piece))
      last_piece_ = &*std::prev(next);
    else if (next != pieces_.end() && near(next->piece))
      last_piece_ = &*next;
    else
      return {};
    if (!last_piece_->shadow.exists()) last_piece_->shadow.reset(last_piece_->piece.bytes);
  }
  const Piece& piece = last_piece_->piece;
  return {Region::kDevice, piece.first, piece.bytes, &last_piece_->shadow, &piece};
}

// The one that holds this byte of static shared memory, or else the one that ends or begins nearest to it;
// null: none is known.
const StaticArray* Checker::nearest_array(std::size_t offset) {
  if (last_array_ != nullptr && offset - last_array_->first < last_array_->bytes) return last_array_;
  const std::vector<StaticArray>& arrays = static_arrays();
  const auto next = std::upper_bound(arrays.begin(), arrays.end(), offset,
                                     [](std::size_t o, const StaticArray& array) { return o < array.first; });
  if (next == arrays.begin()) return arrays.empty() ? nullptr : &arrays.front();
  const StaticArray& before = *std::prev(next);
  const bool after = next != arrays.end() && next->first - offset < offset - before.first - before.bytes + 1;
  return last_array_ = offset - before.first >= before.bytes && after ? &*next : &before;
}

// ---- Accesses

void Checker::access_by(int thread, const void* address, std::size_t bytes, Access what, Place place,
                        bool whole) {
  if (finding_) return;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const Region region = find(at);
  if (region.kind == Region::kUnknown) return look_elsewhere(at, bytes, what, place, thread);
  const Seen seen{region, at - region.first, bytes, what, place, thread, whole};
  if (settings().check) {
    if (!within_bounds(seen)) return;
    region.shadow->for_each(seen.offset, bytes, [&](Cell& cell, std::size_t offset) {
      look_at(seen, cell, offset);
      return !finding_;
    });
  }
  if (counts_)
    for (const bool writes : {false, true})  // an atomic does both
      if (what == Access::kAtomic || writes == (what == Access::kWrite))
        traffic_.add(thread / 32, thread % 32, place, region.kind != Region::kDevice, writes, at, bytes);
}

// A thread's own stack, memory that the host has given to all threads, and memory that no kernel may use:
// numbers that threads exchange beside shared and device memory.
void Checker::look_elsewhere(std::uintptr_t address, std::size_t bytes, Access what, Place place,
                             int thread) {
  if (stack_end_ - address <= kStackBytes || !settings().check) return;
  const std::uintptr_t page = address / kPageBytes;
  if (std::uintptr_t& known = no_stack_[page % no_stack_.size()]; known != page) {
    if (const int owner = ThreadBlock::current().owner_of_stack(address); owner < 0)
      known = page;
    else if (owner != thread)
      return found_not_own(Mistake::kThreadsOwn, what, place, owner, false);
  }
  if (what == Access::kRead && elsewhere_.empty()) return;
  const std::pair<std::size_t, int> mine{blocks_.size(), thread};
  for (std::uintptr_t word = address / 4; word <= (address + bytes - 1) / 4; ++word) {
    const auto written = elsewhere_.find(word);
    const auto writer = written == elsewhere_.end() ? mine : written->second;
    if (what != Access::kRead) elsewhere_[word] = mine;
    if (writer != mine && what != Access::kWrite)
      return found_not_own(Mistake::kHostsMemory, what, place, writer.second, writer.first != mine.first);
  }
}

void Checker::look_at(const Seen& seen, Cell& cell, std::size_t offset) {
  if (cell.writer().in_flight) return found_in_flight(seen, offset, cell.writer());
  const Race race = cell.racing(seen.what, seen.thread, clock_);
  if (race.touch != nullptr) return found_race(seen, offset, race);
  if (seen.region.kind != Region::kDevice && seen.what != Access::kWrite && cell.writer().when == 0 &&
      !suspicion_)
    suspicion_ = about(Mistake::kUnwritten, seen, offset);
  cell.add(seen.what, {clock_.now(), seen.place, static_cast<std::uint16_t>(seen.thread), false}, clock_);
}

void Checker::copy_starts(const void* to, const void* from, std::size_t bytes, Place place) {
  if (from != nullptr) access(from, bytes, Access::kRead, place);
  access(to, bytes, Access::kWrite, place);
  const auto at = reinterpret_cast<std::uintptr_t>(to);
  const Region region = find(at);
  if (finding_ || region.kind == Region::kUnknown) return;
  if (counts_) traffic_.add_copied(place, bytes);
  if (!settings().check) return;
  region.shadow->for_each(at - region.first, bytes, [this](Cell& cell, std::size_t) {
    cell.depart();
    return true;
  });
}

void Checker::copy_arrives(const void* to, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(to);
  const Region region = find(at);
  if (finding_ || !settings().check || region.kind == Region::kUnknown) return;
  region.shadow->for_each(at - region.first, bytes, [this](Cell& cell, std::size_t) {
    cell.arrive(clock_);
    return true;
  });
}

void Checker::matrix_row(const void* row, int first_lane, int step, Place place) {
  if (settings().check && !finding_ && find(reinterpret_cast<std::uintptr_t>(row)).kind == Region::kDevice)
    finding_ = about(Mistake::kNotShared, thread_, Access::kRead, place);
  const bool counting = std::exchange(counts_, false);  // the rows count as a whole
  for (int i = 0; i < 4; ++i)
    access_by(thread_ / 32 * 32 + first_lane + i * step, static_cast<const std::byte*>(row) + 4 * i, 4,
              Access::kRead, place);
  counts_ = counting;
}

void Checker::count_matrix(const void* const (&rows)[8], Place place) {
  if (counts_) traffic_.add_rows(place, rows);
}

void Checker::product_takes(const void* operand, Place place) {
  if (settings().check && !finding_ &&
      find(reinterpret_cast<std::uintptr_t>(operand)).kind != Region::kUnknown)
    finding_ = about(Mistake::kNotRegisters, thread_, Access::kRead, place);
}

void Checker::count_product(Place place, bool ahead) {
  if (counts_) traffic_.add_product(place, ahead);
}

}  // namespace ringcraft::simt
