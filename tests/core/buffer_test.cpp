// Buffer: ownership, capacity, the meter, poison, and every refusal.
#include "ringcraft/core/buffer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/device_memory.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

Buffer counting(Extents extents) {
  Buffer buffer(extents, DType::kFloat64);
  double next = 0;
  for (double& x : buffer.values<double>()) x = next++;
  return buffer;
}

const std::vector<DType> kTypes{DType::kFloat32, DType::kFloat64, DType::kBFloat16};

}  // namespace

TEST_CASE("a buffer knows its extents, type and size") {
  for (const DType type : kTypes) {
    Buffer buffer({2, 3, 5, 7}, type);
    CHECK(buffer.extents() == Extents{2, 3, 5, 7});
    CHECK(buffer.dtype() == type);
    CHECK(buffer.space() == Space::kHost);
    CHECK(buffer.bytes().size() == 210 * size_of(type));
    CHECK(std::as_const(buffer).bytes().data() == buffer.bytes().data());
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.bytes().data()) % 64 == 0);
    CHECK_FALSE(buffer.empty());
  }
  CHECK(size_of(DType::kFloat32) == 4);
  CHECK(size_of(DType::kFloat64) == 8);
  CHECK(size_of(DType::kBFloat16) == 2);
}

TEST_CASE("empty buffers hold no memory") {
  const auto meter = std::make_shared<MemoryMeter>();
  const MeterScope scope(meter);
  CHECK(Buffer().empty());
  CHECK(Buffer().extents() == Extents{});
  for (const Extents e :
       {Extents{0, 1, 1, 1}, Extents{1, 0, 1, 1}, Extents{1, 1, 0, 1}, Extents{1, 1, 1, 0}}) {
    Buffer buffer(e, DType::kFloat32);
    CHECK(buffer.empty());
    CHECK(buffer.bytes().empty());
    CHECK(buffer.values<float>().empty());
    CHECK(buffer.clone().extents() == e);
  }
  CHECK(meter->peak() == 0);
}

TEST_CASE("new memory is NaN in every type") {
  const Extents e{1, 2, 3, 4};
  const Buffer f(e, DType::kFloat32), d(e, DType::kFloat64);
  for (const float x : f.values<float>()) CHECK(std::isnan(x));
  for (const double x : d.values<double>()) CHECK(std::isnan(x));
  const Buffer widened = converted(Buffer(e, DType::kBFloat16), DType::kFloat64);
  for (const double x : widened.values<double>()) CHECK(std::isnan(x));
}

TEST_CASE("moving hands over contents and leaves the source empty") {
  Buffer a = counting({1, 2, 3, 2});
  const std::byte* memory = a.bytes().data();
  Buffer b = std::move(a);
  CHECK(b.bytes().data() == memory);
  CHECK(b.extents() == Extents{1, 2, 3, 2});
  CHECK(a.empty());
  CHECK(a.bytes().empty());
  CHECK_THROWS_AS(a.set_rows(1), Error);

  Buffer c = counting({1, 1, 1, 1});
  c = std::move(b);
  CHECK(c.bytes().data() == memory);
  CHECK(c.values<double>()[11] == 11.0);
  CHECK(b.empty());

  std::swap(a, c);
  CHECK(a.bytes().data() == memory);
  CHECK(c.empty());
  Buffer& self = a;
  a = std::move(self);
  CHECK(a.values<double>()[11] == 11.0);
}

TEST_CASE("rows shrink and grow within the capacity") {
  Buffer buffer = counting({2, 2, 4, 3});
  const std::byte* memory = buffer.bytes().data();
  for (const Index rows : {0, 1, 3, 4, 2}) {
    buffer.set_rows(rows);
    CHECK(buffer.extents() == Extents{2, 2, rows, 3});
    CHECK(buffer.bytes().size() == static_cast<std::size_t>(rows) * 12 * 8);
    CHECK(buffer.bytes().data() == memory);
    CHECK(buffer.empty() == (rows == 0));
  }
  check_refused([&] { buffer.set_rows(5); }, "Buffer::set_rows: expected 0 to 4 rows, got 5");
  check_refused([&] { buffer.set_rows(-1); }, "got -1");
  CHECK(buffer.extents().rows == 2);
  buffer.set_rows(4);

  Buffer moved = std::move(buffer);  // the capacity moves with the memory
  moved.set_rows(1);
  moved.set_rows(4);
  check_refused([&] { buffer.set_rows(1); }, "0 to 0 rows");
  Buffer shrunk = [&] {
    moved.set_rows(2);
    return moved.clone();
  }();
  check_refused([&] { shrunk.set_rows(3); }, "0 to 2 rows");
}

TEST_CASE("a clone is independent") {
  Buffer a = counting({1, 2, 2, 2});
  Buffer b = a.clone();
  CHECK(b.extents() == a.extents());
  CHECK(std::ranges::equal(a.bytes(), b.bytes()));
  b.values<double>()[3] = -1;
  CHECK(a.values<double>()[3] == 3.0);
  check_refused(
      [] {
        return Buffer({1, 1, 1, 1}, DType::kFloat32, pretended_device_memory()).clone();
      },
      "copies host memory only");
}

TEST_CASE("borrowed memory is read where it lies, kept by its owner, and never written") {
  const auto numbers = std::make_shared<std::vector<double>>(std::vector<double>{1, 2, 3, 4, 5, 6});
  const auto meter = std::make_shared<MemoryMeter>();
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers->data());
  {
    const MeterScope scope(meter);
    Buffer buffer = Buffer::borrowed({1, 1, 3, 2}, DType::kFloat64, bytes, numbers);
    CHECK(std::as_const(buffer).values<double>().data() == numbers->data());
    CHECK(std::as_const(buffer).bytes().data() == bytes);
    check_refused([&] { buffer.values<double>(); }, "Buffer: expected memory of its own to write to");
    check_refused([&] { buffer.bytes(); }, "Buffer: expected memory of its own to write to");
    CHECK(meter->live() == 0);
    CHECK(numbers.use_count() == 2);
    Buffer moved = std::move(buffer);
    CHECK(numbers.use_count() == 2);
    check_refused([&] { moved.bytes(); }, "borrowed memory");
    Buffer own = moved.clone();
    own.values<double>()[0] = 7;
    CHECK(numbers->front() == 1);
    moved = Buffer({1, 1, 1, 1}, DType::kFloat64);
    CHECK(numbers.use_count() == 1);
    moved.values<double>()[0] = 0;
    buffer = Buffer::borrowed({1, 1, 0, 2}, DType::kFloat32, nullptr, numbers);
    CHECK(buffer.empty());
  }
  CHECK(numbers.use_count() == 1);
  CHECK(*numbers == std::vector<double>{1, 2, 3, 4, 5, 6});
  check_refused([&] { Buffer::borrowed({1, -1, 1, 1}, DType::kFloat32, bytes, numbers); }, "not negative");
}

TEST_CASE("values refuse the wrong type and the wrong space") {
  Buffer f({1, 1, 2, 2}, DType::kFloat32), h({1, 1, 2, 2}, DType::kBFloat16);
  Buffer device({1, 1, 2, 2}, DType::kFloat64, pretended_device_memory());
  CHECK(f.values<float>().size() == 4);
  check_refused([&] { return f.values<double>().size(); },
                "expected float64 in host memory, got float32 in host memory");
  check_refused([&] { return std::as_const(f).values<double>().size(); }, "got float32");
  check_refused([&] { return h.values<float>().size(); }, "expected float32 in host memory, got bfloat16");
  CHECK(device.space() == Space::kDevice);
  check_refused([&] { return device.values<double>().size(); }, "got float64 in device memory");
}

TEST_CASE("extents that are no size are refused") {
  const Index huge = std::numeric_limits<Index>::max();
  for (const Extents e : {Extents{-1, 1, 1, 1}, Extents{1, -1, 1, 1}, Extents{1, 1, -3, 1},
                          Extents{1, 1, 1, -1}, Extents{huge, 2, 1, 1}, Extents{1, 1, huge, 1},
                          Extents{1 << 30, 1 << 30, 8, 1}, Extents{0, -1, 1, 1}})
    check_refused([&] { return Buffer(e, DType::kFloat32); },
                  "tensor: expected extents that are not negative and fit");
  // 2^61 elements of 4 bytes are 2^63, one more than there is; of 2 bytes they would fit.
  check_refused(
      [] {
        return Buffer({Index{1} << 31, Index{1} << 30, 1, 1}, DType::kFloat32);
      },
      "[2147483648, 1073741824, 1, 1]");
}

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // whose allocators end the program instead
TEST_CASE("more memory than there is becomes an Error") {
  const auto meter = std::make_shared<MemoryMeter>();
  const MeterScope scope(meter);
  check_refused(
      [] {
        return Buffer({1, 1, Index{1} << 58, 1}, DType::kFloat64);
      },
      "out of memory", Code::kMissing);
  CHECK(meter->live() == 0);
}
#endif

TEST_CASE("the meter counts live and peak bytes") {
  const auto meter = std::make_shared<MemoryMeter>();
  Buffer survivor;
  {
    const MeterScope scope(meter);
    Buffer a({1, 1, 10, 1}, DType::kFloat64);  // 80 bytes
    {
      const Buffer b({1, 1, 10, 1}, DType::kFloat32);  // 40
      CHECK(meter->live() == 120);
    }
    CHECK(meter->live() == 80);
    CHECK(meter->peak() == 120);
    a.set_rows(2);  // the capacity stays allocated
    CHECK(meter->live() == 80);
    Buffer c = std::move(a);
    CHECK(meter->live() == 80);
    c = Buffer({1, 1, 3, 1}, DType::kBFloat16);
    CHECK(meter->live() == 6);
    survivor = std::move(c);
  }
  const Buffer outside({1, 1, 1000, 1}, DType::kFloat64);
  CHECK(meter->live() == 6);
  survivor = Buffer();  // released after the scope, by the meter that counted it
  CHECK(meter->live() == 0);
  CHECK(meter->peak() == 120);
}

TEST_CASE("meter scopes nest and belong to their thread") {
  const auto outer = std::make_shared<MemoryMeter>(), inner = std::make_shared<MemoryMeter>();
  const MeterScope outer_scope(outer);
  {
    const MeterScope inner_scope(inner);
    const Buffer buffer({1, 1, 1, 1}, DType::kFloat64);
    CHECK(inner->live() == 8);
    std::thread([] { const Buffer elsewhere({1, 1, 100, 1}, DType::kFloat64); }).join();
  }
  const Buffer buffer({1, 1, 2, 1}, DType::kFloat64);
  CHECK(outer->peak() == 16);
  CHECK(inner->peak() == 8);
}

TEST_CASE("many threads under one meter") {
  const auto meter = std::make_shared<MemoryMeter>();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([meter] {
        const MeterScope scope(meter);
        for (int turn = 0; turn < 500; ++turn) const Buffer buffer({1, 1, 4, 1}, DType::kFloat64);
      });
  }
  CHECK(meter->live() == 0);
  CHECK(meter->peak() >= 32);
  CHECK(meter->peak() <= 4 * 32);
}
