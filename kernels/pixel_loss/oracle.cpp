// The fp64 reference of a loss of pixels. Bounds: docs/method-training.md.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/place.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"
#include "kernels/pixel_loss/problem.hpp"

namespace assay {
namespace {

using sums::Approximate;

/// Units in the last place that an implementation's exp and log may be wrong by.
constexpr double of_pixel_functions = 8;

class PixelLossOracle final : public WholeOracle {
 public:
  explicit PixelLossOracle(const PixelLossProblem& problem)
      : problem_(problem), plane_(problem.shape().ih * problem.shape().iw) {}

  int full_magnitude(const TensorSpec& argument) const override {
    return argument.type == DataType::s32 ? static_cast<int>(problem_.shape().classes - 1) : 0;
  }
  bool nonnegative(const TensorSpec& argument) const override {
    return argument.name == "labels" || argument.name == "class_weights";
  }

  void expect(const TensorSpec& output, const Inputs& inputs, const Executed& executed, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const double u = sums::ErrorModel::accumulator_roundoff(problem_.precision(), executed);
    const sums::Bounds bounds(problem_.precision(), executed, output.type,
                              place(output.elements()));
    if (output.name == "diff_logits") {
      Logits logits(*this, inputs);
      const double by =
          inputs.find("scale")->second(0) / static_cast<double>(problem_.shape().samples);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::int64_t image = problem_.shape().classes * plane_, n = indices[i] / image;
        expected[i] = bounds.expected(gradient(logits.at(n * plane_ + indices[i] % plane_),
                                               place(indices[i] % image / plane_), by, u));
      }
      return;
    }
    const Totals& totals = this->totals(inputs, u);
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[i] = output.name == "losses" ? bounds.expected(totals.losses[place(indices[i])])
                                            : Expected{totals.confusion[place(indices[i])], 0, 0};
  }

 private:
  /// One pixel: its logits, their largest (the first of equal ones), and the softmax' divisor.
  struct Pixel {
    std::vector<double> x;
    std::size_t label = 0, first_largest = 0;
    double weight = 0, largest = 0, sum = 0;
  };

  /// Reads pixels, whose logits lie apart, in rows of as many pixels as one read is worth.
  class Logits {
   public:
    Logits(const PixelLossOracle& of, const Inputs& inputs)
        : of_(of), logits_(inputs.find("logits")->second), labels_(inputs.find("labels")->second) {
      weights_.resize(place(of.problem_.shape().classes));
      inputs.find("class_weights")->second.fill(0, weights_);
      values_.resize(weights_.size() * at_once);
      of_labels_.resize(at_once);
    }
    /// `pixel` of all samples.
    const Pixel& at(std::int64_t pixel) {
      const std::int64_t n = pixel / of_.plane_, p = pixel % of_.plane_;
      const std::int64_t block = p / at_once * at_once;
      if (n != sample_ || block != block_) load(n, block);
      const std::size_t column = place(p - block);
      pixel_.x.resize(weights_.size());
      for (std::size_t c = 0; c < weights_.size(); ++c) pixel_.x[c] = values_[c * at_once + column];
      const double label = of_labels_[column];
      if (!(label >= 0 && label < static_cast<double>(weights_.size())))
        throw std::invalid_argument("a label is not a valid class");
      pixel_.label = static_cast<std::size_t>(label);
      pixel_.weight = weights_[pixel_.label];
      const auto most = std::max_element(pixel_.x.begin(), pixel_.x.end());
      pixel_.first_largest = place(most - pixel_.x.begin());
      pixel_.largest = *most;
      pixel_.sum = 0;
      for (const double value : pixel_.x) pixel_.sum += std::exp(value - pixel_.largest);
      return pixel_;
    }

   private:
    static constexpr std::int64_t at_once = 256;
    void load(std::int64_t n, std::int64_t block) {
      const std::int64_t count = std::min(at_once, of_.plane_ - block);
      for (std::size_t c = 0; c < weights_.size(); ++c)
        logits_.fill((n * std::ssize(weights_) + static_cast<std::int64_t>(c)) * of_.plane_ + block,
                     std::span(values_).subspan(c * at_once, place(count)));
      labels_.fill(n * of_.plane_ + block, std::span(of_labels_).first(place(count)));
      sample_ = n;
      block_ = block;
    }

    const PixelLossOracle& of_;
    const Values &logits_, &labels_;
    std::vector<double> weights_, values_, of_labels_;
    std::int64_t sample_ = -1, block_ = -1;
    Pixel pixel_;
  };

  /// The relative error of exp(value - largest): of its argument, which is rounded, and its own.
  static double of_exp(const Pixel& pixel, double value, double u) {
    return u * (of_pixel_functions + pixel.largest - value);
  }
  /// Of the sum of all: its terms are positive, and those far below the largest are little of it.
  static double of_sum(const Pixel& pixel, double u) {
    const auto classes = static_cast<double>(pixel.x.size());
    return of_exp(pixel, pixel.largest - 1 - std::log(classes), u) + (classes + 1) * u / 2;
  }

  Approximate loss(const Pixel& pixel, double u) const {
    const double apart = pixel.largest - pixel.x[pixel.label], log = std::log(pixel.sum);
    // (largest - x_y) and the logarithm are rounded, their sum and its product with the weight are.
    return {pixel.weight * (log + apart),
            pixel.weight * (of_sum(pixel, u) + u * (of_pixel_functions * log + 3 * (log + apart)))};
  }

  Approximate gradient(const Pixel& pixel, std::size_t c, double by, double u) const {
    const double q = std::exp(pixel.x[c] - pixel.largest) / pixel.sum,
                 one = c == pixel.label ? 1 : 0, factor = by * pixel.weight;
    return {factor * (q - one),
            std::abs(factor) * (q * (of_exp(pixel, pixel.x[c], u) + of_sum(pixel, u) + 2 * u) +
                                5 * u * (q + one))};
  }

  struct Totals {
    std::vector<Approximate> losses;
    std::vector<double> confusion;
  };

  /// Sums over all pixels, which are made once for the same inputs.
  const Totals& totals(const Inputs& inputs, double u) const {
    std::vector<double> key = sums::fingerprint(problem_.tensors(), inputs);
    key.push_back(u);
    if (key == key_) return totals_;
    const auto samples = place(problem_.shape().samples), classes = place(problem_.shape().classes);
    totals_ = {std::vector<Approximate>(samples), std::vector<double>(samples * classes * classes)};
    Logits logits(*this, inputs);
    for (std::size_t n = 0; n < samples; ++n) {
      Approximate& sum = totals_.losses[n];
      for (std::int64_t p = 0; p < plane_; ++p) {
        const Pixel& pixel = logits.at(static_cast<std::int64_t>(n) * plane_ + p);
        const Approximate one = loss(pixel, u);
        sum.value += one.value;
        sum.error += one.error;
        totals_.confusion[(n * classes + pixel.label) * classes + pixel.first_largest] += 1;
      }
      sum.error += static_cast<double>(plane_) * sums::u_fp64 * sum.value;
    }
    key_ = std::move(key);
    return totals_;
  }

  PixelLossProblem problem_;
  std::int64_t plane_;
  mutable std::vector<double> key_;
  mutable Totals totals_;
};

}  // namespace

std::unique_ptr<Oracle> pixel_loss_oracle(const PixelLossProblem& problem) {
  return std::make_unique<PixelLossOracle>(problem);
}

}  // namespace assay
