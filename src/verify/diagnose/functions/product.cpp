// Explains a wrong product of a panel and a matrix. An element of c consists of a start and of terms k = 0,
// 1, ..., each with a number of the panel and one of b, and is then written: the mistakes at each of these
// places are tried, at one place or two at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/agree.hpp"

namespace ringcraft::verify {
namespace {

using ProductCall = ProductExhibit::Call;

// Number w of row n of c, at step k.
struct ProductTerm {
  const ProductCall* call;
  Index n, w, k;
};

// One place with a possible mistake; the right one first.
struct ProductWord {
  const char* words;  // nullptr: right
  Index (*of)(const ProductTerm&);
};

// How often the previous contents of c count.
constexpr ProductWord kProductStarts[] = {
    {nullptr, [](const ProductTerm& t) { return Index{t.call->keeps}; }},
    {"the old numbers of c are lost, also where they must be kept",
     [](const ProductTerm&) { return Index{0}; }},
    {"the old numbers of c count twice where they must be kept",
     [](const ProductTerm& t) { return t.call->keeps ? Index{2} : Index{0}; }},
    {"every sum begins with what c holds, also where it must begin with zero",
     [](const ProductTerm&) { return Index{1}; }},
    {"keeping and beginning with zero are exchanged",
     [](const ProductTerm& t) { return Index{!t.call->keeps}; }}};

// Whether k is in the last, or in the first, of the pieces of so many steps.
template <Index kSteps>
Index in_last_piece(const ProductTerm& t) {
  return Index{t.k / kSteps == (t.call->depth - 1) / kSteps};
}
template <Index kSteps>
Index in_first_piece(const ProductTerm& t) {
  return Index{t.k < kSteps};
}

// How often term k counts.
constexpr ProductWord kProductTerms[] = {
    {nullptr, [](const ProductTerm&) { return Index{1}; }},
    {"the last step is left out", [](const ProductTerm& t) { return Index{t.k + 1 < t.call->depth}; }},
    {"the last step is left out, unless it is the only one",
     [](const ProductTerm& t) { return Index{t.k + 1 < t.call->depth || t.call->depth == 1}; }},
    {"the first step is left out", [](const ProductTerm& t) { return Index{t.k > 0}; }},
    {"of an odd depth the last step is left out",
     [](const ProductTerm& t) { return Index{t.call->depth % 2 == 0 || t.k + 1 < t.call->depth}; }},
    {"steps after the last whole group of four are left out",
     [](const ProductTerm& t) { return Index{t.k < t.call->depth / 4 * 4}; }},
    {"only every second step counts", [](const ProductTerm& t) { return Index{t.k % 2 == 0}; }},
    {"only the first step counts", [](const ProductTerm& t) { return Index{t.k == 0}; }},
    {"only the last step counts: each stores its products over those before",
     [](const ProductTerm& t) { return Index{t.k + 1 == t.call->depth}; }},
    {"the first step counts twice", [](const ProductTerm& t) { return t.k == 0 ? Index{2} : Index{1}; }},
    {"the last step counts twice",
     [](const ProductTerm& t) { return t.k + 1 == t.call->depth ? Index{2} : Index{1}; }},
    {"all products count twice", [](const ProductTerm&) { return Index{2}; }},
    {"no product is added", [](const ProductTerm&) { return Index{0}; }},
    {"the products are subtracted", [](const ProductTerm&) { return Index{-1}; }},
    {"each piece of 8 steps begins its sums anew: only the last piece of the depth counts", in_last_piece<8>},
    {"each piece of 16 steps begins its sums anew: only the last piece of the depth counts",
     in_last_piece<16>},
    {"each piece of 32 steps begins its sums anew: only the last piece of the depth counts",
     in_last_piece<32>},
    {"each piece of 64 steps begins its sums anew: only the last piece of the depth counts",
     in_last_piece<64>},
    {"each piece of 128 steps begins its sums anew: only the last piece of the depth counts",
     in_last_piece<128>},
    {"each piece of 256 steps begins its sums anew: only the last piece of the depth counts",
     in_last_piece<256>},
    {"steps after the first 8 are left out", in_first_piece<8>},
    {"steps after the first 16 are left out", in_first_piece<16>},
    {"steps after the first 32 are left out", in_first_piece<32>},
    {"steps after the first 64 are left out", in_first_piece<64>},
    {"steps after the first 128 are left out", in_first_piece<128>},
    {"steps after the first 256 are left out", in_first_piece<256>}};

Index first_of_tile(const ProductTerm& t) { return t.w / t.call->tile_width * t.call->tile_width; }

// The number of the panel that is read, counted from its first one.
constexpr ProductWord kProductPanels[] = {
    {nullptr, [](const ProductTerm& t) { return t.k * t.call->width + t.w; }},
    {"every step reads the first row of the panel", [](const ProductTerm& t) { return t.w; }},
    {"each step multiplies the next row of the panel, the last one its own",
     [](const ProductTerm& t) { return std::min(t.k + 1, t.call->depth - 1) * t.call->width + t.w; }},
    {"each step multiplies the row of the panel before, the first one its own",
     [](const ProductTerm& t) { return std::max(t.k - 1, Index{0}) * t.call->width + t.w; }},
    {"the rows of the panel are taken from the last to the first",
     [](const ProductTerm& t) { return (t.call->depth - 1 - t.k) * t.call->width + t.w; }},
    {"every second step reads the row of the panel of the step before",
     [](const ProductTerm& t) { return t.k / 2 * 2 * t.call->width + t.w; }},
    {"the panel is moved on by the width of the tile instead of by its own",
     [](const ProductTerm& t) {
       return t.k * std::min(t.call->tile_width, t.call->width - first_of_tile(t)) + t.w;
     }},
    {"the panel is moved on by one register instead of by its width",
     [](const ProductTerm& t) { return t.k * t.call->lanes + t.w; }},
    {"the panel is moved on by one number instead of by its width",
     [](const ProductTerm& t) { return t.k + t.w; }},
    {"the panel is moved on by the number of columns of b instead of by its width",
     [](const ProductTerm& t) { return t.k * t.call->rows + t.w; }},
    {"every tile reads the numbers of the first tile of the panel",
     [](const ProductTerm& t) { return t.k * t.call->width + t.w % t.call->tile_width; }},
    {"every register of a tile reads the first register of the panel there",
     [](const ProductTerm& t) { return t.k * t.call->width + first_of_tile(t) + t.w % t.call->lanes; }},
    {"every tile after the first one reads the panel one register too early",
     [](const ProductTerm& t) {
       return t.k * t.call->width + t.w - (first_of_tile(t) > 0 ? t.call->lanes : 0);
     }},
    {"the panel is read transposed", [](const ProductTerm& t) { return t.w * t.call->depth + t.k; }}};

// The number of b that is read, counted from its first one.
constexpr ProductWord kProductOthers[] = {
    {nullptr, [](const ProductTerm& t) { return t.k * t.call->rows + t.n; }},
    {"each step multiplies with the next row of b, the last one with its own",
     [](const ProductTerm& t) { return std::min(t.k + 1, t.call->depth - 1) * t.call->rows + t.n; }},
    {"each step multiplies with the row of b before, the first one with its own",
     [](const ProductTerm& t) { return std::max(t.k - 1, Index{0}) * t.call->rows + t.n; }},
    {"every second step reads the row of b of the step before",
     [](const ProductTerm& t) { return t.k / 2 * 2 * t.call->rows + t.n; }},
    {"every step reads the first row of b", [](const ProductTerm& t) { return t.n; }},
    {"every row of c is made with the first column of b",
     [](const ProductTerm& t) { return t.k * t.call->rows; }},
    {"every tile reads the first columns of b",
     [](const ProductTerm& t) { return t.k * t.call->rows + t.n % t.call->tile_rows; }},
    {"row n of c is made with column n + 1 of b",
     [](const ProductTerm& t) { return t.k * t.call->rows + t.n + 1; }},
    {"b is moved on by one number per step instead of by its row",
     [](const ProductTerm& t) { return t.k + t.n; }},
    {"b is read transposed", [](const ProductTerm& t) { return t.n * t.call->depth + t.k; }},
    {"the column of b is the number of the register in its tile instead of the row of c",
     [](const ProductTerm& t) { return t.k * t.call->rows + t.w % t.call->tile_width / t.call->lanes; }}};

// Whether the element is written at all.
constexpr ProductWord kProductWrites[] = {
    {nullptr, [](const ProductTerm&) { return Index{1}; }},
    {"rows of c after the last whole tile are never written",
     [](const ProductTerm& t) { return Index{t.n < t.call->rows / t.call->tile_rows * t.call->tile_rows}; }},
    {"rows of c are only written after the last whole tile",
     [](const ProductTerm& t) { return Index{t.n >= t.call->rows / t.call->tile_rows * t.call->tile_rows}; }},
    {"numbers of a row after the last whole tile are never written",
     [](const ProductTerm& t) {
       return Index{t.w < t.call->width / t.call->tile_width * t.call->tile_width};
     }},
    {"numbers of a row are only written after the last whole tile",
     [](const ProductTerm& t) {
       return Index{t.w >= t.call->width / t.call->tile_width * t.call->tile_width};
     }},
    {"only the first tile of a row is written",
     [](const ProductTerm& t) { return Index{t.w < t.call->tile_width}; }},
    {"only the first tile of rows is written",
     [](const ProductTerm& t) { return Index{t.n < t.call->tile_rows}; }},
    {"only the first register of a tile is written",
     [](const ProductTerm& t) { return Index{t.w % t.call->tile_width < t.call->lanes}; }},
    {"the first register of a tile is never written",
     [](const ProductTerm& t) { return Index{t.w % t.call->tile_width >= t.call->lanes}; }},
    {"rows of c and numbers of a row after the last whole tile are never written",
     [](const ProductTerm& t) {
       return Index{t.n < t.call->rows / t.call->tile_rows * t.call->tile_rows &&
                    t.w < t.call->width / t.call->tile_width * t.call->tile_width};
     }},
    {"only the last register of a tile is written",
     [](const ProductTerm& t) {
       return Index{t.w % t.call->tile_width >= t.call->tile_width - t.call->lanes};
     }},
    {"the last row of c is never written",
     [](const ProductTerm& t) { return Index{t.n + 1 < t.call->rows}; }},
    {"row 0 of c is never written", [](const ProductTerm& t) { return Index{t.n > 0}; }},
    {"nothing is ever written", [](const ProductTerm&) { return Index{0}; }}};

enum ProductPlace : std::size_t { kOfStart, kOfTerm, kOfPanel, kOfOther, kOfWrite };
struct WordsOfProduct {
  const char* id;
  std::span<const ProductWord> words;
  const char* question;
};
const std::array<WordsOfProduct, 5> kPlacesOfProduct{{
    {"solved-product-start", kProductStarts,
     "What does a sum begin with under either start, and where is that added?"},
    {"solved-product-terms", kProductTerms,
     "How many steps does the depth have, and which of them does your loop make?"},
    {"solved-product-panel", kProductPanels, "How far is it from one row of the panel to the next?"},
    {"solved-product-b", kProductOthers,
     "Which number of b multiplies all of row n at step k, and where does it lie?"},
    {"solved-product-written", kProductWrites,
     "Which rows and registers does each of your tiles cover, the last one too?"},
}};

// One word for each place.
using ProductLaw = std::array<const ProductWord*, 5>;

ProductLaw right_product() {
  ProductLaw law{};
  for (std::size_t place = 0; place < law.size(); ++place) law[place] = &kPlacesOfProduct[place].words[0];
  return law;
}

// Whether the law gives this number of c.
bool gives(const ProductLaw& law, ProductTerm t) {
  const ProductCall& call = *t.call;
  const auto at = static_cast<std::size_t>(t.n * call.width + t.w);
  if (law[kOfWrite]->of(t) == 0) return agree_or_nan(call.after[at], call.before[at], 0);
  const Index start = law[kOfStart]->of(t);
  double sum = start == 0 ? 0 : static_cast<double>(start) * call.before[at], size = std::fabs(sum);
  for (t.k = 0; t.k < call.depth; ++t.k) {
    const Index times = law[kOfTerm]->of(t), of_panel = law[kOfPanel]->of(t), of_b = law[kOfOther]->of(t);
    if (times == 0) continue;
    if (of_panel < 0 || of_panel >= static_cast<Index>(call.panel.size()) || of_b < 0 ||
        of_b >= static_cast<Index>(call.b.size()))
      return false;
    const double product = static_cast<double>(times) * call.panel[static_cast<std::size_t>(of_panel)] *
                           call.b[static_cast<std::size_t>(of_b)];
    sum += product;
    size += std::fabs(product);
  }
  return agree_or_nan(call.after[at], sum, 1e-9, size);
}

bool gives_all(const ProductLaw& law, const ProductExhibit& x) {
  for (const ProductCall& call : x.calls)
    for (Index n = 0; n < call.rows; ++n)
      for (Index w = 0; w < call.width; ++w)
        if (!gives(law, {&call, n, w, 0})) return false;
  return true;
}

// Whether the numbers of c are right to the digits of float, and have no more.
bool is_float_product(const ProductExhibit& x) {
  bool wrong = false;
  for (const ProductCall& call : x.calls)
    for (Index n = 0; n < call.rows; ++n)
      for (Index w = 0; w < call.width; ++w) {
        const auto at = static_cast<std::size_t>(n * call.width + w);
        double sum = call.keeps ? call.before[at] : 0, size = std::fabs(sum);
        for (Index k = 0; k < call.depth; ++k) {
          const double product = call.panel[static_cast<std::size_t>(k * call.width + w)] *
                                 call.b[static_cast<std::size_t>(k * call.rows + n)];
          sum += product, size += std::fabs(product);
        }
        if (!agree(call.after[at], sum, 1e-6, size)) return false;
        wrong = wrong || !agree(call.after[at], sum, 1e-12, size);
      }
  return wrong;
}

// The law with other words at one place.
std::vector<std::pair<std::size_t, ProductLaw>> changed_once(const ProductLaw& law, std::size_t from) {
  std::vector<std::pair<std::size_t, ProductLaw>> all;
  for (std::size_t place = from; place < law.size(); ++place)
    for (const ProductWord& word : kPlacesOfProduct[place].words.subspan(1)) {
      all.emplace_back(place, law);
      all.back().second[place] = &word;
    }
  return all;
}

Cause cause_of_product(const ProductLaw& law) {
  Cause cause;
  for (std::size_t place = 0; place < law.size(); ++place) {
    if (law[place]->words == nullptr) continue;
    if (cause.id.empty())
      cause = {kPlacesOfProduct[place].id, law[place]->words, kPlacesOfProduct[place].question};
    else
      cause.sentence += std::string("; and ") + law[place]->words;
  }
  return cause;
}

}  // namespace

std::vector<Cause> causes_of(const ProductExhibit& x) {
  const ProductLaw right = right_product();
  if (x.calls.empty() || gives_all(right, x)) return {};
  if (is_float_product(x))
    return {{"solved-product-float", "products or sums are computed in float: c is right to its digits only",
             "In which type is each product made, added up and stored?"}};
  std::vector<Cause> causes;
  const auto once = changed_once(right, 0);
  for (const auto& [place, law] : once)
    if (gives_all(law, x)) causes.push_back(cause_of_product(law));
  if (!causes.empty()) return causes;
  for (const auto& [place, law] : once)
    for (const auto& [other, both] : changed_once(law, place + 1))
      if (gives_all(both, x)) causes.push_back(cause_of_product(both));
  return causes;
}

}  // namespace ringcraft::verify
