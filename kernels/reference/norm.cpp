// Batch normalization by plain loops in fp64, on row-major tensors.

#include "kernels/norm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/place.hpp"
#include "kernels/reference/backend.hpp"

namespace assay::reference {
namespace {

/// Channels are independent of each other: each thread takes whole ones.
class PlainNorm final : public Operation {
 public:
  PlainNorm(const NormProblem& problem, int threads)
      : problem_(problem), threads_(threads), arguments_(problem.tensors()) {
    executed_.algorithm = "direct";
    executed_.implementation = "plain loop";
    executed_.storage = std::string(name(problem.precision()));
    executed_.compute = executed_.accumulate = std::string(name(DataType::fp64));
    executed_.layout = "nchw";
    executed_.evidence = "library";
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  Executed executed() const override { return executed_; }

  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      data_[arguments_[i].name] = {arguments_[i].type, static_cast<std::byte*>(tensors[i]->data())};
  }

  void run(Stream&) override {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t c = 0; c < problem_.shape().ic; ++c)
      problem_.direction() == NormDirection::backward ? backward(c) : forward(c);
  }

 private:
  struct Data {
    DataType type;
    std::byte* at;
  };

  /// `count` elements from `first` on; zeros of a tensor that the problem has not.
  std::vector<double> read(const char* name, std::int64_t first, std::int64_t count) const {
    std::vector<double> values(place(count));
    if (const auto found = data_.find(name); found != data_.end())
      decode(found->second.type, found->second.at + place(first) * size_of(found->second.type),
             values);
    return values;
  }
  void write(const char* name, std::int64_t first, std::span<const double> values) const {
    const Data& to = data_.at(name);
    encode(to.type, values, to.at + place(first) * size_of(to.type));
  }
  double of_channel(const char* name, std::int64_t c) const { return read(name, c, 1)[0]; }

  /// Calls body(first element of the channel in an image) for all images.
  template <class Body>
  void planes(std::int64_t c, const Body& body) const {
    for (std::int64_t n = 0; n < problem_.shape().mb; ++n)
      body((n * problem_.shape().ic + c) * plane_);
  }

  void forward(std::int64_t c) const {
    double mean = of_channel("mean", c), variance = of_channel("variance", c);
    if (problem_.direction() == NormDirection::forward_training) {
      const double m = static_cast<double>(problem_.shape().per_channel());
      mean = variance = 0;
      planes(c, [&](std::int64_t first) {
        for (const double x : read("src", first, plane_)) mean += x / m;
      });
      planes(c, [&](std::int64_t first) {
        for (const double x : read("src", first, plane_)) variance += (x - mean) * (x - mean) / m;
      });
      write("mean", c, std::span(&mean, 1));
      write("variance", c, std::span(&variance, 1));
    }
    const double a = of_channel("scale", c) / std::sqrt(variance + norm_epsilon),
                 shift = of_channel("shift", c);
    planes(c, [&](std::int64_t first) {
      const std::vector<double> x = read("src", first, plane_),
                                addend = read("addend", first, plane_);
      std::vector<double> y(x.size());
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = a * (x[i] - mean) + shift + addend[i];
        if (problem_.fusion() != NormFusion::none) y[i] = std::max(y[i], 0.0);
      }
      write("dst", first, y);
    });
  }

  std::vector<double> gradients(std::int64_t first) const {
    std::vector<double> g = read("diff_dst", first, plane_);
    if (problem_.fusion() == NormFusion::none) return g;
    const std::vector<double> dst = read("dst", first, plane_);
    for (std::size_t i = 0; i < g.size(); ++i)
      if (!(dst[i] > 0)) g[i] = 0;
    return g;
  }

  void backward(std::int64_t c) const {
    const double m = static_cast<double>(problem_.shape().per_channel()),
                 mean = of_channel("mean", c),
                 inverse = 1 / std::sqrt(of_channel("variance", c) + norm_epsilon),
                 a = of_channel("scale", c) * inverse;
    double of_scale = 0, of_shift = 0;
    planes(c, [&](std::int64_t first) {
      const std::vector<double> x = read("src", first, plane_), g = gradients(first);
      for (std::size_t i = 0; i < x.size(); ++i) {
        of_shift += g[i];
        of_scale += g[i] * (x[i] - mean) * inverse;
      }
      if (problem_.fusion() == NormFusion::add_relu) write("diff_addend", first, g);
    });
    write("diff_scale", c, std::span(&of_scale, 1));
    write("diff_shift", c, std::span(&of_shift, 1));
    planes(c, [&](std::int64_t first) {
      const std::vector<double> x = read("src", first, plane_);
      std::vector<double> g = gradients(first);
      for (std::size_t i = 0; i < g.size(); ++i)
        g[i] = a * (g[i] - of_shift / m - (x[i] - mean) * inverse * of_scale / m);
      write("diff_src", first, g);
    });
  }

  NormProblem problem_;
  std::int64_t plane_ = problem_.shape().ih * problem_.shape().iw;
  int threads_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
  std::map<std::string, Data, std::less<>> data_;
};

Result<std::unique_ptr<Operation>> make_norm(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const auto& norm = problem_cast<NormProblem>(problem);
  const std::string algorithm = options.get("algorithm", "auto"),
                    layout = options.get("layout", "any");
  if (algorithm != "auto" && algorithm != "direct")
    return Unsupported{fmt::format(
        "reference has no algorithm {} (it only computes direct). Use direct.", algorithm)};
  if (layout != "any" && layout != "nchw")
    return Unsupported{fmt::format("reference has no layout {}. Use any or nchw.", layout)};
  if (const auto why = why_not_precision(norm)) return Unsupported{*why};
  return std::make_unique<PlainNorm>(norm, std::max(1, options.threads));
}

const Maker add_norm{makers(), kind_of<NormProblem>(), &make_norm, {"direct"}};

}  // namespace
}  // namespace assay::reference
