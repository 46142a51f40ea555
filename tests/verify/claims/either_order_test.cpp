// Where inputs allow two orders of axes, the claim decides between them.
#include "verify/claims/either_order.hpp"

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"

namespace ringcraft::verify {
namespace {

// The judgement of a claim in one order of axes.
struct Outcome {
  bool refused = false;
  ClaimVerdict verdict = {};
};

Outcome verdict(bool good, Index wrong = 0, double worst_share = 0) {
  return {false, {.good = good, .wrong = wrong, .worst_share = worst_share}};
}
Outcome refusal() { return {true}; }

// Inputs in an order that allows another one.
struct TwoOrders {
  bool doubtful = true, many_heads = false;
};

// "likelier" or "other", the order that was taken, or the error.
std::string taken(const Outcome& likelier, const Outcome& other, TwoOrders inputs_allow = {}) {
  const auto name = [](TakeOrder take) { return take == TakeOrder::kLikelier ? "likelier" : "other"; };
  const auto read = [&](TakeOrder take) {
    FormedInputs inputs;
    inputs.stored.inputs.q = Buffer({1, 25, 7, 8}, DType::kFloat64);
    inputs.readings = {{.tensor = name(take), .shape = {1, 25, 7, 8}, .order = "", .other = "another"}};
    inputs.doubtful = inputs_allow.doubtful;
    inputs.many_heads = inputs_allow.many_heads;
    return inputs;
  };
  const auto judge = [&](const FormedInputs& inputs) {
    const std::string order = inputs.readings[0].tensor;
    const Outcome& outcome = order == "likelier" ? likelier : other;
    if (outcome.refused) throw Error(order + " refused");
    ClaimVerdict result = outcome.verdict;
    result.summary = order;
    return result;
  };
  try {
    return judge_in_either_order(read, judge).summary;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the likelier order of axes holds where nothing is doubtful, or the claim is right in it") {
  CHECK(taken(verdict(false, 9), verdict(true), {.doubtful = false}) == "likelier");
  CHECK(taken(verdict(true), verdict(true)) == "likelier");
  CHECK(taken(verdict(false, 9), refusal()) == "likelier");
  CHECK(taken(verdict(false, 100, 5), verdict(false, 95, 1)) == "likelier");
}

TEST_CASE("the other order of axes is taken where the claim is right in it, or clearly less wrong") {
  CHECK(taken(verdict(false, 9), verdict(true)) == "other");
  CHECK(taken(refusal(), verdict(false, 9)) == "other");
  CHECK(taken(verdict(false, 100, 5), verdict(false, 80, 5)) == "other");
  CHECK(taken(verdict(false, 100, 50), verdict(false, 100, 1)) == "other");
}

TEST_CASE("a claim that neither order of axes can read is refused as in the likelier") {
  CHECK(taken(refusal(), refusal()) == "likelier refused");
  CHECK(taken(refusal(), verdict(true), {.doubtful = false}) == "likelier refused");
}

TEST_CASE("a claim that is right as more heads than tokens alone is refused") {
  const TwoOrders many{.many_heads = true};
  CHECK(taken(verdict(true), verdict(false, 9), many).find("fewer heads than tokens") != std::string::npos);
  CHECK(taken(verdict(true), refusal(), many).find("fewer heads than tokens") != std::string::npos);
}

}  // namespace ringcraft::verify
