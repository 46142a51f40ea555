// Describes in words which matrix of eight rows was used instead of the right one: exchanged quarters,
// transposed ones, shifted rows or columns.
#include <algorithm>

#include "verify/diagnose/kernels/fragments.hpp"

namespace ringcraft::verify {
namespace {

std::string eights(const std::string& name, Index first) {
  return name + " " + std::to_string(8 * first) + " to " + std::to_string(8 * first + 7);
}

// The words of an operand.
struct Names {
  std::string operand, rows, columns;
  std::string of_rows, of_columns;  // the matrix at rows, or at columns
};
Names names_of(Operand8 operand) {
  switch (operand) {
    case Operand8::kQuery:
      return {"the operand A of q kᵀ", "rows", "columns", "q", "q"};
    case Operand8::kKey:
      return {"the operand B of q kᵀ, k,", "keys", "columns", "the scores", "k"};
    case Operand8::kWeight:
      return {"the operand A of P v, the weights,", "rows", "keys", "the weights", "the weights"};
    case Operand8::kValue:
      return {"the operand B of P v, v,", "keys", "columns", "v", "v"};
    case Operand8::kOut:
      return {"O", "rows", "columns", "the sums", "the sums"};
  }
  return {};
}

// The register for a quarter of 16 x 16.
Index register_of(Operand8 operand, const Eight& e) {
  const Index row = e.row % 2, column = e.column % 2;
  switch (operand) {
    case Operand8::kQuery:
    case Operand8::kWeight:
      return row + 2 * column;
    case Operand8::kKey:
      return 2 * row + column;
    case Operand8::kValue:
    case Operand8::kOut:
      return row + 2 * column;
  }
  return 0;
}

Eight quarter(const Eight& e) { return {e.row % 2, e.column % 2, e.turned}; }

std::string words(const Names& n, const Eight& e) {
  return eights(n.rows, e.row) + ", " + eights(n.columns, e.column);
}

// The one matrix that is used there, once; empty if there are others.
std::optional<Eight> only(const Held& held) {
  if (held.size() != 1 || held.begin()->second != 1) return {};
  return held.begin()->first;
}

// A permutation of the quarters of 16 x 16, if it is the same everywhere.
std::optional<std::map<Eight, Eight>> quarters_of(const EightMap& map) {
  std::map<Eight, Eight> quarters;
  for (const auto& [place, held] : map) {
    const auto one = only(held);
    if (!one || one->row / 2 != place.row / 2 || one->column / 2 != place.column / 2) return {};
    const auto [known, fresh] = quarters.try_emplace(quarter(place), quarter(*one));
    if (!fresh && known->second != quarter(*one)) return {};
  }
  return quarters;
}

const char* kFragments =
    "Which rows and columns of a 16 x 16 matrix does each register of this operand hold, and which does it "
    "get?";

// Describes some quarters, but not all, that are transposed.
std::string words_of_turned(Operand8 operand, const std::map<Eight, Eight>& quarters) {
  const Names n = names_of(operand);
  std::string places;
  for (const auto& [place, held] : quarters)
    if (held.turned) places += (places.empty() ? "" : " and that for ") + words(n, place);
  if (places.empty()) return "";
  return "the register of " + std::string(n.operand) + " for " + places + " of 16 x 16 " +
         (operand == Operand8::kWeight ? "has the weight of the higher key first"
                                       : "holds its 8 x 8 matrix transposed");
}

std::optional<Cause> cause_of_quarters(Operand8 operand, const std::map<Eight, Eight>& quarters) {
  const Names n = names_of(operand);
  const bool all_turned = std::ranges::all_of(quarters, [](const auto& q) { return q.second.turned; });
  std::vector<std::pair<Eight, Eight>> moved;
  for (const auto& [place, held] : quarters)
    if (place.row != held.row || place.column != held.column) moved.emplace_back(place, held);
  std::string turned;
  if (all_turned && operand == Operand8::kWeight)
    turned = "of the two weights in a register the one of the higher key comes first";
  else if (all_turned)
    turned = operand == Operand8::kValue
                 ? "v is loaded as it lies, without being transposed (its 8 x 8 matrices stand the other way)"
                 : std::string(operand == Operand8::kKey ? "k" : "q") +
                       " is transposed on its way (each 8 x 8 matrix of it)";
  else
    turned = words_of_turned(operand, quarters);
  if (moved.empty()) return Cause{"fragment-turned", turned, kFragments};
  if (!turned.empty()) turned = "; and " + turned;
  const auto& [place, held] = moved.front();
  std::string text;
  if (moved.size() == 2 && moved[1].second.row == place.row && moved[1].second.column == place.column)
    text = "registers " + std::to_string(std::min(register_of(operand, place), register_of(operand, held))) +
           " and " + std::to_string(std::max(register_of(operand, place), register_of(operand, held))) +
           " of " + n.operand + " are exchanged: the one for " + words(n, place) + " of 16 x 16 holds " +
           words(n, held);
  else
    for (const auto& [to, from] : moved)
      text += (text.empty() ? n.operand + " is put together wrongly: the register for " : "; that for ") +
              words(n, to) + (text.empty() ? " of 16 x 16" : "") + " holds " + words(n, from);
  return Cause{"fragment-registers", text + turned, kFragments};
}

// Rows (or keys) of a whole tile that come from elsewhere: the map of eights, if columns are right.
std::optional<std::map<Index, Held>> rows_of(const EightMap& map, bool by_column) {
  std::map<Index, Held> rows;
  for (const auto& [place, held] : map) {
    Held moved;
    for (const auto& [e, times] : held) {
      if (e.turned || (by_column ? e.row != place.row : e.column != place.column)) return {};
      moved[{by_column ? e.column : e.row, 0}] += times;
    }
    const auto [known, fresh] = rows.try_emplace(by_column ? place.column : place.row, moved);
    if (!fresh && known->second != moved) return {};
  }
  return rows;
}

std::string list_of(const Held& held, const std::string& name) {
  std::string text;
  for (const auto& [e, times] : held)
    text += (text.empty() ? "" : " and ") + eights(name, e.row) +
            (times == 1 ? "" : " (" + std::to_string(times) + " times)");
  return text;
}

// Describes the contents at the eights of one index. `what` are the scores, the weights or the values.
std::string words_of_rows(const std::map<Index, Held>& rows, const std::string& what,
                          const std::string& name) {
  std::vector<Index> missing, wrong;
  for (const auto& [place, held] : rows) {
    if (held.empty()) missing.push_back(place);
    if (held != Held{{Eight{place, 0}, 1}}) wrong.push_back(place);
  }
  if (missing.size() == wrong.size()) {
    std::string text = what + " of ";
    const bool run = missing.back() - missing.front() + 1 == static_cast<Index>(missing.size());
    if (run)
      return text + name + " " + std::to_string(8 * missing.front()) + " to " +
             std::to_string(8 * missing.back() + 7) + " of a tile are never used: they are left at 0";
    for (const Index each : missing) text += (each == missing.front() ? "" : ", ") + eights(name, each);
    return text + " of a tile are never used: they are left at 0";
  }
  const auto all = [&](auto from) {
    return std::ranges::all_of(rows, [&](const auto& row) {
      return row.second == Held{{Eight{from(row.first), 0}, 1}};
    });
  };
  if (all([](Index i) { return i ^ 1; }))
    return "the two eights of each 16 " + name + " are exchanged: " + what + " of " + eights(name, 1) +
           " stand at the places of " + eights(name, 0) + ", and so on";
  if (all([](Index i) { return i % 2; }))
    return what + " of the first 16 " + name + " of the tile are used for every 16 of them";
  const auto of_all = [&](Index i) {  // the sum over every 16
    Held held;
    for (const auto& [place, from] : rows)
      if (place % 2 == i % 2) held[{place, 0}] = 1;
    return held;
  };
  if (std::ranges::all_of(
          rows, [&](const auto& row) { return row.second == (row.first < 2 ? of_all(row.first) : Held{}); }))
    return what + " of all " + name +
           " are added up at the places of the first 16: every 16 of them are "
           "taken for the first ones";
  const Index first = wrong.front();
  const Held& held = rows.at(first);
  std::string text = what + " of " + (held.empty() ? "nothing" : list_of(held, name)) +
                     (held.size() > 1 ? ", added up," : "") + " stand at the places of " +
                     eights(name, first);
  const bool is_map = std::ranges::all_of(rows, [](const auto& row) { return only(row.second).has_value(); });
  if (!is_map) return text;
  text += " (the places of " + name + " 0, 8, 16, ... have those from ";
  for (const auto& [place, from] : rows)
    text += (place == rows.begin()->first ? "" : ", ") + std::to_string(8 * only(from)->row);
  return text + " on)";
}

}  // namespace

std::optional<Cause> cause_of_map(Operand8 operand, const EightMap& map) {
  const bool right = std::ranges::all_of(map, [](const auto& each) {
    return each.second == Held{{each.first, 1}};
  });
  if (right || map.empty()) return {};
  const Names n = names_of(operand);
  const auto rows = rows_of(map, false), columns = rows_of(map, true);
  if (rows)
    return Cause{operand == Operand8::kKey ? "fragment-accumulators" : "fragment-rows",
                 words_of_rows(*rows, n.of_rows, n.rows), kFragments};
  if (columns)
    return Cause{"fragment-columns",
                 words_of_rows(*columns, n.of_columns, n.columns) +
                     (operand == Operand8::kWeight ? " (they meet other rows of v)" : ""),
                 kFragments};
  if (const auto quarters = quarters_of(map)) return cause_of_quarters(operand, *quarters);
  for (const auto& [place, held] : map) {
    if (held == Held{{place, 1}}) continue;
    std::string text;
    for (const auto& [e, times] : held)
      text += (text.empty() ? "" : " and of ") + words(n, e) + (e.turned ? ", transposed" : "");
    return Cause{"fragment-places",
                 n.operand + " is put together wrongly: where " + words(n, place) + " belong" +
                     (held.empty() ? ", nothing is multiplied" : ", it holds those of " + text),
                 kFragments};
  }
  return {};
}

}  // namespace ringcraft::verify
