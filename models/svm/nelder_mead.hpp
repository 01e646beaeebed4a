#pragma once
// Minimisation without derivatives (J. A. Nelder and R. Mead, A simplex method for function
// minimization, The Computer Journal 7, 1965), with the coefficients, the first simplex and the
// order of steps of R's optim, with which CORAL-2 trains its support vector machine. (optim
// contracts whenever a reflection does not give the least value.)

#include <functional>
#include <span>
#include <vector>

namespace assay {

class NelderMead {
 public:
  explicit NelderMead(std::size_t dimensions);
  /// Minimises `function`, starting from `x`, until `most` evaluations were made, or the values of
  /// the simplex differ by at most 1e-8 times the first value. Writes the best point to `x` and
  /// returns its value. Allocates nothing.
  double minimise(const std::function<double(std::span<const double>)>& function,
                  std::span<double> x, int most);
  int evaluations() const { return evaluations_; }
  /// A vertex of the last simplex, i from 0 to the number of dimensions.
  std::span<const double> vertex(std::size_t i) const {
    return {&vertices_[i * dimensions_], dimensions_};
  }

 private:
  std::span<double> vertex(std::size_t i) { return {&vertices_[i * dimensions_], dimensions_}; }
  double evaluate(std::span<const double> x);
  void first_simplex(std::span<const double> x);
  void step();
  /// Writes centre + factor (from - centre) to `to`, and returns the function's value there.
  double along(double factor, std::span<const double> from, std::span<double> to);
  void replace_worst(std::span<const double> by, double value);
  void shrink();
  void order();

  std::size_t dimensions_;
  std::vector<double> vertices_, values_, centre_, reflected_, other_;
  std::size_t best_ = 0, worst_ = 0;
  const std::function<double(std::span<const double>)>* function_ = nullptr;
  int evaluations_ = 0, most_ = 0;
};

}  // namespace assay
