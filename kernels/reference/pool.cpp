// Pooling by plain loops in fp64, on row-major tensors.

#include "kernels/pool/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/place.hpp"
#include "kernels/reference/backend.hpp"

namespace assay::reference {
namespace {

/// Planes are independent of each other: each thread takes whole ones.
class PlainPool final : public Operation {
 public:
  PlainPool(const PoolProblem& problem, int threads)
      : problem_(problem),
        backward_(problem.direction() == PoolDirection::backward),
        max_(problem.mode() == PoolMode::max),
        threads_(threads),
        arguments_(problem.tensors()) {
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
    data_.clear();
    for (Tensor* tensor : tensors) data_.push_back(static_cast<std::byte*>(tensor->data()));
  }

  void run(Stream&) override {
    const PoolShape& s = problem_.shape();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t plane = 0; plane < s.mb * s.ic; ++plane) pool(plane);
  }

 private:
  std::int64_t plane_of(std::size_t argument) const {
    return arguments_[argument].dims[2] * arguments_[argument].dims[3];
  }
  std::byte* at(std::size_t argument, std::int64_t plane) const {
    return data_[argument] + place(plane * plane_of(argument)) * size_of(arguments_[argument].type);
  }
  std::vector<double> read(std::size_t argument, std::int64_t plane) const {
    std::vector<double> values(place(plane_of(argument)));
    decode(arguments_[argument].type, at(argument, plane), values);
    return values;
  }

  void pool(std::int64_t plane) const {
    const PoolShape& s = problem_.shape();
    const std::size_t last = arguments_.size() - 1;
    // src of a maximum, both ways, and of a mean forward; the gradient is the input before the
    // last.
    const std::vector<double> src = max_ || !backward_ ? read(0, plane) : std::vector<double>();
    const std::vector<double> diff = backward_ ? read(last - 1, plane) : std::vector<double>();
    std::vector<double> result(place(plane_of(last)));
    for (std::int64_t oy = 0; oy < s.oh; ++oy)
      for (std::int64_t ox = 0; ox < s.ow; ++ox) {
        const PoolWindow rows = pool_window(oy, s.sh, s.ph, s.kh, s.ih),
                         columns = pool_window(ox, s.sw, s.pw, s.kw, s.iw);
        const std::size_t out = place(oy * s.ow + ox);
        const double part =
            1 / static_cast<double>((rows.last - rows.first) * (columns.last - columns.first));
        std::size_t largest = place(rows.first * s.iw + columns.first);
        for (std::int64_t y = rows.first; y < rows.last; ++y)
          for (std::int64_t x = columns.first; x < columns.last; ++x) {
            const std::size_t in = place(y * s.iw + x);
            if (max_)
              largest = src[in] > src[largest] ? in : largest;
            else
              result[backward_ ? in : out] += part * (backward_ ? diff[out] : src[in]);
          }
        if (max_) result[backward_ ? largest : out] += backward_ ? diff[out] : src[largest];
      }
    encode(arguments_[last].type, result, at(last, plane));
  }

  PoolProblem problem_;
  bool backward_, max_;
  int threads_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
  std::vector<std::byte*> data_;
};

Result<std::unique_ptr<Operation>> make_pool(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const auto& pool = problem_cast<PoolProblem>(problem);
  const std::string algorithm = options.get("algorithm", "auto"),
                    layout = options.get("layout", "any");
  if (algorithm != "auto" && algorithm != "direct")
    return Unsupported{fmt::format(
        "reference has no algorithm {} (it only computes direct). Use direct.", algorithm)};
  if (layout != "any" && layout != "nchw")
    return Unsupported{fmt::format("reference has no layout {}. Use any or nchw.", layout)};
  if (const auto why = why_not_precision(pool)) return Unsupported{*why};
  return std::make_unique<PlainPool>(pool, std::max(1, options.threads));
}

const Maker add_pool{makers(), kind_of<PoolProblem>(), &make_pool, {"direct"}};

}  // namespace
}  // namespace assay::reference
