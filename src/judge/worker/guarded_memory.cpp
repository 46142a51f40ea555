// Maps each argument between two inaccessible pages, and checks the slack after the call.
#include "judge/worker/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace ringcraft::judge {
namespace {

constexpr std::byte kUntouched{0xFF};

struct Piece {
  std::span<std::byte> whole;   // with both pages
  std::span<std::byte> inside;  // without them
  std::span<std::byte> own;     // what was asked for
  std::uint64_t argument;
};

// Students may copy and release buffers on several threads.
struct Pieces {
  std::mutex mutex;
  std::vector<Piece> all;
  std::uint64_t argument = kNoArgument;
  Placement placement = Placement::kAtEnd;
  std::optional<Stray> stray;
} pieces;

Stray beside(const Piece& piece, const std::byte* address) {
  const std::byte* const end = piece.own.data() + piece.own.size();
  const bool before = address < piece.own.data();
  return {.where = before ? Stray::Where::kBefore : Stray::Where::kAfter,
          .argument = piece.argument,
          .distance = static_cast<std::uint64_t>(before ? piece.own.data() - address - 1 : address - end),
          .bytes = piece.own.size()};
}

// The nearest byte beside a piece that is not as it was.
std::optional<Stray> written_beside(const Piece& piece) {
  const auto was_written = [](std::byte byte) { return byte != kUntouched; };
  const auto before = piece.inside.first(static_cast<std::size_t>(piece.own.data() - piece.inside.data()));
  const auto after = piece.inside.subspan(before.size() + piece.own.size());
  const std::byte* found = nullptr;
  if (const auto last = std::find_if(before.rbegin(), before.rend(), was_written); last != before.rend())
    found = &*last;
  else if (const auto first = std::ranges::find_if(after, was_written); first != after.end())
    found = &*first;
  if (found == nullptr) return {};
  Stray stray = beside(piece, found);
  stray.how = Stray::How::kWritten;
  return stray;
}

std::byte* allocate(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t inside = (bytes + page - 1) / page * page;
  void* const memory = ::mmap(nullptr, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  Piece piece{{static_cast<std::byte*>(memory), inside + 2 * page}, {}, {}, 0};
  piece.inside = piece.whole.subspan(page, inside);
  if (inside > 0 && ::mprotect(piece.inside.data(), inside, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(memory, piece.whole.size());
    throw std::bad_alloc();
  }
  std::ranges::fill(piece.inside, kUntouched);
  const std::lock_guard lock(pieces.mutex);
  piece.own = pieces.placement == Placement::kAtEnd ? piece.inside.last(bytes) : piece.inside.first(bytes);
  piece.argument = pieces.argument;
  pieces.all.push_back(piece);
  return piece.own.data();
}

void release(std::byte* bytes) noexcept {
  const std::lock_guard lock(pieces.mutex);
  const auto piece = std::ranges::find(pieces.all, bytes, [](const Piece& one) { return one.own.data(); });
  if (!pieces.stray) pieces.stray = written_beside(*piece);
  ::munmap(piece->whole.data(), piece->whole.size());
  pieces.all.erase(piece);
}

}  // namespace

const Memory& guarded_memory() {
  static const Memory memory{Space::kHost, allocate, release};
  return memory;
}

GuardedArena::GuardedArena(Placement placement) : Arena(guarded_memory()) {
  const std::lock_guard lock(pieces.mutex);
  pieces.placement = placement;
  pieces.stray.reset();
}

void GuardedArena::begin_argument(std::uint64_t number) {
  const std::lock_guard lock(pieces.mutex);
  pieces.argument = number;
}

std::optional<Stray> GuardedArena::stray() const {
  const std::lock_guard lock(pieces.mutex);
  std::optional<Stray> stray = pieces.stray;
  for (const Piece& piece : pieces.all)
    if (!stray) stray = written_beside(piece);
  return stray;
}

std::optional<Stray> beside_arguments(const void* address) {
  const auto* const byte = static_cast<const std::byte*>(address);
  for (const Piece& piece : pieces.all)
    if (byte >= piece.whole.data() && byte < piece.whole.data() + piece.whole.size() &&
        (byte < piece.own.data() || byte >= piece.own.data() + piece.own.size()))
      return beside(piece, byte);
  return {};
}

}  // namespace ringcraft::judge
