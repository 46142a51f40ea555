#pragma once
/// @file
/// Arguments of constructors and methods, looked at one by one: nanobind would refuse those of a wrong type
/// with a TypeError that lists signatures.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcraft/core/error.hpp"

namespace ringcraft::python {

namespace nb = nanobind;

/// One argument. Its readers throw Error for an object of another kind.
struct Argument {
  nb::object given;     ///< null if it was left out
  std::string name;     ///< "heads"
  std::string_view of;  ///< what it is an argument of: "ringcraft.Problem"
  bool needed = false;  ///< None is refused as an object of another kind is

  /// Whether it was left out, or is None where it need not be given.
  bool missing() const { return !given.is_valid() || (given.is_none() && !needed); }

  /// A whole number (no bool, and no float) that fits into an Integer.
  template <class Integer>
  Integer whole() const {
    constexpr auto kMost = std::numeric_limits<Integer>::max();
    return static_cast<Integer>(
        whole(std::numeric_limits<Integer>::min(), std::in_range<std::int64_t>(kMost)
                                                       ? static_cast<std::int64_t>(kMost)
                                                       : std::numeric_limits<std::int64_t>::max()));
  }
  /// The same, or the usual one where it is missing.
  template <class Integer>
  Integer whole_or(Integer usual) const {
    return missing() ? usual : whole<Integer>();
  }
  double number() const;     ///< a number, no bool
  bool truth() const;        ///< True or False
  std::string text() const;  ///< a str
  std::string text_or(const char* usual) const { return missing() ? usual : text(); }
  std::vector<std::int64_t> list() const;  ///< whole numbers, one after the other

  /// An object of a bound class; `kind` is its name with an article: "a ringcraft.Mask".
  template <class T>
  const T& object(std::string_view kind) const {
    if (!nb::isinstance<T>(given)) refuse(kind);
    return nb::cast<const T&>(given);
  }

  /// A list of tuples, say. `kind` is what was expected.
  template <class T>
  T converted(std::string_view kind) const {
    T value;
    if (!nb::try_cast(given, value)) refuse(kind);
    return value;
  }

  /// Throws Error: this was expected.
  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  std::int64_t whole(std::int64_t least, std::int64_t most) const;
};

/// The one argument of a method.
inline Argument argument(nb::handle given, std::string name, std::string_view of) {
  return {nb::borrow(given), std::move(name), of, true};
}

/// The arguments of a call, by name. Throws Error for one that is unknown, given twice, or missing.
class Arguments {
 public:
  /// `names`: those that may be given in this order, the first `needed` of which must be; `keywords`: those
  /// that are given by name only.
  Arguments(std::string_view of, const std::vector<std::string>& names, std::size_t needed,
            const std::vector<std::string>& keywords, const nb::args& args, const nb::kwargs& kwargs);

  /// The argument of this name, which is one of those of the call.
  const Argument& operator[](std::string_view name) const;

  /// The same of one that must be given. Throws Error where it is missing.
  const Argument& given(std::string_view name) const;

 private:
  std::vector<Argument> arguments_;
};

}  // namespace ringcraft::python
