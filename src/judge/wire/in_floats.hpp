#pragma once
/// @file
/// Calls of the instantiation for float with the arguments of the one for double: numbers are rounded on
/// their way to the function, and those that it writes come back. So the checks of double serve float, too.

#include <bit>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft::judge {

/// The nearest number that float holds.
inline double as_float(double number) { return static_cast<double>(static_cast<float>(number)); }

/// Writes a number that a function has written into its original. One that it left alone keeps all its bits,
/// also those of NaN.
inline void give_back(float written, double& original) {
  if (std::bit_cast<std::uint32_t>(written) != std::bit_cast<std::uint32_t>(static_cast<float>(original)))
    original = written;
}

/// One argument as the instantiation for float takes it. Most are passed on as they are.
template <class T>
class InFloats {
 public:
  explicit InFloats(const T& value) : value_(value) {}
  const T& view() const { return value_; }
  void end() const {}  ///< writes into the original what the function has written

 private:
  const T& value_;
};

template <>
class InFloats<double> {
 public:
  explicit InFloats(double value) : value_(static_cast<float>(value)) {}
  float view() const { return value_; }
  void end() const {}

 private:
  float value_;
};

template <>
class InFloats<SoftmaxState<double>> {
 public:
  explicit InFloats(SoftmaxState<double> wide)
      : value_{static_cast<float>(wide.max), static_cast<float>(wide.sum)} {}
  SoftmaxState<float> view() const { return value_; }
  void end() const {}

 private:
  SoftmaxState<float> value_;
};

/// `const float` for const double.
template <class T>
using FloatLike = std::conditional_t<std::is_const_v<T>, const float, float>;
template <class T>
concept DoubleLike = std::is_same_v < std::remove_const_t<T>,
double > ;

template <DoubleLike T>
class InFloats<std::span<T>> {
 public:
  explicit InFloats(std::span<T> wide) : wide_(wide) {
    for (const double x : wide) numbers_.push_back(static_cast<float>(x));
  }
  std::span<FloatLike<T>> view() { return numbers_; }
  void end() const {
    if constexpr (!std::is_const_v<T>)
      for (std::size_t i = 0; i < numbers_.size(); ++i) give_back(numbers_[i], wide_[i]);
  }

 private:
  std::span<T> wide_;
  std::vector<float> numbers_;
};

template <>
class InFloats<std::vector<double>> : public InFloats<std::span<const double>> {
 public:
  using InFloats<std::span<const double>>::InFloats;
};

template <DoubleLike T>
class InFloats<Matrix<T>> {
 public:
  explicit InFloats(const Matrix<T>& wide) : rows_(wide.rows), cols_(wide.cols), data_(wide.data) {}
  Matrix<FloatLike<T>> view() { return {data_.view(), rows_, cols_}; }
  void end() const { data_.end(); }

 private:
  Index rows_, cols_;
  InFloats<std::span<T>> data_;
};

template <DoubleLike T>
class InFloats<Partial<T>> {
 public:
  explicit InFloats(const Partial<T>& wide) : out_(wide.out), max_(wide.max), sum_(wide.sum) {}
  Partial<FloatLike<T>> view() { return {out_.view(), max_.view(), sum_.view()}; }
  void end() const { out_.end(), max_.end(), sum_.end(); }

 private:
  InFloats<Matrix<T>> out_;
  InFloats<std::span<T>> max_, sum_;
};

/// A buffer of double, or a struct of them.
template <class T>
concept OfBuffers = std::is_same_v<std::remove_const_t<T>, Buffer> ||
    std::is_same_v<std::remove_const_t<T>, KvBlock> || std::is_same_v<std::remove_const_t<T>, RowState>;

/// A buffer that comes back with other extents, or in another type, replaces the original.
template <OfBuffers T>
class InFloats<T> {
 public:
  explicit InFloats(T& wide) : wide_(wide) {
    each([](auto& original, Buffer& floats) {
      floats = Buffer(original.extents(), DType::kFloat32);
      const auto numbers = original.template values<double>();
      for (std::size_t i = 0; i < numbers.size(); ++i)
        floats.values<float>()[i] = static_cast<float>(numbers[i]);
    });
  }
  std::remove_const_t<T>& view() { return narrow_; }
  void end() {
    if constexpr (!std::is_const_v<T>)
      each([](Buffer& original, Buffer& floats) {
        if (floats.dtype() != DType::kFloat32 || floats.extents() != original.extents()) {
          original = floats.clone();
          return;
        }
        const auto numbers = original.values<double>();
        for (std::size_t i = 0; i < numbers.size(); ++i) give_back(floats.values<float>()[i], numbers[i]);
      });
  }

 private:
  template <class Action>
  void each(Action action) {
    if constexpr (std::is_same_v<std::remove_const_t<T>, Buffer>)
      action(wide_, narrow_);
    else
      std::apply(
          [&](auto&... original) {
            std::apply([&](auto&... floats) { (action(original, floats), ...); },
                       std::remove_const_t<T>::fields(narrow_));
          },
          std::remove_const_t<T>::fields(wide_));
  }

  T& wide_;
  std::remove_const_t<T> narrow_;
};

/// The form of an argument that is passed as A. Buffers come back unless they are constant.
template <class A>
using ArgumentInFloats = InFloats<std::conditional_t<OfBuffers<std::remove_reference_t<A>>,
                                                     std::remove_reference_t<A>, std::remove_cvref_t<A>>>;

/// A result of the instantiation for float as that of the one for double.
inline SoftmaxState<double> in_doubles(SoftmaxState<float> state) { return {state.max, state.sum}; }
inline std::vector<SoftmaxState<double>> in_doubles(
    const std::vector<SoftmaxState<float>>& states) {  ///< see above
  std::vector<SoftmaxState<double>> wide;
  for (const SoftmaxState<float>& state : states) wide.push_back(in_doubles(state));
  return wide;
}

/// Runs `call`, which takes the arguments of the instantiation for float and returns its Answer. Returns the
/// Answer of type R, and writes what it has written into the originals.
template <class R, class Call, class... A>
Answer<R> with_floats(Call call, A&&... arguments) {
  std::tuple<ArgumentInFloats<A>...> floats(arguments...);
  return std::apply(
      [&](auto&... each) {
        auto answer = call(each.view()...);
        (each.end(), ...);
        if constexpr (std::is_void_v<R>)
          return answer;
        else
          return Answer<R>{in_doubles(answer.result), answer.changed};
      },
      floats);
}

}  // namespace ringcraft::judge
