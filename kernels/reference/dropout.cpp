// Dropout by plain loops, on row-major tensors.

#include "kernels/dropout/problem.hpp"

#include <Random123/philox.h>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// Planes are independent of each other: each thread takes whole ones.
class PlainDropout final : public PlainOperation {
 public:
  PlainDropout(const DropoutProblem& problem, int threads)
      : PlainOperation(problem, threads, "nchw"), problem_(problem) {}

  void run(Stream&) override {
    const DropoutShape& s = problem_.shape();
    const DropoutMask mask =
        dropout_mask(problem_, static_cast<std::int32_t>(read("counter", 0, 1)[0]));
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t plane = 0; plane < s.mb * s.ic; ++plane) {
      const std::int64_t pixels = s.ih * s.iw;
      std::vector<double> values = read(std::size_t{0}, plane * pixels, pixels);
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        double& value = values[place(pixel)];
        const std::int64_t element = (plane / s.ic * pixels + pixel) * s.ic + plane % s.ic;
        value = is_kept(element, mask) ? product(value, mask.scale) : 0;
      }
      write(std::size_t{2}, plane * pixels, values);
    }
  }

 private:
  static bool is_kept(std::int64_t element, const DropoutMask& mask) {
    const auto block = static_cast<std::uint64_t>(element / 4);
    const auto words = r123::Philox4x32()({{static_cast<std::uint32_t>(block),
                                            static_cast<std::uint32_t>(block >> 32), mask.step, 0}},
                                          {{mask.key[0], mask.key[1]}});
    return words[place(element % 4)] >= mask.least;
  }

  double product(double value, double scale) const {
    const double product = value * scale;
    return problem_.precision() == Precision::fp64 ? product : round_to(DataType::fp32, product);
  }

  DropoutProblem problem_;
};

const Maker add_dropout{makers(),
                        problem_kind<DropoutProblem>(),
                        &make_plain<DropoutProblem, PlainDropout, why_not_nchw>,
                        {"direct"}};

}  // namespace
}  // namespace assay::reference
