// Arrays of Python as tensors of the library and back (see tensors.hpp).
#include "tensors.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::python {
namespace {

constexpr std::string_view kAxes = "bhsd";

// The array, kept by buffers that borrow its memory; the last of them may go where no thread holds the lock
// of the interpreter.
std::shared_ptr<const void> keep(nb::ndarray<nb::ro> array) {
  return {new nb::ndarray<nb::ro>(std::move(array)), [](const nb::ndarray<nb::ro>* kept) {
            const nb::gil_scoped_acquire lock;
            delete kept;
          }};
}

std::string kind_of(nb::handle object) { return nb::type_name(object.type()).c_str(); }

std::string described(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const std::string bits = std::to_string(type.bits);
  switch (static_cast<Code>(type.code)) {
    case Code::Int:
      return "int" + bits;
    case Code::UInt:
      return "uint" + bits;
    case Code::Float:
      return "float" + bits;
    case Code::Bfloat:
      return "bfloat" + bits;
    case Code::Complex:
      return "complex" + bits;
    case Code::Bool:
      return "bool";
    default:
      return "another type of " + bits + " bits";
  }
}

DType dtype_of_array(const nb::ndarray<nb::ro>& array, std::string_view name) {
  using Code = nb::dlpack::dtype_code;
  const nb::dlpack::dtype type = array.dtype();
  if (type.lanes == 1 && static_cast<Code>(type.code) == Code::Float) {
    if (type.bits == 64) return DType::kFloat64;
    if (type.bits == 32) return DType::kFloat32;
    if (type.bits == 16) return DType::kFloat16;
  }
  if (type.lanes == 1 && static_cast<Code>(type.code) == Code::Bfloat && type.bits == 16)
    return DType::kBFloat16;
  throw Error(std::string(name), "float64, float32, bfloat16 or float16", described(type),
              "convert the array first");
}

std::string shape_of(const nb::ndarray<nb::ro>& array) {
  std::string text;
  for (std::size_t i = 0; i < array.ndim(); ++i)
    text += (i == 0 ? "[" : ", ") + std::to_string(array.shape(i));
  return text.empty() ? "[]" : text + "]";
}

std::string named_axes(std::string_view axes) {
  std::string text;
  for (const char axis : axes)
    text += std::string(text.empty() ? "[" : ", ") + (axis == 'b'   ? "batch"
                                                      : axis == 'h' ? "heads"
                                                      : axis == 's' ? "seqlen"
                                                                    : "head_dim");
  return text + "]";
}

nb::ndarray<nb::ro> array_of(nb::handle object, std::string_view name) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array)) {
    if (PyCapsule_CheckExact(object.ptr()))
      throw Error(std::string(name), "a DLPack capsule that nothing has taken yet", "another one",
                  "hand over the array itself, or export it again");
    if (nb::isinstance<nb::str>(object) || !nb::hasattr(object, "dtype"))
      throw Error(std::string(name), "an array (NumPy, PyTorch, JAX, or anything else that speaks DLPack)",
                  kind_of(object), "make it one, with numpy.asarray(...)");
    const nb::object written = nb::steal(PyObject_Str(nb::object(object.attr("dtype")).ptr()));
    PyErr_Clear();
    const std::string type = written.is_valid() ? nb::cast<std::string>(written) : "unknown type";
    throw Error(std::string(name), "plain numbers in the memory of the CPU",
                kind_of(object) + " of " + shown(type),
                "convert the array first: .astype(\"float32\") in NumPy, .detach().cpu() in PyTorch");
  }
  if (array.device_type() != nb::device::cpu::value)
    throw Error(std::string(name), "an array in the memory of the CPU", "one on another device",
                "copy it there first: .cpu() in PyTorch, .get() in CuPy");
  if (array.data() == nullptr && array.size() > 0)
    throw Error(std::string(name), "an array with numbers", kind_of(object) + " that has none",
                "call this outside of what traces or compiles it");
  return array;
}

// The array's elements, in the order of the tensor.
template <class T>
void copy_elements(const nb::ndarray<nb::ro>& array, const Extents& e,
                   const std::array<std::int64_t, 4>& stride, Buffer& into) {
  const T* from = static_cast<const T*>(array.data());
  T* to = reinterpret_cast<T*>(into.bytes().data());
  for (Index b = 0; b < e.batch; ++b)
    for (Index h = 0; h < e.heads; ++h)
      for (Index s = 0; s < e.rows; ++s) {
        const T* row = from + b * stride[0] + h * stride[1] + s * stride[2];
        for (Index d = 0; d < e.width; ++d) *to++ = row[d * stride[3]];
      }
}

}  // namespace

void require_axes(std::string_view axes) {
  bool good = axes.find('s') != std::string_view::npos && axes.find('d') != std::string_view::npos;
  for (const char axis : axes)
    good = good && kAxes.find(axis) != std::string_view::npos && std::ranges::count(axes, axis) == 1;
  if (!good)
    throw Error("axes", "letters of bhsd, each at most once, s and d among them",
                axes.empty() ? "none" : shown(std::string(axes)),
                "bhsd is [batch, heads, seqlen, head_dim], bshd and shd are those of FlashAttention");
}

std::string row_axes(std::string_view axes) {
  std::string rows(axes);
  std::erase(rows, 'd');
  return rows;
}

Taken taken(nb::handle object, std::string_view name, std::string_view axes) {
  nb::ndarray<nb::ro> array = array_of(object, name);
  const DType type = dtype_of_array(array, name);
  if (array.ndim() != axes.size())
    throw Error(std::string(name), std::to_string(axes.size()) + " dimensions, " + named_axes(axes),
                shape_of(array), "say axes=\"bshd\", for example, if they come in another order");
  Extents e{1, 1, 1, 1};
  std::array<std::int64_t, 4> stride{0, 0, 0, 0};
  const std::array<Index*, 4> extents{&e.batch, &e.heads, &e.rows, &e.width};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = kAxes.find(axes[i]);
    *extents[axis] = static_cast<Index>(array.shape(i));
    stride[axis] = array.stride(i);
  }
  bool contiguous = true;
  std::int64_t step = 1;
  for (std::size_t axis = 4; axis-- > 0;) {
    contiguous = contiguous && (*extents[axis] == 1 || stride[axis] == step);
    step *= *extents[axis];
  }
  const auto* bytes = static_cast<const std::byte*>(array.data());
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes) % size_of(type) == 0;
  if (contiguous && aligned && !is_half(type))
    return {Buffer::borrowed(e, type, bytes, keep(std::move(array))), type};
  Buffer copy(e, type);
  if (!copy.empty()) switch (size_of(type)) {
      case 8:
        copy_elements<std::uint64_t>(array, e, stride, copy);
        break;
      case 4:
        copy_elements<std::uint32_t>(array, e, stride, copy);
        break;
      default:
        copy_elements<std::uint16_t>(array, e, stride, copy);
    }
  return {is_half(type) ? converted(copy, DType::kFloat32) : std::move(copy), type};
}

nb::object given(Buffer tensor, std::string_view axes) {
  const Extents e = tensor.extents();
  const std::array<Index, 4> extents{e.batch, e.heads, e.rows, e.width},
      strides{e.heads * e.rows * e.width, e.rows * e.width, e.width, 1};
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> steps;
  for (const char axis : axes) {
    shape.push_back(static_cast<std::size_t>(extents[kAxes.find(axis)]));
    steps.push_back(strides[kAxes.find(axis)]);
  }
  const bool wide = tensor.dtype() == DType::kFloat64;
  auto* owned = new Buffer(std::move(tensor));
  const nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<Buffer*>(memory); });
  static std::byte nothing[8];  // an empty array has an address, too
  void* data = owned->empty() ? nothing : owned->bytes().data();
  return nb::cast(
      nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, steps.data(),
                             wide ? nb::dtype<double>() : nb::dtype<float>(), nb::device::cpu::value),
      nb::rv_policy::reference);
}

}  // namespace ringcraft::python
