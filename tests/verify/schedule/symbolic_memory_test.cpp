// Spans of symbols against a plain array with one entry per byte.
#include "verify/schedule/symbolic_memory.hpp"

#include <array>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"

namespace ringcraft::verify {
namespace {

struct Byte {
  std::size_t content = 0;  // 0: nothing
  Index offset = 0;
  friend bool operator==(const Byte&, const Byte&) = default;
};
constexpr Index kBytes = 40;
using Plain = std::array<Byte, kBytes>;

Plain unfolded(const std::vector<Piece>& pieces) {
  Plain bytes{};
  for (const Piece& piece : pieces)
    for (Index i = 0; i < piece.size; ++i)
      bytes[static_cast<std::size_t>(piece.place + i)] = {piece.content, piece.offset + i};
  return bytes;
}

}  // namespace

TEST_CASE("a symbolic memory is an array of symbols") {
  Random random(431);
  for (int trial = 0; trial < 200; ++trial) {
    SymbolicMemory memory;
    Plain plain{};
    for (int turn = 0; turn < 40; ++turn) {
      const Index begin = random.integer(0, kBytes - 1), size = random.integer(0, kBytes - begin);
      const TracedBytes span(1000 + static_cast<std::uintptr_t>(begin), size);
      if (random.integer(0, 2) == 0) {  // copies some bytes of this memory to others of the same number
        const Index from = random.integer(0, kBytes - size);
        const auto pieces = memory.read({1000 + static_cast<std::uintptr_t>(from), size});
        memory.paste(span, pieces);
        const Plain before = plain;
        for (Index i = 0; i < size; ++i)
          plain[static_cast<std::size_t>(begin + i)] = before[static_cast<std::size_t>(from + i)];
      } else {
        const auto content = static_cast<std::size_t>(random.integer(1, 4));
        memory.write(span, content);
        for (Index i = 0; i < size; ++i) plain[static_cast<std::size_t>(begin + i)] = {content, i};
      }
      CHECK(unfolded(memory.read({1000, kBytes})) == plain);
    }
    // Neighbours that go on in the same content are one piece.
    const auto pieces = memory.read({1000, kBytes});
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const Piece &a = pieces[i - 1], &b = pieces[i];
      CHECK_FALSE((a.place + a.size == b.place && a.content == b.content && a.offset + a.size == b.offset));
    }
    CHECK(memory.all().size() == pieces.size());
  }
}

TEST_CASE("two halves make a whole again") {
  SymbolicMemory memory;
  memory.write({100, 8}, 5);
  const auto first = memory.read({100, 4}), second = memory.read({104, 4});
  memory.paste({204, 4}, second);
  CHECK(memory.read({200, 8}) == std::vector<Piece>{{4, 4, 5, 4}});
  memory.paste({200, 4}, first);
  CHECK(memory.read({200, 8}) == std::vector<Piece>{{0, 8, 5, 0}});
  memory.write({202, 2}, 6);
  CHECK(memory.read({200, 8}) == std::vector<Piece>{{0, 2, 5, 0}, {2, 2, 6, 0}, {4, 4, 5, 4}});
}

TEST_CASE("contents have names") {
  CHECK(name_of({Content::kKeys, 2, 8, {}}) == "K2");
  CHECK(name_of({Content::kValues, 0, 8, {}}) == "V0");
  CHECK(name_of({Content::kKeyGradient, 11, 8, {{1, 1}}}) == "dK11");
  CHECK(name_of({Content::kValueGradient, 3, 8, {}}) == "dV3");
  CHECK(block_name(7) == "K7");
}

}  // namespace ringcraft::verify
