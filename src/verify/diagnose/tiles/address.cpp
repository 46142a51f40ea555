// Lists the wrong addresses, columns and keys that programs commonly use, each as a formula with its wording.
#include "verify/diagnose/tiles/address.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

// The name of a tensor, and of its rows.
struct RoleNames {
  const char *tensor, *row, *rows, *width, *others;
  bool of_keys, written;
};
RoleNames names_of(TensorRole role) {
  switch (role) {
    case TensorRole::kQuery:
      return {"q", "row", "rows", "head_dim", "keys", false, false};
    case TensorRole::kKey:
      return {"k", "key", "keys", "head_dim", "rows of q", true, false};
    case TensorRole::kValue:
      return {"v", "key", "keys", "head_dim", "rows of q", true, false};
    case TensorRole::kScores:
      return {"S", "row", "rows", "keys", "columns of q", false, true};
    case TensorRole::kWeights:
      return {"P", "row", "rows", "keys", "columns of q", false, false};
    case TensorRole::kOut:
      break;
  }
  return {"out", "row", "rows", "head_dim", "keys", false, true};
}

// The head's memory in this call, with other strides for rows and columns.
std::function<Index(const Spot&)> with_strides(Index (*of_row)(const Spot&),
                                               Index (*of_column)(const Spot&)) {
  return [=](const Spot& s) { return s.at(s.first, 0) + s.local() * of_row(s) + s.column * of_column(s); };
}

Index one(const Spot&) { return 1; }
Index own_rows(const Spot& s) { return s.count; }
Index other_rows(const Spot& s) { return s.others; }
Index width_of(const Spot& s) { return s.width; }
Index width_less(const Spot& s) { return s.width - 1; }
Index width_more(const Spot& s) { return s.width + 1; }

void add_strides(const RoleNames& n, std::vector<AddressWord>& all) {
  const std::string tensor = n.tensor, rows = n.rows, width = n.width, others = n.others;
  const std::string as = n.written ? " is written as [" : " is read as [";
  all.push_back({tensor + as + width + ", " + rows + "]: transposed", with_strides(one, own_rows), true});
  all.push_back({"row and column of " + tensor + " are exchanged", with_strides(one, width_of), true});
  all.push_back({"row and column of " + tensor + " are exchanged, with rows as long as there are " + others,
                 with_strides(one, other_rows)});
  const std::string taken = "a row of " + tensor + " is taken to be ",
                    not_width = width == "keys" ? ", not as there are keys" : ", not of head_dim numbers";
  all.push_back({taken + "as long as there are " + rows + (n.of_keys ? "" : " of q") + not_width,
                 with_strides(own_rows, one), true});
  all.push_back({taken + "as long as there are " + others + not_width, with_strides(other_rows, one), true});
  all.push_back({"each row of " + tensor + " is taken to begin one number after the one before" + not_width,
                 with_strides(one, one), true});
  all.push_back({taken + "one number too short", with_strides(width_less, one)});
  all.push_back({taken + "one number too long", with_strides(width_more, one)});
  for (const Index size : {8, 16, 32, 64, 128})
    all.push_back({taken + std::to_string(size) + " numbers long, whatever " + width + " is",
                   [=](const Spot& s) { return s.at(s.first, 0) + s.local() * size + s.column; }});
  all.push_back({tensor + as + rows + ", heads, " + width + "], not [heads, " + rows + ", " + width + "]",
                 [](const Spot& s) {
                   return s.batch * s.heads * s.rows * s.width + (s.row * s.heads + s.head) * s.width +
                          s.column;
                 },
                 true});
}

// Other rows of the same head.
void add_rows(const RoleNames& n, std::vector<AddressWord>& all) {
  const std::string tensor = n.tensor, row = n.row;
  const std::string verb = n.written ? " is written to row " : " is read at row ";
  const auto add = [&](const std::string& words, std::function<Index(const Spot&)> of_row,
                       bool usual = false) {
    all.push_back({words, [of_row](const Spot& s) { return s.at(of_row(s), s.column); }, usual});
  };
  const auto named = [&](const char* formula) { return tensor + verb + formula + " for " + row + " n"; };
  add(
      named("n + 1"), [](const Spot& s) { return s.row + 1; }, true);
  add(
      named("n - 1"), [](const Spot& s) { return s.row - 1; }, true);
  add(
      named("0"), [](const Spot& s) { return s.first; }, true);
  add(
      tensor + verb + "rows - 1 - n for " + row + " n: in the opposite order",
      [](const Spot& s) { return s.first + s.count - 1 - s.local(); }, true);
  add(named("(the last one)"), [](const Spot& s) { return s.first + s.count - 1; });
  add(named("n / 2"), [](const Spot& s) { return s.first + s.local() / 2; });
  add(named("2 n"), [](const Spot& s) { return s.first + s.local() * 2; });
  add(tensor + ": neighbouring rows change places", [](const Spot& s) { return s.first + (s.local() ^ 1); });
  add(tensor + ": the two halves of the rows change places",
      [](const Spot& s) { return s.first + (s.local() + s.count / 2) % s.count; });
  add(named("n % head_dim"), [](const Spot& s) { return s.first + s.local() % s.width; });
  for (const Index size : {2, 4, 8, 16, 32, 64, 128}) {
    const std::string text = std::to_string(size);
    add(
        named(("n % " + text).c_str()), [=](const Spot& s) { return s.first + s.local() % size; },
        size >= 16);
    add(named(("n / " + text + " * " + text).c_str()),
        [=](const Spot& s) { return s.first + s.local() / size * size; });
  }
  add(tensor + ": rows n and n + 8 of each 16 change places",
      [](const Spot& s) { return s.first + (s.local() ^ 8); });
  for (const auto& [tile, share] :
       {std::pair<Index, Index>{32, 4}, {32, 8}, {16, 2}, {16, 8}, {64, 4}, {64, 16}})
    add(tensor + ": of each tile of " + std::to_string(tile) + " rows a thread has " + std::to_string(share) +
            " neighbouring ones in one loop, and every " + std::to_string(tile / share) + "th in another",
        [=](const Spot& s) {
          const Index at = s.local() % tile;
          return s.first + s.local() - at + at % share * (tile / share) + at / share;
        });
  if (n.of_keys) {
    add(
        tensor + " is read at the number of the query's row instead of the key's",
        [](const Spot& s) { return s.first + s.other; }, true);
    add(
        tensor + " is counted from the first key, though the weights are counted from the first visible one",
        [](const Spot& s) { return s.row - s.begin; }, true);
    add(tensor + " is read at the key's number plus the row's first visible key: begin is added twice",
        [](const Spot& s) { return s.row + s.begin; });
    add(tensor + " is read at the first visible key for all keys",
        [](const Spot& s) { return s.first + s.begin; });
    add(tensor + " is read at the key's number within its part, not within all keys",
        [](const Spot& s) { return s.local(); });
  } else if (!n.written) {
    add(
        tensor + " is read at the number of the key instead of the row's",
        [](const Spot& s) { return s.other < 0 ? s.row : s.other; }, true);
  }
}

void add_columns(const RoleNames& n, std::vector<AddressWord>& all) {
  const std::string tensor = n.tensor;
  const std::string verb = n.written ? " is written to column " : " is read at column ";
  const auto add = [&](const std::string& words, std::function<Index(const Spot&)> of_column,
                       bool usual = false) {
    all.push_back({words, [of_column](const Spot& s) { return s.at(s.row, of_column(s)); }, usual});
  };
  const auto named = [&](const std::string& formula) { return tensor + verb + formula + " for column d"; };
  add(
      named("0"), [](const Spot&) { return Index{0}; }, true);
  add(named("d + 1"), [](const Spot& s) { return s.column + 1; });
  add(named("d - 1"), [](const Spot& s) { return s.column - 1; });
  add(tensor + verb + "head_dim - 1 - d for column d: in the opposite order",
      [](const Spot& s) { return s.width - 1 - s.column; });
  add(named("(the last one)"), [](const Spot& s) { return s.width - 1; });
  add(named("d / 2"), [](const Spot& s) { return s.column / 2; });
  add(tensor + ": neighbouring columns change places", [](const Spot& s) { return s.column ^ 1; });
  add(tensor + ": the two halves of the columns change places",
      [](const Spot& s) { return (s.column + s.width / 2) % s.width; });
  for (const Index size : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const std::string text = std::to_string(size);
    if (size > 1)
      add(
          named("d % " + text), [=](const Spot& s) { return s.column % size; }, size >= 16);
    if (size > 1)
      add(named("d / " + text + " * " + text), [=](const Spot& s) { return s.column / size * size; });
    if (size > 1)
      add(tensor + ": columns d and d + " + text + " change places",
          [=](const Spot& s) { return s.column ^ size; });
  }
  add(n.of_keys ? named("(that of the key's number)") : named("(that of the row's number)"),
      [](const Spot& s) { return s.local(); });
  if (n.of_keys)
    add(tensor + " is read at the column of the query's row number", [](const Spot& s) { return s.other; });
}

// Adds other heads and batch entries; the address may lie outside the tensor.
void add_heads(const RoleNames& n, std::vector<AddressWord>& all) {
  const std::string tensor = n.tensor;
  const auto add = [&](const std::string& words, std::function<Index(const Spot&)> of_head,
                       bool usual = false) {
    all.push_back({words,
                   [of_head](const Spot& s) { return (of_head(s) * s.rows + s.row) * s.width + s.column; },
                   usual});
  };
  const std::string verb = n.written ? " is written to " : " is read from ";
  const std::string h = n.of_keys ? "its key head" : "its head";
  add(
      tensor + verb + "head 0 of the batch entry, whatever the head is",
      [](const Spot& s) { return s.batch * s.heads; }, true);
  add(
      tensor + verb + h + " of batch entry 0, whatever the batch entry is",
      [](const Spot& s) { return s.head; }, true);
  add(
      tensor + verb + "head 0 of batch entry 0, whatever head and batch entry are",
      [](const Spot&) { return Index{0}; }, true);
  add(tensor + verb + "the next head", [](const Spot& s) { return s.batch * s.heads + s.head + 1; });
  add(tensor + verb + "the head before", [](const Spot& s) { return s.batch * s.heads + s.head - 1; });
  add(tensor + verb + "the heads in the opposite order",
      [](const Spot& s) { return s.batch * s.heads + s.heads - 1 - s.head; });
  add(
      tensor + verb + "head + batch entry: the batch entry is not multiplied by the number of heads",
      [](const Spot& s) { return s.batch + s.head; }, true);
  add(tensor + ": batch entry and head are exchanged",
      [](const Spot& s) { return s.head * s.heads + s.batch; });
  if (n.of_keys) {
    add(
        tensor + verb + "the head of the query's number, though there are fewer key heads",
        [](const Spot& s) { return s.batch * s.query_heads + s.query_head; }, true);
    add(
        tensor + verb + "key head h % kv_heads for query head h",
        [](const Spot& s) { return s.batch * s.heads + s.query_head % s.heads; }, true);
    add(
        tensor + verb + "key head h / kv_heads for query head h",
        [](const Spot& s) { return s.batch * s.heads + s.query_head / s.heads; }, true);
    add(tensor + verb + "the key head of the query head's number, the last one for larger numbers",
        [](const Spot& s) { return s.batch * s.heads + std::min(s.query_head, s.heads - 1); });
    add(
        tensor + " is moved by the number of query heads from one batch entry to the next",
        [](const Spot& s) { return s.batch * s.query_heads + s.head; }, true);
    add(tensor + verb + "the next key head",
        [](const Spot& s) { return s.batch * s.heads + (s.head + 1) % s.heads; });
  }
}

}  // namespace

std::vector<AddressWord> address_words(TensorRole role) {
  const RoleNames names = names_of(role);
  std::vector<AddressWord> all;
  add_strides(names, all);
  add_rows(names, all);
  add_heads(names, all);
  add_columns(names, all);
  std::ranges::stable_partition(all, &AddressWord::usual);
  return all;
}

std::vector<ColumnWord> column_words() {
  std::vector<ColumnWord> all{
      {"the products leave out the last column", [](Index d, Index n) { return Index{d + 1 < n}; }},
      {"the products leave out column 0", [](Index d, Index) { return Index{d > 0}; }},
      {"the products take every second column alone", [](Index d, Index) { return Index{d % 2 == 0}; }},
      {"the products take the last column alone: each product is stored over the sum",
       [](Index d, Index n) { return Index{d + 1 == n}; }},
      {"the products run over the second half of the columns alone",
       [](Index d, Index n) { return Index{d >= n / 2}; }},
      {"the products run over the first half of the columns alone",
       [](Index d, Index n) { return Index{d < n / 2}; }},
      {"the last column counts twice in the products",
       [](Index d, Index n) { return d + 1 == n ? Index{2} : Index{1}; }},
      {"column 0 counts twice in the products", [](Index d, Index) { return d == 0 ? Index{2} : Index{1}; }}};
  for (const Index size : {1, 2, 4, 8, 16, 32, 64, 96, 128}) {
    const std::string columns = size == 1 ? "column 0" : "the first " + std::to_string(size) + " columns";
    all.push_back(
        {"the products run over " + columns + " alone", [=](Index d, Index) { return Index{d < size}; }});
  }
  for (const Index size : {32, 16, 64, 8, 4}) {
    const std::string text = std::to_string(size);
    const auto add = [&](const std::string& words, std::function<Index(Index, Index)> of) {
      all.push_back({words, std::move(of)});
    };
    add("the products leave out the columns after the last whole group of " + text,
        [=](Index d, Index n) { return Index{d < n / size * size}; });
    add("the sum of a product begins anew with every " + text + " columns: the last ones alone are left",
        [=](Index d, Index n) { return Index{d / size == (n - 1) / size}; });
    add("each tile of " + text + " columns begins at column 0 again: the first ones count for all",
        [=](Index d, Index n) { return d < size ? (n - d + size - 1) / size : Index{0}; });
    add("past the last column of a tile of " + text +
            " the last one is repeated, not filled up with zeros: it counts "
            "several times",
        [=](Index d, Index n) { return d + 1 == n ? 1 + (size - n % size) % size : Index{1}; });
    add("of each tile of " + text + " columns the last one is left out",
        [=](Index d, Index) { return Index{d % size != size - 1}; });
    add("of each tile of " + text + " columns the first half counts alone",
        [=](Index d, Index) { return Index{d % size < size / 2}; });
  }
  return all;
}

std::vector<KeyWord> key_words() {
  using K = KeySpot;
  const auto in = [](const K& k) { return k.begin <= k.key && k.key < k.end; };
  std::vector<KeyWord> all{
      {"the loop leaves out the last visible key", [=](const K& k) { return in(k) && k.key + 1 < k.end; }},
      {"the loop leaves out the first visible key", [=](const K& k) { return in(k) && k.key > k.begin; }},
      {"the loop visits the key after the last visible one, too",
       [](const K& k) { return k.begin <= k.key && k.key <= k.end; }},
      {"the loop visits the key before the first visible one, too",
       [](const K& k) { return k.begin - 1 <= k.key && k.key < k.end; }},
      {"the loop begins at key 0, not at the row's first visible key",
       [](const K& k) { return k.key < k.end; }},
      {"the loop ends at the last key of all, not at the row's last visible one",
       [](const K& k) { return k.begin <= k.key; }},
      {"the loop visits every key, visible or not", [](const K&) { return true; }},
      {"the loop visits as many keys as there are rows of q: the number of keys is taken from q",
       [=](const K& k) { return in(k) && k.key < k.rows; }},
      {"the loop visits as many keys as there are columns: the number of keys is taken from head_dim",
       [=](const K& k) { return in(k) && k.key < k.width; }},
      {"the loop takes the number of visible keys for the end: begin is not added",
       [](const K& k) { return k.begin <= k.key && k.key < k.end - k.begin; }},
      {"the loop runs from key 0 over as many keys as are visible",
       [](const K& k) { return k.key < k.end - k.begin; }},
      {"every row takes the range of keys of row 0",
       [](const K& k) { return k.first_begin <= k.key && k.key < k.first_end; }},
      {"the loop ends at the row's own number: a causal mask is built in",
       [=](const K& k) { return in(k) && k.key <= k.row; }},
      {"the loop visits the row's first visible key alone: it ends after one turn, or its step is as large "
       "as a thread "
       "block",
       [](const K& k) { return k.key == k.begin && k.begin < k.end; }},
      {"the loop visits the row's last visible key alone",
       [](const K& k) { return k.key + 1 == k.end && k.begin < k.end; }},
      {"the loop leaves out key 0", [=](const K& k) { return in(k) && k.key > 0; }},
      {"the loop leaves out the last key of all", [=](const K& k) { return in(k) && k.key + 1 < k.keys; }}};
  for (const Index step : {2, 3, 4, 8, 16, 32, 64, 128, 256}) {
    const std::string text = step == 2 ? "second" : step == 3 ? "third" : std::to_string(step) + "th";
    all.push_back({"the loop takes every " + text + " key alone, as if others took the rest",
                   [=](const K& k) { return in(k) && (k.key - k.begin) % step == 0; }});
    all.push_back({"the loop takes the keys whose number is a multiple of " + std::to_string(step) + " alone",
                   [=](const K& k) { return in(k) && k.key % step == 0; }});
  }
  all.push_back(
      {"the loop takes the keys of odd number alone", [=](const K& k) { return in(k) && k.key % 2 == 1; }});
  for (const Index count : {4, 8, 16, 32, 64, 128, 256}) {
    const std::string text = std::to_string(count);
    all.push_back({"the loop looks at the first " + text + " keys of all alone",
                   [=](const K& k) { return in(k) && k.key < count; }});
    all.push_back({"the loop looks at the first " + text + " visible keys alone",
                   [=](const K& k) { return in(k) && k.key < k.begin + count; }});
    all.push_back({"the loop leaves out the keys after the last whole group of " + text,
                   [=](const K& k) { return in(k) && k.key < k.keys / count * count; }});
    all.push_back({"the loop leaves out the visible keys after the last whole group of " + text,
                   [=](const K& k) { return in(k) && k.key < k.begin + (k.end - k.begin) / count * count; }});
  }
  return all;
}

}  // namespace ringcraft::verify
