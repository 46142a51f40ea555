// Turns readings into sentences for the report: tensors that were read alike share one sentence, which names
// the other possible order and the Python for it.
#include "verify/claims/forms/reading.hpp"

#include "ringcraft/core/shown.hpp"

namespace ringcraft::verify {
namespace {

bool doubted(const Reading& r, Doubt doubt) {
  return !r.other.empty() && (!r.likely || doubt == Doubt::kAll);
}

std::string words_of(const Reading& r, const std::string& tensors, bool several, Doubt doubt) {
  std::string text = tensors + (several ? " were read as " : " was read as ") + r.order;
  if (r.padding > 0)
    text += ", without " + counted(r.padding, "row") + " of padding (" + std::to_string(r.rows) + " in all)";
  if (doubted(r, doubt))
    text += "; " + r.other + " has the same shape: if it is that, write " + r.other_python;
  return text;
}

bool alike(const Reading& a, const Reading& b) {
  return a.order == b.order && a.padding == b.padding && a.rows == b.rows && a.other == b.other;
}

}  // namespace

std::string shape_text(const std::vector<Index>& shape) { return "[" + listed(shape) + "]"; }

std::vector<std::string> sentences_of(const std::vector<Reading>& readings, Doubt doubt) {
  std::vector<std::string> lines;
  std::vector<bool> said(readings.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading& first = readings[i];
    if (said[i] || (first.documented && !doubted(first, doubt) && first.padding == 0)) continue;
    std::string tensors = first.tensor;
    bool several = false;
    for (std::size_t j = i + 1; j < readings.size(); ++j)
      if (!said[j] && alike(first, readings[j])) {
        tensors += ", " + readings[j].tensor;
        several = said[j] = true;
      }
    lines.push_back(words_of(first, tensors, several, doubt));
  }
  return lines;
}

}  // namespace ringcraft::verify
