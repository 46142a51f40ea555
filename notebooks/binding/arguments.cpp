// Arguments of constructors and methods, looked at one by one (see arguments.hpp).
#include "arguments.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "ringcraft/core/shown.hpp"

namespace ringcraft::python {
namespace {

// The object as Python writes it; its type, if it has no such form.
std::string written(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Repr(object.ptr()));
  if (text.is_valid()) return shown(nb::cast<std::string>(text));
  PyErr_Clear();
  return nb::type_name(object.type()).c_str();
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The whole number that the object stands for, as an int of Python; null if it is none.
nb::object index_of(nb::handle object) {
  if (PyBool_Check(object.ptr()) || !PyIndex_Check(object.ptr())) return {};
  nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) PyErr_Clear();
  return index;
}

}  // namespace

void Argument::refuse(std::string_view expected) const {
  throw Error(name, std::string(expected), written(given), "see help(" + std::string(of) + ")");
}

std::int64_t Argument::whole(std::int64_t least, std::int64_t most) const {
  const nb::object index = index_of(given);
  if (!index.is_valid()) refuse("a whole number");
  const std::int64_t value = PyLong_AsLongLong(index.ptr());
  const bool large = value == -1 && PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (large || value < least || value > most)
    refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double Argument::number() const {
  const PyNumberMethods* methods = Py_TYPE(given.ptr())->tp_as_number;
  const bool real = methods != nullptr && (methods->nb_float != nullptr || methods->nb_index != nullptr);
  const nb::object value =
      real && !PyBool_Check(given.ptr()) ? nb::steal(PyNumber_Float(given.ptr())) : nb::object();
  PyErr_Clear();
  if (!value.is_valid()) refuse("a number");
  return PyFloat_AsDouble(value.ptr());
}

bool Argument::truth() const {
  bool value = false;
  if (!nb::try_cast(given, value)) refuse("True or False");
  return value;
}

std::string Argument::text() const {
  if (!PyUnicode_Check(given.ptr())) refuse("a name");
  return converted<std::string>("a name");
}

std::vector<std::int64_t> Argument::list() const {
  constexpr auto kKind = "a list of whole numbers";
  if (PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr())) refuse(kKind);
  const nb::object elements = nb::steal(PySequence_List(given.ptr()));
  PyErr_Clear();
  if (!elements.is_valid()) refuse(kKind);
  std::vector<std::int64_t> values;
  for (const nb::handle element : elements) {
    if (!index_of(element).is_valid()) refuse(kKind);
    values.push_back(Argument{nb::borrow(element), name, of, true}.whole<std::int64_t>());
  }
  return values;
}

Arguments::Arguments(std::string_view of, const std::vector<std::string>& names, std::size_t needed,
                     const std::vector<std::string>& keywords, const nb::args& args,
                     const nb::kwargs& kwargs) {
  const auto refuse = [&](const std::string& expected, const std::string& got, const std::string& advice) {
    throw Error(std::string(of), expected, got, advice);
  };
  if (args.size() > names.size())
    refuse("at most " + counted(names.size(), "argument") + " without a name (" + joined(names) + ")",
           std::to_string(args.size()), "give the others by name");
  for (std::size_t i = 0; i < names.size(); ++i)
    arguments_.push_back({i < args.size() ? nb::object(args[i]) : nb::object(), names[i], of, i < needed});
  for (const std::string& name : keywords) arguments_.push_back({{}, name, of, false});
  for (const auto& [key, value] : kwargs) {
    const auto name = nb::cast<std::string>(key);
    const auto at = std::ranges::find(arguments_, name, &Argument::name);
    if (at == arguments_.end())
      refuse(
          "the names " + joined(names) + (keywords.empty() || names.empty() ? "" : ", ") + joined(keywords),
          shown(name), "rename it, or leave it out");
    if (at->given.is_valid()) refuse(name + " once", "it twice", "leave one out");
    at->given = nb::borrow(value);
  }
  for (const std::string& name : names)
    if ((*this)[name].needed) given(name);
}

const Argument& Arguments::given(std::string_view name) const {
  const Argument& argument = (*this)[name];
  if (!argument.given.is_valid())
    throw Error(argument.name, "a value", "none", "see help(" + std::string(argument.of) + ")");
  return argument;
}

const Argument& Arguments::operator[](std::string_view name) const {
  return *std::ranges::find(arguments_, name, &Argument::name);
}

}  // namespace ringcraft::python
