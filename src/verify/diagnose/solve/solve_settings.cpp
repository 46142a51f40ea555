// Lists the settings to try, and evaluates scores, values and heads under a setting.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Heads = Setting::Heads;

// Which key head a query head reads, or adds its share of a gradient to.
std::string words_of(Heads heads, bool adds = false) {
  const std::string one = adds ? " adds to " : " reads ", many = adds ? " add to " : " read ";
  switch (heads) {
    case Heads::kModulo:
      return "query head h" + one + "key head h % kv_heads";
    case Heads::kFlatModulo:
      return "with batch and heads in one dimension, query entry e" + one +
             "key entry e % (batch * kv_heads)";
    case Heads::kClamped:
      return "query head h" + one + "key head min(h, kv_heads - 1)";
    case Heads::kReversed:
      return "query heads" + many + "the groups' key heads in the opposite order";
    case Heads::kNext:
      return "each group of query heads" + one + "the key head of the next group";
    case Heads::kBefore:
      return "each group of query heads" + one + "the key head of the group before";
    case Heads::kOneLate:
      return "query head h" + one + "key head (h + 1) / group";
    case Heads::kFirst:
      return "every query head" + one + "key head 0";
    case Heads::kOfRank:
      return "with the heads dealt to the ranks, those of rank r" + many + "key head r % kv_heads";
    case Heads::kFirstBatch:
      return "every batch entry" + one + (adds ? "the sums of entry 0" : "the keys and values of entry 0");
    case Heads::kRight:
      break;
  }
  return "";
}

constexpr const char* kWhichHead = "How many query heads share one key head, and which?";

}  // namespace

std::vector<Setting> settings_of(const Evidence& e) {
  const BlockProblem& p = e.problem;
  const double right = p.softmax_scale, d = static_cast<double>(p.head_dim);
  std::vector<std::pair<double, std::string>> scales{
      {right, ""},
      {1, "the softmax scale is missing"},
      {1 / std::sqrt(d),
       "the scores are multiplied by 1/sqrt(head_dim), not by the softmax scale that is given"},
      {right * right, "the softmax scale is applied twice"},
      {1 / d, "the softmax scale is 1/head_dim"},
      {1 / right, "the scores are divided by the softmax scale"},
      {right * std::numbers::ln2, "the weights are powers of 2, not e"},
      {right / std::numbers::ln2, "the scores are multiplied by log2(e), and exp takes them"},
      {right / std::sqrt(static_cast<double>(p.heads)), "the softmax scale is 1/sqrt(heads * head_dim)"}};
  for (const Index granule : {8, 16, 32, 64, 128}) {
    const Index padded = (p.head_dim + granule - 1) / granule * granule;
    if (padded != p.head_dim)
      scales.emplace_back(
          1 / std::sqrt(static_cast<double>(padded)),
          "the softmax scale is 1/sqrt(" + std::to_string(padded) + "), of a padded head_dim");
  }
  std::vector<Heads> heads{Heads::kRight};
  if (p.kv_heads > 1 && p.kv_heads < p.heads)
    heads.insert(heads.end(), {Heads::kModulo, Heads::kClamped, Heads::kReversed, Heads::kFirst, Heads::kNext,
                               Heads::kBefore, Heads::kOneLate});
  if (p.batch > 1 && p.kv_heads < p.heads) heads.push_back(Heads::kFlatModulo);
  if (e.place.ring && p.kv_heads > 1 && p.heads % e.place.count() == 0) heads.push_back(Heads::kOfRank);
  if (p.batch > 1) heads.push_back(Heads::kFirstBatch);
  std::vector<Setting> all;
  std::vector<double> known;
  for (const auto& [scale, words] : scales) {
    if (std::ranges::any_of(known,
                            [&, s = scale](double x) { return std::fabs(x - s) < 1e-9 * std::fabs(s); }))
      continue;
    known.push_back(scale);
    for (const Heads head : heads)
      if (words.empty() || head == Heads::kRight)
        all.push_back({.scale = scale, .scale_words = words, .heads = head, .value_heads = head});
  }
  if (e.place.ring) {
    all.push_back({.scale = right,
                   .scale_words = "the softmax scale is applied once more at every step",
                   .scale_by_step = true});
    const auto received = [&](double own, double other, const char* words) {
      all.push_back({.scale = own, .received_scale = other, .scale_words = words});
    };
    received(right, 1, "the softmax scale is missing with the blocks that arrive");
    received(right, right * right, "the softmax scale is applied twice with the blocks that arrive");
    received(right, 1 / std::sqrt(2 * d),
             "with the blocks that arrive the softmax scale is 1/sqrt(2 * head_dim), of packed k and v");
    received(right, 1 / d, "with the blocks that arrive the softmax scale is 1/head_dim");
    received(right, right * std::numbers::ln2,
             "with the blocks that arrive the weights are powers of 2, not e");
    received(right, right / std::numbers::ln2,
             "with the blocks that arrive the scores are multiplied by log2(e), and exp takes them");
    received(right * std::numbers::ln2, right, "with the own block the weights are powers of 2, not e");
    received(right / std::numbers::ln2, right,
             "with the own block the scores are multiplied by log2(e), and exp takes them");
    received(1, right, "the softmax scale is missing with the own block");
    received(right * right, right, "the softmax scale is applied twice with the own block");
  }
  const auto add = [&](auto change) {
    Setting setting{.scale = right};
    change(setting);
    all.push_back(std::move(setting));
  };
  for (const Heads head : heads) {
    if (head == Heads::kRight) continue;
    add([=](Setting& s) { s.heads = head; });
    add([=](Setting& s) { s.value_heads = head; });
  }
  using Columns = Setting::Columns;
  for (const Columns columns : {Columns::kLastLost, Columns::kLastTwice, Columns::kFirstHalf})
    add([=](Setting& s) { s.columns = columns; });
  for (const int piece : {2, 4, 8, 16, 32, 64})
    if (p.head_dim > piece && p.head_dim % piece > 1)
      add([=](Setting& s) { s.columns = Columns::kTailLost, s.piece = piece; });
  using Rows = Setting::Rows;
  for (const Rows rows : {Rows::kFromZero, Rows::kNext, Rows::kBefore, Rows::kReversed}) {
    add([=](Setting& s) { s.key_rows = rows; });
    add([=](Setting& s) { s.value_rows = rows; });
  }
  add([](Setting& s) { s.values_are_keys = true; });
  add([](Setting& s) { s.keys_are_values = true; });
  if (e.place.ring) return all;  // whose rows are computed block by block
  for (const Setting::Carry carry : {Setting::Carry::kOut, Setting::Carry::kSum, Setting::Carry::kWeight})
    add([=](Setting& s) { s.carry = carry; });
  return all;
}

std::pair<Index, Index> source_of(const Evidence& e, Heads heads, Index batch, Index head) {
  const BlockProblem& p = e.problem;
  switch (heads) {
    case Heads::kModulo:
      return {batch, head % p.kv_heads};
    case Heads::kFlatModulo: {
      const Index entry = (batch * p.heads + head) % (p.batch * p.kv_heads);
      return {entry / p.kv_heads, entry % p.kv_heads};
    }
    case Heads::kClamped:
      return {batch, std::min(head, p.kv_heads - 1)};
    case Heads::kReversed:
      return {batch, p.kv_heads - 1 - head / p.group()};
    case Heads::kNext:
      return {batch, (head / p.group() + 1) % p.kv_heads};
    case Heads::kBefore:
      return {batch, (head / p.group() + p.kv_heads - 1) % p.kv_heads};
    case Heads::kOneLate:
      return {batch, (head + 1) / p.group() % p.kv_heads};
    case Heads::kFirst:
      return {batch, 0};
    case Heads::kOfRank:
      return {batch, head / std::max<Index>(1, p.heads / e.place.count()) % p.kv_heads};
    case Heads::kFirstBatch:
      return {0, head / p.group()};
    case Heads::kRight:
      break;
  }
  return {batch, head / p.group()};
}

Cause cause_of_target_heads(Heads heads) {
  return {"solved-target-heads", words_of(heads, true), kWhichHead};
}

std::vector<Cause> causes_of(const Setting& setting) {
  std::vector<Cause> causes;
  const auto add = [&](const char* id, const std::string& sentence, const char* question) {
    causes.push_back({id, sentence, question});
  };
  if (!setting.scale_words.empty())
    add("solved-scale", setting.scale_words,
        "What is the variance of a dot product of head_dim unit normals?");
  if (setting.heads != Heads::kRight)
    add("solved-heads",
        words_of(setting.heads) + (setting.value_heads == setting.heads ? "" : ", for k alone"), kWhichHead);
  else if (setting.value_heads != Heads::kRight)
    add("solved-value-heads", words_of(setting.value_heads) + ", for v alone", kWhichHead);
  constexpr const char* kWhichColumns =
      "How many columns has a dot product, and which of them does your loop sum?";
  switch (setting.columns) {
    case Setting::Columns::kAll:
      break;
    case Setting::Columns::kLastLost:
      add("solved-columns", "the dot products of q and k leave out the last column", kWhichColumns);
      break;
    case Setting::Columns::kTailLost:
      add("solved-columns",
          "the dot products of q and k leave out the columns after the last whole piece of " +
              std::to_string(setting.piece),
          kWhichColumns);
      break;
    case Setting::Columns::kLastTwice:
      add("solved-columns-twice", "the dot products of q and k count the last column twice", kWhichColumns);
      break;
    case Setting::Columns::kFirstHalf:
      add("solved-columns", "the dot products of q and k sum the first half of the columns alone",
          kWhichColumns);
      break;
  }
  const auto rows = [&](Setting::Rows which, const char* tensor) {
    constexpr const char* kWhichRow = "Do score j, key j and value j belong to one token?";
    const std::string id = std::string("solved-rows-of-") + tensor,
                      front = std::string("key j reads a wrong row of ") + tensor;
    if (which == Setting::Rows::kFromZero)
      add(id.c_str(),
          std::string("the visible keys of a row read ") + tensor +
              " from row 0 on, not from the first visible one on",
          kWhichRow);
    if (which == Setting::Rows::kNext) add(id.c_str(), front + ": j + 1", kWhichRow);
    if (which == Setting::Rows::kBefore) add(id.c_str(), front + ": j - 1", kWhichRow);
    if (which == Setting::Rows::kReversed)
      add(id.c_str(), front + ": from the last one backwards", kWhichRow);
  };
  rows(setting.key_rows, "k");
  rows(setting.value_rows, "v");
  if (setting.values_are_keys)
    add("solved-k-for-v", "the weights are multiplied with k instead of v",
        "Which tensor holds what the weights average?");
  if (setting.keys_are_values)
    add("solved-v-for-k", "the scores are products of q and v instead of k",
        "Which tensor do the queries meet?");
  if (setting.carry != Setting::Carry::kNothing)
    add("solved-carry", "the weighted sum of a row begins with that of the row before it, not with zero",
        "What does the sum hold when the next row begins?");
  return causes;
}

Yardsticks yardsticks_of(const Evidence& e) {
  switch (e.precision) {
    case DType::kFloat64:
      return {1e-11, 0, 0.3e-11, 1};
    case DType::kFloat32:
      return {8 * 0x1p-23, 0, 0.3 * 0x1p-20, 1};
    case DType::kBFloat16:
    case DType::kFloat16:
      break;
  }
  return {1, 8 * 0x1p-23, 0.3 * unit_roundoff(e.precision), 3};
}

std::vector<double> tolerance_of(const Evidence& e, const Buffer& claim, const Buffer& unit,
                                 const Buffer& scale, Index batch, Index head, Index row) {
  const Yardsticks y = yardsticks_of(e);
  const auto got = row_of(claim, batch, head, row), units = row_of(unit, batch, head, row),
             scales = row_of(scale, batch, head, row);
  double largest = 0;
  for (const double x : got) largest = std::max(largest, std::isfinite(x) ? std::fabs(x) : 0);
  std::vector<double> tolerance;
  for (std::size_t c = 0; c < got.size(); ++c)
    tolerance.push_back(y.unit * units[c] + y.floor * scales[c] + y.of_row * (got.size() > 1 ? largest : 0) +
                        1e-280);
  return tolerance;
}

std::vector<std::vector<Index>> sampled(const std::vector<std::vector<Index>>& parts, std::size_t most) {
  std::vector<std::vector<Index>> some;
  for (const std::vector<Index>& part : parts) {
    std::vector<Index>& chosen = some.emplace_back();
    const std::size_t count = std::min(part.size(), most);
    for (std::size_t i = 0; i < count; ++i)
      chosen.push_back(static_cast<Index>(count < 2 ? i : i * (part.size() - 1) / (count - 1)));
  }
  return some;
}

namespace {

// The first key that a row sees, or 0.
Index first_key(const Evidence& e, Index row) {
  for (Index key = 0; key < static_cast<Index>(e.problem.keys.size()); ++key)
    if (visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row)],
                e.problem.keys[static_cast<std::size_t>(key)]))
      return key;
  return 0;
}

Index row_for(const Evidence& e, Setting::Rows which, Index row, Index key) {
  const auto last = static_cast<Index>(e.problem.keys.size()) - 1;
  switch (which) {
    case Setting::Rows::kFromZero:
      return std::max<Index>(key - first_key(e, row), 0);
    case Setting::Rows::kNext:
      return std::min(key + 1, last);
    case Setting::Rows::kBefore:
      return std::max<Index>(key - 1, 0);
    case Setting::Rows::kReversed:
      return last - key;
    case Setting::Rows::kRight:
      break;
  }
  return key;
}

}  // namespace

double product_of(const Evidence& e, const Setting& setting, Index batch, Index head, Index row, Index key) {
  const auto [from, kv_head] = source_of(e, setting.heads, batch, head);
  const auto q = row_of(e.inputs.q, batch, head, row),
             k = row_of(setting.keys_are_values ? e.inputs.v : e.inputs.k, from, kv_head,
                        row_for(e, setting.key_rows, row, key));
  const std::size_t width = q.size();
  switch (setting.columns) {
    case Setting::Columns::kLastLost:
      return dot(q.first(width - 1), k.first(width - 1));
    case Setting::Columns::kTailLost: {
      const std::size_t whole = width - width % static_cast<std::size_t>(setting.piece);
      return dot(q.first(whole), k.first(whole));
    }
    case Setting::Columns::kLastTwice:
      return dot(q, k) + q.back() * k.back();
    case Setting::Columns::kFirstHalf:
      return dot(q.first(width / 2), k.first(width / 2));
    case Setting::Columns::kAll:
      break;
  }
  return dot(q, k);
}

std::span<const double> value_of(const Evidence& e, const Setting& setting, Index batch, Index head,
                                 Index row, Index key) {
  const auto [from, kv_head] = source_of(e, setting.value_heads, batch, head);
  return row_of(setting.values_are_keys ? e.inputs.k : e.inputs.v, from, kv_head,
                row_for(e, setting.value_rows, row, key));
}

std::vector<double> out_of(const Evidence& e, const Setting& setting, Index batch, Index head, Index row) {
  const auto now = row_of(e.claim.out, batch, head, row);
  std::vector<double> out(now.begin(), now.end());
  if (setting.carry == Setting::Carry::kNothing || row == 0) return out;
  const auto before = row_of(e.claim.out, batch, head, row - 1);
  // The sum of exp(score - maximum), or of exp(score), or 1.
  const auto weight = [&](Index at) {
    const double lse = row_of(e.oracle.value.lse, batch, head, at)[0];
    if (setting.carry == Setting::Carry::kOut || !std::isfinite(lse)) return std::isfinite(lse) ? 1.0 : 0.0;
    if (setting.carry == Setting::Carry::kWeight) return std::exp(lse);
    double max = -HUGE_VAL;
    for (Index key = 0; key < static_cast<Index>(e.problem.keys.size()); ++key)
      if (visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(at)],
                  e.problem.keys[static_cast<std::size_t>(key)]))
        max = std::max(max, e.problem.softmax_scale * product_of(e, Setting{}, batch, head, at, key));
    return std::exp(lse - max);
  };
  const double here = weight(row);
  if (here > 0)
    for (std::size_t c = 0; c < out.size(); ++c) out[c] -= before[c] * weight(row - 1) / here;
  return out;
}

std::string short_number(double x) {
  std::ostringstream text;
  text.precision(std::fabs(x - 1) < 0.005 ? 7 : 3);  // 1.001 is not 1
  text << x;
  return text.str();
}

}  // namespace ringcraft::verify
