// The update of parameters by plain loops in fp64.

#include "kernels/update/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/place.hpp"
#include "kernels/reference/backend.hpp"

namespace assay::reference {
namespace {

class PlainUpdate final : public Operation {
 public:
  explicit PlainUpdate(const UpdateProblem& problem)
      : problem_(problem), arguments_(problem.tensors()) {
    executed_.algorithm = "direct";
    executed_.implementation = "plain loop";
    executed_.storage = std::string(name(problem.precision()));
    executed_.compute = executed_.accumulate = std::string(name(DataType::fp64));
    executed_.layout = "rows";
    executed_.evidence = "library";
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  Executed executed() const override { return executed_; }

  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      data_[arguments_[i].name] = {arguments_[i].type, static_cast<std::byte*>(tensors[i]->data())};
  }

  void run(Stream&) override {
    const std::vector<UpdateTensor>& tensors = problem_.shape().tensors;
    const double rate = read("rate", 0, 1)[0], unscale = read("unscale", 0, 1)[0];
    std::vector<UpdateFactors> factors;
    std::vector<double> norms(2), counts(3);
    std::int64_t begin = 0;
    for (const UpdateTensor& tensor : tensors) {
      double g = 0, w = 0;
      for (const double value : read("gradient", begin, tensor.elements)) {
        g += value * unscale * (value * unscale);
        counts[0] += std::isfinite(value) ? 0 : 1;
        counts[1] += value == 0 ? 1 : 0;
      }
      for (const double value : read("weights", begin, tensor.elements)) w += value * value;
      norms[0] += g;
      norms[1] += w;
      factors.push_back(
          update_factors(problem_.shape(), tensor, rate, unscale, std::sqrt(g), std::sqrt(w)));
      begin += tensor.elements;
    }
    begin = 0;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      counts[2] += update(factors[t], begin, tensors[t].elements, counts[0] == 0);
      begin += tensors[t].elements;
    }
    for (double& norm : norms) norm = std::sqrt(norm);
    write("norms", 0, norms);
    write("counts", 0, counts);
  }

 private:
  struct Data {
    DataType type;
    std::byte* at;
  };
  std::vector<double> read(const char* name, std::int64_t first, std::int64_t count) const {
    const Data& from = data_.at(name);
    std::vector<double> values(place(count));
    decode(from.type, from.at + place(first) * size_of(from.type), values);
    return values;
  }
  void write(const char* name, std::int64_t first, std::span<const double> values) const {
    const Data& to = data_.at(name);
    encode(to.type, values, to.at + place(first) * size_of(to.type));
  }

  /// Returns how many weights are stale.
  double update(const UpdateFactors& f, std::int64_t begin, std::int64_t count, bool finite) const {
    const DataType type = data_.at("weights").type;
    const std::vector<double> g = read("gradient", begin, count);
    std::vector<double> w = read("weights", begin, count), v = read("velocity", begin, count);
    double stale = 0;
    for (std::size_t i = 0; finite && i < g.size(); ++i) {
      v[i] = problem_.shape().momentum * v[i] + f.of_gradient * g[i] + f.of_weight * w[i];
      const double step = f.of_velocity * v[i], after = round_to(type, w[i] - step);
      stale += step != 0 && after == w[i] ? 1 : 0;
      w[i] = after;
    }
    write("weights", begin, w);
    write("velocity", begin, v);
    if (data_.contains("stored")) write("stored", begin, w);
    return stale;
  }

  UpdateProblem problem_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
  std::map<std::string, Data, std::less<>> data_;
};

Result<std::unique_ptr<Operation>> make_update(Device&, const Problem& problem,
                                               const Options& options, Communicator&) {
  const auto& update = problem_cast<UpdateProblem>(problem);
  if (const std::string algorithm = options.get("algorithm", "auto");
      algorithm != "auto" && algorithm != "direct")
    return Unsupported{fmt::format(
        "reference has no algorithm {} (it only computes direct). Use direct.", algorithm)};
  if (const auto why = why_not_precision(update)) return Unsupported{*why};
  return std::make_unique<PlainUpdate>(update);
}

const Maker add_update{makers(), kind_of<UpdateProblem>(), &make_update, {"direct"}};

}  // namespace
}  // namespace assay::reference
