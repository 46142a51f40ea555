// Describes laws of parts in words, as causes.
#include "verify/diagnose/solve/gradient/share_law.hpp"

namespace ringcraft::verify {
namespace {

using Deed = ShareLaw::Deed;
using Kind = ShareWhich::Kind;
using Scope = ShareScope::Kind;

std::string nodes_of(const ShareWhich& which) {
  return " (of " + std::to_string(which.node) + " ranks each)";
}

std::string scope_words(const ShareScope& scope) {
  const std::string number = std::to_string(scope.number);
  switch (scope.kind) {
    case Scope::kAll:
      return "";
    case Scope::kFirstEntry:
      return "in batch entry 0, ";
    case Scope::kLaterEntries:
      return "in all batch entries but the first, ";
    case Scope::kLastEntry:
      return "in the last batch entry, ";
    case Scope::kFromInGroup:
      return "of the query heads from " + number + " on of each group, ";
    case Scope::kUpToInGroup:
      return scope.number == 1 ? "of the first query head of each group, "
                               : "of the first " + number + " query heads of each group, ";
    case Scope::kFirstKvHead:
      return "in key head 0, ";
    case Scope::kLaterKvHeads:
      return "in all key heads but the first, ";
    case Scope::kEarlyRows:
      return "of the early half of the rows, ";
    case Scope::kLateRows:
      return "of the late half of the rows, ";
    case Scope::kEarlyKeys:
      return "of the early half of the keys, ";
    case Scope::kLateKeys:
      return "of the late half of the keys, ";
  }
  return "";
}

// The complement of a law that keeps few parts, in words.
std::string explained(const ShareWhich& which, const ShareScope& scope, Index group, int ranks) {
  if (scope.kind == Scope::kUpToInGroup || scope.kind == Scope::kFromInGroup) {
    const bool last = scope.kind == Scope::kUpToInGroup;
    const Index kept = last ? group - scope.number : scope.number;
    const std::string few = kept == 1 ? "head's share is" : std::to_string(kept) + " heads' shares are";
    return ": only the " + std::string(last ? "last " : "first ") + few +
           " kept instead of the sum over the group";
  }
  if (scope.kind != Scope::kAll) return "";
  const int last = which.kind == Kind::kNodesUpTo ? ranks / which.node - 2 : which.node - 2;
  if ((which.kind == Kind::kNodesUpTo || which.kind == Kind::kSeatsUpTo) && which.number == last)
    return ": as where each " + std::string(which.kind == Kind::kNodesUpTo ? "outer" : "inner") +
           " step stores its sum over the one before";
  if (which.kind == Kind::kMiddle)
    return ": only the first step's part and the last one's are kept, as where what is received is assigned "
           "instead of added";
  if (which.kind == Kind::kOtherNodes) return ": the sum is taken within each node, and never between nodes";
  if (which.kind == Kind::kCrossSeats)
    return ": nodes exchange the part of one rank each, not the sum of the node";
  if (which.kind == Kind::kOdd || which.kind == Kind::kEven || which.kind == Kind::kEvenReceived)
    return ": as where two buffers take turns, and one of them is never added";
  return "";
}

std::string order_words(ShareLaw::Order order) {
  switch (order) {
    case ShareLaw::Order::kForward:
      return "";
    case ShareLaw::Order::kBackward:
      return " (blocks walk to lower ranks)";
    case ShareLaw::Order::kOwnLast:
      return " (the own block comes last)";
  }
  return "";
}

// The origin of the factor in a sum that fades.
std::string fading_words(const ShareLaw& law, const Evidence& e, GradientName name) {
  const std::string by = "multiplied by " + law.factor.noun;
  if (law.deed == Deed::kMeans && law.factor.value == 0.5)
    return "each part that arrives is averaged with the sum so far: (sum + part) / 2 at every step instead "
           "of sum + part";
  if (law.deed == Deed::kFadesBefore && law.factor.value == e.problem.softmax_scale &&
      name != GradientName::kDv)
    return "the softmax scale is applied to the running sum at every step, inside the loop, instead of once "
           "in the end: an early part gets it again and again";
  if (law.deed == Deed::kFadesBefore)
    return "the sum so far is " + by +
           " at every step, before the next part is added: an early part gets that factor again and again";
  return "the whole running sum is " + by + " after every step" +
         (law.deed == Deed::kMeans ? " but the first" : "") +
         ", not once in the end: an early part gets that factor again and again";
}

}  // namespace

std::pair<std::string, bool> parts_words(const ShareWhich& which, int ranks) {
  const std::string number = std::to_string(which.number), nodes = nodes_of(which);
  switch (which.kind) {
    case Kind::kAll:
      return {"all parts", true};
    case Kind::kOwn:
      return {"the part of step 0, of the own block,", false};
    case Kind::kReceived:
      return {"the parts of the blocks that arrive", true};
    case Kind::kEarlier:
      return {"the parts of blocks of earlier ranks", true};
    case Kind::kLater:
      return {"the parts of blocks of later ranks", true};
    case Kind::kStep:
      return {"the part of step " + number, false};
    case Kind::kFromStep:
      return {"the parts from step " + number + " on", true};
    case Kind::kUpToStep:
      return {"the parts up to step " + number, true};
    case Kind::kShard:
      return {"the parts that rank " + number + " computes", true};
    case Kind::kBlock:
      return {"the parts of the block of rank " + number, true};
    case Kind::kHidden:
      return {"the parts of blocks of which a rank sees nothing", true};
    case Kind::kMiddle:
      return {"the parts of all steps but the first and the last", true};
    case Kind::kEnds:
      return {"the parts of the first and the last step", true};
    case Kind::kOdd:
      return {"the parts of the odd steps", true};
    case Kind::kEven:
      return {"the parts of the even steps", true};
    case Kind::kEvenReceived:
      return {"the parts of the even steps from 2 on", true};
    case Kind::kNeighbours:
      return {"the parts of the neighbours' blocks (steps 1 and " + std::to_string(ranks - 1) + ")", true};
    case Kind::kFarther:
      return {"the parts of blocks from farther away than a neighbour", true};
    case Kind::kOfShard:
      return {"the parts that rank " + number + " computes of other ranks' blocks", true};
    case Kind::kForBlock:
      return {"the parts that other ranks compute of the block of rank " + number, true};
    case Kind::kNodeMates:
      return {"the parts of the other blocks of the own node" + nodes, true};
    case Kind::kOtherNodes:
      return {"the parts of blocks of other nodes" + nodes, true};
    case Kind::kNodeStep:
      return {"the parts of outer step " + number + " between nodes" + nodes, true};
    case Kind::kNodesUpTo:
      return {"the parts of the own node" + (which.number == 0 ? "" : " and of outer steps up to " + number) +
                  nodes,
              true};
    case Kind::kSeatsUpTo:
      return {"the parts of inner step" + (which.number == 0 ? " 0" : "s up to " + number) +
                  " within a node" + nodes,
              true};
    case Kind::kSeatStep:
      return {"the parts of inner step " + number + " within a node" + nodes, true};
    case Kind::kOtherSeats:
      return {"the parts of blocks that another place of a node holds, in any node" + nodes + ",", true};
    case Kind::kCrossSeats:
      return {"the parts of blocks of other nodes" + nodes + ", but for the ranks at the same place,", true};
    case Kind::kCounterparts:
      return {"the parts of blocks that ranks at the same place of other nodes" + nodes + " hold", true};
  }
  return {};
}

Cause cause_of(const ShareLaw& law, const Evidence& e, GradientName name) {
  const auto [parts, many] = parts_words(law.which, e.place.count());
  const std::string are = many ? " are " : " is ", where = scope_words(law.scope),
                    order = order_words(law.order);
  switch (law.deed) {
    case Deed::kAssigned:
    case Deed::kReset:
      if (law.which.kind == Kind::kHidden)
        return {
            "solved-share-reset",
            "the sum begins anew with zeros at every rank that sees nothing of a block: what ranks before "
            "it have added is lost" +
                order,
            "Skipping work is fine; what of the sum that passes through meanwhile?"};
      return {"solved-share-assigned",
              parts + are +
                  "assigned (`=`), not added (`+=`), to the rows that they are for: what earlier "
                  "steps gave them is lost" +
                  order,
              "Which branches of your loop add to the sum, and which store over it?"};
    case Deed::kHeadsStored:
      return {"solved-share-assigned",
              "in " + parts +
                  " each query head of a group stores its part over the sum (`=` for `+=`), so "
                  "that heads and steps before it are lost",
              "Which query heads share a key head, and where are their parts added up?"};
    case Deed::kFadesBefore:
    case Deed::kFadesAfter:
    case Deed::kMeans:
      return {"solved-share-fades", fading_words(law, e, name) + order,
              "Which factor belongs to the whole sum, and stands inside the loop over steps?"};
    case Deed::kCounted:
      return {"solved-share-counted",
              "the sum is divided by the number of its parts that see something: a mean instead of a sum",
              "Is a gradient a sum or an average over blocks?"};
    case Deed::kRepeated:
      return {"solved-share-repeated",
              "the sum so far is added again at every step, so that an early part counts several times: the "
              "buffer of a step's part still holds the parts of the steps before it",
              "Where is the buffer of a step's part set to zero?"};
    case Deed::kFactor:
      break;
  }
  if (law.factor.value == 0)
    return {"solved-share-lost",
            where + parts + are + "lost (never added, or overwritten)" +
                explained(law.which, law.scope, e.problem.group(), e.place.count()),
            "Follow one of these parts: where is it computed, where is it sent, and where is it added?"};
  return {"solved-share-factor", where + parts + are + law.factor.words,
          "Which factors does a part get before it is added, and is that the same for all parts?"};
}

}  // namespace ringcraft::verify
