// The update of parameters, the sum and the conversion of tensors by our own kernels, on a fake GPU
// that runs their threads on the host.

#include <limits>

#include "kernels/convert/problem.hpp"
#include "kernels/sum/problem.hpp"
#include "kernels/update/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_update_and_sum {

constexpr Precision precisions[] = {Precision::fp64, Precision::fp32, Precision::bf16,
                                    Precision::fp16};

TEST(SumOnGpu, IsExact) {
  for (const Precision precision : precisions)
    for (const std::int64_t n : {1, 7, 8, 1024, 40013})
      for (const bool in_place : {false, true}) {
        const SumProblem problem(n, precision, in_place);
        EXPECT_TRUE(kernel_test::verify(problem, make_sum_oracle(problem), "cuda", 1))
            << problem.canonical();
      }
}

TEST(ConvertOnGpu, IsExact) {
  for (const Precision precision : {Precision::bf16_fp32, Precision::fp16_fp32})
    for (const std::int64_t n : {1, 7, 8, 1024, 40013}) {
      const ConvertProblem problem(n, precision);
      EXPECT_TRUE(kernel_test::verify(problem, convert_oracle(problem), "cuda", 1))
          << problem.canonical();
    }
}

/// Tensors of a part of a block, of one, of several, and so many that sums have several stages.
TEST(UpdateOnGpu, HasEveryRuleAndPrecision) {
  const std::vector<UpdateTensor> some{{300, true, true},
                                       {7, false, false},
                                       {4096, true, true},
                                       {1, false, true},
                                       {9000, true, true}},
      many(20, {4097, true, true});
  for (const std::string& rule : list_names<UpdateRule>())
    for (const Precision precision : precisions)
      for (const auto& tensors : {some, many})
        for (const double coefficient : {0.05, 1e-3}) {
          if (coefficient != 0.05 && !needs_trust(parse_name<UpdateRule>(rule))) continue;
          const bool is_long = tensors.size() > some.size();
          if (is_long && precision != Precision::fp32 && precision != Precision::fp16) continue;
          const UpdateProblem problem(
              {parse_name<UpdateRule>(rule), 0.9, 0.01, coefficient, tensors}, precision);
          EXPECT_TRUE(kernel_test::verify(problem, make_update_oracle(problem), "cuda", 1))
              << problem.canonical();
        }
}

using Tensors = std::map<std::string, std::vector<double>>;

/// The result of one run on these tensors.
Tensors updated(const UpdateProblem& problem, Tensors tensors) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const auto ranks = make_serial_communicator();
  Backend& backend = *std::get<Backend*>(plugins.open("cuda"));
  Device& device = *std::get<Device*>(backend.device(Options{}));
  const auto operation =
      std::get<std::unique_ptr<Operation>>(backend.make(problem, Options{}, *ranks));
  std::vector<std::unique_ptr<Tensor>> own;
  std::vector<Tensor*> bound;
  for (const TensorSpec& spec : operation->arguments()) {
    own.push_back(device.allocate(spec));
    bound.push_back(own.back().get());
    if (const auto found = tensors.find(spec.name); found != tensors.end())
      device.put(*bound.back(), [&](std::int64_t first, std::span<double> values) {
        std::copy_n(found->second.begin() + first, values.size(), values.begin());
      });
  }
  operation->bind(bound);
  operation->run(device.stream());
  device.stream().wait();
  for (Tensor* const tensor : bound) {
    std::vector<double>& values = tensors[tensor->spec().name] = {};
    if (tensor->spec().role != Role::workspace)
      device.get(*tensor, [&](std::int64_t, std::span<const double> some) {
        values.insert(values.end(), some.begin(), some.end());
      });
  }
  return tensors;
}

TEST(UpdateOnGpu, NothingIsUpdatedByWhatIsNotFinite) {
  const UpdateProblem problem({UpdateRule::lars, 0.9, 0.5, 1e-3, {{3}, {2}}}, Precision::bf16);
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Tensors made = updated(problem, {{"gradient", {1, 0, 2, bad, -bad}},
                                           {"rate", {0.5}},
                                           {"unscale", {1}},
                                           {"weights", {1, 2, 3, 4, 5}},
                                           {"velocity", {6, 7, 8, 9, 10}}});
    EXPECT_EQ(made.at("counts"), (std::vector<double>{2, 1, 0}));
    EXPECT_EQ(made.at("weights"), (std::vector<double>{1, 2, 3, 4, 5}));
    EXPECT_EQ(made.at("stored"), made.at("weights"));
    EXPECT_EQ(made.at("velocity"), (std::vector<double>{6, 7, 8, 9, 10}));
  }
}

TEST(UpdateOnGpu, CountsZerosAndStaleWeights) {
  const UpdateProblem problem({UpdateRule::sgd, 0, 0, 0, {{3}}}, Precision::fp32);
  const Tensors made = updated(problem, {{"gradient", {1e-9, 1, 0}},
                                         {"rate", {0.5}},
                                         {"unscale", {1}},
                                         {"weights", {1, 1, 1}},
                                         {"velocity", {0, 0, 0}}});
  EXPECT_EQ(made.at("counts"), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(made.at("weights"), (std::vector<double>{1, 0.5, 1}));
}

}  // namespace test_update_and_sum
}  // namespace assay
