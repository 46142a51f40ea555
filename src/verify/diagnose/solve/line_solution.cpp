// Finds the fewest named changes that explain a line. Tries two ways, since each gets stuck where the other
// does not: per slot the state nearest to the free solution, and descent from "all right", the most helpful
// change first.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "verify/diagnose/solve/line_system.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

double product(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class Solver {
 public:
  Solver(LineSystem& system, double threshold) : s_(system), threshold_(threshold) {
    const auto n = static_cast<Eigen::Index>(s_.columns.size()),
               equations = static_cast<Eigen::Index>(s_.wanted.size());
    Eigen::MatrixXd columns(equations, n);
    for (Eigen::Index c = 0; c < n; ++c)
      columns.col(c) =
          Eigen::Map<const Eigen::VectorXd>(s_.columns[static_cast<std::size_t>(c)].data(), equations);
    const Eigen::MatrixXd gram = columns.transpose() * columns;
    for (Eigen::Index a = 0; a < n; ++a) gram_.emplace_back(gram.col(a).begin(), gram.col(a).end());
  }

  void run() {
    note_what_shows();
    std::vector<std::size_t> choice(s_.slots.size(), 0);
    if (residual(choice) <= threshold_) {
      s_.solved = s_.possible = true;
      s_.solutions.push_back({});
      return;
    }
    const bool enough = static_cast<double>(s_.columns.size()) < 0.7 * static_cast<double>(s_.wanted.size());
    const auto [free, floor] = enough ? least_squares(s_.columns, s_.wanted) : std::pair<Numbers, double>{};
    s_.floor = floor;
    if (!(floor <= threshold_)) return;  // NaN explains nothing
    s_.possible = true;
    if (enough) keep(nearest(free));
    keep(descended(choice));
    s_.solved = !s_.solutions.empty();
    if (!s_.solved && enough) keep_whole_numbers(free);
  }

 private:
  using Choice = std::vector<std::size_t>;  // state of each slot

  Numbers coefficients(const Choice& choice) const {
    Numbers x(s_.columns.size(), 0.0);
    for (std::size_t slot = 0; slot < choice.size(); ++slot)
      for (std::size_t c = 0; c < x.size(); ++c) x[c] += s_.slots[slot][choice[slot]].weights[c];
    return x;
  }

  Numbers left(const Numbers& x) const {
    Numbers rest = s_.wanted;
    for (std::size_t c = 0; c < x.size(); ++c)
      if (x[c] != 0)
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= x[c] * s_.columns[c][i];
    return rest;
  }

  double residual(const Choice& choice) const { return residual_of(left(coefficients(choice)), s_.group); }

  // Records how much each law changes where it holds: a law that changes nothing cannot be detected.
  void note_what_shows() {
    for (std::size_t slot = 0; slot < s_.slots.size(); ++slot)
      for (const SlotState& state : s_.slots[slot]) {
        if (state.laws.empty()) continue;
        Numbers change(state.weights.size());
        for (std::size_t c = 0; c < change.size(); ++c)
          change[c] = state.weights[c] - s_.slots[slot][0].weights[c];
        double square = 0;
        for (std::size_t a = 0; a < change.size(); ++a)
          if (change[a] != 0) square += change[a] * product(gram_[a], change);
        const double size = std::sqrt(std::max(square, 0.0) / static_cast<double>(s_.wanted.size()));
        for (const Law& law : state.laws) s_.shows[{static_cast<int>(slot), law}] = size;
      }
  }

  // Per slot the first state that is about as near to the free solution as any.
  Choice nearest(const Numbers& free) const {
    Choice choice;
    for (std::size_t slot = 0; slot < s_.slots.size(); ++slot) {
      std::vector<std::size_t> mine;
      for (std::size_t c = 0; c < s_.columns.size(); ++c)
        if (s_.slot_of[c] == static_cast<int>(slot)) mine.push_back(c);
      Numbers distance;
      for (const SlotState& state : s_.slots[slot]) {
        double square = 0;
        for (const std::size_t a : mine)
          for (const std::size_t b : mine)
            square += (free[a] - state.weights[a]) * gram_[a][b] * (free[b] - state.weights[b]);
        distance.push_back(
            state.own ? std::sqrt(std::max(square, 0.0) / static_cast<double>(s_.wanted.size())) : 1e300);
      }
      const double best = *std::ranges::min_element(distance);
      const double enough = std::max(best * 1.01, threshold_ * 0.3);
      const auto near = std::ranges::find_if(distance, [=](double d) { return d <= enough; });
      choice.push_back(near == distance.end() ? 0 : static_cast<std::size_t>(near - distance.begin()));
    }
    return choice;
  }

  Choice descended(Choice choice) const {
    for (std::size_t move = 0; move < 4 * s_.slots.size() + 4; ++move) {
      const Numbers rest = left(coefficients(choice));
      if (residual_of(rest, s_.group) <= threshold_) break;
      const double all = product(rest, rest);
      Numbers gradient;
      for (const Numbers& column : s_.columns) gradient.push_back(product(column, rest));
      double best = 1e-6 * all;
      std::size_t best_slot = s_.slots.size(), best_state = 0;
      for (std::size_t slot = 0; slot < s_.slots.size(); ++slot)
        for (std::size_t state = 0; state < s_.slots[slot].size(); ++state) {
          const double gain =
              gain_of(slot, choice[slot], state, gradient) - 1e-9 * all * static_cast<double>(state);
          if (gain > best) best = gain, best_slot = slot, best_state = state;
        }
      if (best_slot == s_.slots.size()) break;
      choice[best_slot] = best_state;
    }
    return choice;
  }

  double gain_of(std::size_t slot, std::size_t from, std::size_t to, const Numbers& gradient) const {
    const Numbers &now = s_.slots[slot][from].weights, &then = s_.slots[slot][to].weights;
    std::vector<std::size_t> changed;
    for (std::size_t c = 0; c < now.size(); ++c)
      if (now[c] != then[c]) changed.push_back(c);
    double gain = 0;
    for (const std::size_t a : changed) {
      gain += 2 * (then[a] - now[a]) * gradient[a];
      for (const std::size_t b : changed) gain -= (then[a] - now[a]) * gram_[a][b] * (then[b] - now[b]);
    }
    return gain;
  }

  // Stores how often each cell is used, if no name describes it.
  void keep_whole_numbers(const Numbers& free) {
    Numbers whole;
    for (std::size_t c = 0; c < free.size(); ++c) {
      const double nearest_whole = std::round(free[c]);
      if (c >= s_.cells.size() ? nearest_whole != 0 : nearest_whole < 0 || nearest_whole > 4) return;
      whole.push_back(nearest_whole);
    }
    if (residual_of(left(whole), s_.group) <= threshold_ * 1.2) s_.coefficients = std::move(whole);
  }

  // Reverts every change that is not needed, and records the others with all equivalent laws.
  void keep(Choice choice) {
    if (residual(choice) > threshold_) return;
    for (std::size_t slot = 0; slot < choice.size(); ++slot) {
      if (choice[slot] == 0) continue;
      Choice without = choice;
      without[slot] = 0;
      if (residual(without) <= threshold_) choice = without;
    }
    Deviations found;
    for (std::size_t slot = 0; slot < choice.size(); ++slot) {
      if (choice[slot] == 0) continue;
      std::vector<Law>& laws = found[static_cast<int>(slot)];
      std::set<Law> known;
      for (std::size_t state = 1; state < s_.slots[slot].size(); ++state) {
        Choice other = choice;
        other[slot] = state;
        if (state != choice[slot] && residual(other) > threshold_ * 1.2) continue;
        for (const Law& law : s_.slots[slot][state].laws)
          if (known.insert(law).second) laws.push_back(law);
      }
    }
    s_.solutions.push_back(std::move(found));
  }

  LineSystem& s_;
  double threshold_;
  std::vector<Numbers> gram_;
};

}  // namespace

double residual_of(const std::vector<double>& left, int group) {
  double square = 0, apart = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    (group > 0 && static_cast<int>(i % static_cast<std::size_t>(group)) == group - 1 ? apart : square) +=
        left[i] * left[i];
  const auto all = static_cast<double>(std::max<std::size_t>(left.size(), 1));
  if (group == 0) return std::sqrt(square / all);
  return std::sqrt(std::max(square / (all * (group - 1) / group), apart / (all / group)));
}

double residual_with(const LineSystem& system, const std::vector<std::size_t>& states) {
  std::vector<double> rest = system.wanted;
  for (std::size_t c = 0; c < system.columns.size(); ++c) {
    double x = 0;
    for (std::size_t slot = 0; slot < states.size(); ++slot) x += system.slots[slot][states[slot]].weights[c];
    if (x == 0) continue;
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= x * system.columns[c][i];
  }
  return residual_of(rest, system.group);
}

void solve(LineSystem& system, double threshold) { Solver(system, threshold).run(); }

}  // namespace ringcraft::verify
