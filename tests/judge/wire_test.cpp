// Values survive the wire bit by bit, and no sequence of bytes makes a reader read or allocate beyond what is
// there.
#include "judge/wire/wire.hpp"

#include <array>
#include <limits>
#include <random>

#include "judge/wire/exercises.hpp"
#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/problem/deal.hpp"
#include "ringcraft/ring/work.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

template <class T>
Bytes bytes_of(const T& value) {
  Writer to;
  put(to, value);
  return to.take();
}

template <class T>
T value_of(const Bytes& bytes, Arena& arena) {
  Reader from(bytes);
  T value = get<T>(from, arena);
  from.end();
  return value;
}

RingOutput ring_output() {
  Random random(1);
  const auto tensor = [&](Index rows, Index width) {
    return random_normal({1, 2, rows, width}, DType::kFloat64, random);
  };
  return {{tensor(3, 4), tensor(3, 1)}, {tensor(2, 4), tensor(2, 4)}};
}

}  // namespace

TEST_CASE("a problem comes back unchanged") {
  Mask mask = window_mask(5);
  mask.cu_seqlens = {0, 7, 20};
  const Problem problem = make_problem({2, 8, 2, 20, 4}, mask, Layout::kZigzagToken, 3, 0.25);
  Arena arena;
  const Problem back = value_of<Problem>(bytes_of(problem), arena);
  CHECK(back.shape == problem.shape);
  CHECK(back.mask == problem.mask);
  CHECK(back.layout == problem.layout);
  CHECK(back.world_size == 3);
  CHECK(back.softmax_scale == 0.25);
}

TEST_CASE("key ranges and tile sizes come back unchanged") {
  const KeyRanges ranges{{0, 0, 3}, {1, 5, 7}};
  Arena arena;
  const auto back = value_of<KeyRanges>(bytes_of(ranges), arena);
  CHECK(back.begin == ranges.begin);
  CHECK(back.end == ranges.end);
  const auto tile = value_of<TileSize>(bytes_of(TileSize{5, 300}), arena);
  CHECK(tile.rows == 5);
  CHECK(tile.keys == 300);
}

TEST_CASE("buffers come back bit by bit, NaN and empty ones included") {
  Buffer buffer({1, 2, 3, 4}, DType::kFloat64);  // all ones: NaN
  buffer.values<double>()[5] = -std::numeric_limits<double>::infinity();
  Arena arena;
  const Buffer back = value_of<Buffer>(bytes_of(buffer), arena);
  CHECK(back.extents() == buffer.extents());
  CHECK(std::ranges::equal(back.bytes(), buffer.bytes()));
  const Buffer empty({1, 2, 0, 4}, DType::kFloat32);
  CHECK(value_of<Buffer>(bytes_of(empty), arena).extents() == empty.extents());
}

TEST_CASE("tables of numbers and structs within structs come back") {
  const RingWork work =
      ring_work(make_problem({.seqlen = 11, .head_dim = 1}, causal_mask(), Layout::kZigzag, 3));
  Arena arena;
  const RingWork back = value_of<RingWork>(bytes_of(work), arena);
  CHECK(back.pairs == work.pairs);
  CHECK(back.by_rank == work.by_rank);
  CHECK(back.skipped == work.skipped);
  CHECK(back.synchronous_cost == work.synchronous_cost);
  CHECK(back.imbalance == work.imbalance);
  const ChunkPair pair{{1, 3}, {6, 7}};
  CHECK(value_of<ChunkPair>(bytes_of(pair), arena) == pair);
}

TEST_CASE("views get their own memory and travel back") {
  std::vector<double> out{1, 2, 3, 4, 5, 6}, max{7, 8}, sum{9, 10};
  const Partial<double> partial{{out, 2, 3}, max, sum};
  Arena arena;
  const auto held = value_of<Partial<double>>(bytes_of(partial), arena);
  CHECK(held.out.data.data() != out.data());
  CHECK(held.out(1, 2) == 6);
  held.out(1, 2) = 60;
  held.sum[0] = 90;
  const Bytes bytes = bytes_of(held);
  Reader back(bytes);
  get_into(back, partial);
  back.end();
  CHECK(out[5] == 60);
  CHECK(sum[0] == 90);

  std::vector<double> other(9);
  const Partial<double> larger{{other, 3, 3}, max, sum};
  Reader again(bytes);
  CHECK_THROWS_AS(get_into(again, larger), Error);
}

TEST_CASE("key ranges and states of a scan come back unchanged") {
  const KeyRanges ranges{{0, 0, 2}, {1, 3, 3}};
  Arena arena;
  const auto back = value_of<KeyRanges>(bytes_of(ranges), arena);
  CHECK(back.begin == ranges.begin);
  CHECK(back.end == ranges.end);
  const auto state = value_of<SoftmaxState<double>>(bytes_of(SoftmaxState<double>{-3.5, 7}), arena);
  CHECK(state.max == -3.5);
  CHECK(state.sum == 7);
  STATIC_REQUIRE_FALSE(is_mutable_view<KeyRanges>());
}

TEST_CASE("a value may mix constant and mutable views") {
  std::vector<std::byte> out{std::byte{1}, std::byte{2}, std::byte{3}}, in{std::byte{4}, std::byte{5}};
  const RingMessage message{7, out, 8, in};
  STATIC_REQUIRE(is_mutable_view<RingMessage>());
  Arena arena;
  const auto held = value_of<RingMessage>(bytes_of(message), arena);
  CHECK(held.send_rank == 7);
  CHECK(held.recv_rank == 8);
  CHECK(std::ranges::equal(held.out, out));
  CHECK(std::ranges::equal(held.in, in));
  CHECK(held.in.data() != in.data());

  held.in[1] = std::byte{50};
  Writer written, kept;
  put_mutable(written, held);
  put_constant(kept, held);
  const Bytes mutable_bytes = written.take(), constant_bytes = kept.take();
  CHECK(mutable_bytes.size() == sizeof(std::uint64_t) + 2);                     // in
  CHECK(constant_bytes.size() == 2 * sizeof(int) + sizeof(std::uint64_t) + 3);  // the rest
  Reader back(mutable_bytes);
  get_into(back, message);
  back.end();
  CHECK(in == std::vector<std::byte>{std::byte{4}, std::byte{50}});

  std::vector<std::byte> longer(3);
  Reader again(mutable_bytes);
  CHECK_THROWS_AS(get_into(again, RingMessage{7, out, 8, longer}), Error);
}

TEST_CASE("constant parts of a value stay, mutable parts travel, no part does both") {
  std::vector<double> numbers{1, 2};
  const auto parts = [](const auto& value) {
    Writer whole, written, kept;
    put(whole, value);
    put_mutable(written, value);
    put_constant(kept, value);
    return std::array{whole.take().size(), written.take().size(), kept.take().size()};
  };
  using Sizes = std::array<std::size_t, 3>;
  CHECK(parts(std::span<double>(numbers)) == Sizes{24, 24, 0});
  CHECK(parts(std::span<const double>(numbers)) == Sizes{24, 0, 24});
  CHECK(parts(Matrix<double>{numbers, 1, 2}) == Sizes{40, 40, 0});
  CHECK(parts(Matrix<const double>{numbers, 1, 2}) == Sizes{40, 0, 40});
  CHECK(parts(3.5) == Sizes{8, 0, 8});
  CHECK(parts(numbers) == Sizes{24, 0, 24});
}

TEST_CASE("views of any number type lie aligned in their arena") {
  Arena arena;
  for (const std::size_t count : {0u, 1u, 7u, 64u}) {
    CHECK(reinterpret_cast<std::uintptr_t>(arena.numbers<std::byte>(count).data()) % 64 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(arena.numbers<double>(count).data()) % 64 == 0);
    CHECK(arena.numbers<float>(count).size() == count);
  }
}

TEST_CASE("every truncated value is refused") {
  const Bytes whole = bytes_of(ring_output());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Reader from{std::span(whole).first(length)};
    Arena arena;
    CHECK_THROWS_AS(get<RingOutput>(from, arena), Error);
  }
}

TEST_CASE("absurd lengths are refused before memory is taken") {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0} / 2;
  Arena arena;
  const auto refused = [&]<class T>(std::type_identity<T>, std::initializer_list<std::uint64_t> numbers) {
    Writer to;
    for (const std::uint64_t number : numbers) to.number(number);
    to.number(DType::kFloat64);
    const Bytes bytes = to.take();
    Reader from(bytes);
    CHECK_THROWS_AS(get<T>(from, arena), Error);
  };
  refused(std::type_identity<std::string>{}, {kHuge});
  refused(std::type_identity<std::vector<Position>>{}, {kHuge});
  refused(std::type_identity<std::span<double>>{}, {kHuge / 8});
  refused(std::type_identity<Buffer>{}, {1, 1, kHuge, 1});
  refused(std::type_identity<Buffer>{}, {kHuge, kHuge, kHuge, kHuge});
  refused(std::type_identity<Buffer>{}, {1ull << 32, 1ull << 32, 1, 1});
  refused(std::type_identity<Buffer>{}, {~std::uint64_t{0}, 1, 1, 1});
}

TEST_CASE("random damage gives a value or an Error, nothing else") {
  const Bytes whole = bytes_of(ring_output());
  std::mt19937_64 random(5);
  int refused = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Bytes damaged = whole;
    for (int flips = 0; flips < 3; ++flips) damaged[random() % 40] = static_cast<std::byte>(random());
    Reader from(damaged);
    Arena arena;
    try {
      get<RingOutput>(from, arena);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 10000);
}

// ---- Exercise: both ends of a call, in one process

namespace {

double mixed(Communicator& comm, const std::vector<Position>& list, std::span<double> written,
             Matrix<const double> read, Buffer& grown) {
  written[0] += static_cast<double>(list.at(1) + comm.rank());
  grown = Buffer({1, 1, 2, 2}, DType::kFloat64);
  std::ranges::fill(grown.values<double>(), 3.0);
  return read(1, 1);
}

void sneaky(const std::vector<Position>& list, Matrix<const double> read) {
  const_cast<double&>(read(0, 0)) += static_cast<double>(list.size());
}

void swapping(const RingMessage& message, bool honest) {
  message.in[0] = message.out[0];
  if (!honest) const_cast<std::byte&>(message.out[1]) = std::byte{9};
}

using Mixed = Exercise<&mixed, "mixed">;
using Sneaky = Exercise<&sneaky, "sneaky">;
using Swapping = Exercise<&swapping, "swapping">;

template <class E>
Bytes served(const Bytes& request) {
  Bytes reply;
  run_ranks(1, [&](ThreadCommunicator& comm) {
    HostEngine<double> engine;
    Reader from(request);
    Arena arena;
    reply = E::serve(from, arena, comm, &engine);
  });
  return reply;
}

}  // namespace

TEST_CASE("an exercise follows from the type of its function") {
  STATIC_REQUIRE(Mixed::kDistributed);
  STATIC_REQUIRE_FALSE(Sneaky::kDistributed);
  STATIC_REQUIRE(is_mutable_view<Partial<double>>());
  STATIC_REQUIRE_FALSE(is_mutable_view<Partial<const double>>());
  STATIC_REQUIRE_FALSE(is_mutable_view<Problem>());

  std::vector<double> written{1, 2}, read{1, 2, 3, 4};
  Buffer grown({1, 1, 1, 1}, DType::kFloat64);
  const std::vector<Position> list{10, 20};
  const Matrix<const double> matrix{read, 2, 2};
  const Bytes reply = served<Mixed>(Mixed::request(list, std::span<double>(written), matrix, grown));
  const auto answer = Mixed::answer(reply, list, std::span<double>(written), matrix, grown);
  CHECK(answer.result == 4);
  CHECK(answer.changed == 0);
  CHECK(written == std::vector<double>{21, 2});
  CHECK(grown.extents() == Extents{1, 1, 2, 2});
  CHECK(grown.values<double>()[3] == 3);
}

TEST_CASE("a changed constant argument is reported by its place") {
  std::vector<double> read{1, 2, 3, 4};
  const std::vector<Position> list{10, 20};
  const Matrix<const double> matrix{read, 2, 2};
  const auto answer = Sneaky::answer(served<Sneaky>(Sneaky::request(list, matrix)), list, matrix);
  CHECK(answer.changed == 2u);
  CHECK(read[0] == 1);  // the caller's own memory is elsewhere
}

TEST_CASE("of an argument that mixes views, the mutable ones travel back and the constant ones are watched") {
  for (const bool honest : {true, false}) {
    std::vector<std::byte> out{std::byte{1}, std::byte{2}}, in{std::byte{4}, std::byte{5}};
    const RingMessage message{0, out, 0, in};
    const auto answer =
        Swapping::answer(served<Swapping>(Swapping::request(message, honest)), message, honest);
    CHECK(answer.changed == (honest ? 0u : 1u));
    CHECK(in == std::vector<std::byte>{std::byte{1}, std::byte{5}});
    CHECK(out == std::vector<std::byte>{std::byte{1}, std::byte{2}});  // the caller's own memory is elsewhere
  }
}

}  // namespace ringcraft::judge
