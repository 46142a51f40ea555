// Describes each mistake of a backward kernel's walk in words, as a cause with an id and a question.
#include "verify/diagnose/kernels/gradient_walk.hpp"

namespace ringcraft::verify {
namespace {

using Walk = GradientWalk;

std::string words_of(Walk::Place place, const std::string& name, const std::string& verb) {
  const std::string looked = name + " " + verb + " looked for ";
  switch (place) {
    case Walk::Place::kWithinTile:
      return looked +
             "at the number of the row within its tile instead of within the head: every tile of rows "
             "takes those of the first 32";
    case Walk::Place::kFirstOfTile:
      return looked + "at the first row of the tile for all of its rows";
    case Walk::Place::kOfThread:
      return looked + "at the tile's first two rows: at the number i of a thread's rows, not at own_row(i)";
    case Walk::Place::kPartner:
      return looked + "at the number of the key, not of the row";
    case Walk::Place::kPartnerTile:
      return looked + "at the number that the key has within its tile, in the rows' tile";
    case Walk::Place::kNext:
      return looked + "one row too far";
    case Walk::Place::kBefore:
      return looked + "at the row before";
    case Walk::Place::kHeadZero:
      return looked + "in head 0 for all query heads";
    case Walk::Place::kFirstOfGroup:
      return looked + "in the first query head of the group for all of them";
    case Walk::Place::kKvHead:
      return looked + "under the number of the KV head instead of the query head";
    case Walk::Place::kBatchZero:
      return looked + "in batch entry 0 for all of them";
    case Walk::Place::kFirstOfAll:
      return looked + "in the first head of all, without the number of the head and the batch entry";
    case Walk::Place::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Lse lse) {
  switch (lse) {
    case Walk::Lse::kNone:
      return "lse is missing in P: exp(score) instead of exp(score - lse)";
    case Walk::Lse::kAdded:
      return "lse is added to the score instead of being subtracted";
    case Walk::Lse::kScaled:
      return "the softmax scale multiplies lse, too: exp(scale * (q k - lse))";
    case Walk::Lse::kHalved:
      return "lse is multiplied by ln 2";
    case Walk::Lse::kNatural:
      return "lse is multiplied by log2(e), and the score is not";
    case Walk::Lse::kIsDelta:
      return "delta stands for lse in P";
    case Walk::Lse::kOfTile:
      return "P is normalised over the keys of each tile alone, not over those of the whole row";
    case Walk::Lse::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Delta delta) {
  switch (delta) {
    case Walk::Delta::kNone:
      return "delta is missing: dS = P dP";
    case Walk::Delta::kAdded:
      return "delta is added to dP instead of being subtracted";
    case Walk::Delta::kScaled:
      return "the softmax scale multiplies delta once more than dP";
    case Walk::Delta::kIsLse:
      return "lse stands for delta: dS = P (dP - lse)";
    case Walk::Delta::kDoubled:
      return "delta is subtracted twice";
    case Walk::Delta::kOfTile:
      return "delta is the sum of P dP over the keys of each tile alone, not over those of the whole row";
    case Walk::Delta::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Exponent exponent) {
  switch (exponent) {
    case Walk::Exponent::kBaseTwo:
      return "P is a power of 2 instead of e: 2^(score - lse)";
    case Walk::Exponent::kUnscaled:
      return "P is computed from scores without the softmax scale";
    case Walk::Exponent::kTwice:
      return "the softmax scale multiplies the scores of P twice";
    case Walk::Exponent::kRoot:
      return "the scores of P are multiplied by 1 / sqrt(head_dim), not by the softmax scale that is given";
    case Walk::Exponent::kUnscaledTwo:
      return "P is a power of 2 of scores without the softmax scale";
    case Walk::Exponent::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Masked masked, bool of_keys) {
  const std::string own = of_keys ? "key" : "row", other = of_keys ? "row" : "key";
  switch (masked) {
    case Walk::Masked::kNone:
      return "nothing is masked: pairs that are not seen count, too";
    case Walk::Masked::kOtherInTile:
      return "the mask is asked about the number of the " + other +
             " within its tile instead of within the head";
    case Walk::Masked::kOwnInTile:
      return "the ranges of the mask are read at the number of the " + own +
             " within its tile: those of the first 32 " + own + "s";
    case Walk::Masked::kEndShort:
      return "the last " + other + " of each range is left out";
    case Walk::Masked::kEndLong:
      return "each range has one " + other + " too many at its end";
    case Walk::Masked::kEarly:
      return "each range of the mask begins and ends one " + other + " too early";
    case Walk::Masked::kLate:
      return "each range of the mask begins and ends one " + other + " too late";
    case Walk::Masked::kNoBegin:
      return "the mask knows where a range ends and not where it begins";
    case Walk::Masked::kNoEnd:
      return "the mask knows where a range begins and not where it ends";
    case Walk::Masked::kTurned:
      return "the ranges of rows and of keys have changed places";
    case Walk::Masked::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Sum sum, const std::string& name, const std::string& exchanged,
                     const std::string& other_row) {
  switch (sum) {
    case Walk::Sum::kAddsUp:
    case Walk::Sum::kAddsUpInHead:
      return name + " is not set to 0 for each tile: it adds up over the tiles that came before";
    case Walk::Sum::kMissing:
      return name + " is 0";
    case Walk::Sum::kExchanged:
      return name + " is made of " + exchanged;
    case Walk::Sum::kOfOtherRow:
      return name + " is made of " + other_row;
    case Walk::Sum::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Formula formula) {
  switch (formula) {
    case Walk::Formula::kNoWeight:
      return "dS lacks P: dP - delta";
    case Walk::Formula::kOnlyDp:
      return "P multiplies dP alone: dS = P dP - delta";
    case Walk::Formula::kSquared:
      return "P multiplies dS twice";
    case Walk::Formula::kNegative:
      return "the sign of dS is wrong: P (delta - dP)";
    case Walk::Formula::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Factor factor, const std::string& name) {
  switch (factor) {
    case Walk::Factor::kNone:
      return name + " lacks the softmax scale at the end";
    case Walk::Factor::kTwice:
      return "the softmax scale multiplies " + name + " twice";
    case Walk::Factor::kLog2:
      return name + " is multiplied by log2(e) besides the softmax scale";
    case Walk::Factor::kOfDvToo:
      return "the softmax scale multiplies dv, too";
    case Walk::Factor::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Data data) {
  switch (data) {
    case Walk::Data::kFirst:
      return "the first tile that is visited is fetched again in every turn";
    case Walk::Data::kBefore:
      return "each turn multiplies the tile of the turn before";
    case Walk::Data::kNext:
      return "each turn multiplies the tile of the next turn";
    case Walk::Data::kLast:
      return "every turn multiplies the last tile";
    case Walk::Data::kZero:
      return "every turn fetches the first tile of the head";
    case Walk::Data::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Visits visits, bool of_keys) {
  const std::string other = of_keys ? "rows" : "keys";
  switch (visits) {
    case Walk::Visits::kFirstAlone:
      return "only the first tile of " + other + " counts";
    case Walk::Visits::kLastAlone:
      return "only the last tile of " + other + " counts: the sum begins anew with each tile";
    case Walk::Visits::kSkipsFirst:
      return "the first tile of " + other + " is left out";
    case Walk::Visits::kSkipsLast:
      return "the last tile of " + other + " is left out";
    case Walk::Visits::kWholeAlone:
      return "a last tile of " + other + " that is not whole is left out";
    case Walk::Visits::kToFirstEnd:
      return "the walk ends where the " + other + " of the tile's first own row end";
    case Walk::Visits::kFromLast:
      return "the walk begins where the " + other + " of the tile's last own row begin";
    case Walk::Visits::kOfFirstTile:
      return "every tile walks over the " + other + " of the first own tile of the head";
    case Walk::Visits::kEveryFourth:
      return "three of four tiles of " + other + " are left out: the walk goes on by the number of threads";
    case Walk::Visits::kHeadsAnew:
      return "only the last query head of each group counts: the sum begins anew with each of them";
    case Walk::Visits::kSumsAgain:
      return "in every turn the sum so far is added to memory once more: early tiles count several times";
    case Walk::Visits::kAll:
      break;
  }
  return "";
}

std::string words_of(Walk::Product product, bool of_keys) {
  switch (product) {
    case Walk::Product::kOtherTensor:
      return of_keys ? "q and dout have changed places in the products with the weights"
                     : "dS is multiplied with v instead of k";
    case Walk::Product::kTurned:
      return "the weights stand transposed in their tile: those of own row i and other row j are taken for "
             "those of j and i";
    case Walk::Product::kWeights:
      return of_keys ? "P and dS have changed places" : "P is multiplied with k instead of dS";
    case Walk::Product::kFirstTile:
      return "the weights of every tile are multiplied with the rows of the first one";
    case Walk::Product::kDsForP:
      return "dv sums dS instead of P: both lie at the same place";
    case Walk::Product::kPForDs:
      return "dk sums P instead of dS";
    case Walk::Product::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Heads heads, bool of_keys) {
  switch (heads) {
    case Walk::Heads::kModulo:
      return of_keys ? "a group is every kv_heads-th query head instead of neighbouring ones"
                     : "query head h reads KV head h % kv_heads";
    case Walk::Heads::kZero:
      return of_keys ? "every KV head sums query head 0" : "every query head reads KV head 0";
    case Walk::Heads::kFirstAlone:
      return "only the first query head of each group counts";
    case Walk::Heads::kFromZero:
    case Walk::Heads::kFromZeroOfAll:
      return "every KV head sums the query heads of the first group";
    case Walk::Heads::kOfFirst:
      return "q and dout are those of the first query head of the group for all of them";
    case Walk::Heads::kRight:
      break;
  }
  return "";
}

std::string words_of(Walk::Columns columns) {
  switch (columns) {
    case Walk::Columns::k64:
      return "only the first 64 columns are there, whatever head_dim is";
    case Walk::Columns::k32:
      return "only the first 32 columns are there, whatever head_dim is";
    case Walk::Columns::kFours:
      return "only whole groups of four columns are there: the last head_dim % 4 are 0";
    case Walk::Columns::kLastLost:
      return "the last column is left out";
    case Walk::Columns::kAll:
      break;
  }
  return "";
}

}  // namespace

std::vector<Cause> causes_of_walk(const GradientWalk& w, bool of_keys) {
  const Walk right;
  std::vector<Cause> causes;
  const auto add = [&](bool wrong, const char* id, const std::string& words, const char* question) {
    if (wrong) causes.push_back({id, words, question});
  };
  const char* kPlaces =
      "A tile counts from its own first row, lse and delta from the first row of all heads: which of them "
      "does this index count, and is it that of a row at all?";
  add(w.numbers_place != right.numbers_place, "gradient-place",
      words_of(w.numbers_place, "lse and delta", "are"), kPlaces);
  add(w.lse_place != right.lse_place, "gradient-place", words_of(w.lse_place, "lse", "is"), kPlaces);
  add(w.delta_place != right.delta_place, "gradient-place", words_of(w.delta_place, "delta", "is"), kPlaces);
  add(w.lse != right.lse, "gradient-lse", words_of(w.lse),
      "P = exp(scale q k - lse): what is lse the sum of?");
  add(w.delta != right.delta, "gradient-delta", words_of(w.delta), "dS = P (dP - delta): whose is delta?");
  add(w.exponent != right.exponent, "gradient-exponent", words_of(w.exponent),
      "Which exponential has forward taken, and of what?");
  add(w.masked != right.masked, "gradient-mask", words_of(w.masked, of_keys),
      "Which two numbers does visible() compare, and from where is each of them counted?");
  add(w.scores != right.scores, "gradient-sums",
      words_of(w.scores, "S", "q and v instead of q and k", "dout and k instead of q and k"),
      "What do the accumulators of S hold before a tile is multiplied, and which tensors meet in it?");
  add(w.dp != right.dp, "gradient-sums",
      words_of(w.dp, "dP", "dout and k instead of dout and v", "q and v instead of dout and v"),
      "What do the accumulators of dP hold before a tile is multiplied, and which tensors meet in it?");
  add(w.formula != right.formula, "gradient-formula", words_of(w.formula), "What is dS, in P, dP and delta?");
  add(w.factor != right.factor, "gradient-factor", words_of(w.factor, of_keys ? "dk" : "dq"),
      "Of dq, dk and dv, which are gradients by scores that were scaled?");
  add(w.data != right.data, "gradient-data", words_of(w.data),
      "From which row on does each turn fetch its tiles, and when are they multiplied?");
  add(w.visits != right.visits, "gradient-visits", words_of(w.visits, of_keys),
      "Which tiles does the loop visit, and what is left of the earlier ones?");
  add(w.product != right.product, "gradient-product", words_of(w.product, of_keys),
      "dq = dS k, dk = dSᵀ q, dv = Pᵀ dout: which tile of weights meets which rows?");
  add(w.heads != right.heads, "gradient-heads", words_of(w.heads, of_keys),
      "Which query heads read this KV head, and whose rows does each of them have?");
  add(w.columns != right.columns, "gradient-columns", words_of(w.columns),
      "Over which columns do the loops run, and which of them do the tiles hold?");
  return causes;
}

}  // namespace ringcraft::verify
