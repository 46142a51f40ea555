// Reads a claim from its files: finds which tensors all files have, picks the likeliest form of each, and
// gathers the rows into whole tensors.
#include "verify/claims/forms/claim_forms.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/claims/forms/tensor_names.hpp"

namespace ringcraft::verify {
namespace {

using Headers = std::vector<std::map<std::string, TensorInfo>>;  // of each file

Headers headers_of(const ClaimFiles& files) {
  Headers headers;
  for (const auto& path : files.paths) headers.push_back(TensorFile(path).tensors());
  return headers;
}

std::string listed_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return names.empty() ? "none of them" : text;
}

std::vector<std::string> names_in(const std::map<std::string, TensorInfo>& header) {
  std::vector<std::string> names;
  for (const std::string_view name : kAnswerNames)
    if (header.contains(std::string(name))) names.emplace_back(name);
  return names;
}

// The tensors that the files have, the same in all of them.
std::vector<std::string> common_names(const ClaimFiles& files, const Headers& headers) {
  for (std::size_t i = 0; i < headers.size(); ++i)
    for (const std::string_view name : kAnswerNames)
      refuse_other_name(place_of_file(files, i), headers[i], std::string(name));
  const std::vector<std::string> names = names_in(headers[0]);
  for (std::size_t i = 1; i < headers.size(); ++i)
    if (const auto others = names_in(headers[i]); others != names)
      throw Error(place_of_file(files, i), listed_names(names) + ", as rank 0 has", listed_names(others),
                  "dump the same tensors on every rank");
  if (names.empty())
    throw Error(
        place_of_file(files, 0), "at least one of out, lse, dq, dk, dv",
        headers[0].empty() ? "a file without tensors" : "\"" + shown(headers[0].begin()->first) + "\"",
        "save them under these names: save_file({\"out\": out}, \"G.safetensors\")");
  return names;
}

StoredTensor stored_tensor(const std::string& name, const Headers& headers, const ClaimShape& about) {
  const bool kv = name == "dk" || name == "dv";
  const Shape& s = about.shape;
  StoredTensor tensor{name, {}, {s.batch, kv ? s.kv_heads : s.heads, s.seqlen, about.widths.of(name)}};
  for (const auto& header : headers) tensor.shapes.push_back(header.at(name).shape);
  return tensor;
}

void require_one_type(const std::string& name, const ClaimFiles& files, const Headers& headers) {
  for (std::size_t i = 1; i < headers.size(); ++i)
    if (headers[i].at(name).dtype != headers[0].at(name).dtype)
      throw Error(place_of_file(files, i) + ": " + name, shown(headers[0].at(name).dtype) + ", as rank 0 has",
                  shown(headers[i].at(name).dtype), "write one number type on every rank");
}

// The whole tensor, padded with zeros to the width of the problem.
Buffer gathered(const StoredTensor& tensor, const Form& form, const ClaimFiles& files,
                const ClaimShape& about) {
  Buffer whole;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    TensorFile file(files.paths[i]);
    if (file.tensors().at(tensor.name).shape != tensor.shapes[i])
      throw Error(place_of_file(files, i) + ": " + tensor.name, shape_text(tensor.shapes[i]), "another shape",
                  "the file changed while it was read: ask again");
    const Buffer elements = file.read_elements(tensor.name);
    if (i == 0) {
      Extents e = tensor.want;
      if (tensor.name != "lse") e.width = about.widths.padded();
      whole = zeros(e, elements.dtype());
    }
    place_rows(whole, elements, form.stored[i], tensor.want.width, form.places[i]);
  }
  return whole;
}

Reading reading_of(const StoredTensor& tensor, const std::vector<Form>& forms) {
  const Form& form = forms[0];
  Reading reading{.tensor = tensor.name,
                  .shape = tensor.shapes[0],
                  .order = axes_text(form.order.code, tensor.want.batch),
                  .documented = form.order.python.empty(),
                  .rows = tensor.want.rows + form.padding,
                  .padding = form.padding};
  if (forms.size() > 1) {
    reading.other = axes_text(forms[1].order.code, tensor.want.batch);
    const AxisOrder& turned = forms[1].order.python.empty() ? form.order : forms[1].order;  // bshd and bhsd
    reading.other_python = python_line(turned, tensor.name, tensor.want.batch, tensor.want.heads);
  }
  return reading;
}

std::vector<Index> rows_of_files(const Form& form) {
  std::vector<Index> counts;
  for (const auto& rows : form.places) counts.push_back(static_cast<Index>(rows.size()));
  return counts;
}

// Whether the first form is the one to take: the only one, or that of the documented order or of the inputs,
// if the others have their axes in other orders.
bool clear(const std::vector<Form>& forms, const ClaimShape& about) {
  const std::string_view first = forms[0].order.code;
  const bool meant = forms.size() == 1 || forms[0].order.python.empty() || first == about.order;
  return meant && std::ranges::count(forms, first, [](const Form& form) { return form.order.code; }) == 1;
}

}  // namespace

std::optional<Index> heads_of_lse(const ClaimFiles& files) {
  const TensorFile file(files.paths[0]);
  const auto lse = file.tensors().find("lse");
  if (lse == file.tensors().end() || lse->second.shape.size() != 3) return {};
  return lse->second.shape[1];
}

ReadClaim read_claim(const ClaimFiles& files, const RowOrder& order, const ClaimShape& about) {
  const Headers headers = headers_of(files);
  std::vector<std::string> names = common_names(files, headers);
  std::ranges::stable_partition(names, [](const std::string& name) { return name != "lse"; });
  ReadClaim claim;
  std::optional<std::vector<Index>> counts;  // of the tensors before lse, which may have more rows
  for (const std::string& name : names) {
    if (name.starts_with("d") && !about.gradients) {
      claim.unjudged.push_back(name);
      continue;
    }
    require_one_type(name, files, headers);
    const StoredTensor tensor = stored_tensor(name, headers, about);
    const std::vector<Form> forms = forms_of(tensor, order, about, counts);
    const std::string place = files.per_rank ? "--claim" : place_of_file(files, 0);
    if (forms.empty()) refuse_form(tensor, place, order, about);
    if (!clear(forms, about)) refuse_forms(tensor, place, forms[0], forms[1]);
    counts = rows_of_files(forms[0]);
    for (const auto& [known, buffer] : named(claim.answer))
      if (known == name) buffer = gathered(tensor, forms[0], files, about);
    claim.readings.push_back(reading_of(tensor, forms));
  }
  if (claim.readings.empty())
    throw Error("--input", "dout beside q, k, v: the claim has gradients alone", "none",
                "save dout, too, by which they are judged");
  return claim;
}

}  // namespace ringcraft::verify
