// The fp64 reference of a loss of pixels. Bounds: docs/method-training.md.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/base/place.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/device_sums.hpp"
#include "kernels/oracle/draw.hpp"
#include "kernels/pixel_loss/formula_items.hpp"
#include "kernels/pixel_loss/problem.hpp"

namespace assay {
namespace {

using pixel_loss::Pixel;
using pixel_loss::Pixels;
using sums::Approximate;

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

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Pixels pixels = this->pixels(execution);
    const sums::Bounds bounds = this->bounds(output, execution);
    if (output.name == "diff_logits") {
      Logits logits(*this, pixels, inputs);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::int64_t image = problem_.shape().classes * plane_, n = indices[i] / image,
                           c = indices[i] % image / plane_;
        const Pixel& pixel = logits.at(n * plane_ + indices[i] % plane_);
        expected[i] = bounds.expected(pixels.gradient(pixel, c, logits.logit(c), logits.factor()));
      }
      return;
    }
    const Totals& totals = this->totals(inputs, pixels);
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[i] = output.name == "losses" ? bounds.expected(totals.losses[place(indices[i])])
                                            : Expected{totals.confusion[place(indices[i])], 0, 0};
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs& inputs,
                                        const Execution& execution, bool) const override {
    if (output.name != "diff_logits") return std::nullopt;
    return make_formula(pixel_loss::DiffLogits{pixels(execution), bounds(output, execution)},
                        names(), table(inputs));
  }

 private:
  static std::vector<std::string> names() { return {"logits", "labels"}; }

  Pixels pixels(const Execution& execution) const {
    return {problem_.shape().classes, plane_,
            sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution)};
  }
  sums::Bounds bounds(const TensorSpec& output, const Execution& execution) const {
    return {problem_.precision(), execution, output.type, place(output.elements())};
  }
  /// The table that the formulas read.
  std::vector<double> table(const Inputs& inputs) const {
    std::vector<double> all(place(problem_.shape().classes + 1));
    if (problem_.pass() == PixelLossPass::training)
      all[0] = inputs.find("scale")->second(0) / static_cast<double>(problem_.shape().samples);
    inputs.find("class_weights")->second.fill(0, std::span(all).subspan(1));
    return all;
  }

  /// Reads the logits of several adjacent pixels at once: the logits of one pixel lie apart, and
  /// one read costs as much as several values.
  class Logits {
   public:
    Logits(const PixelLossOracle& oracle, const Pixels& pixels, const Inputs& inputs)
        : pixels_(pixels),
          logits_(inputs.find("logits")->second),
          labels_(inputs.find("labels")->second),
          table_(oracle.table(inputs)),
          values_((table_.size() - 1) * at_once),
          of_labels_(at_once) {}
    /// Pixel `pixel`, counted over all samples.
    const Pixel& at(std::int64_t pixel) {
      const std::int64_t n = pixel / pixels_.plane, p = pixel % pixels_.plane;
      const std::int64_t block = p / at_once * at_once;
      if (n != sample_ || block != block_) load(n, block);
      column_ = place(p - block);
      const double label = of_labels_[column_];
      if (!(label >= 0 && label < static_cast<double>(pixels_.classes)))
        throw std::invalid_argument("a label is not a valid class");
      pixel_ = pixels_.pixel([this](std::int64_t c) { return logit(c); }, label, &table_[1]);
      return pixel_;
    }
    /// A logit of the pixel that at() returned last.
    double logit(std::int64_t c) const { return values_[place(c) * at_once + column_]; }
    /// The common factor of all gradients.
    double factor() const { return table_[0]; }

   private:
    static constexpr std::int64_t at_once = 256;
    void load(std::int64_t n, std::int64_t block) {
      const std::int64_t plane = pixels_.plane, count = std::min(at_once, plane - block);
      for (std::int64_t c = 0; c < pixels_.classes; ++c)
        logits_.fill((n * pixels_.classes + c) * plane + block,
                     std::span(values_).subspan(place(c * at_once), place(count)));
      labels_.fill(n * plane + block, std::span(of_labels_).first(place(count)));
      sample_ = n;
      block_ = block;
    }

    const Pixels& pixels_;
    const Values &logits_, &labels_;
    std::vector<double> table_, values_, of_labels_;
    std::int64_t sample_ = -1, block_ = -1;
    std::size_t column_ = 0;
    Pixel pixel_;
  };

  struct Totals {
    std::vector<Approximate> losses;
    std::vector<double> confusion;
  };

  /// Sums over all pixels, computed once for the same inputs.
  const Totals& totals(const Inputs& inputs, const Pixels& pixels) const {
    std::vector<double> key = sums::fingerprint(problem_.tensors(), inputs);
    key.push_back(pixels.u);
    if (key == key_) return totals_;
    key_.clear();  // until they are complete
    const auto samples = place(problem_.shape().samples), classes = place(problem_.shape().classes);
    totals_ = {std::vector<Approximate>(samples), std::vector<double>(samples * classes * classes)};
    if (!totals_there(inputs, pixels)) totals_here(inputs, pixels);
    for (Approximate& loss : totals_.losses)
      loss.error += static_cast<double>(plane_) * sums::u_fp64 * loss.value;
    key_ = std::move(key);
    return totals_;
  }

  void totals_here(const Inputs& inputs, const Pixels& pixels) const {
    const std::int64_t classes = pixels.classes;
    Logits logits(*this, pixels, inputs);
    for (std::size_t n = 0; n < totals_.losses.size(); ++n) {
      const auto image = static_cast<std::int64_t>(n);
      for (std::int64_t p = 0; p < plane_; ++p) {
        const Pixel& pixel = logits.at(image * plane_ + p);
        const auto [value, error] = pixels.loss(pixel);
        totals_.losses[n].value += value;
        totals_.losses[n].error += error;
        totals_.confusion[place((image * classes + pixel.label) * classes + pixel.first_largest)] +=
            1;
      }
    }
  }

  /// False if the device lacks the code.
  bool totals_there(const Inputs& inputs, const Pixels& pixels) const {
    if (prover_ == nullptr) return false;
    const std::size_t samples = totals_.losses.size();
    std::vector<std::int64_t> indices(2 * samples + totals_.confusion.size());
    std::iota(indices.begin(), indices.end(), std::int64_t{0});
    const auto sums =
        sums::sums_of_factors(*prover_, pixel_loss::Products{pixels, problem_.shape().samples},
                              plane_, names(), inputs, false, indices, table(inputs));
    if (!sums) return false;
    double pixels_counted = 0;
    for (std::size_t n = 0; n < samples; ++n)
      totals_.losses[n] = {(*sums)[n].value, (*sums)[samples + n].value};
    for (std::size_t i = 0; i < totals_.confusion.size(); ++i)
      pixels_counted += totals_.confusion[i] = (*sums)[2 * samples + i].value;
    if (const double all = static_cast<double>(plane_) * static_cast<double>(samples);
        pixels_counted != all)
      throw CaseError(fmt::format(
          "{} of {} pixels have a label that is a class, as the GPU counts.", pixels_counted, all));
    return true;
  }

  PixelLossProblem problem_;
  std::int64_t plane_;
  mutable std::vector<double> key_;
  mutable Totals totals_;
};

}  // namespace

std::unique_ptr<Oracle> make_pixel_loss_oracle(const PixelLossProblem& problem) {
  return std::make_unique<PixelLossOracle>(problem);
}

}  // namespace assay
