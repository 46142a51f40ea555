// Predict 505: which axes a sum goes over, which ranks are in it, how many tokens it counts, and who shares
// a node. The seed chooses sizes, order and sums; the library's mesh gives every answer, but for the axes of
// a sum, which follow from who holds which weights and who has seen which tokens.
#include <algorithm>
#include <set>
#include <string>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft::judge {
namespace {

using Axes = std::vector<Axis>;

constexpr Axis kEveryAxis[] = {Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline};
constexpr int kRanksOfNode = 8, kTokensOfRank = 4;

// A sum in a layer over tensor and context ranks, and the axes that it goes over.
struct MeshSum {
  const char* words;
  Axes axes;
};
const std::vector<MeshSum>& mesh_sums() {
  static const std::vector<MeshSum> all{
      {"the gradient of a column of the projections", {Axis::kContext, Axis::kData}},
      {"the partial results of the output weights, in the forward pass", {Axis::kTensor}},
      {"dk and dv, when the backward ring has returned them", {}},
      {"the gradient of the norm's gains, with sequence parallelism",
       {Axis::kTensor, Axis::kContext, Axis::kData}},
      {"the gradient of the norm's gains, without sequence parallelism", {Axis::kContext, Axis::kData}},
      {"the loss of the batch, where it is computed, on the ranks of the last stage",
       {Axis::kContext, Axis::kData}}};
  return all;
}

struct MeshCase {
  MeshSizes sizes;
  std::string order;
  int rank;

  int ranks() const { return sizes.tensor * sizes.context * sizes.data * sizes.pipeline; }
  Mesh mesh(const std::string& in_order) const { return make_mesh(ranks(), sizes, in_order); }
};

MeshCase mesh_case(Random& random) {
  constexpr const char* kOrders[] = {"cp-tp-dp-pp", "tp-dp-cp-pp", "tp-pp-cp-dp", "dp-tp-cp-pp"};
  MeshCase c{{.tensor = 2,
              .context = static_cast<int>(random.integer(2, 3)),
              .data = 2,
              .pipeline = static_cast<int>(random.integer(1, 2))},
             kOrders[random.integer(0, 3)],
             0};
  c.rank = static_cast<int>(random.integer(c.ranks() / 2, c.ranks() - 2));
  return c;
}

std::string joined(const Axes& axes) {
  std::string text;
  for (const Axis axis : axes) text += (text.empty() ? "" : " and ") + std::string(name_of(axis));
  return text;
}
std::string of_rank(int rank) { return "rank " + std::to_string(rank) + ", "; }

void ask_about_places(Sheet& sheet, const MeshCase& c, const std::string& order) {
  const Mesh mesh = c.mesh(order);
  std::string names = order;
  std::ranges::replace(names, '-', ' ');
  sheet.ask("places", order + ", " + of_rank(c.rank) + names + ":", coordinates(mesh, c.rank));
}

void ask_about_groups(Sheet& sheet, const MeshCase& c) {
  for (const Axes& axes : {Axes{Axis::kContext}, Axes{Axis::kData}, Axes{Axis::kContext, Axis::kData}})
    sheet.ask("groups", c.order + ", " + of_rank(c.rank) + "along " + joined(axes) + ":",
              group_of(c.mesh(c.order), c.rank, axes));
}

// 1 for each axis that the sum goes over, in the order tp, cp, dp, pp.
void ask_about_sum(Sheet& sheet, const MeshSum& sum) {
  FormLine line{"sums", std::string(sum.words) + ":", {}};
  for (const Axis axis : kEveryAxis) {
    line.text += " " + std::string(name_of(axis)) + " ___";
    line.blanks.push_back({std::ranges::count(sum.axes, axis) > 0 ? 1.0 : 0.0, 0, {}});
  }
  sheet.line(line.row, line.text, line.blanks);
}

// Different tokens that a sum over these axes counts, each as often as it does, and what is right.
void ask_about_tokens(Sheet& sheet, const MeshCase& c) {
  const Mesh mesh = c.mesh(c.order);
  for (const Axes& axes : {Axes{Axis::kData}, Axes{Axis::kContext, Axis::kData},
                           Axes{Axis::kTensor, Axis::kContext, Axis::kData}})
    sheet.ask("tokens", "a sum over " + joined(axes) + " counts tokens:",
              std::vector{std::ssize(group_of(mesh, c.rank, axes)) * kTokensOfRank});
  sheet.ask("tokens",
            "tokens of the whole batch:", std::vector{c.sizes.context * c.sizes.data * kTokensOfRank});
}

int nodes_of(const std::vector<int>& group) {
  std::set<int> nodes;
  for (const int rank : group) nodes.insert(rank / kRanksOfNode);
  return static_cast<int>(nodes.size());
}

void ask_about_nodes(Sheet& sheet, const MeshSizes& sizes, const std::string& order) {
  const Mesh mesh = make_mesh(sizes.tensor * sizes.context * sizes.data * sizes.pipeline, sizes, order);
  std::vector<int> nodes;
  for (const Axis axis : {Axis::kTensor, Axis::kContext, Axis::kData})
    nodes.push_back(nodes_of(group_of(mesh, 0, {axis})));
  sheet.ask("nodes", order + ", nodes under the tp, the cp and the dp group of rank 0:", nodes);
  const std::vector<int> ring = group_of(mesh, 0, {Axis::kContext});
  sheet.ask("nodes", order + ", the next rank after 0 in its ring, and 1 if it is on the same node:",
            std::vector{ring[1], ring[1] / kRanksOfNode == 0 ? 1 : 0});
}

std::vector<PuzzleRow> sum_rows() {
  return {
      {"places",
       2,
       {},
       "Coordinates of a rank in two orders.",
       "Divide by the size of the fastest axis: the remainder is its coordinate, and the quotient goes on.",
       {}},
      {"groups",
       3,
       {},
       "Groups along one axis, and along two.",
       "How many ranks is one step along the axis, and with which member does the list begin?",
       {}},
      {"sums",
       4,
       {},
       "The axes of each sum.",
       "Who holds the same weights, and who has seen other tokens?",
       {}},
      {"tokens",
       2,
       {},
       "Tokens that a sum counts.",
       "How many ranks are in the group, and do two of them have the same tokens?",
       {}},
      {"nodes",
       3,
       {},
       "Nodes under a group.",
       "A step along an axis is as many ranks as the faster axes have: does it leave the node?",
       {}}};
}

Form sum_form(std::uint64_t seed) {
  Random random(seed);
  const MeshCase c = mesh_case(random);
  std::vector<MeshSum> sums = mesh_sums();
  for (std::size_t i = sums.size() - 1; i > 0; --i)
    std::swap(sums[i], sums[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i)))]);
  sums.resize(4);
  const MeshSizes large{.tensor = static_cast<int>(4 * random.integer(1, 2)),
                        .context = static_cast<int>(2 * random.integer(1, 2)),
                        .data = 2};
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("A mesh of " + std::to_string(c.ranks()) + " ranks: tp " + std::to_string(c.sizes.tensor) +
            ", cp " + std::to_string(c.sizes.context) + ", dp " + std::to_string(c.sizes.data) + ", pp " +
            std::to_string(c.sizes.pipeline) + ". Orders name the fastest axis first.");
  ask_about_places(sheet, c, c.order);
  ask_about_places(sheet, c, "pp-dp-cp-tp");
  ask_about_groups(sheet, c);
  sheet.gap();
  sheet.say(
      "A layer over tensor and context ranks. For each sum 1 for an axis that it goes over, and 0 for "
      "another.");
  for (const MeshSum& sum : sums) ask_about_sum(sheet, sum);
  sheet.gap();
  sheet.say("The gradient of a weight, no sequence parallelism, " + std::to_string(kTokensOfRank) +
            " tokens on each rank; a token that two ranks have counts twice.");
  ask_about_tokens(sheet, c);
  sheet.gap();
  sheet.say("tp " + std::to_string(large.tensor) + ", cp " + std::to_string(large.context) +
            ", dp 2, on nodes of " + std::to_string(kRanksOfNode) + ", filled one after another.");
  for (const char* const order : {"tp-cp-dp", "cp-tp-dp", "dp-cp-tp"}) ask_about_nodes(sheet, large, order);
  return {sheet.lines(), sum_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Which group for which sum",
                    "say over which axes a sum goes, and who is in it", sum_form);
}

}  // namespace ringcraft::judge
