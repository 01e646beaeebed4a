// Sums over observations by plain loops in fp64: moments, kmeans_assign, hinge, hinge_hessian.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/place.hpp"
#include "kernels/reference/linalg.hpp"

namespace assay::reference {
namespace {

/// Passes each observation to the kernel, and adds up the `sums` of all threads.
class PlainSums : public PlainOperation {
 public:
  PlainSums(const LinalgProblem& problem, int threads, std::size_t sums)
      : PlainOperation(problem, threads),
        n_(problem.shape().n),
        d_(place(problem.shape().d)),
        k_(place(problem.shape().k)),
        sums_(sums) {}

  void run(Stream&) final {
    begin();
    std::vector<double> all(sums_);
#pragma omp parallel num_threads(threads_)
    {
      std::vector<double> row(d_), part(sums_);
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < n_; ++i) {
        read(0, i * static_cast<std::int64_t>(d_), row);
        add(i, row, part);
      }
#pragma omp critical
      for (std::size_t j = 0; j < sums_; ++j) all[j] += part[j];
    }
    end(all);
  }

 protected:
  /// Reads the data that all observations need.
  virtual void begin() {}
  virtual void add(std::int64_t i, const std::vector<double>& row, std::vector<double>& sums) = 0;
  virtual void end(const std::vector<double>& sums) = 0;

  std::vector<double> read_all(std::size_t argument) const {
    return read(argument, 0, arguments_[argument].elements());
  }

  std::int64_t n_;
  std::size_t d_, k_;

 private:
  std::size_t sums_;
};

class PlainMoments final : public PlainSums {
 public:
  PlainMoments(const LinalgProblem& problem, int threads)
      : PlainSums(problem, threads,
                  place(problem.shape().d) + place(problem.shape().d * problem.shape().d)) {}

 private:
  void begin() override { shift_ = read_all(1); }
  void add(std::int64_t, const std::vector<double>& row, std::vector<double>& sums) override {
    for (std::size_t i = 0; i < d_; ++i) {
      const double centred = row[i] - shift_[i];
      sums[i] += centred;
      for (std::size_t j = 0; j < d_; ++j) sums[d_ + i * d_ + j] += centred * (row[j] - shift_[j]);
    }
  }
  void end(const std::vector<double>& sums) override {
    write(2, 0, std::span(sums).first(d_));
    write(3, 0, std::span(sums).subspan(d_));
  }
  std::vector<double> shift_;
};

class PlainHessian final : public PlainSums {
 public:
  PlainHessian(const LinalgProblem& problem, int threads)
      : PlainSums(problem, threads, place((problem.shape().d + 1) * (problem.shape().d + 1))) {}

 private:
  void begin() override { s_ = read_all(1); }
  void add(std::int64_t at, const std::vector<double>& row, std::vector<double>& sums) override {
    if (!(s_[place(at)] > 0 && s_[place(at)] < 1)) return;
    const auto factor = [&](std::size_t j) { return j == d_ ? 1 : row[j]; };
    for (std::size_t i = 0; i <= d_; ++i)
      for (std::size_t j = 0; j <= d_; ++j) sums[i * (d_ + 1) + j] += factor(i) * factor(j);
  }
  void end(const std::vector<double>& sums) override { write(2, 0, sums); }
  std::vector<double> s_;
};

class PlainKmeansAssign final : public PlainSums {
 public:
  PlainKmeansAssign(const LinalgProblem& problem, int threads)
      : PlainSums(problem, threads, place(problem.shape().k * (problem.shape().d + 1)) + 1) {}

 private:
  void begin() override { centroids_ = read_all(1); }
  void add(std::int64_t i, const std::vector<double>& row, std::vector<double>& sums) override {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t c = 0; c < k_; ++c) {
      double distance = 0;
      for (std::size_t j = 0; j < d_; ++j) {
        const double off = row[j] - centroids_[c * d_ + j];
        distance += off * off;
      }
      if (c > 0 && !(distance < least)) continue;
      best = c;
      least = distance;
    }
    write(2, i, static_cast<double>(best));
    for (std::size_t j = 0; j < d_; ++j) sums[best * d_ + j] += row[j];
    sums[k_ * d_ + best] += 1;
    sums.back() += least;
  }
  void end(const std::vector<double>& sums) override {
    write(3, 0, std::span(sums).first(k_ * d_));
    write(4, 0, std::span(sums).subspan(k_ * d_, k_));
    write(5, 0, std::span(sums).last(1));
  }
  std::vector<double> centroids_;
};

class PlainHinge final : public PlainSums {
 public:
  PlainHinge(const LinalgProblem& problem, int threads)
      : PlainSums(problem, threads, place(problem.shape().d) + 5) {}

 private:
  void begin() override {
    y_ = read_all(1);
    w_ = read_all(2);
    slope_ = read_all(3)[0];
  }
  void add(std::int64_t i, const std::vector<double>& row, std::vector<double>& sums) override {
    double dot = w_[d_];
    for (std::size_t j = 0; j < d_; ++j) dot += row[j] * w_[j];
    const double y = y_[place(i)], z = 1 - y * dot, s = std::min(std::max(slope_ * z, 0.0), 1.0);
    write(4, i, s);
    for (std::size_t j = 0; j < d_; ++j) sums[j] += s * y * row[j];
    const double others[] = {s * y, std::max(z, 0.0), s, s * z, s * s};
    for (std::size_t j = 0; j < 5; ++j) sums[d_ + j] += others[j];
  }
  void end(const std::vector<double>& sums) override {
    write(5, 0, std::span(sums).last(4));
    write(6, 0, std::span(sums).first(d_ + 1));
  }
  std::vector<double> y_, w_;
  double slope_ = 0;
};

}  // namespace

std::unique_ptr<Operation> make_observations(const LinalgProblem& problem, int threads) {
  switch (problem.shape().kernel) {
    case LinalgKernel::moments:
      return std::make_unique<PlainMoments>(problem, threads);
    case LinalgKernel::hinge_hessian:
      return std::make_unique<PlainHessian>(problem, threads);
    case LinalgKernel::kmeans_assign:
      return std::make_unique<PlainKmeansAssign>(problem, threads);
    case LinalgKernel::hinge:
      return std::make_unique<PlainHinge>(problem, threads);
    default:
      return nullptr;
  }
}

}  // namespace assay::reference
