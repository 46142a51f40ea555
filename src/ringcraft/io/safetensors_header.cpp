// The header of a safetensors file, text to struct and back (see safetensors_header.hpp). The text is hostile
// until it is checked. It is read event by event, without a tree: the tree would silently keep the last of
// two equal names and could be many times larger than the text.
#include "ringcraft/io/safetensors_header.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::safetensors {
namespace {

using Json = nlohmann::json;

constexpr const char* kAdvice = "the file is damaged or no safetensors file, write it again";
constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kMaxDims = 64;  // as in NumPy

// Consumes the parser's events, and throws at the first one that is not allowed in a header. The depth gives
// the context: 1 between tensors, 2 inside of one (or of the metadata), 3 inside of a list of numbers.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  Header header;

  bool start_object(std::size_t) override {
    if (depth_ > 1) refuse("an object");
    ++depth_;
    return true;
  }

  bool key(string_t& key) override {
    if (depth_ == 1) {
      begin_entry(key);
    } else {
      field_ = key;
      if (std::find(fields_.begin(), fields_.end(), key) != fields_.end())
        refuse("the same key a second time");
      if (!in_metadata()) begin_field();
    }
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata()) {
      if (!header.metadata.emplace(field_, value).second) refuse("the same key a second time");
    } else if (depth_ == 2 && field_ == "dtype") {
      tensor_->dtype = value;
    } else {
      refuse("a string");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata() || field_ == "dtype") refuse("a list");
    ++depth_;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3 || value > static_cast<number_unsigned_t>(std::numeric_limits<Index>::max()))
      refuse(std::to_string(value));
    std::vector<Index>& numbers = field_ == "shape" ? tensor_->shape : offsets_;
    if (numbers.size() == (field_ == "shape" ? kMaxDims : 2)) refuse("a longer list");
    numbers.push_back(static_cast<Index>(value));
    return true;
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata()) end_tensor();
    --depth_;
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { refuse(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(text.substr(0, 40)); }
  bool binary(binary_t&) override { refuse("bytes"); }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    throw Error(file_, "a header in JSON",
                "a syntax error at byte " + std::to_string(position) + " of the header", kAdvice);
  }

 private:
  bool in_metadata() const { return name_ == kMetadata; }

  void begin_entry(const std::string& name) {
    name_ = name;
    fields_.clear();
    offsets_.clear();
    const bool is_new = in_metadata() ? !std::exchange(has_metadata_, true) : header.tensors.count(name) == 0;
    if (!is_new) throw Error(place(file_, name), "each name once", "the same name a second time", kAdvice);
    if (!in_metadata()) tensor_ = &header.tensors[name];
  }

  void begin_field() {
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets")
      throw Error(place(file_, name_), "only the keys dtype, shape and data_offsets", name_in_quotes(field_),
                  kAdvice);
    fields_.push_back(field_);
  }

  void end_tensor() {
    const std::string where = place(file_, name_);
    if (fields_.size() != 3) throw Error(where, "dtype, shape and data_offsets", "less", kAdvice);
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1])
      throw Error(where, "data_offsets [begin, end] with begin <= end", described(offsets_), kAdvice);
    tensor_->begin = offsets_[0];
    tensor_->end = offsets_[1];
  }

  [[noreturn]] void refuse(const std::string& actual) const {
    const std::string where = place(file_, name_);
    if (depth_ == 1) throw Error(where, "an object", actual, kAdvice);
    if (in_metadata()) throw Error(where, "an object of strings, each key once", actual, kAdvice);
    throw Error(where,
                field_ == "dtype"   ? "one string as dtype"
                : field_ == "shape" ? "one shape of at most 64 integers from 0 on"
                                    : "one pair of data_offsets, integers from 0 on",
                actual, kAdvice);
  }

  const std::string& file_;
  int depth_ = 0;
  bool has_metadata_ = false;
  std::string name_, field_;         // the keys that lead here
  std::vector<std::string> fields_;  // the keys of this tensor so far
  std::vector<Index> offsets_;
  TensorInfo* tensor_ = nullptr;
};

// The shape must fill the byte range, where the size of an element is known; foreign types are never read.
void check_size(const std::string& where, const TensorInfo& tensor) {
  const auto* type =
      std::find_if(kDTypes.begin(), kDTypes.end(), [&](auto& t) { return t.first == tensor.dtype; });
  if (type == kDTypes.end()) return;
  Index bytes = static_cast<Index>(size_of(type->second));
  bool empty = false;
  for (const Index extent : tensor.shape) {
    if (extent > 0 && bytes > std::numeric_limits<Index>::max() / extent)
      throw Error(where, "a shape that fits into memory", described(tensor.shape), kAdvice);
    empty = empty || extent == 0;
    bytes *= extent > 0 ? extent : 1;
  }
  if (empty) bytes = 0;
  if (bytes != tensor.end - tensor.begin)
    throw Error(where, std::to_string(bytes) + " bytes for " + tensor.dtype + " " + described(tensor.shape),
                "data_offsets of " + std::to_string(tensor.end - tensor.begin) + " bytes", kAdvice);
}

// In the order of their bytes, each tensor must start where the one before ends, and the last end with the
// file.
void check_cover(const Header& header, Index data_bytes, const std::string& file) {
  std::vector<const std::pair<const std::string, TensorInfo>*> order;
  for (const auto& entry : header.tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  Index covered = 0;
  for (const auto* entry : order) {
    if (entry->second.begin != covered)
      throw Error(place(file, entry->first),
                  "data from byte " + std::to_string(covered) + " on, where the one before ends",
                  std::string(entry->second.begin < covered ? "an overlap" : "a gap") + ", data from byte " +
                      std::to_string(entry->second.begin) + " on",
                  kAdvice);
    covered = entry->second.end;
  }
  if (covered != data_bytes)
    throw Error(file, std::to_string(covered) + " bytes of data, as its header says",
                std::to_string(data_bytes) + " bytes",
                "the file was cut off or has grown, copy or write it again");
}

}  // namespace

std::string name_in_quotes(std::string_view name) { return '"' + shown(name) + '"'; }

std::string place(const std::string& file, std::string_view name) {
  return file + ": tensor " + name_in_quotes(name);
}

std::string described(const std::vector<Index>& shape) {
  std::string text;
  for (const Index extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

Header parse_header(std::string_view text, Index data_bytes, const std::string& file) {
  if (text.empty() || text.front() != '{')
    throw Error(file, "a header that starts with {", text.empty() ? "an empty header" : "something else",
                kAdvice);
  if (text.find('\0') != std::string_view::npos)  // the JSON library would take it for the end
    throw Error(file, "a header in JSON", "a header with a zero byte", kAdvice);
  HeaderReader reader(file);
  Json::sax_parse(text.begin(), text.end(), &reader);
  for (const auto& [name, tensor] : reader.header.tensors) check_size(place(file, name), tensor);
  check_cover(reader.header, data_bytes, file);
  return std::move(reader.header);
}

std::string header_text(const Header& header, const std::string& file) {
  Json json = Json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const auto& [name, tensor] : header.tensors)
    json[name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::exception&) {
    throw Error(file, "names and metadata in UTF-8", "other bytes", "rename the tensor or change the text");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (static_cast<Index>(text.size()) > kMaxHeaderBytes)
    throw Error(file, "a header of at most " + std::to_string(kMaxHeaderBytes) + " bytes",
                std::to_string(text.size()) + " bytes", "write fewer tensors or less metadata");
  return text;
}

}  // namespace ringcraft::safetensors
