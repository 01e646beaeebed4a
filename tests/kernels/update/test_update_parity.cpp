// Twenty updates by every rule against PyTorch's: scripts/peers/pytorch_optimizers prints the
// expected numbers.

#include <array>
#include <cmath>
#include <map>

#include "kernels/update/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_update_parity {

/// The norm and the fourth element of a matrix, which decays, and of a bias.
using Numbers = std::array<double, 4>;
const std::map<std::string, Numbers> expected{
    {"sgd", {3.71904485205104, -0.286449539994138, 0.597616573291861, -0.213500174327982}},
    {"lars", {3.94534273453199, -0.312400021059589, 0.597616573291861, -0.213500174327982}},
    {"larc", {3.85891392320709, -0.302614290724613, 0.597616573291861, -0.213500174327982}},
    {"adam", {3.65939935836225, -0.285294370433215, 0.568578880193294, -0.217657235973432}},
    {"adamw", {3.94688070974145, -0.306375383634735, 0.568578880193294, -0.217657235973432}},
    {"rmsprop", {3.57901650774823, -0.165944885103558, 0.360747952953975, -0.193166874020309}},
    {"lamb", {3.91698591498087, -0.297198789272038, 0.568578880193294, -0.217657235973432}},
    {"larc-adam", {3.66089426062964, -0.285389431131424, 0.568578880193294, -0.217657235973432}},
    {"larc-rmsprop", {3.45743561470081, -0.164912586221495, 0.360747952953975, -0.193166874020309}},
};

constexpr std::int64_t sizes[] = {300, 7};

double start(std::int64_t tensor, std::int64_t i) {
  return static_cast<double>((i * 37 + 11 * tensor) % 101 - 50) / 128;
}
double gradient(std::int64_t tensor, std::int64_t i, int step) {
  return static_cast<double>((i * 29 + 17 * step + 5 * tensor) % 97 - 48) / 256;
}

template <class Element>
std::vector<double> elements(const Element& element) {
  std::vector<double> all;
  for (std::int64_t tensor = 0; tensor < 2; ++tensor)
    for (std::int64_t i = 0; i < sizes[tensor]; ++i) all.push_back(element(tensor, i));
  return all;
}

Numbers numbers_of(const std::vector<double>& weights) {
  double squares[2] = {};
  for (std::size_t i = 0; i < weights.size(); ++i)
    squares[i < 300 ? 0 : 1] += weights[i] * weights[i];
  return {std::sqrt(squares[0]), weights[3], std::sqrt(squares[1]), weights[303]};
}

Numbers trained(const std::string& rule, const char* name, Precision precision) {
  const double momentum =
      find_loop(parse_name<UpdateRule>(rule)) == UpdateLoop::rmsprop ? 0.5 : 0.9;
  const UpdateProblem problem({parse_name<UpdateRule>(rule),
                               momentum,
                               0.05,
                               0.002,
                               {{sizes[0], true, true}, {sizes[1], false, false}}},
                              precision);
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const auto ranks = make_serial_communicator();
  Backend& backend = *std::get<Backend*>(plugins.open(name));
  const Options options;
  Device& device = *std::get<Device*>(backend.device(options));
  const auto operation = std::get<0>(backend.make(problem, options, *ranks));
  std::map<std::string, std::unique_ptr<Tensor>> tensors;
  std::vector<Tensor*> bound;
  const auto put = [&](const std::string& tensor, const std::vector<double>& values) {
    if (!tensors.contains(tensor)) return;
    device.put(*tensors.at(tensor), [&](std::int64_t first, std::span<double> out) {
      std::copy_n(values.begin() + first, out.size(), out.begin());
    });
  };
  for (const TensorSpec& spec : operation->arguments()) {
    bound.push_back((tensors[spec.name] = device.allocate(spec)).get());
    if (spec.role == Role::inout)
      put(spec.name, std::vector<double>(static_cast<std::size_t>(spec.elements())));
  }
  operation->bind(bound);
  put("weights", elements(&start));
  put("rate", {0.01});
  put("unscale", {1});
  for (int step = 0; step < 20; ++step) {
    put("gradient", elements([step](auto tensor, auto i) { return gradient(tensor, i, step); }));
    put("step", {step + 1.0});
    operation->run(device.stream());
    device.stream().wait();
  }
  std::vector<double> weights;
  device.get(*tensors.at("weights"), [&](std::int64_t, std::span<const double> some) {
    weights.insert(weights.end(), some.begin(), some.end());
  });
  return numbers_of(weights);
}

TEST(UpdateParity, TwentyStepsAreThoseOfPyTorch) {
  ASSERT_EQ(expected.size(), list_names<UpdateRule>().size());
  for (const std::string& rule : list_names<UpdateRule>())
    for (const char* backend : {"reference", "native"})
      for (const Precision precision : {Precision::fp64, Precision::fp32}) {
        const Numbers found = trained(rule, backend, precision);
        for (std::size_t i = 0; i < found.size(); ++i)
          EXPECT_NEAR(found[i], expected.at(rule)[i], precision == Precision::fp64 ? 1e-12 : 1e-5)
              << rule << " of " << backend << " in " << name(precision) << ", number " << i;
      }
}

}  // namespace test_update_parity
}  // namespace assay
