#include <charconv>

#include "core/base/error.hpp"
#include "core/program/benchmark.hpp"
#include "kernels/axpy/problem.hpp"

namespace {

std::int64_t parse(const std::string& descriptor) {
  std::int64_t n = 0;
  const char* end = descriptor.data() + descriptor.size();
  const auto [at, error] = std::from_chars(descriptor.data() + 1, end, n);
  if (descriptor.size() < 2 || descriptor[0] != 'n' || error != std::errc() || at != end || n < 1)
    throw assay::InputError("'" + descriptor + "' is no vector length. Write n1024.");
  return n;
}

class AxpyBenchmark final : public assay::OperationBenchmark {
 public:
  std::string name() const override { return "axpy"; }
  std::string description() const override { return "out = 2 x + y"; }
  std::vector<assay::Dimension> dimensions() const override {
    return {assay::dimension::precision({"fp32", "fp64"}, {"fp32"}),
            assay::dimension::backend("axpy", {"reference"}), assay::dimension::problem({"n1024"}),
            assay::dimension::cache(), assay::dimension::threads()};
  }
  std::string canonical(const std::string& descriptor) const override {
    return "n" + std::to_string(parse(descriptor));
  }
  std::unique_ptr<assay::Problem> make_problem(const assay::Settings& settings) const override {
    return std::make_unique<assay::AxpyProblem>(parse(settings.at("problem")),
                                                assay::precision(settings.at("precision")));
  }
  std::unique_ptr<assay::Oracle> oracle(const assay::Problem&) const override {
    return std::make_unique<assay::AxpyOracle>();
  }
};

}  // namespace

int main(int argc, char** argv) { return assay::benchmark_main(AxpyBenchmark(), argc, argv); }
