#include "kernels/axpy/benchmark.hpp"

#include <charconv>

#include "core/base/error.hpp"
#include "kernels/axpy/problem.hpp"

namespace assay {

namespace {

std::int64_t parse(const std::string& descriptor) {
  std::int64_t n = 0;
  const char* end = descriptor.data() + descriptor.size();
  const auto [at, error] = std::from_chars(descriptor.data() + 1, end, n);
  if (descriptor.size() < 2 || descriptor[0] != 'n' || error != std::errc() || at != end || n < 1)
    throw InputError("'" + descriptor + "' is no vector length. Write n1024.");
  return n;
}

class AxpyBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "axpy"; }
  std::string description() const override { return "out = 2 x + y"; }
  std::vector<Dimension> dimensions() const override {
    return {dimension::precision({"fp32", "fp64"}, {"fp32"}),
            dimension::backend("axpy", {"reference"}), dimension::problem({"n1024"}),
            dimension::cache(), dimension::threads()};
  }
  std::string canonical(const std::string& descriptor) const override {
    return "n" + std::to_string(parse(descriptor));
  }
  std::unique_ptr<Problem> make_problem(Settings& settings, int&) const override {
    return std::make_unique<AxpyProblem>(parse(settings.at("problem")),
                                         precision(settings.at("precision")));
  }
  std::unique_ptr<Oracle> oracle(const Problem&) const override {
    return std::make_unique<AxpyOracle>();
  }
};

}  // namespace

const OperationBenchmark& axpy_benchmark() {
  static const AxpyBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
