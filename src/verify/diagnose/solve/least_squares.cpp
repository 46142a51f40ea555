// Solves linear least squares, and measures the residual of a solution.
#include <Eigen/Dense>
#include <cmath>

#include "verify/diagnose/solve/line_system.hpp"

namespace ringcraft::verify {

std::pair<std::vector<double>, double> least_squares(const std::vector<std::vector<double>>& columns,
                                                     const std::vector<double>& wanted) {
  const auto rows = static_cast<Eigen::Index>(wanted.size()),
             cols = static_cast<Eigen::Index>(columns.size());
  const Eigen::Map<const Eigen::VectorXd> y(wanted.data(), rows);
  if (cols == 0) return {{}, rows == 0 ? 0 : std::sqrt(y.squaredNorm() / static_cast<double>(rows))};
  Eigen::MatrixXd a(rows, cols);
  Eigen::VectorXd norm(cols);
  for (Eigen::Index c = 0; c < cols; ++c) {
    a.col(c) = Eigen::Map<const Eigen::VectorXd>(columns[static_cast<std::size_t>(c)].data(), rows);
    norm[c] = std::max(a.col(c).norm(), 1e-300);
    a.col(c) /= norm[c];
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(a);
  qr.setThreshold(1e-12);
  const Eigen::VectorXd scaled = qr.solve(y);
  const double left =
      std::sqrt((y - a * scaled).squaredNorm() / static_cast<double>(std::max<Eigen::Index>(rows, 1)));
  const Eigen::VectorXd x = scaled.cwiseQuotient(norm);
  return {{x.data(), x.data() + cols}, left};
}

}  // namespace ringcraft::verify
