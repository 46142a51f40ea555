// Predict 503: ranks in two grids, a walk over two levels, and the link that each message takes. The seed
// chooses the grids and the rank; the library's groups and walks give every answer.
#include <algorithm>
#include <string>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft::judge {
namespace {

// The same ranks on nodes, and in rows of another length.
struct LinkCase {
  int nodes, node, row, rank;

  int ranks() const { return nodes * node; }
  GridGroups groups() const { return grid_groups(ranks(), row, rank); }
  bool far(int a, int b) const { return a / node != b / node; }  // on two nodes
};

LinkCase link_case(std::uint64_t seed) {
  Random random(seed);
  const int nodes = static_cast<int>(random.integer(2, 3)), node = random.integer(0, 1) == 0 ? 4 : 6;
  const int row = node == 4 ? 2 : static_cast<int>(random.integer(2, 3));
  return {nodes, node, row, static_cast<int>(random.integer(node, nodes * node - 1))};
}

int number_in(const std::vector<int>& group, int rank) {
  return static_cast<int>(std::ranges::find(group, rank) - group.begin());
}
std::string of_rank(int rank) { return "rank " + std::to_string(rank) + ", "; }

void ask_about_groups(Sheet& sheet, const LinkCase& c) {
  const auto [row, column] = c.groups();
  sheet.ask("groups", of_rank(c.rank) + "row:", row);
  sheet.ask("groups", of_rank(c.rank) + "column:", column);
  sheet.ask("translated", of_rank(c.rank) + "its number in the row, and in the column:",
            std::vector{number_in(row, c.rank), number_in(column, c.rank)});
  sheet.ask("translated", "number 1 of this row, and number 1 of this column, as ranks of the world:",
            std::vector{row[1], column[1]});
  sheet.ask("translated", of_rank(c.rank) + "its node, and its place there:",
            std::vector{c.rank / c.node, c.rank % c.node});
}

void ask_about_walk(Sheet& sheet, const LinkCase& c) {
  const std::vector<WalkStep> walk = two_level_walk(c.ranks(), c.node, c.rank);
  for (const int step : {0, 1, c.node - 1, c.node, c.node + 2}) {
    const WalkStep& at = walk[static_cast<std::size_t>(step)];
    sheet.ask("walk",
              "step " + std::to_string(step) + ", block of rank, inner to and from, outer to and from:",
              std::vector{at.source, at.inner_to, at.inner_from, at.outer_to, at.outer_from});
  }
}

// For each member of a ring: whether its block leaves the node on the way to the next one.
std::vector<int> hops_apart(const LinkCase& c, const std::vector<int>& ring) {
  std::vector<int> apart;
  for (std::size_t i = 0; i < ring.size(); ++i)
    apart.push_back(c.far(ring[i], ring[(i + 1) % ring.size()]) ? 1 : 0);
  return apart;
}

// Blocks that leave node 0 in a forward pass: in a plain ring, in a double ring, and in the columns of the
// hybrid, where a block is that of one rank for its share of the heads.
Index left_by_ring(const LinkCase& c) { return c.ranks() - 1; }
Index left_by_double_ring(const LinkCase& c) {
  Index blocks = 0;
  for (int rank = 0; rank < c.node; ++rank)
    for (const WalkStep& step : two_level_walk(c.ranks(), c.node, rank))
      for (const int to : {step.inner_to, step.outer_to}) blocks += to >= 0 && c.far(rank, to) ? 1 : 0;
  return blocks;
}
Index left_by_columns(const LinkCase& c) {
  Index blocks = 0;
  for (int rank = 0; rank < c.node; ++rank) {
    const std::vector<int> column = grid_groups(c.ranks(), c.row, rank).column;
    const std::size_t next = static_cast<std::size_t>(number_in(column, rank) + 1) % column.size();
    blocks += c.far(rank, column[next]) ? std::ssize(column) - 1 : 0;
  }
  return blocks;
}

void ask_about_links(Sheet& sheet, const LinkCase& c) {
  const auto [row, column] = c.groups();
  sheet.ask("links",
            "the column of rank " + std::to_string(c.rank) +
                ", from each member to the next one, and from the last to the first:",
            hops_apart(c, column));
  sheet.ask("links", "the row of rank " + std::to_string(c.rank) + ", from it to each of the others:",
            [&, &row = row] {
              std::vector<int> apart;
              for (const int other : row)
                if (other != c.rank) apart.push_back(c.far(c.rank, other) ? 1 : 0);
              return apart;
            }());
  const auto first_step = [&](int rank) { return two_level_walk(c.ranks(), c.node, rank)[0]; };
  const WalkStep own = first_step(c.rank);
  sheet.ask("links", "double ring, step 0, " + of_rank(c.rank) + "inner and outer message:",
            std::vector{c.far(c.rank, own.inner_to) ? 1 : 0, c.far(c.rank, own.outer_to) ? 1 : 0});
  const int at_border = c.node - 1;
  sheet.ask(
      "links",
      "step 0, " + of_rank(at_border) + "message of a plain ring, and inner message of the double ring:",
      std::vector{c.far(at_border, at_border + 1) ? 1 : 0,
                  c.far(at_border, first_step(at_border).inner_to) ? 1 : 0});
}

std::vector<PuzzleRow> link_rows() {
  return {{"groups",
           2,
           {},
           "Row and column of a rank.",
           "Write the ranks into rows: who is beside this one, and who below it?",
           {}},
          {"translated",
           2,
           {},
           "Numbers in groups and in the world.",
           "A group counts its members from 0: where in the list does the rank stand?",
           {}},
          {"walk",
           4,
           {},
           "Steps of the walk over two levels.",
           "Which turn is this, which step in it, and does another one follow?",
           {}},
          {"links",
           3,
           {},
           "The link of each message.",
           "Divide both ranks by the ranks of a node: are the quotients equal?",
           {}},
          {"leaving",
           2,
           {},
           "Blocks that leave a node.",
           "Which ranks of the node send across its border, and how often?",
           {}}};
}

Form link_form(std::uint64_t seed) {
  const LinkCase c = link_case(seed);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say(counted(c.ranks(), "rank") + " on " + std::to_string(c.nodes) + " nodes of " +
            std::to_string(c.node) + ", filled one after another. A hybrid deals heads in rows of " +
            std::to_string(c.row) + ".");
  ask_about_groups(sheet, c);
  sheet.gap();
  sheet.say(
      "The double ring goes round the nodes, without a hybrid; -1 where nothing moves. The walk of rank " +
      std::to_string(c.rank) + ":");
  ask_about_walk(sheet, c);
  sheet.gap();
  sheet.say("1 for a message between two nodes, 0 for one inside of a node.");
  ask_about_links(sheet, c);
  sheet.gap();
  sheet.say(
      "Blocks that leave node 0 in a forward pass, message by message; a block of the hybrid's columns is "
      "one message.");
  sheet.ask("leaving", "plain ring:", std::vector{left_by_ring(c)});
  sheet.ask("leaving", "double ring:", std::vector{left_by_double_ring(c)});
  sheet.ask("leaving", "columns of the hybrid:", std::vector{left_by_columns(c)});
  return {sheet.lines(), link_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Two grids, two kinds of links",
                    "translate ranks, walk two levels, and say which link a message takes", link_form);
}

}  // namespace ringcraft::judge
