// Softmax cross-entropy by plain loops in fp64, on row-major tensors.

#include "kernels/loss/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/place.hpp"
#include "kernels/reference/backend.hpp"

namespace assay::reference {
namespace {

/// Samples are independent of each other: each thread takes whole ones.
class PlainLoss final : public Operation {
 public:
  PlainLoss(const LossProblem& problem, int threads)
      : problem_(problem), threads_(threads), arguments_(problem.tensors()) {
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
    const auto classes = place(problem_.shape().classes);
    const std::vector<double> bias = read("bias", 0, problem_.shape().classes);
    std::vector<double> of_bias(classes);
#pragma omp parallel num_threads(threads_)
    {
      std::vector<double> part(classes);
#pragma omp for schedule(static)
      for (std::int64_t n = 0; n < problem_.shape().samples; ++n) sample(n, bias, part);
#pragma omp critical(assay_loss_bias)
      for (std::size_t c = 0; c < classes; ++c) of_bias[c] += part[c];
    }
    if (problem_.pass() == LossPass::training) write("diff_bias", 0, of_bias);
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

  void sample(std::int64_t n, const std::vector<double>& bias, std::vector<double>& of_bias) const {
    const auto [samples, classes, smoothing] = problem_.shape();
    std::vector<double> x = read("logits", n * classes, classes);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += bias[c];
    const auto largest = std::max_element(x.begin(), x.end());  // the first of equal ones
    const double label = read("labels", n, 1)[0], most = *largest;
    const auto y = static_cast<std::size_t>(label);
    double sum = 0, total = 0;
    for (const double value : x) {
      sum += std::exp(value - most);
      total += value;
    }
    const double part = smoothing / static_cast<double>(classes),
                 loss = most + std::log(sum) - (1 - smoothing) * x[y] - part * total,
                 correct = largest - x.begin() == static_cast<std::ptrdiff_t>(y) ? 1 : 0;
    write("losses", n, std::span(&loss, 1));
    write("correct", n, std::span(&correct, 1));
    if (problem_.pass() != LossPass::training) return;
    const double by = read("scale", 0, 1)[0] / static_cast<double>(samples);
    for (std::size_t c = 0; c < x.size(); ++c) {
      x[c] = by * (std::exp(x[c] - most) / sum - (c == y ? 1 - smoothing : 0) - part);
      of_bias[c] += x[c];
    }
    write("diff_logits", n * classes, x);
  }

  LossProblem problem_;
  int threads_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
  std::map<std::string, Data, std::less<>> data_;
};

Result<std::unique_ptr<Operation>> make_loss(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const auto& loss = problem_cast<LossProblem>(problem);
  if (const std::string algorithm = options.get("algorithm", "auto");
      algorithm != "auto" && algorithm != "direct")
    return Unsupported{fmt::format(
        "reference has no algorithm {} (it only computes direct). Use direct.", algorithm)};
  if (const auto why = why_not_precision(loss)) return Unsupported{*why};
  return std::make_unique<PlainLoss>(loss, std::max(1, options.threads));
}

const Maker add_loss{makers(), kind_of<LossProblem>(), &make_loss, {"direct"}};

}  // namespace
}  // namespace assay::reference
