// Reads and writes numbers and buffers as bytes: the part of wire.hpp that is not a template.
#include "judge/wire/wire.hpp"

#include <limits>

namespace ringcraft::judge {
namespace {

[[noreturn]] void malformed(const std::string& what) { throw Error(what, Code::kWrongAnswer); }

}  // namespace

Arena::~Arena() {
  for (std::byte* const piece : pieces_) memory_->release(piece);
}

void Writer::raw(const void* data, std::size_t size) {
  if (size == 0) return;
  const auto* first = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
}

std::span<const std::byte> Reader::raw(std::uint64_t size) {
  if (size > bytes_.size())
    malformed("a value of " + std::to_string(size) + " bytes where " + std::to_string(bytes_.size()) +
              " are left");
  const auto result = bytes_.first(static_cast<std::size_t>(size));
  bytes_ = bytes_.subspan(result.size());
  return result;
}

std::size_t Reader::count(std::size_t size) {
  const auto count = number<std::uint64_t>();
  if (count > left() / size)
    malformed(std::to_string(count) + " elements where " + std::to_string(left()) + " bytes are left");
  return static_cast<std::size_t>(count);
}

void Reader::end() const {
  if (left() > 0) malformed(std::to_string(left()) + " bytes too many");
}

void put(Writer& to, const std::string& text) {
  to.number(std::uint64_t{text.size()});
  to.raw(text.data(), text.size());
}

std::string get_string(Reader& from) {
  const auto bytes = from.raw(from.count(1));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put(Writer& to, const Buffer& buffer) {
  const Extents& e = buffer.extents();
  for (const Index extent : {e.batch, e.heads, e.rows, e.width}) to.number(extent);
  to.number(buffer.dtype());
  to.raw(buffer.bytes().data(), buffer.bytes().size());
}

Buffer get_buffer(Reader& from, const Memory& memory) {
  Extents e;
  for (Index* extent : {&e.batch, &e.heads, &e.rows, &e.width}) *extent = from.number<Index>();
  const auto type = from.number<DType>();
  if (size_of(type) == 0) malformed("a tensor of no known number type");
  Index elements = 1;
  const bool empty = e.batch == 0 || e.heads == 0 || e.rows == 0 || e.width == 0;
  for (const Index extent : {e.batch, e.heads, e.rows, e.width}) {
    if (extent < 0) malformed("a tensor with a negative extent");
    if (!empty && extent > static_cast<Index>(from.left()) / elements)
      malformed("a tensor larger than its message");
    elements = empty ? 0 : elements * extent;
  }
  const auto bytes = from.raw(static_cast<std::uint64_t>(elements) * size_of(type));
  Buffer result(e, type, memory);
  if (!bytes.empty()) std::memcpy(result.bytes().data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace ringcraft::judge
