#pragma once
/// @file
/// Values as bytes: numbers, enums, strings, vectors, buffers, views of the library, and every struct that
/// names its members in fields(). Both ends are the same machine and the same compiler, so numbers are sent
/// as they lie in memory. Reading checks every length against the remaining bytes before it allocates.

#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "judge/wire/protocol.hpp"
#include "ringcraft/core/buffer.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft::judge {

using Bytes = std::vector<std::byte>;

/// The bytes after a FrameHeader, and their kind.
struct Frame {
  FrameKind kind;
  Bytes bytes;
};

/// Collects bytes.
class Writer {
 public:
  void raw(const void* data, std::size_t size);
  template <class T>
  void number(T value) {
    raw(&value, sizeof value);
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Reads bytes in order. Every function throws Error (kWrongAnswer) rather than reading past their end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// The next `size` bytes.
  std::span<const std::byte> raw(std::uint64_t size);
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  /// A count of items of at least `size` bytes each; throws if that many cannot follow.
  std::size_t count(std::size_t size);
  std::size_t left() const { return bytes_.size(); }
  /// Throws Error if something is left over.
  void end() const;

 private:
  std::span<const std::byte> bytes_;
};

/// Memory for views that came over the wire; it lives as long as the arena.
class Arena {
 public:
  /// Takes memory from there, also for buffers.
  explicit Arena(const Memory& memory = host_memory()) : memory_(&memory) {}
  virtual ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// The next values are argument `number` of a function, from 0; or no argument.
  virtual void begin_argument(std::uint64_t /*number*/) {}
  const Memory& memory() const { return *memory_; }
  /// Zero or more numbers of type T, or bytes, aligned for any vector instruction.
  template <class T>
  std::span<T> numbers(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<T*>(pieces_.emplace_back(memory_->allocate(count * sizeof(T)))), count};
  }

 private:
  const Memory* memory_;
  std::vector<std::byte*> pieces_;
};

// ---- kinds of values

template <class T>
concept Fielded = requires(T& value) {
  T::fields(value);
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
struct SpanElement {};
template <class T>
struct SpanElement<std::span<T>> {
  using type = T;
};
template <class T>
concept SpanView = requires {
  typename SpanElement<T>::type;
};

template <class T>
struct MatrixElement {};
template <class T>
struct MatrixElement<Matrix<T>> {
  using type = T;
};
template <class T>
concept MatrixView = requires {
  typename MatrixElement<T>::type;
};

/// Whether a callee can write through a value of this type: a view of elements that are not const, or a
/// struct that has one among its fields.
template <class T>
constexpr bool is_mutable_view() {
  if constexpr (SpanView<T>) {
    return !std::is_const_v<typename SpanElement<T>::type>;
  } else if constexpr (MatrixView<T>) {
    return !std::is_const_v<typename MatrixElement<T>::type>;
  } else if constexpr (Fielded<T>) {
    using Fields = decltype(T::fields(std::declval<T&>()));
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return (is_mutable_view<std::remove_cvref_t<F>>() || ...);
    }(std::type_identity<Fields>{});
  } else {
    return false;
  }
}

// ---- writing

void put(Writer& to, const std::string& text);
void put(Writer& to, const Buffer& buffer);

/// Appends a value.
template <class T>
void put(Writer& to, const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    to.number(value);
  } else if constexpr (IsVector<T>::value) {
    to.number(std::uint64_t{value.size()});
    for (const auto& element : value) put(to, element);
  } else if constexpr (SpanView<T>) {
    to.number(std::uint64_t{value.size()});
    to.raw(value.data(), value.size_bytes());
  } else if constexpr (MatrixView<T>) {
    to.number(value.rows);
    to.number(value.cols);
    put(to, value.data);
  } else {
    static_assert(Fielded<T>,
                  "a value that travels is a number, a vector, a view, a Buffer, or has fields()");
    std::apply([&](const auto&... field) { (put(to, field), ...); }, T::fields(value));
  }
}

/// Appends only the parts that a callee can write: the mutable views in a value.
template <class T>
void put_mutable(Writer& to, const T& value) {
  if constexpr (SpanView<T> || MatrixView<T>) {
    if constexpr (is_mutable_view<T>()) put(to, value);
  } else if constexpr (is_mutable_view<T>()) {
    std::apply([&](const auto&... field) { (put_mutable(to, field), ...); }, T::fields(value));
  }
}

/// Appends only the other parts: numbers, constant views, everything that stays with the caller.
template <class T>
void put_constant(Writer& to, const T& value) {
  if constexpr (!is_mutable_view<T>()) {
    put(to, value);
  } else if constexpr (Fielded<T>) {
    std::apply([&](const auto&... field) { (put_constant(to, field), ...); }, T::fields(value));
  }
}

// ---- reading

std::string get_string(Reader& from);
Buffer get_buffer(Reader& from, const Memory& memory);

/// The next value. Views get their memory from the arena. Throws Error if the bytes are no such value.
template <class T>
T get(Reader& from, Arena& arena) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return from.number<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return get_string(from);
  } else if constexpr (std::is_same_v<T, Buffer>) {
    return get_buffer(from, arena.memory());
  } else if constexpr (IsVector<T>::value) {
    T result;
    for (std::size_t left = from.count(1); left > 0; --left)
      result.push_back(get<typename T::value_type>(from, arena));
    return result;
  } else if constexpr (SpanView<T>) {
    using Element = std::remove_const_t<typename SpanElement<T>::type>;
    const std::size_t count = from.count(sizeof(Element));
    const std::span<Element> memory = arena.numbers<Element>(count);
    if (count > 0) std::memcpy(memory.data(), from.raw(count * sizeof(Element)).data(), memory.size_bytes());
    return memory;
  } else if constexpr (MatrixView<T>) {
    const auto rows = from.number<Index>(), cols = from.number<Index>();
    const auto data = get<std::span<typename MatrixElement<T>::type>>(from, arena);
    return {data, rows, cols};
  } else {
    T result{};
    std::apply(
        [&](auto&... field) { ((field = get<std::remove_reference_t<decltype(field)>>(from, arena)), ...); },
        T::fields(result));
    return result;
  }
}

/// Overwrites the elements of the mutable views in a value with those that put_mutable wrote, which must have
/// the same extents. Throws Error if not.
template <class T>
void get_into(Reader& from, const T& view) {
  if constexpr (!is_mutable_view<T>()) {
    return;  // stays as it is
  } else if constexpr (SpanView<T>) {
    if (from.number<std::uint64_t>() != view.size()) throw Error("a view came back with another length");
    if (!view.empty()) std::memcpy(view.data(), from.raw(view.size_bytes()).data(), view.size_bytes());
  } else if constexpr (MatrixView<T>) {
    if (from.number<Index>() != view.rows || from.number<Index>() != view.cols)
      throw Error("a view came back with other extents");
    get_into(from, view.data);
  } else {
    std::apply([&](const auto&... field) { (get_into(from, field), ...); }, T::fields(view));
  }
}

}  // namespace ringcraft::judge
